// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/message.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/documents/ascii_text.h>
#include <transmute/documents/html_tokens.h>
#include <transmute/text/inline_tags.h>
#include <transmute/text/tag_end.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <regex>

namespace transmute {
inline namespace v0 {

// A plural or a selection within a message, of ICU or of MediaWiki.
struct Message::Selection {
  size_t begin = 0, end = 0;                               // places of its braces
  std::vector<std::pair<std::string, std::string>> cases;  // bytes before the words of a case, and these words
  std::string tail;                                        // bytes after the words of the last case
  bool is_plural = false;                                  // true for a plural of ICU

  // Its bytes without the words of its cases and without white space.
  std::string syntax() const {
    std::string bytes = tail;
    for (const auto& [before, words] : cases) bytes += before;
    const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
    bytes.erase(std::remove_if(bytes.begin(), bytes.end(), is_space), bytes.end());
    return bytes;
  }
};

// The case of a selection that words are in. Those that follow it in the same syntax take the same case.
struct Message::Choice {
  std::string syntax;
  size_t number = 0;
  bool is_plural = false;
};

namespace {

constexpr size_t kMostBytes = 10000, kMostCases = 40, kMostSelections = 4;  // limits of an expanded message
constexpr std::string_view kMessageSpace = " \t\r\n";

// True for a '#' outside of braces.
bool has_number_sign(std::string_view text) {
  size_t depth = 0;
  for (const char c : text) {
    if (c == '{') ++depth;
    if (c == '}' && depth > 0) --depth;
    if (c == '#' && depth == 0) return true;
  }
  return false;
}

size_t skip_space(std::string_view text, size_t at) {
  return std::min(text.find_first_not_of(kMessageSpace, at), text.size());
}

// The beginning of a plural or a selection: "{n, plural,".
struct SelectionHead {
  size_t begin = 0, end = 0;
  bool is_plural = false;
};

// Finds the first one from `at` on.
std::optional<SelectionHead> next_head(std::string_view message, size_t at) {
  for (size_t begin = message.find('{', at); begin != std::string_view::npos; begin = message.find('{', begin + 1)) {
    const size_t comma = message.find_first_of(",{}", begin + 1);
    if (comma == std::string_view::npos || message[comma] != ',') continue;
    const size_t kind = skip_space(message, comma + 1);
    const size_t second = message.find_first_of(",{}", kind);
    if (second == std::string_view::npos || message[second] != ',') continue;
    std::string_view name = message.substr(kind, second - kind);
    name = name.substr(0, name.find_last_not_of(kMessageSpace) + 1);
    const bool is_plural = name == "plural" || name == "selectordinal";
    if (is_plural || name == "select") return SelectionHead{begin, second + 1, is_plural};
  }
  return std::nullopt;
}

// True for an apostrophe that quotes what follows it.
bool has_quotes(std::string_view text) {
  for (size_t at = text.find('\''); at != std::string_view::npos; at = text.find('\'', at + 1)) {
    if (at + 1 < text.size() && text[at + 1] == '\'') {
      ++at;
    } else if (at + 1 < text.size() && std::string_view("{}#|").find(text[at + 1]) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

bool is_message_name_byte(char c) {
  return is_ascii_alphanumeric(c) || c == '_' || c == '.' || c == '-' || c == ':';
}

// The length of __name__; 0 if there is none.
size_t underlined_name_length(std::string_view text, size_t at) {
  const auto is_of_name = [&](size_t i) { return i < text.size() && is_message_name_byte(text[i]); };
  if (text.compare(at, 2, "__") != 0 || (at > 0 && is_of_name(at - 1))) return 0;
  size_t end = at;
  while (is_of_name(end)) ++end;
  return end - at > 4 && text.compare(end - 2, 2, "__") == 0 ? end - at : 0;
}

// The length of '{'name'}', which is {name} for readers, or of one of these quoted braces, as in "between '{' and '}'";
// 0 if there is none.
size_t quoted_braces_length(std::string_view text, size_t at) {
  constexpr size_t kBrace = 3;
  if (text.compare(at, kBrace, "'}'") == 0) return kBrace;
  if (text.compare(at, kBrace, "'{'") != 0) return 0;
  size_t end = at + kBrace;
  while (end < text.size() && text[end] != ' ' && text[end] != '\'') ++end;
  return text.compare(end, kBrace, "'}'") == 0 ? end + kBrace - at : kBrace;
}

constexpr size_t kMostReference = 1000;  // bytes; a limit, so that many without an end take linear time

// The length of {{PLURAL:$1|file|files}} and other functions of MediaWiki, which have a name and a colon; 0 without
// one.
size_t wiki_function_length(std::string_view text) {
  if (text.compare(0, 2, "{{") != 0) return 0;
  const size_t name_end = text.find_first_of(":{}|<> ", 2);
  const bool has_name = name_end != std::string_view::npos && name_end > 2 && text[name_end] == ':';
  const size_t end = has_name ? closing_brace(text, 0) : std::string_view::npos;
  return end == std::string_view::npos ? 0 : end;
}

// The place of the first function of MediaWiki that has cases; npos without one.
size_t find_wiki_cases(std::string_view message) {
  size_t first = std::string_view::npos;
  for (const std::string_view name : {"{{PLURAL:", "{{plural:", "{{GENDER:", "{{gender:"})
    first = std::min(first, message.find(name));
  return first;
}

// The length of an argument such as $1; 0 for amounts and cells such as $1.50, US$1 and $A$1.
size_t numbered_argument_length(std::string_view text, size_t at) {
  const auto is = [&](bool (*kind)(char), size_t byte) { return byte < text.size() && kind(text[byte]); };
  if (text[at] != '$' || !is(is_ascii_digit, at + 1) || text[at + 1] == '0' || is(is_ascii_alphanumeric, at - 1))
    return 0;
  const size_t end = is(is_ascii_digit, at + 2) ? at + 3 : at + 2;
  if (end == text.size()) return end - at;
  const bool has_fraction = (text[end] == '.' || text[end] == ',') && is(is_ascii_digit, end + 1);
  return has_fraction || text[end] == '$' || is(is_ascii_alphanumeric, end) ? 0 : end - at;
}

// True for a message whose arguments are $1, $2 and so on.
bool has_numbered_arguments(std::string_view message) {
  for (size_t at = message.find("$1"); at != std::string_view::npos; at = message.find("$1", at + 2))
    if (numbered_argument_length(message, at) == 2) return true;
  return false;
}

// A link of a wiki: [[page|words]], [$1 words] or [[page]], whose words are none.
struct WikiLink {
  size_t words = 0, words_end = 0, end = 0;
};

std::optional<WikiLink> wiki_link(std::string_view text, size_t at) {
  const std::string_view here = text.substr(at, kMostReference);
  if (here.front() != '[') return std::nullopt;
  const bool is_page = here.compare(0, 2, "[[") == 0;
  const bool is_address = (here.size() > 1 && numbered_argument_length(here, 1) > 0) || here.compare(1, 2, "//") == 0 ||
                          here.compare(1, 7, "http://") == 0 || here.compare(1, 8, "https://") == 0;
  const std::string_view closing = is_page ? "]]" : "]";
  const size_t end = here.find_first_of("[]", closing.size()), target_end = here.find(is_page ? '|' : ' ');
  if ((!is_page && !is_address) || end == std::string_view::npos || here.compare(end, closing.size(), closing) != 0)
    return std::nullopt;
  WikiLink link{at + end, at + end, at + end + closing.size()};
  if (target_end >= end) return is_page ? std::optional(link) : std::nullopt;
  const std::string_view words = here.substr(target_end + 1, end - target_end - 1);
  const size_t reference =
      words.empty() ? 0 : std::max(numbered_argument_length(words, 0), wiki_function_length(words));
  if (reference != words.size()) link.words = at + target_end + 1;
  return link;
}

// The bytes of what refers to another message or argument and is not protected anyway: $t(key) and __name__ of i18next,
// @:key and @:(key) of Vue, $NAME$ of browser extensions, [%key:…%] of Home Assistant, and of braces in apostrophes.
// 0 if there is none.
size_t reference_length(std::string_view text, size_t at) {
  if (const size_t length = quoted_braces_length(text, at); length > 0) return length;
  if (const size_t length = underlined_name_length(text, at); length > 0) return length;
  const std::string_view here = text.substr(at, kMostReference);
  if (const size_t length = wiki_function_length(here); length > 0) return length;
  const auto end_of_name = [&](size_t from) {
    return static_cast<size_t>(
        std::find_if_not(here.begin() + static_cast<int64_t>(from), here.end(), is_message_name_byte) - here.begin());
  };
  if (here.compare(0, 6, "[%key:") == 0) {
    const size_t end = end_of_name(6);
    return here.compare(end, 2, "%]") == 0 ? end + 2 : 0;
  }
  const bool is_link = here.compare(0, 2, "@:") == 0;
  if (here.compare(0, 3, "$t(") == 0 || (is_link && here.compare(2, 1, "(") == 0)) {
    const size_t end = here.find(')');
    return end == std::string_view::npos ? 0 : end + 1;
  }
  if (!is_link && here.front() != '$') return 0;
  size_t end = end_of_name(is_link ? 2 : 1);
  if (!is_link) return end > 1 && end < here.size() && here[end] == '$' ? end + 1 : 0;
  while (end > 2 && here[end - 1] == '.') --end;
  return end > 2 ? end : 0;
}

// True for a pattern of dates and times, such as "YYYY-MM-DD HH:mm" and "d. MMMM 'de' y": runs of one
// letter, with signs and quoted words between them. Runs beside each other have two letters or more: "yyyyMMdd", but
// not "Hmm".
bool is_date_pattern(std::string_view text) {
  constexpr std::string_view kFields = "yYuMLdDEehHkKmsSaAZzXxQqwW", kCommonFields = "yYMdDHhms", kSigns = " -/:.,";
  const auto is_one_of = [](char c, std::string_view set) { return set.find(c) != std::string_view::npos; };
  size_t fields = 0, before = 0;  // before: letters of the field that ends here
  bool has_common = false;
  for (size_t at = 0, next = 0; at < text.size(); at = next) {
    const char c = text[at];
    next = std::min(text.find_first_not_of(c, at), text.size());
    const size_t length = next - at;
    if (c == '\'' || c == '[') {
      next = text.find(c == '[' ? ']' : c, at + 1);
      if (next++ == std::string_view::npos) return false;
      before = 0;
    } else if (is_one_of(c, kFields)) {
      if (before > 0 && c != 'Z' && std::min(before, length) == 1) return false;
      ++fields;
      has_common = has_common || (length > 1 && is_one_of(c, kCommonFields));
      before = length;
    } else if (is_one_of(c, kSigns) || (c == 'T' && length == 1 && before > 1)) {
      before = 0;
    } else {
      return false;
    }
  }
  return fields > 1 && has_common;
}

// True for a text in angle brackets that is no tag, such as "<none>" and "<All files>".
bool is_in_angle_brackets(const std::string& text) {
  constexpr size_t kFewest = 3;  // letters of a word; <b> and <td> have fewer
  if (text.size() < kFewest + 2 || text.front() != '<' || text.back() != '>') return false;
  const std::string words = text.substr(1, text.size() - 2), element = lower_case(words.substr(0, words.find(' ')));
  if (!is_ascii_letter(words.front()) || words.find_first_of("<>={") != std::string::npos || words.back() == '/')
    return false;
  const bool is_word = std::all_of(words.begin(), words.end(), is_ascii_letter);
  return (is_word || element.size() < words.size()) && !is_no_language(words) && !is_void_element(element) &&
         !lists(
             "abbr article aside big blockquote body button canvas center code del div font footer form head header "
             "html ins label main nav nobr object option pre script section select small span strong style sub summary "
             "sup svg table tbody template textarea thead title video",
             element);
}

}  // namespace

bool is_no_language(const std::string& text) {
  constexpr size_t kMostValueBytes = 200;
  // A word with digits: v1, sha256, B2B, 7f3a; but not 2nd, 90s and Step1.
  static const std::string code = "([a-z]+[0-9][a-z0-9]*|[A-Z]+[0-9][A-Z0-9]*|[0-9]+[A-Za-z]+[0-9][A-Za-z0-9]*)";
  static const std::vector<std::regex> values{
      std::regex("[\\w./:@#$=+~-]*[A-Za-z0-9]_+[A-Za-z0-9]([\\w./:@#$=+~-]*\\w)?"),  // first_name, MAX_LENGTH
      std::regex("[a-z]+[0-9]*([A-Z][a-z0-9]*)+"),                                   // firstName
      std::regex("(?!.*Innen?$)[A-Z][a-z0-9]+([A-Z][a-z0-9]*)+"),                    // MainWindow; not LehrerInnen
      std::regex("[a-z][\\w-]+(\\.[\\w-]{2,})+"),                                    // com.example.app.Main
      std::regex("[A-Z][\\w-]+(\\.[a-z][\\w-]+)+"),                                  // README.md; not Done.Next
      std::regex("[\\w-]+\\.[A-Z]{2,4}[0-9]?"),                                      // IMG01234.JPG
      std::regex("(\\.{0,2}|~|\\$\\w+)/[\\w./-]*"),                                  // ./bin/run, $HOME/.config
      std::regex(code + "([-.:/](" + code + "|[0-9]+))*"),
      std::regex("(v[0-9]+|[0-9]+\\.[0-9]+)(\\.[0-9]+)+([-+][\\w.-]+)?"),                 // v1.2.3, 1.2.3-beta.1
      std::regex("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),                   // an identifier of RFC 9562
      std::regex("[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.,]+ ?(Z|UTC|GMT)?([-+][0-9:]+)?"),  // times of ISO 8601
      std::regex("(%[-_0^#]?[A-Za-z]|[-/:., ])+"),                                        // %d/%m/%Y
      std::regex("#(?=.*[0-9])[0-9a-fA-F]{3,8}"),
      std::regex("#([0-9a-fA-F])\\1+"),
      std::regex("(rgba?|hsla?|var|calc|url)\\([^()]*\\)"),
      std::regex("[0-9.]+(px|em|rem|vh|vw)"),
      std::regex("[a-z]{2,3}-[A-Z]{2}"),  // en-US
      std::regex("(application|multipart)/[\\w.+*-]+"),
      std::regex(
          "(text|image|audio|video)/(\\*|plain|html|css|csv|xml|markdown|javascript|png|jpe?g|gif|webp|svg\\+xml|"
          "mp[34]|mpeg|ogg|wav|webm)")};
  const size_t begin = skip_space(text, 0), end = text.find_last_not_of(kMessageSpace) + 1;
  if (begin >= end || end - begin > kMostValueBytes) return false;
  const std::string value = text.substr(begin, end - begin);
  return is_date_pattern(value) || std::any_of(values.begin(), values.end(),
                                               [&](const std::regex& kind) { return std::regex_match(value, kind); });
}

bool doubles_apostrophes(std::string_view message) {
  const auto is_word_byte = [](char c) {
    return c == '{' || c == '}' || is_ascii_alphanumeric(c) || static_cast<unsigned char>(c) >= 0x80;
  };
  const size_t first = message.find('\'');
  if (first == std::string_view::npos) return false;
  for (size_t at = first, end = 0; at != std::string_view::npos; at = message.find('\'', end)) {
    end = std::min(message.find_first_not_of('\'', at), message.size());
    const bool is_of_words =
        (at > 0 && is_word_byte(message[at - 1])) || (end < message.size() && is_word_byte(message[end]));
    if ((end - at) % 2 != 0 || !is_of_words) return false;  // "to '' here" has an empty value
  }
  for (size_t at = message.find('{'); at != std::string_view::npos; at = message.find('{', at + 1)) {
    const size_t name = skip_space(message, at + 1);
    const auto name_end = std::find_if_not(message.begin() + name, message.end(), is_message_name_byte);
    const size_t end = skip_space(message, static_cast<size_t>(name_end - message.begin()));
    // Unlike {{name}} of wikis and of i18next, and %{name} of Ruby.
    const bool is_argument = at == 0 || std::string_view("{%$#").find(message[at - 1]) == std::string_view::npos;
    if (is_argument && end > name && end < message.size() && (message[end] == '}' || message[end] == ',')) return true;
  }
  return false;
}

Message::Message(const std::string& message, MessageSyntax syntax) {
  if (is_no_language(message)) {
    between_.back() = message;
    return;
  }
  is_in_angle_brackets_ = is_in_angle_brackets(message);
  if (is_in_angle_brackets_) {
    between_.back() = '<';
    add_leaf(std::string_view(message).substr(1, message.size() - 2));
    between_.back() += '>';
    return;
  }
  const bool has_arguments = syntax == MessageSyntax::java && [&] {
    for (size_t at = message.find('{'); at != std::string::npos; at = message.find('{', at + 1))
      if (at + 1 < message.size() && is_ascii_digit(message[at + 1])) return true;
    return false;
  }();
  const bool is_sound = !has_quotes(message);
  doubles_apostrophes_ = (has_arguments && is_sound) || doubles_apostrophes(message);
  const bool may_expand = is_sound && message.size() <= kMostBytes;
  has_numbered_arguments_ = has_numbered_arguments(message);
  if (find_wiki_cases(message) != std::string::npos) {
    add_wiki_lines(message);
  } else if (!may_expand && !next_head(message, 0)) {
    add_leaf(message);
  } else if (!may_expand || !expand(message, {})) {
    has_cases_ = true;
    between_ = {message};
    texts_.clear();
  }
}

// The first plural or selection of ICU.
std::optional<Message::Selection> Message::find_icu(const std::string& message) {
  for (auto head = next_head(message, 0); head; head = next_head(message, head->begin + 1)) {
    Selection found;
    found.begin = head->begin;
    found.is_plural = head->is_plural;
    found.end = closing_brace(message, head->begin);
    if (found.end == std::string::npos) continue;
    for (size_t at = head->end, begin = head->begin; true;) {
      const size_t open = message.find_first_of("{}", at);
      if (open + 1 == found.end && !found.cases.empty()) {
        found.tail = message.substr(begin, found.end - begin);
        return found;
      }
      const size_t close = message[open] == '{' ? closing_brace(message, open) : std::string::npos;
      if (close == std::string::npos || close >= found.end) break;
      found.cases.emplace_back(message.substr(begin, open + 1 - begin), message.substr(open + 1, close - open - 2));
      at = close;
      begin = close - 1;
    }
  }
  return std::nullopt;
}

// The first {{PLURAL:$1|file|files}} or {{GENDER:$1|…}} of MediaWiki. A bar outside of it would begin another case.
std::optional<Message::Selection> Message::find_wiki(const std::string& message) {
  Selection found;
  found.begin = find_wiki_cases(message);
  found.end = found.begin == std::string::npos ? found.begin : closing_brace(message, found.begin);
  if (found.end == std::string::npos) return std::nullopt;
  size_t begin = found.begin, words = 0, depth = 0;
  bool is_closed = false;
  for (size_t at = 0; at < message.size(); ++at) {
    const bool is_inside = at >= found.begin && at < found.end;
    if (at == found.begin) at += 2;
    const char c = message[at];
    if (c == '{' || c == '[') ++depth;
    const bool is_last = at + 2 == found.end && depth == 0 && c == '}';
    if ((c == '}' || c == ']') && depth > 0) --depth;
    if (depth > 0 || (c != '|' && !is_last)) continue;
    if (!is_inside) return std::nullopt;
    if (words > 0) {
      found.cases.emplace_back(message.substr(begin, words - begin), message.substr(words, at - words));
      begin = at;
    }
    words = at + 1;
    const size_t number_end = message.find_first_not_of("0123456789", words);
    if (number_end != std::string::npos && number_end > words && message[number_end] == '=') words = number_end + 1;
    if (is_last) at = found.end - 1;
    is_closed = is_closed || is_last;
  }
  found.tail = message.substr(begin, found.end - begin);
  return found.cases.empty() || !is_closed ? std::nullopt : std::optional(found);
}

// False if the message has too many cases, or if '#' would get another meaning.
bool Message::expand(const std::string& message, const std::vector<Choice>& choices, size_t repeated) {
  const std::optional<Selection> found = is_wiki_ ? find_wiki(message) : find_icu(message);
  if (!found) {
    add_leaf(message);
    return ++leaves_ <= kMostCases;
  }
  const std::string before = message.substr(0, found->begin), after = message.substr(found->end);
  if (choices.size() + repeated == kMostSelections) return false;
  const auto with_case = [&](size_t i) { return fmt::format("{}{}{}", before, found->cases[i].second, after); };
  const std::string syntax = found->syntax();
  for (auto choice = choices.rbegin(); choice != choices.rend(); ++choice) {
    if (choice->syntax == syntax) return expand(with_case(choice->number), choices, repeated + 1);
    if (choice->is_plural && message.find('#', found->begin) < found->end) break;  // '#' would be another number
  }
  if (found->is_plural && (has_number_sign(before) || has_number_sign(after))) return false;
  has_cases_ = !is_wiki_;
  for (size_t i = 0; i < found->cases.size(); ++i) {
    between_.back() += found->cases[i].first;
    std::vector<Choice> with_this = choices;
    with_this.push_back({syntax, i, found->is_plural});
    if (!expand(with_case(i), with_this, repeated)) return false;
  }
  between_.back() += found->tail;
  return true;
}

// Each line of a message of MediaWiki has cases of its own.
void Message::add_wiki_lines(const std::string& message) {
  is_wiki_ = true;
  for (size_t at = 0; at <= message.size();) {
    size_t end = at;
    for (size_t depth = 0; end < message.size() && (depth > 0 || message[end] != '\n'); ++end) {
      if (message[end] == '{') ++depth;
      if (message[end] == '}' && depth > 0) --depth;
    }
    const std::string line = message.substr(at, end - at);
    const size_t texts = texts_.size(), bytes = between_.back().size();
    leaves_ = 0;
    if (line.size() > kMostBytes || !expand(line, {})) {
      texts_.resize(texts);
      between_.resize(texts + 1);
      between_.back().resize(bytes);
      add_leaf(line);
    }
    if (end < message.size()) between_.back() += '\n';
    at = end + 1;
  }
}

void Message::add_leaf(std::string_view text) {
  TextMarkup markup;
  const std::string words = has_cases_ || doubles_apostrophes_ ? undoubled(text, '\'') : std::string(text);
  const auto bytes = [&](size_t from, size_t to) { return std::string_view(words).substr(from, to - from); };
  size_t begin = 0, open_tag = 0;
  std::optional<WikiLink> open_link;
  for (size_t at = 0; at < words.size();) {
    const std::string_view here = std::string_view(words).substr(at);
    const bool is_number = has_cases_ && here.front() == '#';
    const auto link = open_link ? std::nullopt : wiki_link(words, at);
    size_t length = is_number ? 1 : has_numbered_arguments_ ? numbered_argument_length(words, at) : 0;
    if (length == 0) length = reference_length(words, at);
    size_t end = at + length;
    if (open_link && at == open_link->words_end) end = open_link->end;
    if (link) end = link->words < link->words_end ? link->words : link->end;
    if (open_link && at < open_link->words_end) end = std::min(end, open_link->words_end);
    if (end == at) {
      ++at;
      continue;
    }
    markup.add_text(bytes(begin, at));
    if (open_link && at == open_link->words_end) {
      markup.close(open_tag, bytes(at, end));
      open_link.reset();
    } else if (link && link->words < link->words_end) {
      open_tag = markup.open(bytes(at, end));
      open_link = link;
    } else {
      markup.keep_word(bytes(at, end));
    }
    begin = at = end;
  }
  markup.add_text(std::string_view(words).substr(begin));
  if (!markup.has_letters()) {
    between_.back() += text;
    return;
  }
  texts_.push_back(std::move(markup));
  between_.emplace_back();
}

std::vector<std::string> Message::texts() const {
  std::vector<std::string> texts;
  for (const TextMarkup& text : texts_) texts.push_back(text.text());
  return texts;
}

std::string Message::with(const std::vector<std::string>& translations) const {
  const auto encode = [this](std::string_view words, std::string_view) {
    return has_cases_ || doubles_apostrophes_ ? doubled(words, '\'') : std::string(words);
  };
  std::string message = between_.front();
  for (size_t i = 0; i < texts_.size(); ++i) message += texts_[i].written(translations[i], encode) + between_[i + 1];
  return message;
}

}  // namespace v0
}  // namespace transmute

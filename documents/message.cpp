// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/ascii_text.h>
#include <transmute/documents/message.h>

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <regex>

namespace transmute {
inline namespace v0 {

// A plural or a selection of ICU within a message.
struct Message::Selection {
  size_t begin = 0, end = 0;                               // places of its braces
  std::string head;                                        // "{n, plural, offset:1 "
  std::vector<std::pair<std::string, std::string>> cases;  // "one " and what is in its braces
  bool is_plural = false;

  // Its bytes without the words of its cases and without white space.
  std::string syntax() const {
    std::string bytes = head;
    for (const auto& [key, words] : cases) bytes += key + '{';
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

constexpr size_t kMostBytes = 10000, kMostCases = 40, kMostSelections = 4;  // limits of a message that is expanded
constexpr std::string_view kMessageSpace = " \t\r\n";

// After the brace that closes the one at `at`; npos without one.
size_t closing_brace(std::string_view text, size_t at) {
  size_t depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '{') ++depth;
    if (text[at] == '}' && --depth == 0) return at + 1;
  }
  return std::string_view::npos;
}

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

// The first one from `at` on.
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
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' || c == ':';
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

// The bytes of what refers to another message or argument and is not protected anyway: $t(key) and __name__ of i18next,
// @:key and @:(key) of Vue, $NAME$ of browser extensions, and of braces in apostrophes. 0 where there is none.
size_t reference_length(std::string_view text, size_t at) {
  if (const size_t length = quoted_braces_length(text, at); length > 0) return length;
  if (const size_t length = underlined_name_length(text, at); length > 0) return length;
  constexpr size_t kMostReference = 1000;  // bytes, so that many without an end take linear time
  const std::string_view here = text.substr(at, kMostReference);
  const auto end_of_name = [&](size_t from) {
    return static_cast<size_t>(
        std::find_if_not(here.begin() + static_cast<int64_t>(from), here.end(), is_message_name_byte) - here.begin());
  };
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
    return c == '{' || c == '}' || std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           static_cast<unsigned char>(c) >= 0x80;
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
  const bool has_arguments = syntax == MessageSyntax::java && [&] {
    for (size_t at = message.find('{'); at != std::string::npos; at = message.find('{', at + 1))
      if (at + 1 < message.size() && std::isdigit(static_cast<unsigned char>(message[at + 1])) != 0) return true;
    return false;
  }();
  const bool is_sound = !has_quotes(message);
  doubles_apostrophes_ = (has_arguments && is_sound) || doubles_apostrophes(message);
  const bool may_expand = is_sound && message.size() <= kMostBytes;
  if (!may_expand && !next_head(message, 0)) {
    add_leaf(message);
  } else if (!may_expand || !expand(message, {})) {
    has_cases_ = true;
    between_ = {message};
    texts_.clear();
  }
}

// False where the message has too many cases, or where '#' would get another meaning.
bool Message::expand(const std::string& message, const std::vector<Choice>& choices, size_t repeated) {
  const auto find_selection = [&]() -> std::optional<Selection> {
    for (auto head = next_head(message, 0); head; head = next_head(message, head->begin + 1)) {
      Selection found;
      found.begin = head->begin;
      found.is_plural = head->is_plural;
      found.end = closing_brace(message, head->begin);
      if (found.end == std::string::npos) continue;
      found.head = message.substr(head->begin, head->end - head->begin);
      for (size_t at = head->end; true;) {
        const size_t open = message.find_first_of("{}", at);
        if (open + 1 == found.end && !found.cases.empty()) {
          found.cases.emplace_back(message.substr(at, open - at), "");  // white space before the last brace
          return found;
        }
        const size_t close = message[open] == '{' ? closing_brace(message, open) : std::string::npos;
        if (close == std::string::npos || close >= found.end) break;
        found.cases.emplace_back(message.substr(at, open - at), message.substr(open + 1, close - open - 2));
        at = close;
      }
    }
    return std::nullopt;
  };
  const std::optional<Selection> found = find_selection();
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
    if (choice->is_plural && message.find('#', found->begin) < found->end) break;  // the number would be another one
  }
  if (found->is_plural && (has_number_sign(before) || has_number_sign(after))) return false;
  has_cases_ = true;
  between_.back() += found->head;
  for (size_t i = 0; i + 1 < found->cases.size(); ++i) {
    between_.back() += found->cases[i].first + '{';
    std::vector<Choice> with_this = choices;
    with_this.push_back({syntax, i, found->is_plural});
    if (!expand(with_case(i), with_this, repeated)) return false;
    between_.back() += '}';
  }
  between_.back() += found->cases.back().first + '}';
  return true;
}

void Message::add_leaf(std::string_view text) {
  TextMarkup markup;
  const std::string words = has_cases_ || doubles_apostrophes_ ? undoubled(text, '\'') : std::string(text);
  size_t begin = 0;
  for (size_t at = 0; at < words.size();) {
    const bool is_number = has_cases_ && words[at] == '#';
    const size_t length = is_number ? 1 : reference_length(words, at);
    if (length > 0) {
      markup.add_text(std::string_view(words).substr(begin, at - begin));
      markup.keep_word(std::string_view(words).substr(at, length));
      begin = at + length;
    }
    at += std::max<size_t>(length, 1);
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
  const auto encode = [this](std::string_view words, bool) {
    return has_cases_ || doubles_apostrophes_ ? doubled(words, '\'') : std::string(words);
  };
  std::string message = between_.front();
  for (size_t i = 0; i < texts_.size(); ++i) message += texts_[i].written(translations[i], encode) + between_[i + 1];
  return message;
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
// Markdown. md4c tells what a paragraph consists of and where its words are; the markup is what is between them.
#include <transmute/common/ascii_case.h>
#include <transmute/common/text_file.h>
#include <transmute/documents/file_formats.h>
#include <transmute/documents/html_references.h>
#include <transmute/documents/html_tokens.h>
#include <transmute/documents/markdown_dialects.h>
#include <transmute/documents/markdown_events.h>
#include <transmute/documents/paired_marks.h>
#include <transmute/documents/span_file.h>
#include <transmute/documents/xml_text.h>
#include <transmute/text/protected_spans.h>
#include <transmute/text/sentences.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

using EventKind = MarkdownEvent::Kind;
constexpr size_t kNoPlace = std::string::npos;

bool is_formula(MD_SPANTYPE span) {
  return span == MD_SPAN_LATEXMATH || span == MD_SPAN_LATEXMATH_DISPLAY;
}

bool is_alphanumeric(char c) {
  return is_ascii_alphanumeric(c) || static_cast<unsigned char>(c) >= 0x80;
}

bool is_punctuation(char c) {
  return std::ispunct(static_cast<unsigned char>(c)) != 0;
}

// Tells whether names with marks that begin no emphasis, such as "*.txt", have a backslash or are as in the source.
enum class MarkdownNames { escaped, as_in_source };

// True if the source has a name without a backslash and apart from other words.
bool has_name(std::string_view source, std::string_view name) {
  const auto is_apart = [&](size_t at) {
    return at >= source.size() ||
           (!is_alphanumeric(source[at]) && std::string_view("\\*_`").find(source[at]) == kNoPlace);
  };
  for (size_t at = source.find(name); at != kNoPlace; at = source.find(name, at + 1))
    if (is_apart(at - 1) && is_apart(at + name.size())) return true;
  return false;
}

// For the first byte of an address, a path, an identifier, a placeholder, or one of such names that the source has
// without a backslash, the place after it; 0 for other bytes.
std::vector<size_t> ends_of_addresses(std::string_view words, std::string_view source, MarkdownNames names) {
  constexpr size_t kMostBytes = 1 << 14;  // bytes of the source; a limit, so that many addresses take linear time
  source = source.substr(0, kMostBytes);
  std::vector<size_t> ends(words.size());
  for (size_t begin = 0; names == MarkdownNames::as_in_source && begin < words.size();) {
    const size_t space = std::min(words.find(' ', begin), words.size());
    const std::string_view word = words.substr(begin, space - begin);
    const size_t first = std::min(word.find_first_not_of("(\"'"), word.size());
    const std::string_view name = word.substr(first, word.find_last_not_of(".,:;!?)\"'") + 1 - first);
    if (name.find_first_of("*_") != kNoPlace && name.find_first_of("\\`<>[]|&~$") == kNoPlace && has_letters(name) &&
        has_name(source, name))
      ends[begin + first] = begin + first + name.size();
    begin = space + 1;
  }
  for (const ProtectedSpan& span : protected_spans(std::string(words))) {
    const bool is_address = span.kind == ProtectedKind::address || span.kind == ProtectedKind::path ||
                            span.kind == ProtectedKind::identifier || span.kind == ProtectedKind::placeholder ||
                            span.kind == ProtectedKind::argument;
    if (is_address && ends[span.begin] == 0 &&
        source.find(words.substr(span.begin, span.length)) != std::string_view::npos)
      ends[span.begin] = span.begin + span.length;
  }
  return ends;
}

// True for one piece of code with its backticks and nothing around it.
bool is_code(std::string_view text) {
  const std::string_view marks = text.substr(0, text.find_first_not_of('`'));
  return !marks.empty() && marks.size() < text.size() && text.find(marks, marks.size()) == text.size() - marks.size();
}

// True for the name of a file, and for what programs for slides read: "bg left:40%", "w:400 center", "fit".
bool is_of_program(std::string_view text) {
  const std::string_view first = text.substr(0, text.find(' '));
  const size_t colon = std::min(first.find(':'), first.size());
  const bool is_setting = colon > 0 && first.find_first_of(".0123456789", colon) == colon + 1 &&
                          first.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == colon;
  return is_setting || first == "bg" ||
         (first == text && (lists("center fit inline left right", std::string(text)) || is_made_description(text)));
}

// A text to translate: a paragraph, a line of it that ends with a break, or a cell.
struct MarkdownText {
  size_t begin, end;
  TextMarkup markup = {};
  std::string_view source = {};
  bool begins_line = false;         // true if it begins where a list could, or the source has it so
  std::string escaped_signs = {};   // signs to write with a backslash: '|' in a cell, those that the text has so
  std::string unlinked_signs = {};  // '(', '[', and '<' for markup, that are after a bracket that ends no link
};

// The place of the sign for which words at the beginning of a line would be a list, a heading, a quotation or a rule;
// npos if they would be none.
size_t block_sign(std::string_view words) {
  constexpr size_t kLevels = 6, kMostDigits = 9;
  const auto ends_at = [&](size_t at) {
    return at == words.size() || std::isspace(static_cast<unsigned char>(words[at]));
  };
  const auto length_of = [&](const char* signs) { return std::min(words.find_first_not_of(signs), words.size()); };
  const size_t digits = length_of("0123456789"), hashes = length_of("#"), marks = length_of(">-+*");
  if (digits > 0 && digits <= kMostDigits && digits < words.size() && (words[digits] == '.' || words[digits] == ')'))
    return ends_at(digits + 1) ? digits : kNoPlace;
  const bool is_heading = hashes > 0 && hashes <= kLevels && ends_at(hashes);
  const bool is_list = marks > 0 && (words.front() == '>' || ends_at(1));
  return is_heading || is_list || length_of("-=*_ ") == words.size() ? 0 : kNoPlace;
}

// True for "1\. A title".
bool has_escaped_block_sign(std::string_view source) {
  const size_t sign = source.find('\\');
  return sign != kNoPlace && block_sign(std::string(source.substr(0, sign)).append(source.substr(sign + 1))) == sign;
}

// Words as Markdown writes them: what would be markup and is none in the text has a backslash before it. Addresses stay
// as the source has them.
// @param before_words what is written before them
std::string markdown_escaped(std::string_view words, std::string_view before_words, const MarkdownText& text,
                             MarkdownNames names) {
  const auto has = [](std::string_view signs, char sign) { return signs.find(sign) != std::string_view::npos; };
  const size_t line_end = before_words.find_last_not_of(" \t>");  // of a line within markup
  const bool begins_line =
      before_words.empty() ? text.begins_line : line_end != kNoPlace && before_words[line_end] == '\n';
  const size_t in_block = begins_line ? block_sign(words) : kNoPlace;
  std::string result;
  const std::vector<size_t> addresses = ends_of_addresses(words, text.source, names);
  for (size_t i = 0; i < words.size(); ++i) {
    if (addresses[i] > 0 && i != in_block) {
      result += words.substr(i, addresses[i] - i);
      i = addresses[i] - 1;
      continue;
    }
    const char c = words[i], before = i > 0 ? words[i - 1] : ' ', after = i + 1 < words.size() ? words[i + 1] : ' ';
    const bool is_apart = before == ' ' && after == ' ' && i > 0 && i + 1 < words.size();
    const bool is_word_sign = c == '_' && is_alphanumeric(before) && is_alphanumeric(after);
    const bool is_markup = i == in_block || (has("*_`", c) && !is_word_sign && !is_apart) ||
                           (c == '\\' && (is_punctuation(after) || i + 1 == words.size())) ||
                           (c == '<' && (begins_markup(words, i) || is_ascii_letter(after))) ||
                           (c == '~' && (before == '~' || after == '~')) ||
                           (c == ']' && i + 1 == words.size() && !has(words, '[') && !has(text.unlinked_signs, '<')) ||
                           (c == ']' && (after == '(' || after == '[') && !has(text.unlinked_signs, after)) ||
                           has(text.escaped_signs, c) || (c == '&' && reference_at(words, i).length > 0);
    if (is_markup) result += '\\';
    result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result;
}

// The length of text that a parser of Markdown takes for words, but that means something to other programs: a
// footnote, the kind of a note, attributes, and tags of a site generator. 0 if there is none.
size_t extension_length(std::string_view words, size_t at, bool is_first) {
  constexpr size_t kMostBytes = 4096;  // limit, so that many without an end take linear time
  const std::string_view here = words.substr(at, kMostBytes);
  const auto up_to = [&](std::string_view closing) {
    const size_t end = here.find(closing);
    return end == std::string_view::npos ? 0 : end + closing.size();
  };
  if (here.substr(0, 2) == "[^") {
    const size_t length = up_to("]");
    return length > 0 && here.substr(length, 1) == ":" ? length + 1 : length;
  }
  if (is_first && here.substr(0, 2) == "[!") return up_to("]");
  const bool is_variable = here.substr(0, 2) == "{{" && here.substr(2, 1).find_first_of("<%#") != 0;
  if (const size_t length = is_variable ? 0 : site_tag_length(here); length > 0) return length;
  return attributes_length(words, at);
}

// The length of a role of Sphinx or MyST, or an icon of MkDocs, at the end of words: ":cite:", "{cite}". 0 if there
// is none.
size_t role_length(std::string_view words) {
  constexpr size_t kLongest = 100;
  words = words.substr(words.size() - std::min(words.size(), kLongest));
  const bool is_braced = !words.empty() && words.back() == '}';
  const auto is_of_name = [](char c) { return is_alphanumeric(c) || std::string_view(":-_.+").find(c) != kNoPlace; };
  size_t begin = words.size() - (is_braced ? 1 : 0);
  while (begin > 0 && is_of_name(words[begin - 1])) --begin;
  if (is_braced && begin > 0) --begin;
  const std::string_view role = words.substr(begin);
  const bool has_name = role.size() > 2 && is_alphanumeric(role[1]);
  const bool has_marks = is_braced ? role.front() == '{' : has_name && role.front() == ':' && role.back() == ':';
  return has_name && has_marks ? role.size() : 0;
}

// True for a line whose end other programs see: the kind of a note, a tag of a site generator, and attributes.
bool stands_alone(std::string_view line) {
  const bool is_note = line.substr(0, 3) == ":::" || (line.substr(0, 2) == "[!" && line.substr(2, 1) != "[");
  return is_note ||
         (line.substr(0, 1) == "{" && extension_length(line, 0, false) == line.find_last_not_of(" \t\r") + 1);
}

bool begins_definition(std::string_view line) {
  return line.substr(0, 2) == ": ";
}

// True for an item of a list that Pandoc knows: "(@) ", "#. ", "a) " and "(a) ".
bool begins_item_of_pandoc(std::string_view line) {
  const size_t first = line.substr(0, 1) == "(" ? 1 : 0;
  const std::string_view label = line.substr(first, 1), end = line.substr(std::min(first + 1, line.size()), 2);
  return line.substr(0, 3) == "#. " || line.substr(0, 2) == "(@" ||
         (!label.empty() && is_ascii_alphanumeric(label.front()) && end == ") ");
}

// True for a line that other programs read as one although a parser of Markdown joins it to the line before: a
// footnote, attributes, a definition, an item of a list, a row of a table, and those that stand alone.
bool is_line_of_extension(std::string_view line) {
  const size_t length = extension_length(line, 0, false);
  return line.substr(0, 2) == "{:" || begins_definition(line) || begins_item_of_pandoc(line) ||
         line.substr(0, 1) == "|" || stands_alone(line) ||
         (line.substr(0, 2) == "[^" && length > 0 && line[length - 1] == ':');
}

// True for the line below the headings of a table: "-|:-:". MD4C before 0.5 wants three signs in each cell.
bool is_table_underline(std::string_view line) {
  return line.find_first_not_of("-:| \t\r") == kNoPlace && line.find('|') != kNoPlace && line.find('-') != kNoPlace;
}

// Reads the markup of a paragraph. What does not have the expected bytes makes it unreadable: it then stays.
class MarkdownReader {
 public:
  MarkdownReader(std::string_view content, const MarkdownParagraph& paragraph)
      : content_(content), events_(paragraph.events), is_cell_(paragraph.is_cell) {}

  // The texts; none if the paragraph has nothing to translate, or is unreadable.
  std::vector<MarkdownText> read() {
    if (!find_begin()) return {};
    find_title();
    const size_t second = next_line(content_.find('\n', end_));
    is_table_ = is_table_underline(line_at(second));
    is_row_ = is_table_ || (byte(end_) == '|' && byte(second) == '|');
    pair_html();
    has_images_alone_ = has_images_alone();
    has_sentence_lines_ = has_sentence_lines();
    for (i_ = 0; i_ < events_.size(); ++i_)
      if (!read_event()) return {};
    if (!open_.empty()) return {};
    end_text(end_);
    return std::move(texts_);
  }

 private:
  struct Open {
    size_t tag, begin;  // number of its tag, and where its markup begins
    std::string marker;
  };

  // Returns the place after the line end at `line_end` and the marks of quotations.
  size_t next_line(size_t line_end) const {
    return line_end == kNoPlace ? kNoPlace
                                : std::min(content_.find_first_not_of(" \t>", line_end + 1), content_.size());
  }
  std::string_view line_at(size_t begin) const {
    const std::string_view rest = content_.substr(std::min(begin, content_.size()));
    return rest.substr(0, rest.find('\n'));
  }
  char byte(size_t at) const { return at < content_.size() ? content_[at] : '\0'; }
  std::string_view between(size_t from, size_t to) const { return content_.substr(from, to - from); }
  size_t run_length(size_t at) const {
    return std::min(content_.find_first_not_of(byte(at), at), content_.size()) - at;
  }

  // The beginning of the first event with a known place, and of the markup before it.
  bool find_begin() {
    const auto first = std::find_if(events_.begin(), events_.end(),
                                    [](const MarkdownEvent& event) { return event.begin != kNoPlace; });
    if (first == events_.end()) return false;
    size_t at = first->begin;
    if (first->kind == EventKind::words && at > 0 && content_[at - 1] == '\\') --at;
    for (auto event = first; event != events_.begin();) {
      --event;
      if (event->kind != EventKind::open || at == 0) return false;
      size_t length = event->span == MD_SPAN_STRONG || event->span == MD_SPAN_IMG ? 2 : 1;
      if (event->span == MD_SPAN_CODE || is_formula(event->span) || event->span == MD_SPAN_DEL) {
        while (at > 0 && event->span == MD_SPAN_CODE && std::isspace(static_cast<unsigned char>(content_[at - 1])))
          --at;
        const size_t last = at == 0 ? kNoPlace : content_.find_last_not_of(content_[at - 1], at - 1);
        length = at - (last == kNoPlace ? 0 : last + 1);
      }
      if (length > at) return false;
      at -= length;
    }
    text_.begin = end_ = at;
    return true;
  }

  // Skips what is before the title of an admonition, which the parser takes for an item of a list.
  void find_title() {
    constexpr size_t kMarks = 4;
    if (text_.begin < kMarks) return;
    const std::string_view line = content_.substr(text_.begin - kMarks);
    const size_t length = bytes_before_title(line.substr(0, line.find('\n')));
    is_title_ = length > 0;
    if (is_title_) first_word_ = text_.begin - kMarks + length;
  }

  // Ends the text, without the spaces around it. The next one begins at `next`.
  void end_text(size_t next) {
    const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
    for (; !words_.empty() && is_blank(words_.back()) && is_blank(content_[end_ - 1]); --end_) words_.pop_back();
    if (is_title_ && !words_.empty() && byte(end_ - 1) == '"') words_.pop_back(), --end_;
    is_title_ = false;
    add_words();
    text_.end = end_;
    text_.source = between(text_.begin, end_);
    text_.begins_line = begins_block(text_.begin) || has_escaped_block_sign(text_.source);
    if (is_cell_ || is_row_) text_.escaped_signs += '|';
    note_unlinked_signs();
    const bool is_container = content_.substr(text_.begin, 3) == ":::";  // in an item of a list or a cell
    if (text_.markup.has_letters() && !is_container && !is_of_program_) texts_.push_back(std::move(text_));
    text_ = {next, next};
    is_first_ = true;
    is_of_program_ = false;
    end_ = next;
  }
  void note_unlinked_signs() {
    if (between(text_.begin, end_).find("\\]") != kNoPlace) return;
    const std::string words = text_.markup.text() + '<';
    for (const char* sign : {"](", "][", "]<"})
      if (words.find(sign) != std::string::npos) text_.unlinked_signs += sign[1];
  }
  bool is_empty() const { return end_ == text_.begin; }
  // True if a list could begin at `at`: after nothing but marks of lists, quotations and definitions.
  bool begins_block(size_t at) const {
    const size_t last = at == 0 ? kNoPlace : content_.find_last_not_of(" \t>", at - 1);
    return last == kNoPlace || std::string_view("\n-+*.):").find(content_[last]) != kNoPlace;
  }

  // True if the paragraph has images, and no words beside them but attributes.
  bool has_images_alone() const {
    bool has_image = false, has_words = false;
    size_t open_images = 0;
    for (const MarkdownEvent& event : events_) {
      if (event.kind == EventKind::open && event.span == MD_SPAN_IMG) ++open_images, has_image = true;
      if (event.kind == EventKind::close && event.span == MD_SPAN_IMG) --open_images;
      if (event.kind != EventKind::words || event.begin == kNoPlace || open_images > 0) continue;
      const size_t begin = event.begin + attributes_length(content_, event.begin);
      has_words = has_words || (begin < event.end && has_letters(between(begin, event.end)));
    }
    return has_image && !has_words;
  }

  // True if there are several lines, each of which ends a sentence.
  bool has_sentence_lines() const {
    size_t end = end_;
    for (const MarkdownEvent& event : events_)
      if (event.begin != kNoPlace) end = std::max(end, event.end);
    std::vector<std::string> lines;
    for (size_t line = end_; line < end; line = next_line(content_.find('\n', line))) {
      lines.emplace_back(line_at(line));
      std::string& words = lines.back();
      words.erase(std::remove_if(words.begin(), words.end(), [](char c) { return c == '*' || c == '_'; }), words.end());
      words.erase(words.find_last_not_of(" \t\r") + 1);
    }
    if (lines.size() < 2) return false;
    const SentenceSplitter splitter;
    for (size_t i = 0; i < lines.size(); ++i) {
      const auto sentences = splitter.spans(lines[i] + ' ' + lines[(i + 1) % lines.size()]);
      const auto ends_here = [&](const auto& sentence) { return sentence.second == lines[i].size(); };
      if (std::none_of(sentences.begin(), sentences.end(), ends_here)) return false;
    }
    return true;
  }

  // Tells which tags of HTML end which.
  void pair_html() {
    partners_.assign(events_.size(), kNoPlace);
    PairedMarks marks;
    for (size_t i = 0; i < events_.size(); ++i) {
      if (events_[i].kind == EventKind::open) marks.enter();
      if (events_[i].kind == EventKind::close) marks.leave();  // tags that the span does not close belong to no pair
      if (events_[i].kind != EventKind::html || events_[i].begin == kNoPlace) continue;
      const std::string name = element_name(html(i));
      if (!is_end_tag(i)) {
        if (!name.empty()) marks.begin(name, i);
      } else if (const auto partner = marks.end(name)) {
        partners_[*partner] = i;
        partners_[i] = *partner;
      }
    }
  }
  std::string_view html(size_t i) const { return between(events_[i].begin, events_[i].end); }
  bool is_end_tag(size_t i) const { return html(i).substr(0, 2) == "</"; }

  bool read_event() {
    const MarkdownEvent& event = events_[i_];
    switch (event.kind) {
      case EventKind::words:
        return read_words(event);
      case EventKind::reference:
        if (event.begin != end_) return false;
        words_ += with_references_decoded(between(event.begin, event.end));
        end_ = event.end;
        return true;
      case EventKind::html:
        return read_html(event);
      case EventKind::soft_break:
      case EventKind::hard_break:
        return read_break(event.kind == EventKind::hard_break);
      case EventKind::open:
        return open_span(event.span);
      case EventKind::close:
        return close_span();
      default:
        return false;  // within code, which is read as one piece
    }
  }

  bool read_words(const MarkdownEvent& event) {
    if (event.begin == kNoPlace) return false;
    const bool is_escaped = event.begin == end_ + 1 && byte(end_) == '\\';
    if (is_escaped) ++end_;
    if (event.begin != end_) return false;
    if (is_escaped && std::string_view("#$*<=@^_{|}~").find(byte(end_)) != kNoPlace) text_.escaped_signs += byte(end_);
    if (end_ < first_word_ && is_empty()) text_.begin = end_ = std::min(first_word_, event.end);
    if (is_row_ && !is_escaped && open_.empty()) {
      const std::string_view line = content_.substr(0, event.end);
      for (size_t bar = line.find('|', end_); bar != kNoPlace; bar = line.find('|', end_)) {
        add_to_words(bar);
        end_text(bar + 1);
      }
    }
    add_to_words(event.end);
    return true;
  }

  void add_to_words(size_t to) {
    if (is_empty()) end_ = text_.begin = std::min(content_.find_first_not_of(" \t", end_), to);
    words_ += between(end_, to);
    end_ = to;
  }

  void add_words() {
    std::replace(words_.begin(), words_.end(), '\t', ' ');  // in Markdown, a tab ends no text
    const std::string_view words = words_;
    size_t from = 0;
    for (size_t at = 0; at < words.size();) {
      const size_t length = extension_length(words, at, is_first_ && at == 0);
      if (length > 0) {
        const bool are_attributes = attributes_length(words, at) > 0;
        const size_t begin = at - (are_attributes ? role_length(words.substr(from, at - from)) : 0);
        text_.markup.add_text(words.substr(from, begin - from));
        const std::string_view kept = words.substr(begin, at + length - begin);
        if (are_attributes && at == 0) {
          text_.markup.keep_attached(kept);
        } else {
          text_.markup.keep(kept);
        }
        from = at + length;
      }
      at += std::max<size_t>(length, 1);
    }
    text_.markup.add_text(words.substr(from));
    is_first_ = is_first_ && words_.empty();
    words_.clear();
  }

  bool read_html(const MarkdownEvent& event) {
    constexpr const char* kUntranslated = "code kbd samp var pre math svg script style";
    if (event.begin != end_) return false;
    add_words();
    const size_t partner = partners_[i_];
    if (partner == kNoPlace && element_name(html(i_)) == "br") {
      end_line(event.end);
      return true;
    }
    if (partner == kNoPlace) {
      text_.markup.keep(between(event.begin, event.end));
    } else if (partner < i_) {
      if (open_.empty() || open_.back().marker != element_name(html(i_))) return false;
      text_.markup.close(open_.back().tag, html(i_));
      open_.pop_back();
    } else if (lists(kUntranslated, element_name(html(i_)))) {
      text_.markup.keep_word(between(event.begin, events_[partner].end));
      i_ = partner;
    } else {
      open_.push_back({text_.markup.open(html(i_)), event.begin, element_name(html(i_))});
    }
    end_ = events_[i_].end;
    return true;
  }

  // A translation has no line breaks, but for those that a reader or another program sees.
  bool read_break(bool is_hard) {
    const size_t line_end = content_.find('\n', end_);
    if (line_end == kNoPlace || content_.find_first_not_of(" \t\r\\", end_) != line_end) return false;
    const size_t next = next_line(line_end);
    const bool has_own_line = is_row_ || is_title_ || has_sentence_lines_ || stands_alone(between(text_.begin, end_)) ||
                              is_line_of_extension(line_at(next));
    if (is_hard || is_empty() || (has_own_line && open_.empty())) {
      end_line(next);
      is_row_ = byte(next) == '|' || (is_table_ && line_at(next).find('|') != kNoPlace);
      if (begins_definition(content_.substr(next, 2))) first_word_ = next + 1;
      return true;
    }
    if (words_.empty()) words_ += ' ';
    if (words_.back() != ' ') words_ += space_between(words_, std::string(content_.substr(next, U8_MAX_LENGTH)));
    end_ = next;
    return true;
  }

  // Each line is a text of its own, but where a span of markup reaches beyond it.
  void end_line(size_t next) {
    if (open_.empty()) return end_text(next);
    add_words();
    text_.markup.keep_line_break(between(end_, next));
    end_ = next;
  }

  bool open_span(MD_SPANTYPE span) {
    const bool is_kept_image = span == MD_SPAN_IMG && !has_images_alone_;  // it is within a sentence
    if (span == MD_SPAN_CODE || is_formula(span) || is_kept_image || is_link_of_code(span)) return read_kept(span);
    size_t length = span == MD_SPAN_STRONG || span == MD_SPAN_IMG ? 2 : 1;
    if (span == MD_SPAN_DEL) length = run_length(end_);
    if (span == MD_SPAN_A && byte(end_) == '<') return read_to(content_.find('>', end_));
    if (span == MD_SPAN_A && byte(end_) == '[' && byte(end_ + 1) == '^')
      return read_to(closing_bracket(end_, end_ + kMostLabel));
    const std::string marker(between(end_, std::min(end_ + length, content_.size())));
    const std::string_view expected = span == MD_SPAN_A ? "[" : span == MD_SPAN_DEL ? "~=" : "*_";
    const bool is_run = marker.size() == length && marker.find_first_not_of(marker[0]) == std::string::npos &&
                        expected.find(marker[0]) != std::string_view::npos;
    if (span == MD_SPAN_IMG ? marker != kImageMark : !is_run) return false;
    add_words();
    open_.push_back({text_.markup.open(marker), end_, marker});
    end_ += length;
    return true;
  }

  // True for [`pkg.Class`][], which has its address by the code alone.
  bool is_link_of_code(MD_SPANTYPE span) const {
    if (span != MD_SPAN_A || byte(end_) != '[') return false;
    const size_t closing = closing_bracket(end_, end_ + kMostLabel);
    return closing != kNoPlace && content_.substr(closing, kEmptyLabel.size()) == kEmptyLabel &&
           is_code(between(end_ + 1, closing));
  }

  bool close_span() {
    if (open_.empty()) return false;
    add_words();
    const Open span = open_.back();
    open_.pop_back();
    std::string closing = span.marker;
    if (span.marker == "[" || span.marker == kImageMark) {
      const size_t after = link_end(end_);
      if (after == kNoPlace) return false;
      closing = between(end_, after);
      const std::string_view label = between(span.begin + span.marker.size(), end_);
      const bool is_own_label = closing == "]" || closing == kEmptyLabel;
      is_of_program_ = is_of_program_ || (span.marker == kImageMark && is_of_program(label));
      if (is_own_label) closing = std::string("][") + std::string(label) + ']';
      end_ = after;
    } else {
      if (content_.substr(end_, closing.size()) != closing) return false;
      end_ += closing.size();
    }
    text_.markup.close(span.tag, closing);
    if (has_images_alone_ && open_.empty()) end_text(end_);  // each image has a text of its own
    return true;
  }

  // An address, or a footnote, which ends with the byte at `last`.
  bool read_to(size_t last) {
    while (i_ < events_.size() && events_[i_].kind != EventKind::close) ++i_;
    if (last == kNoPlace || i_ == events_.size()) return false;
    add_words();
    text_.markup.keep(between(end_, last + 1));
    end_ = last + 1;
    return true;
  }

  // Code, with or without a link, a formula, or an image with the text that stands for it.
  bool read_kept(MD_SPANTYPE span) {
    const size_t from = end_;
    size_t depth = 0, last = end_;
    for (; i_ < events_.size(); ++i_) {
      if (events_[i_].kind == EventKind::open) ++depth;
      if (events_[i_].kind == EventKind::close && --depth == 0) break;
      if (events_[i_].begin != kNoPlace) last = events_[i_].end;
    }
    if (i_ == events_.size()) return false;
    if (span == MD_SPAN_IMG) {
      const size_t closing = closing_bracket(from + 1, last + kMostLabel);
      if (content_.substr(from, 2) != "![" || closing == kNoPlace || closing < last) return false;
      end_ = link_end(closing);
    } else if (span == MD_SPAN_A) {
      end_ = closing_bracket(from, from + kMostLabel) + kEmptyLabel.size();
    } else {
      const char mark = byte(from);
      const size_t length = run_length(from);
      if (mark != (span == MD_SPAN_CODE ? '`' : '$')) return false;
      size_t at = std::max(last, from + length);
      while (at < content_.size() && (content_[at] != mark || run_length(at) != length))
        at += content_[at] == mark ? run_length(at) : 1;
      end_ = at + length;
    }
    if (end_ == kNoPlace || end_ > content_.size()) return false;
    const size_t role = span == MD_SPAN_CODE ? length_of_role_before(from) : 0;
    words_.resize(words_.size() - role);
    add_words();
    if (span == MD_SPAN_IMG) {
      text_.markup.keep(between(from, end_));
    } else {
      text_.markup.keep_word(between(from - role, end_));
    }
    return true;
  }

  // The length of a role before the code at `at`, which is the last of the words.
  size_t length_of_role_before(size_t at) const {
    const std::string_view role = std::string_view(words_).substr(words_.size() - role_length(words_));
    const bool is_written_so = role.size() <= at && content_.substr(at - role.size(), role.size()) == role;
    return is_written_so ? role.size() : 0;  // a reference such as &lt; is not
  }

  // The bracket that closes the one at `at` and is before `limit`.
  size_t closing_bracket(size_t at, size_t limit) const {
    size_t depth = 0;
    for (; at < std::min(limit, content_.size()); ++at) {
      if (content_[at] == '\\') {
        ++at;
      } else if (content_[at] == '[') {
        ++depth;
      } else if (content_[at] == ']' && --depth == 0) {
        return at;
      }
    }
    return kNoPlace;
  }

  // Returns the place after the destination, the label or the attributes that follow the bracket at `at`.
  size_t link_end(size_t at) {
    if (byte(at) != ']') return kNoPlace;
    while (placed_ < events_.size() && (placed_ < i_ || events_[placed_].begin == kNoPlace)) ++placed_;
    const size_t limit = placed_ == events_.size() ? content_.size() : events_[placed_].begin;
    const size_t after = byte(at + 1) == '('   ? destination_end(at + 1, limit)
                         : byte(at + 1) == '[' ? closing_bracket(at + 1, std::min(limit, at + kMostLabel)) + 1
                                               : at + 1 + attributes_length(content_, at + 1);
    return after == kNoPlace || after <= at || after > limit ? at + 1 : after;
  }

  // Returns the place after the ')' that ends "(destination "title")"; npos if there is none before `limit`.
  size_t destination_end(size_t at, size_t limit) const {
    constexpr std::string_view kSpace = " \t\r\n";
    const std::string_view content = content_.substr(0, limit);
    const auto skip_space = [&] { at = std::min(content.find_first_not_of(kSpace, at), content.size()); };
    ++at;
    skip_space();
    if (byte(at) == '<') {
      at = content.find_first_of(">\n", at);
      if (at == kNoPlace || content[at] == '\n') return kNoPlace;
      ++at;
    } else {
      for (size_t depth = 0; at < content.size() && kSpace.find(content[at]) == std::string_view::npos; ++at) {
        if (content[at] == '\\')
          ++at;
        else if (const size_t tag = site_tag_length(content.substr(at)); tag > 0)
          at += tag - 1;
        else if (content[at] == '(')
          ++depth;
        else if (content[at] == ')' && depth-- == 0)
          break;
      }
    }
    skip_space();
    if (const char quote = byte(at) == '(' ? ')' : byte(at);
        quote == '"' || quote == '\'' || (quote == ')' && byte(at) == '(')) {
      const size_t end = std::min(content.size(), at + kMostLabel);
      for (++at; at < end && content[at] != quote; ++at)
        if (content[at] == '\\') ++at;
      if (byte(at) != quote) return kNoPlace;
      ++at;
      skip_space();
    }
    return byte(at) == ')' ? at + 1 : kNoPlace;
  }

  // Bytes of a label or a title, so that many without an end take linear time. A label has at most 999 characters.
  static constexpr size_t kMostLabel = 4096;
  static constexpr const char* kImageMark = "![";
  static constexpr std::string_view kEmptyLabel = "][]";

  std::string_view content_;
  const std::vector<MarkdownEvent>& events_;
  std::vector<size_t> partners_;  // for each tag of HTML, its other half
  std::vector<MarkdownText> texts_;
  MarkdownText text_{0, 0};  // the text that is being read
  size_t end_ = 0;           // end of what has been read
  std::vector<Open> open_;
  std::string words_;  // words since the last markup
  size_t i_ = 0;       // current event
  size_t placed_ = 0;  // the next event with a known place; cached, so that many links without words take linear time
  bool is_first_ = true;
  bool is_cell_;
  bool is_of_program_ = false;       // see is_of_program()
  bool has_images_alone_ = false;    // see has_images_alone()
  bool has_sentence_lines_ = false;  // see has_sentence_lines()
  bool is_table_ = false;            // the lines are rows of a table that the parser has not seen
  bool is_row_ = false;              // the line is such a row
  bool is_title_ = false;            // the text is one of an admonition, in quotation marks
  size_t first_word_ = 0;            // place of the first word after the mark of a definition or an admonition
};

std::string written(const MarkdownText& text, const std::string& translation, MarkdownNames names) {
  return text.markup.written(translation, [&](std::string_view words, std::string_view before) {
    return markdown_escaped(words, before, text, names);
  });
}

// The texts of a paragraph.
std::vector<std::string> texts_of_paragraph(const std::string& paragraph) {
  const std::string page = "a " + paragraph;  // a letter, so that it is no list
  std::vector<std::string> texts;
  read_markdown("", page, 0, [&](const MarkdownParagraph& read) {
    for (const MarkdownText& text : MarkdownReader(page, read).read()) texts.push_back(text.markup.text());
  });
  return texts;
}

// A translation as Markdown writes it, with names as in the source if they have the same meaning here.
std::string written(const MarkdownText& text, const std::string& translation) {
  std::string escaped = written(text, translation, MarkdownNames::escaped);
  if (translation.find_first_of("*_") == std::string::npos) return escaped;
  std::string plain = written(text, translation, MarkdownNames::as_in_source);
  if (plain == escaped) return escaped;
  const std::vector<std::string> texts = texts_of_paragraph(escaped);
  return !texts.empty() && texts_of_paragraph(plain) == texts ? plain : escaped;
}

// The settings that site generators put before the Markdown, between lines of "---" or "+++"; "..." may end them, too.
size_t front_matter_end(std::string_view content) {
  const size_t begin = byte_order_mark_length(content);
  const auto line_end = [&](size_t at) { return std::min(content.find('\n', at), content.size()); };
  const auto line_at = [&](size_t at) {
    const std::string_view line = content.substr(at, line_end(at) - at);
    return line.substr(0, line.find_last_not_of(" \t\r") + 1);
  };
  const std::string_view fence = line_at(begin);
  if (fence != "---" && fence != "+++") return begin;
  for (size_t at = line_end(begin); at < content.size(); at = line_end(at + 1)) {
    const std::string_view line = line_at(at + 1);
    if (line == fence || (line == "..." && fence == "---")) return std::min(line_end(at + 1) + 1, content.size());
  }
  return begin;
}

class MarkdownFile : public SpanFile {
 public:
  MarkdownFile(const std::string& name, std::string content) : SpanFile(std::move(content)) {
    read_markdown(name, content_, front_matter_end(content_), [this](const MarkdownParagraph& paragraph) {
      for (MarkdownText& text : MarkdownReader(content_, paragraph).read()) {
        if (text.begin < last_) return;
        last_ = text.end;
        add({text.begin,
             text.end,
             {text.markup.text()},
             [text = std::move(text)](const std::vector<std::string>& translations) {
               return written(text, translations.front());
             }});
      }
    });
  }

 private:
  size_t last_ = 0;
};

}  // namespace

std::unique_ptr<DocumentFile> open_markdown(const std::string& name, std::string content, const DocumentFileOptions&) {
  return std::make_unique<MarkdownFile>(name, std::move(content));
}

}  // namespace v0
}  // namespace transmute

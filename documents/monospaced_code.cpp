// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/monospaced_code.h>

#include <transmute/common/ascii_case.h>
#include <transmute/documents/style_fonts.h>
#include <transmute/documents/xml_paragraph.h>
#include <transmute/documents/xml_text.h>
#include <transmute/metrics/metric_text.h>
#include <transmute/text/characters.h>
#include <transmute/text/identifiers.h>
#include <transmute/text/sentence_characters.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n";

// True for a line with what only code has: operators, tags, braces, calls such as "print('a')", and elements of arrays.
// The parentheses of "file(s)" are no call.
bool is_surely_code(std::string_view line) {
  for (const std::string_view sign : {"!=", " == ", "&&",  "+=",   "::",  ":=",   "/*",       "*/", "// ", " //", "/>",
                                      "</", "<!--", "=\"", "= \"", "(%r", ", %r", "#include", "{}", "${",  ">>> "})
    if (line.find(sign) != std::string_view::npos) return true;
  if (line.back() == '{' || line.front() == '}') return true;
  if (line.back() == ';' && line.find('=') != std::string_view::npos) return true;
  if (line.size() > 2 && line.substr(0, 2) == "$ " && is_ascii_letter(line[2])) return true;  // after a prompt
  for (size_t at = 1; at < line.size(); ++at) {
    if (line[at - 1] == '$' && is_ascii_small(line[at])) return true;
    if (line[at] == '[' && is_of_ascii_name(line[at - 1])) return true;
    if (line[at] != '(' || !is_ascii_letter(line[at - 1])) continue;
    const size_t end = std::min(line.find_first_of("()", at + 1), line.size());
    const bool is_nested = end < line.size() && line[end] == '(';
    if (is_nested || line.substr(at, end - at).find_first_of("\"'`,.=<[{&*$") != std::string_view::npos) return true;
    at = end;
  }
  return false;
}

// True for a line with a name such as my_var, or an option.
bool has_code_name(std::string_view line) {
  for (size_t at = 0; at < line.size(); ++at)
    if ((at == 0 || !is_of_ascii_name(line[at - 1])) && (code_name_end(line, at) > at || option_end(line, at) > at))
      return true;
  return false;
}

// True for a line that may be code.
bool is_like_code(std::string_view line) {
  return line.find_first_of("{}[]=<>\\|`") != std::string_view::npos || line.back() == ';' || line.front() == '#';
}

// True for a sentence or a part of one. Code has names of ASCII alone.
bool is_prose_line(std::string_view line) {
  constexpr size_t kFewestWords = 5, kFewestOfSentence = 3;
  constexpr std::string_view kSentenceEnds = ".!?";
  if (u_isupper(characters::at(line, 0)) != 0 && kSentenceEnds.find(line.back()) != std::string_view::npos &&
      split_at_space(line).size() >= kFewestOfSentence)
    return true;
  const auto may_be_of_code = [](UChar32 c) { return c < 0x80 || u_isalpha(c) == 0; };
  return has_small_words(line, kFewestWords) || !sentence_characters::all_characters(line, may_be_of_code);
}

// True if a line begins or ends with a character with which sentences rarely do, or ends with a comment.
bool is_framed_as_code(std::string_view line) {
  constexpr std::string_view kFirst = "!#$%&+/;<>@[\\]^_`{|}~", kLast = ")/;=>\\{|}";
  return kFirst.find(line.front()) != std::string_view::npos || kLast.find(line.back()) != std::string_view::npos ||
         line.find(" // ") != std::string_view::npos;
}

// Counts of the lines of a text that are not blank.
struct Lines {
  size_t all = 0, code = 0, like_code = 0, prose = 0;

  void add(std::string_view text) {
    constexpr size_t kMostBytes = 200;  // bytes by which a line is judged; with more, time would not be linear
    for (size_t at = 0, end = 0; at < text.size(); at = end + 1) {
      end = std::min(text.find('\n', at), text.size());
      std::string_view line = text.substr(at, std::min(end - at, kMostBytes));
      line.remove_prefix(std::min(line.find_first_not_of(kWhiteSpace), line.size()));
      line = line.substr(0, line.find_last_not_of(kWhiteSpace) + 1);
      if (line.empty()) continue;
      ++all;
      const bool has_name = has_code_name(line), is_one_word = line.find(' ') == std::string_view::npos;
      const bool is_code = is_surely_code(line) || (has_name && is_one_word);
      if (is_prose_line(line) && !(is_code && is_framed_as_code(line))) {
        ++prose;
      } else if (is_code) {
        ++code;
      } else if (has_name || is_like_code(line)) {
        ++like_code;
      }
    }
  }
  void add(const Lines& lines) {
    all += lines.all, code += lines.code, like_code += lines.like_code, prose += lines.prose;
  }
  // True if the font of the lines is for code, rather than for prose.
  bool show_code() const { return code > std::max<size_t>(prose, 1); }
  // True if the lines are code together.
  bool are_code() const { return code > 0 && code + like_code > prose && 4 * (code + like_code) >= all; }
};

// Text in one kind of font, and the tokens of the paragraphs or runs that hold it.
struct Stretch {
  bool is_monospaced = false;
  std::string text{};
  std::vector<size_t> tokens{};  // tokens without those that hold only spaces
};

// Tokens that are code or text together, and the lines of their text.
struct Found {
  std::vector<size_t> tokens;
  Lines lines;
  bool is_sentence = false;  // prose that does not begin with a small letter, and is text even among lines of code
};

// Elements of a paragraph that hold other texts, or its properties before a change.
constexpr const char* kNoText = "annotation note pPrChange";

class CodeFinder {
 public:
  explicit CodeFinder(const XmlSource& source) : source_(source), tokens_(source.tokens), fonts_(*source.rules.fonts) {}

  std::set<size_t> result() {
    for (size_t i = 0; i < tokens_.size(); ++i)
      if (tokens_[i].kind == TokenKind::start && source_.is_one_of(i, source_.rules.paragraphs)) add_paragraph(i);
    end_block();
    Lines within;
    for (const Found& stretch : inline_) within.add(stretch.lines);
    const bool is_for_code = all_.show_code() || within.show_code();  // a word such as "value" is code then
    for (const Found& stretch : inline_)
      if (stretch.lines.code > 0 ? stretch.lines.are_code() : stretch.lines.prose == 0 && is_for_code)
        code_.insert(stretch.tokens.begin(), stretch.tokens.end());
    return std::move(code_);
  }

 private:
  using TokenKind = XmlToken::Kind;

  void add_paragraph(size_t start) {
    std::vector<Stretch> stretches = stretches_of(start);
    if (stretches.empty()) return;
    const bool is_monospaced = stretches.size() == 1 && stretches.front().is_monospaced;
    if (!is_monospaced || !follows(start)) end_block();
    for (Stretch& stretch : stretches) {
      if (!stretch.is_monospaced) continue;
      Lines lines;
      lines.add(stretch.text);
      all_.add(lines);
      const UChar32 first = characters::at(stretch.text, stretch.text.find_first_not_of(kWhiteSpace));
      const bool is_sentence = lines.prose == lines.all && u_isalpha(first) != 0 && u_islower(first) == 0;
      if (is_monospaced)
        block_.push_back({{start}, lines, is_sentence});
      else
        inline_.push_back({std::move(stretch.tokens), lines});
    }
  }

  // True if nothing but empty paragraphs is between the last one of the block and this one.
  bool follows(size_t start) const {
    if (block_.empty()) return true;
    size_t next = tokens_[block_.back().tokens.front()].partner + 1;
    while (next < start && tokens_[next].kind != TokenKind::end) next = tokens_[next].partner + 1;
    return next == start;
  }

  // Decides on the paragraphs of the block: all of them, or one by one.
  void end_block() {
    Lines lines;
    for (const Found& paragraph : block_) lines.add(paragraph.lines);
    for (const Found& paragraph : block_)
      if (!paragraph.is_sentence && (lines.are_code() || paragraph.lines.are_code()))
        code_.insert(paragraph.tokens.front());
    block_.clear();
  }

  // The text of a paragraph, without that of paragraphs within it. Blank text belongs to any font.
  std::vector<Stretch> stretches_of(size_t start) const {
    const bool has_runs = *source_.rules.runs != '\0';
    std::vector<Stretch> stretches;
    std::optional<bool> font = fonts_.of_style(xml_attribute(source_.bytes(start), "style-name"));
    std::vector<Span> open{{start, font.value_or(false)}};
    for (size_t i = start + 1; i < tokens_[start].partner; ++i) {
      if (i == tokens_[open.back().token].partner) open.pop_back();
      if (is_xml_text(tokens_[i])) {
        if (!has_runs || source_.is_one_of(i - 1, "t")) add_text(stretches, open, xml_text(source_.xml, tokens_[i]));
      } else if (tokens_[i].kind == TokenKind::end) {
        continue;
      } else if (source_.is_one_of(i, source_.rules.paragraphs) || source_.is_one_of(i, kNoText)) {
        i = tokens_[i].partner;
      } else if (source_.is_one_of(i, "pStyle") && open.size() == 1) {
        open.front().is_monospaced = fonts_.of_style(xml_attribute(source_.bytes(i), "val")).value_or(false);
      } else if (source_.is_one_of(i, has_runs ? source_.rules.runs : "span") && tokens_[i].kind == TokenKind::start) {
        font = has_runs ? font_of_run(i) : fonts_.of_style(xml_attribute(source_.bytes(i), "style-name"));
        open.push_back({i, font.value_or(open.back().is_monospaced)});
      } else if (source_.is_one_of(i, "br cr line-break")) {
        add_text(stretches, open, "\n");
      } else if (source_.is_one_of(i, "s tab")) {
        add_text(stretches, open, " ");
      }
    }
    return stretches;
  }

  // The font that a run has by itself or by its style.
  std::optional<bool> font_of_run(size_t run) const {
    const size_t properties = run + 1;
    std::optional<bool> font, of_style;
    if (!source_.is_one_of(properties, "rPr")) return {};
    for (size_t i = properties + 1; i < tokens_[properties].partner; i = tokens_[i].partner + 1) {
      if (source_.is_one_of(i, "rFonts latin")) font = fonts_.of_tag(source_.bytes(i));
      if (source_.is_one_of(i, "rStyle")) of_style = fonts_.of_style(xml_attribute(source_.bytes(i), "val"));
    }
    return font ? font : of_style;
  }

  // A run, a span, or the paragraph, while its text is read.
  struct Span {
    size_t token;
    bool is_monospaced;
  };

  static void add_text(std::vector<Stretch>& stretches, const std::vector<Span>& open, std::string_view text) {
    const bool is_blank = text.find_first_not_of(kWhiteSpace) == std::string::npos;
    if (is_blank && stretches.empty()) return;
    if (!is_blank && (stretches.empty() || stretches.back().is_monospaced != open.back().is_monospaced))
      stretches.push_back({open.back().is_monospaced});
    Stretch& stretch = stretches.back();
    stretch.text += text;
    if (!is_blank && open.size() > 1 && open.back().is_monospaced) stretch.tokens.push_back(open.back().token);
  }

  const XmlSource& source_;
  const std::vector<XmlToken>& tokens_;
  const StyleFonts& fonts_;
  std::vector<Found> block_, inline_;  // consecutive paragraphs; and stretches of other paragraphs
  Lines all_;
  std::set<size_t> code_;
};

}  // namespace

std::set<size_t> monospaced_code(const XmlSource& source) {
  const StyleFonts* const fonts = source.rules.fonts.get();
  return fonts == nullptr || fonts->is_monospaced_by_default() ? std::set<size_t>{} : CodeFinder(source).result();
}

}  // namespace v0
}  // namespace transmute

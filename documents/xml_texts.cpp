// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/xml_texts.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/files.h>
#include <transmute/documents/html_references.h>
#include <transmute/documents/monospaced_code.h>
#include <transmute/documents/xml_paragraph.h>
#include <transmute/documents/xml_text.h>
#include <transmute/documents/xml_tokens.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// The text that a reader sees of a piece of HTML. A document has its line ends as spaces.
std::string seen_text(const std::string& html) {
  std::string text = with_references_decoded(html);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

// The number in a tag such as <b 12> and <var-12/>.
size_t number_in_tag(std::string_view tag) {
  size_t number = std::string::npos;
  const size_t space = std::min(tag.find_first_of(" -"), tag.size() - 1);
  std::from_chars(tag.data() + space + 1, tag.data() + tag.size(), number);
  return number;
}

// The text of a cell, without its markup.
std::string text_of_cell(std::string_view xml) {
  std::string text;
  for (size_t at = 0; at < xml.size();) {
    const size_t tag = std::min(xml.find('<', at), xml.size());
    text += xml.substr(at, tag - at);
    at = std::min(xml.find('>', tag), xml.size() - 1) + 1;
  }
  return with_excel_escapes_decoded(with_references_decoded(text));
}

constexpr std::string_view kLineEndEscape = "_x000a_";

// The place of a line end as Excel writes it in attributes; the text's size without one.
size_t find_escaped_line_end(std::string_view text, size_t at) {
  for (at = text.find("_x000", at); at < text.size(); at = text.find("_x000", at + 1)) {
    const std::string escape = lower_case(std::string(text.substr(at, kLineEndEscape.size())));
    if (escape == kLineEndEscape || escape == "_x000d_") return at;
  }
  return text.size();
}

// The length of a line end or a code in the header of a sheet at the beginning of a text, such as &amp;P,
// &amp;"Arial,Bold", &amp;12 and &amp;KFF0000; 0 if there is none.
size_t header_code_length(std::string_view text) {
  constexpr std::string_view kSign = "&amp;", kQuote = "&quot;";
  constexpr size_t kColor = 7;
  if (text.substr(0, kSign.size()) != kSign) return !text.empty() && (text[0] == '\n' || text[0] == '\r') ? 1 : 0;
  const std::string_view code = text.substr(kSign.size());
  size_t length = 1;
  for (const std::string_view quote : {std::string_view("\""), kQuote})
    if (code.substr(0, quote.size()) == quote)
      length = std::min(code.find(quote, quote.size()), code.size() - quote.size()) + quote.size();
  if (!code.empty() && is_ascii_digit(code.front())) length = code.find_first_not_of("0123456789");
  if (code.substr(0, 1) == "K") length = kColor;
  if (code.substr(0, kSign.size()) == kSign) length = kSign.size();  // the sign itself
  return kSign.size() + std::min(length, code.size());
}

// The number of UTF-16's units, which Excel counts as characters.
size_t utf16_length(std::string_view text) {
  constexpr unsigned char kFirstOfFour = 0xF0;  // bytes of UTF-8, which are two units
  size_t units = 0;
  for (const char c : text) units += (c & 0xC0) == 0x80 ? 0 : static_cast<unsigned char>(c) >= kFirstOfFour ? 2 : 1;
  return units;
}

}  // namespace

XmlTexts::XmlTexts(std::string xml, const XmlRules& rules, const std::string& name,
                   std::function<void(const std::string& message)> on_warning)
    : xml_(std::move(xml)), name_(name), on_warning_(std::move(on_warning)), has_escapes_(rules.keeps_lines) {
  const std::vector<XmlToken> tokens = xml_tokens(xml_, name);
  const XmlStyles styles = read_styles(xml_, tokens, rules);
  XmlSource source{xml_, tokens, rules, styles};
  source.code = monospaced_code(source);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind != XmlToken::Kind::end) add_attributes(source, i);
    if (tokens[i].kind != XmlToken::Kind::start) continue;
    if (source.is_one_of(i, rules.skipped) ||
        (rules.skips != nullptr && rules.skips(tokens[i].local_name(), source.bytes(i),
                                               source.between(tokens[i].end, tokens[tokens[i].partner].begin)))) {
      i = tokens[i].partner;
    } else if (source.is_one_of(i, rules.paragraphs)) {
      paragraphs_.push_back(read_paragraph(source, i, texts_));
      paragraphs_.back().most_characters = rules.most_characters;
    } else if (source.is_one_of(i, rules.headers)) {
      constexpr size_t kMostOfHeader = 255, kMostBytes = 16 * kMostOfHeader;  // with the references to characters
      const std::string_view header = source.between(tokens[i].end, tokens[tokens[i].partner].begin);
      if (header.size() <= kMostBytes) add_value(header, kMostOfHeader, true);
    }
  }
}

void XmlTexts::add_attributes(const XmlSource& source, size_t tag) {
  std::map<size_t, std::pair<std::string_view, size_t>> values;  // by their places: the value, and its most characters
  for (const auto& [element, name, most_characters] : source.rules.attributes) {
    if (source.tokens[tag].local_name() != element) continue;
    const std::string_view value = xml_attribute(source.bytes(tag), name);
    if (has_letters(value) && !is_made_description(value))
      values[static_cast<size_t>(value.data() - xml_.data())] = {value, most_characters};
  }
  for (const auto& [begin, found] : values) add_value(found.first, found.second);
}

// Adds the lines of a value, or the texts between the codes of a header.
void XmlTexts::add_value(std::string_view value, size_t most_characters, bool is_header) {
  const auto begin = static_cast<size_t>(value.data() - xml_.data());
  XmlParagraph paragraph{begin, begin + value.size(), {}, most_characters};
  for (size_t at = 0, next = 0; at < value.size(); at = next) {
    const size_t escape = has_escapes_ ? find_escaped_line_end(value, at) : value.size();
    const size_t code = is_header ? header_code_length(value.substr(at)) : 0;
    next = std::min(find_line_end(value, at), escape);
    for (size_t i = at; is_header && i < next; ++i)
      if (header_code_length(value.substr(i)) > 0) next = i;
    if (next == at) next += code > 0 ? code : escape == at ? kLineEndEscape.size() : reference_at(value, at).length;
    const std::string_view line = value.substr(at, next - at);
    XmlPart part;
    part.kept = {"", "", begin + at, begin + next};
    if (code == 0 && at != escape && has_letters(line)) {
      part.text = texts_.size();
      texts_.emplace_back(line);
    }
    paragraph.parts.push_back(std::move(part));
  }
  paragraphs_.push_back(std::move(paragraph));
}

std::string XmlTexts::with(const std::vector<std::string>& translations) const {
  return rendered(translations, 0, xml_.size());
}

std::string XmlTexts::rendered(const std::vector<std::string>& translations, size_t begin, size_t end) const {
  std::string result;
  auto paragraph = std::lower_bound(paragraphs_.begin(), paragraphs_.end(), begin,
                                    [](const XmlParagraph& one, size_t byte) { return one.begin < byte; });
  for (; paragraph != paragraphs_.end() && paragraph->begin < end; ++paragraph) {
    if (paragraph->begin < begin) continue;  // within the one before
    result += xml_.substr(begin, paragraph->begin - begin) + rendered(translations, *paragraph);
    begin = paragraph->end;
  }
  return result + xml_.substr(begin, end - begin);
}

std::string XmlTexts::rendered(const std::vector<std::string>& translations, const XmlParagraph& paragraph) const {
  const bool is_changed = std::any_of(paragraph.parts.begin(), paragraph.parts.end(), [&](const XmlPart& part) {
    return part.text != std::string::npos && seen_text(translations[part.text]) != seen_text(texts_[part.text]);
  });
  const XmlMark all{"", "", paragraph.begin, paragraph.end};
  if (!is_changed) return rendered(translations, all);  // those within it may
  std::string result;
  for (const XmlPart& part : paragraph.parts)
    result += part.text == std::string::npos ? rendered(translations, part.kept) : text_of(translations, part);
  if (const char mark = xml_[paragraph.begin - 1]; mark != '>') result = with_marks_escaped(result, mark);
  return is_too_long(result, paragraph) ? rendered(translations, all) : result;
}

// Warns of a paragraph that has too many characters.
bool XmlTexts::is_too_long(const std::string& xml, const XmlParagraph& paragraph) const {
  const size_t most = paragraph.most_characters;
  if (most == 0 || xml.size() <= most) return false;
  const size_t characters = utf16_length(text_of_cell(xml));
  if (characters <= most) return false;
  constexpr size_t kShownBytes = 60;
  const std::string source =
      text_of_cell(std::string_view(xml_).substr(paragraph.begin, paragraph.end - paragraph.begin));
  if (on_warning_)
    on_warning_(
        fmt::format("{}: the text \"{} …\" stays, because its translation has {} characters, and Excel reads at most "
                    "{}; divide it",
                    name_, shortened_name(source, kShownBytes), characters, most));
  return true;
}

// No paragraph within it begins where it begins.
std::string XmlTexts::rendered(const std::vector<std::string>& translations, const XmlMark& mark) const {
  if (mark.begin == mark.end) return mark.before + mark.after;
  return mark.before + xml_.substr(mark.begin, 1) + rendered(translations, mark.begin + 1, mark.end) + mark.after;
}

std::string XmlTexts::text_of(const std::vector<std::string>& translations, const XmlPart& part) const {
  const std::string& html = translations[part.text];
  std::string result;
  std::vector<const XmlMark*> open;
  std::vector<bool> is_used(part.marks.size());
  const auto close = [&] {
    if (!open.back()->is_format) result += open.back()->after;
    open.pop_back();
  };
  for (size_t at = 0; at < html.size();) {
    if (html[at] != '<') {
      const size_t end = std::min(html.find('<', at), html.size());
      const auto format = std::find_if(open.rbegin(), open.rend(), [](const XmlMark* mark) { return mark->is_format; });
      const XmlMark& around = format == open.rend() ? part.format : **format;
      const std::string words = without_forbidden(std::string_view(html).substr(at, end - at));
      result += around.before + (has_escapes_ ? excel_escaped(words) : words) + around.after;
      at = end;
      continue;
    }
    const size_t end = std::min(html.find('>', at), html.size() - 1);
    const std::string_view tag = std::string_view(html).substr(at, end - at);
    at = end + 1;
    const size_t number = number_in_tag(tag);
    if (tag[1] == '/') {
      if (!open.empty()) close();
    } else if (number < is_used.size() && !is_used[number]) {
      is_used[number] = true;
      const XmlMark& mark = part.marks[number];
      const bool is_space =
          xml_.compare(mark.begin, mark.end - mark.begin, "<text:s/>") == 0 && xml_[mark.begin - 1] != ' ';
      const bool is_beside_space = html[at] == ' ' || (!result.empty() && result.back() == ' ');
      if (is_space && is_beside_space) continue;  // Microsoft's programs write a single space beside a span so
      const bool is_pair = tag.compare(0, 3, "<b ") == 0;
      if (is_pair) open.push_back(&mark);
      XmlMark opening = mark;
      if (is_pair) opening.after.clear();
      if (!mark.is_format) result += rendered(translations, opening);
    }
  }
  while (!open.empty()) close();
  return result;
}

}  // namespace v0
}  // namespace transmute

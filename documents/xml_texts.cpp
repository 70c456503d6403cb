// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/xml_texts.h>

#include <transmute/documents/html_references.h>
#include <transmute/documents/xml_paragraph.h>
#include <transmute/documents/xml_text.h>
#include <transmute/documents/xml_tokens.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// The styles of an OpenDocument file that are made after others for program code.
std::set<std::string> derived_code_styles(const std::string& xml, const std::vector<XmlToken>& tokens) {
  std::set<std::string> styles;
  const XmlRules none;
  const std::set<std::string> known;
  const XmlSource source{xml, tokens, none, known};
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!source.is_one_of(i, "style") || tokens[i].kind == XmlToken::Kind::end) continue;
    if (source.is_for_code(xml_attribute(source.bytes(i), "parent-style-name")))
      styles.emplace(xml_attribute(source.bytes(i), "name"));
  }
  return styles;
}

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

}  // namespace

XmlTexts::XmlTexts(std::string xml, const XmlRules& rules, const std::string& name)
    : xml_(std::move(xml)), has_escapes_(rules.keeps_lines) {
  const std::vector<XmlToken> tokens = xml_tokens(xml_, name);
  const std::set<std::string> code_styles = derived_code_styles(xml_, tokens);
  const XmlSource source{xml_, tokens, rules, code_styles};
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind != XmlToken::Kind::start) continue;
    if (source.is_one_of(i, rules.skipped) ||
        (rules.skips != nullptr && rules.skips(tokens[i].local_name(), source.bytes(i)))) {
      i = tokens[i].partner;
    } else if (source.is_one_of(i, rules.paragraphs)) {
      paragraphs_.push_back(read_paragraph(source, i, texts_));
    }
  }
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
  if (!is_changed) {  // those within it may
    const XmlMark all{"", "", paragraph.begin, paragraph.end};
    return rendered(translations, all);
  }
  std::string result;
  for (const XmlPart& part : paragraph.parts)
    result += part.text == std::string::npos ? rendered(translations, part.kept) : text_of(translations, part);
  return result;
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

// SPDX-License-Identifier: Apache-2.0
// HTML and what a model makes of it: a browser sees no markup in the answer that the page did not have. Other texts
// come back byte for byte.
#include <transmute/documents/document.h>
#include <transmute/fuzz/fuzz.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

using namespace transmute;

namespace {

// White space as blanks, which the document also writes in place of line ends within segments.
std::string on_one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\f' || c == '\r'; }, ' ');
  return text;
}

bool begins_markup(const std::string& text, size_t at) {
  const char next = at + 1 < text.size() ? text[at + 1] : ' ';
  return text[at] == '<' &&
         (std::isalpha(static_cast<unsigned char>(next)) != 0 || next == '/' || next == '!' || next == '?');
}

// The place after the value of an attribute, which begins at `at` or after the spaces there.
size_t value_end(const std::string& text, size_t at) {
  const size_t value = std::min(text.find_first_not_of(' ', at), text.size());
  if (value == text.size()) return value;
  const bool is_quoted = text[value] == '"' || text[value] == '\'';
  const size_t last = is_quoted ? text.find(text[value], value + 1) : text.find_first_of(" >", value);
  return last == std::string::npos ? text.size() : last + (is_quoted ? 1 : 0);
}

// The tags and comments of a page, without the values of attributes, some of which are translated. A tag without an
// end counts up to the first bracket.
std::vector<std::string> tags_in(const std::string& page) {
  const std::string text = on_one_line(page);
  std::vector<std::string> tags;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!begins_markup(text, at)) continue;
    if (text.compare(at, 4, "<!--") == 0) {
      const size_t end = std::min(text.find("-->", at + 2), text.find("--!>", at + 4));
      tags.push_back(text.substr(at, end - at));
      at = std::min(end, text.size());
      continue;
    }
    const size_t bracket = std::min(text.find('>', at), text.size() - 1);
    std::string tag;
    size_t end = at;
    const size_t name = at + (text[at + 1] == '/' ? 2 : 1);  // what does not begin with a letter has no attributes
    const bool has_name = name < text.size() && std::isalpha(static_cast<unsigned char>(text[name])) != 0;
    bool is_after_name = false, has_attribute = false;  // "=" is a part of names, too: <p=">, <p/=">
    while (end < text.size() && text[end] != '>') {
      const char c = text[end++];
      tag += c;
      const bool is_separator = tag.size() > 2 && (c == '/' || c == ' ');
      is_after_name = is_after_name || (is_separator && has_name);
      if (c == '=' && has_attribute) {
        end = value_end(text, end);
        has_attribute = false;
      } else if (c == '/') {
        has_attribute = false;
      } else if (!is_separator) {
        has_attribute = is_after_name;
      }
    }
    const bool is_whole = end < text.size();
    tags.push_back(is_whole ? tag : text.substr(at, bracket + 1 - at));
    at = is_whole ? end : bracket;
  }
  return tags;
}

void require_no_new_markup(const std::string& answer, const std::string& page) {
  const std::vector<std::string> known = tags_in(page);
  for (const std::string& tag : tags_in(answer))
    fuzz::require(std::find(known.begin(), known.end(), tag) != known.end());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const bool split_sentences = (input.byte() & 1) != 0;
  const std::string translation = input.text(), page = input.rest();
  const Document document(page, TextFormat::html, split_sentences);
  require_no_new_markup(document.with(document.segments()), page);
  std::vector<std::string> translations = document.segments();
  for (std::string& segment : translations) segment = translation + segment;
  require_no_new_markup(document.with(translations), page);
  require_no_new_markup(document.beginning(translations, 0), page);
  const Document tagged(page, TextFormat::tags, split_sentences);
  tagged.with(tagged.segments());
  for (const TextFormat format : {TextFormat::text, TextFormat::tags}) {
    const Document whole(page, format, /*split_sentences=*/false);
    fuzz::require(whole.with(whole.segments()) == page);
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/wrapped_text.h>

#include <transmute/documents/text_columns.h>
#include <transmute/text/characters.h>
#include <transmute/text/sentence_characters.h>
#include <transmute/text/sentences.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

using sentence_characters::is_one_of;
using sentence_characters::is_opener;
using sentence_characters::is_wide;

namespace {

constexpr size_t kLeastColumns = 40;

// A line without its end, or several that were joined.
struct UnwrappedLine {
  std::string text;
  size_t columns = 0;  // columns of the longest line that was joined; 0: none was
};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t at = 0; true;) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    if (end == text.size()) return lines;
    at = end + 1;
  }
}

bool may_continue(std::string_view line) {
  return !line.empty() && std::string_view(" \t-*+\xE2").find(line.front()) == std::string_view::npos &&
         std::isdigit(static_cast<unsigned char>(line.front())) == 0;
}

// The end of the next word, which may have spaces before it. In Chinese and Japanese, most characters may begin a line.
size_t end_of_word(std::string_view line, size_t at) {
  at = std::min(line.find_first_not_of(' ', at), line.size());
  while (at < line.size() && line[at] != ' ') {
    const UChar32 last = characters::at(line, at);
    at = characters::end(line, at);
    const bool is_next = u_getIntPropertyValue(characters::at(line, at), UCHAR_LINE_BREAK) == U_LB_IDEOGRAPHIC;
    if (is_next && is_wide(last) && !is_opener(last)) break;
  }
  return at;
}

std::vector<UnwrappedLine> unwrapped_lines(const std::string& text) {
  const std::vector<std::string_view> lines = lines_of(text);
  std::vector<UnwrappedLine> result;
  for (size_t first = 0; first < lines.size();) {
    size_t end = first + 1, longest = columns_in(lines[first]);
    for (; end < lines.size() && !lines[first].empty() && may_continue(lines[end]); ++end)
      longest = std::max(longest, columns_in(lines[end]));
    result.push_back({std::string(lines[first]), 0});
    for (size_t i = first + 1; i < end; ++i) {
      const size_t word = columns_in(lines[i].substr(0, end_of_word(lines[i], 0)));
      const UChar32 last = characters::before(lines[i - 1], lines[i - 1].size());
      const bool ends_sentence = is_one_of(last, U".:!?。：！？");
      if (ends_sentence || longest < kLeastColumns || columns_in(lines[i - 1]) + 1 + word < longest) {
        result.push_back({std::string(lines[i]), 0});
        continue;
      }
      if (!result.back().text.empty() && result.back().text.back() != ' ')
        result.back().text += space_between(result.back().text, std::string(lines[i]));
      result.back().text += lines[i];
      result.back().columns = longest;
    }
    first = end;
  }
  return result;
}

std::string wrapped_line(std::string_view line, size_t most) {
  std::string result;
  size_t columns = 0;
  for (size_t at = 0; at < line.size();) {
    const size_t end = end_of_word(line, at);
    const size_t word = columns_in(line.substr(at, end - at));
    if (columns > 0 && columns + word > most) {
      result += '\n';
      at = line.find_first_not_of(' ', at);
      if (at == std::string_view::npos) break;
      columns = 0;
      continue;
    }
    result += line.substr(at, end - at);
    columns += word;
    at = end;
  }
  return result;
}

}  // namespace

std::string without_wrapping(const std::string& text) {
  std::string result;
  for (const UnwrappedLine& line : unwrapped_lines(text)) result += line.text + '\n';
  result.pop_back();
  return result;
}

std::string wrapped_like(const std::string& text, const std::string& translation) {
  const std::vector<UnwrappedLine> lines = unwrapped_lines(text);
  const std::vector<std::string_view> translated = lines_of(translation);
  if (lines.size() != translated.size()) return translation;
  std::string result;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) result += '\n';
    result += lines[i].columns > 0 ? wrapped_line(translated[i], lines[i].columns) : std::string(translated[i]);
  }
  return result;
}

}  // namespace v0
}  // namespace transmute

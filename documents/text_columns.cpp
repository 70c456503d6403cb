// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/text_columns.h>

#include <transmute/common/utf8.h>
#include <transmute/text/characters.h>
#include <transmute/text/sentence_characters.h>
#include <unicode/uchar.h>

#include <algorithm>

namespace transmute {
inline namespace v0 {

namespace {

enum class Direction { before, after };

// The next line of the text in one direction; empty if there is none.
std::string_view next_line(std::string_view text, std::string_view line, Direction direction) {
  const auto begin = static_cast<size_t>(line.data() - text.data());
  if (direction == Direction::after) {
    const std::string_view rest = text.substr(std::min(begin + line.size() + 1, text.size()));
    return rest.substr(0, rest.find('\n'));
  }
  const std::string_view rest = text.substr(0, begin - std::min<size_t>(begin, 1));
  return rest.substr(rest.rfind('\n') + 1);
}

std::string_view without_indentation(std::string_view line) {
  return line.substr(indentation_length(line));
}

// True for "| one | two |".
bool has_outer_bar(std::string_view line) {
  line = without_indentation(line);
  return line.substr(0, 1) == "|" && line.find('|', 1) != std::string_view::npos;
}

// The number of bars in "one | two | three".
size_t bars_between(std::string_view line) {
  constexpr std::string_view kBar = " | ";
  line = without_indentation(line);
  size_t bars = 0;
  for (size_t bar = line.find(kBar); bar != std::string_view::npos; bar = line.find(kBar, bar + 2)) ++bars;
  return bars;
}

// True for "Home | About us | Jobs".
bool has_capital_cells(std::string_view line) {
  for (size_t bar = 0; bar != std::string_view::npos; bar = line.find('|', bar + 1)) {
    const size_t cell = line.find_first_not_of("> |\t", bar);
    if (cell != std::string_view::npos && u_islower(characters::at(line, cell)) != 0) return false;
  }
  return true;
}

// True for "-----" and "---+---".
bool is_rule(std::string_view line) {
  line = without_indentation(line);
  return line.find_first_not_of("-=+|: \t\r") == std::string_view::npos &&
         line.find_first_of("-=") != std::string_view::npos;
}

}  // namespace

size_t columns_of(UChar32 c) {
  constexpr UChar32 kFirstMark = 0x300;
  if (c < kFirstMark) return 1;
  if ((U_GET_GC_MASK(c) & (U_GC_MN_MASK | U_GC_ME_MASK | U_GC_CF_MASK)) != 0) return 0;
  return sentence_characters::takes_two_columns(c) ? 2 : 1;
}

size_t columns_in(std::string_view text) {
  size_t columns = 0;
  for (const Character& c : Characters(text)) columns += columns_of(c.code);
  return columns;
}

size_t indentation_length(std::string_view line) {
  return std::min(line.find_first_not_of(" \t>"), line.size());
}

bool is_row_with_bars(std::string_view text, size_t begin) {
  const std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  if (has_outer_bar(line)) return true;
  const size_t bars = bars_between(line);
  if (bars < 2) return false;
  if (has_capital_cells(line)) return true;
  for (const Direction direction : {Direction::before, Direction::after}) {
    std::string_view near = next_line(text, line, direction);
    if (is_rule(near)) {
      if (near.find_first_of("|+") != std::string_view::npos) return true;
      near = next_line(text, near, direction);
    }
    if (has_outer_bar(near) || bars_between(near) == bars) return true;
  }
  return false;
}

size_t gap_length(std::string_view text, size_t at) {
  constexpr size_t kFewest = 4;
  const size_t spaces = std::min(text.find_first_not_of(' ', at), text.size()) - at;
  return spaces < kFewest ? 0 : spaces;
}

}  // namespace v0
}  // namespace transmute

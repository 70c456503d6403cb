// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/wrapped_text.h>

#include <transmute/common/ascii_case.h>
#include <transmute/common/files.h>
#include <transmute/documents/ascii_text.h>
#include <transmute/documents/html_tokens.h>
#include <transmute/documents/text_columns.h>
#include <transmute/text/characters.h>
#include <transmute/text/sentence_characters.h>
#include <transmute/text/sentences.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

using sentence_characters::has_letter_or_digit;
using sentence_characters::is_one_of;
using sentence_characters::is_opener;
using sentence_characters::is_wide;

namespace {

constexpr size_t kLeastColumns = 40, kMostColumns = 120;
constexpr size_t kLeastRaggedColumns = 60;  // poems have shorter lines

struct Line {
  std::string_view indentation;  // white space, and the marks of a quotation
  std::string_view text;         // after it
  size_t columns;                // of both
  bool is_justified = false;     // spaces between its words make it as long as others
};

// A line without its end, or several that were joined.
struct UnwrappedLine {
  std::string text;
  std::string_view written;      // the lines themselves
  std::string_view indentation;  // of the lines after the first
  size_t columns = 0;            // columns of the paragraph's longest line; 0: none was joined
  size_t rest = 0;               // number of the line that is its end, on the next page; 0: none
  size_t columns_before = 0;     // of the text that is before that end
  bool is_rest = false;          // of a line before
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

Line line_of(std::string_view line) {
  const size_t begin = indentation_length(line);
  return {line.substr(0, begin), line.substr(begin), columns_in(line)};
}

auto quotations(const Line& line) {
  return std::count(line.indentation.begin(), line.indentation.end(), '>');
}

std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find(' '));
}

// The bytes of a list's mark, such as "- ", "12. " or "(iv) ", with the spaces after it; 0 if the text begins with
// none.
size_t mark_length(std::string_view text) {
  constexpr size_t kLongest = 5;
  const std::string_view word = first_word(text);
  const bool is_number = word.find_first_not_of("0123456789") + 1 == word.size();
  size_t end = 0;
  if (word.size() > 1 &&
      (word.back() == ')' ? word.size() <= kLongest : word.back() == '.' && (is_number || word.size() == 2)))
    end = word.size();
  for (const std::string_view mark : {"-", "*", "+", "–", "—", "•", "·", "‣", "◦", "▪", "●", "■", "►", "✓"})
    if (text.compare(0, mark.size(), mark) == 0) end = mark.size();
  return end == 0 ? 0 : std::min(text.find_first_not_of(' ', end), text.size());
}

// Likewise, and for the number of a clause, such as "1.1 ", with which a line of a paragraph may begin, too.
size_t hanging_length(std::string_view text) {
  const size_t number = std::min(text.find_first_not_of("0123456789."), text.size());
  const bool is_clause = number > 0 && text.substr(number, 1) == " ";
  return is_clause ? std::min(text.find_first_not_of(' ', number), text.size()) : mark_length(text);
}

// True for a row of a table, whose cells a tab, dots or bars divide, and for a line to fill in.
bool has_dividers(std::string_view text) {
  for (const char* const divider : {"\t", ".....", "___", " | "})
    if (text.find(divider) != std::string_view::npos) return true;
  return is_row_with_bars(text, 0);
}

bool may_end_sentence(char c) {
  return std::string_view(".:!?\")").find(c) != std::string_view::npos;
}

// True for a row of a table, whose cells several spaces divide. Some people write two spaces after a sentence.
bool has_gaps(std::string_view text) {
  for (size_t at = text.find("  "); at != std::string_view::npos; at = text.find("  ", text.find_first_not_of(' ', at)))
    if (at == 0 || text.find("   ", at) == at || !may_end_sentence(text[at - 1])) return true;
  return false;
}

// True if a line has wider spaces than others, but all of a width, as words of justified text have. The width may
// differ by one, and by one more after a sentence.
bool has_even_gaps(std::string_view text) {
  constexpr size_t kFewestGaps = 3, kNarrowest = 4;  // of columns, see gap_length()
  size_t gaps = 0, least = text.size(), most = 0;
  for (size_t at = text.find(' '); at != std::string_view::npos; ++gaps) {
    const size_t next = std::min(text.find_first_not_of(' ', at), text.size());
    const size_t width = next - at - (next - at > 1 && at > 0 && may_end_sentence(text[at - 1]) ? 1 : 0);
    least = std::min(least, width);
    most = std::max(most, width);
    at = text.find(' ', next);
  }
  return gaps >= kFewestGaps && most > 1 && most - least <= 1 && least < kNarrowest && !has_dividers(text);
}

// True for "# A comment", "// code", "| a cell" and the like.
bool begins_with_sign(std::string_view text) {
  return !has_letter_or_digit(first_word(text));
}

// True for "Subject: the report" in the head of a mail.
bool begins_with_label(std::string_view text) {
  const std::string_view word = first_word(text);
  return u_isupper(characters::at(word, 0)) != 0 && word.back() == ':';
}

// True for an address, a path and the like that is alone in its line.
bool is_one_word(std::string_view text) {
  return is_ascii(text) && text.find(' ') == std::string_view::npos;
}

// True if the line may be of the same paragraph as the one before it, of which `first` is the first line.
bool may_continue(const Line& first, const Line& before, const Line& line) {
  const std::string_view words = before.text.substr(&before == &first ? hanging_length(first.text) : 0);
  if (line.text.empty() || mark_length(line.text) > 0 || has_dividers(words) || has_dividers(line.text) ||
      (!before.is_justified && has_gaps(words)) || (!line.is_justified && has_gaps(line.text)) ||
      !has_letter_or_digit(before.text) || begins_with_sign(line.text) || begins_with_label(line.text) ||
      (is_one_word(before.text) && is_one_word(line.text)) || line.text.front() == '\f' ||
      before.text.substr(0, 2) == "$ " ||
      (!before.is_justified && is_one_of(characters::before(before.text, before.text.size()), U".:!?\\。：！？\r")))
    return false;
  if (&before != &first) return line.indentation == before.indentation;
  const size_t mark = hanging_length(first.text);
  if (mark > 0 && line.indentation.size() == first.indentation.size() + mark) return true;
  return first.indentation.substr(0, line.indentation.size()) == line.indentation;
}

// True unless a line begins with a capital letter or a digit.
bool begins_within_sentence(const Line& line) {
  const UChar32 c = characters::at(line.text, 0);
  return u_isupper(c) == 0 && u_isdigit(c) == 0;
}

// True if most words have nothing but letters, as those of code, logs and tables do not.
bool has_prose(std::string_view text) {
  size_t words = 0, others = 0;
  for (size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const size_t last = word.find_last_not_of(".,;:!?)\"'") + 1;
    const auto is_of_word = [](char c) { return c == '-' || c == '\'' || is_ascii_letter(c) || !is_ascii({&c, 1}); };
    const std::string_view letters = word.substr(0, last).substr(std::min(word.find_first_not_of("(\"'"), last));
    ++words;
    if (!std::all_of(letters.begin(), letters.end(), is_of_word)) ++others;
  }
  return 4 * others <= words;
}

// True if lines[i] continues the sentence of the long line before it, and no neighbor of that is much longer: lines of
// copies from PDF files end where their letters, which are not equally wide, have filled them, and follow headings and
// other paragraphs without an empty line. Programs that make divided words whole join two lines; such a one does not
// count. "(#123)" ends the item of a list.
bool continues_sentence(const std::vector<Line>& lines, size_t i) {
  constexpr size_t kNeighbors = 3;
  const std::string_view before = lines[i - 1].text, word = first_word(lines[i].text);
  size_t longest = 0;
  for (size_t near = i - std::min(i, kNeighbors); near < std::min(lines.size(), i + kNeighbors); ++near)
    if (lines[near].columns <= kMostColumns) longest = std::max(longest, lines[near].columns);
  const UChar32 last = characters::before(before, before.size());
  const bool is_reference = last == ')' && before.find('#', std::min(before.rfind('('), before.size())) < before.size();
  const bool is_open = u_isalpha(last) != 0 || (is_one_of(last, U",-‐)]’”»") && !is_reference);
  const bool is_full = lines[i - 1].columns >= kLeastRaggedColumns && 5 * lines[i - 1].columns >= 4 * longest;
  return is_open && is_full && u_islower(characters::at(word, 0)) != 0 && word.back() != ':' && has_prose(word) &&
         has_prose(before) && has_prose(lines[i].text);
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

// Joins a word that the end of a line has divided: "dis- tribution". Its hyphen goes where the text has the word
// without it. The space stays in "two- and threefold".
void join_word(std::string& joined, std::string_view next, std::string_view all) {
  constexpr size_t kShortest = 4, kNear = 1 << 13;  // bytes on each side, so that many take linear time
  constexpr const char* kConjunctions = "beziehungsweise eller ning oder samt sekä sowie through versus";
  const std::string hyphen = ends_in(joined, "‐ ") ? "‐" : "-";
  if (!ends_in(joined, hyphen + ' ')) return;
  const size_t end = joined.size() - hyphen.size() - 1, begin = joined.find_last_of(" (\"", end) + 1;
  const std::string_view word = first_word(next);
  const std::string before = joined.substr(begin, end - begin);
  const std::string after(word.substr(0, word.find_last_not_of(".,;:!?)\"'") + 1));
  if (u_isalpha(characters::before(before, before.size())) == 0 || u_islower(characters::at(after, 0)) == 0) return;
  const size_t at = static_cast<size_t>(next.data() - all.data());
  const std::string_view near = all.substr(at - std::min(at, kNear), 2 * kNear);
  if (hyphen != "-" || near.find(before + after) != std::string_view::npos) {
    joined.resize(end);
  } else if (after.size() >= kShortest && !lists(kConjunctions, after)) {
    joined.pop_back();
  }
}

// The text of a line, without the spaces that justify it.
std::string words_of(const Line& line) {
  std::string words(line.text);
  if (line.is_justified)
    words.erase(std::unique(words.begin(), words.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
                words.end());
  return words;
}

// Finds lines of justified text, of which several end at the same column.
void find_justified(std::vector<Line>& lines) {
  constexpr size_t kFewest = 3;
  std::map<size_t, std::vector<Line*>> by_columns;
  for (Line& line : lines)
    if (line.columns >= kLeastColumns && line.columns <= kMostColumns && has_even_gaps(line.text) &&
        has_prose(line.text))
      by_columns[line.columns].push_back(&line);
  for (const auto& [columns, same] : by_columns)
    for (Line* const line : same) line->is_justified = same.size() >= kFewest;
}

// Adds the lines of a text between two empty ones. Poems and addresses have long lines that are shorter than their
// neighbors, or begin with capitals; a wrapped text has few.
void unwrap(const std::vector<Line>& lines, WrappedText kind, std::string_view all,
            std::vector<UnwrappedLine>& result) {
  const size_t slack = kind == WrappedText::plain ? 3 : 0;  // columns that people leave when they wrap by hand
  size_t longest = 0, full = 0, others = 0, within_sentence = 0;
  for (const Line& line : lines) longest = std::max(longest, line.columns);
  const bool is_in_capitals = std::all_of(lines.begin(), lines.end(), [](const Line& line) {  // as a disclaimer is
    return sentence_characters::all_characters(line.text, [](UChar32 c) { return u_islower(c) == 0; });
  });
  std::vector<bool> joins(lines.size());
  for (size_t i = 1, first = 0; i < lines.size(); ++i) {
    if (!joins[i - 1]) first = i - 1;
    if (!may_continue(lines[first], lines[i - 1], lines[i])) continue;
    const std::string_view word = lines[i].text.substr(0, end_of_word(lines[i].text, 0));
    joins[i] = lines[i - 1].columns + 1 + columns_in(word) + slack >= longest;
    const bool is_within_sentence = is_in_capitals || lines[i - 1].is_justified || begins_within_sentence(lines[i]);
    if (joins[i]) ++full;
    if (joins[i] && is_within_sentence) ++within_sentence;
    const bool is_small = u_islower(characters::at(lines[i].text, 0)) != 0;
    if (!joins[i] && (is_small || lines[i - 1].columns >= kLeastColumns)) ++others;
  }
  const bool is_prose = kind == WrappedText::message
                            ? others <= full
                            : longest <= kMostColumns && 9 * others <= full && 2 * within_sentence >= full;
  const bool is_wrapped = longest >= kLeastColumns && is_prose;
  const bool is_list = std::all_of(lines.begin(), lines.end(), [](const Line& line) {
    return line.text.empty() || u_islower(characters::at(line.text, 0)) != 0;
  });
  if (is_list && !is_wrapped) joins.assign(lines.size(), false);
  for (size_t i = 1, first = 0; i < lines.size() && (is_wrapped || !is_list); ++i) {
    if (!joins[i - 1]) first = i - 1;
    if (is_wrapped && joins[i]) continue;
    joins[i] = kind == WrappedText::plain && may_continue(lines[first], lines[i - 1], lines[i]) &&
               continues_sentence(lines, i);
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto& [indentation, text, columns, is_justified] = lines[i];
    if (!joins[i]) {
      const std::string_view whole(indentation.data(), indentation.size() + text.size());
      result.push_back({std::string(indentation) + words_of(lines[i]), whole, indentation});
      continue;
    }
    UnwrappedLine& joined = result.back();
    if (joined.text.back() != ' ') joined.text += space_between(joined.text, std::string(text));
    join_word(joined.text, text, all);
    joined.text += words_of(lines[i]);
    joined.written = {joined.written.data(), static_cast<size_t>(text.data() + text.size() - joined.written.data())};
    joined.indentation = indentation;
    joined.columns = is_wrapped ? longest : std::max({joined.columns, columns, lines[i - 1].columns});
  }
}

// The text of a line without the form feed that begins a page, and without its indentation.
std::string_view without_beginning(std::string_view line) {
  return line.substr(std::min(line.find_first_not_of("\f \t>"), line.size()));
}

// True for a note below the text of a page, which begins with its number.
bool is_note(const UnwrappedLine& line) {
  const std::string_view word = first_word(without_beginning(line.text));
  return !word.empty() && word.size() < line.text.size() && word.find_first_not_of("0123456789") == std::string::npos;
}

// True if lines[i] may be the last of a page, and a sentence may continue after it. A line by itself is a running head.
bool may_be_cut(const std::vector<UnwrappedLine>& lines, size_t i) {
  const UnwrappedLine& line = lines[i];
  const UChar32 last = characters::before(line.text, line.text.size());
  const bool is_of_paragraph = line.columns > 0 || (i > 0 && has_letter_or_digit(lines[i - 1].text));
  return is_of_paragraph && !line.is_rest && !is_note(line) && columns_in(line.text) >= kLeastColumns &&
         (u_isalpha(last) != 0 || is_one_of(last, U",-‐")) && has_prose(line.text);
}

// True if lines[i] may be the first of a page and continue a sentence.
bool may_be_rest(const std::vector<UnwrappedLine>& lines, size_t i) {
  const std::string_view text = without_beginning(lines[i].text);
  return !lines[i].is_rest && u_islower(characters::at(text, 0)) != 0 && first_word(text).back() != ':' &&
         has_prose(text);
}

// The first line from `at` on, in one direction, that is such a line; nothing but page numbers, running heads and notes
// may come before it.
std::optional<size_t> text_of_page(const std::vector<UnwrappedLine>& lines, size_t at, int direction,
                                   bool (*is_such)(const std::vector<UnwrappedLine>& lines, size_t i)) {
  constexpr size_t kMostOthers = 4, kMostLines = 16;  // with empty lines, so that many take linear time
  size_t others = 0;
  for (size_t line = 0; line < kMostLines && at < lines.size(); ++line) {  // nothing is at -1
    if (is_such(lines, at)) return at;
    if (has_letter_or_digit(lines[at].text)) ++others;
    if (others > kMostOthers || (columns_in(lines[at].text) >= kLeastRaggedColumns && !is_note(lines[at]))) return {};
    at += static_cast<size_t>(direction);
  }
  return {};
}

// Joins the halves of sentences that ends of pages have cut, which form feeds mark in copies from PDF files. The lines
// between the two come after the whole.
void join_pages(std::vector<UnwrappedLine>& lines, std::string_view all) {
  for (size_t page = 1; page < lines.size(); ++page) {
    if (lines[page].text.empty() || lines[page].text.front() != '\f') continue;
    const auto before = text_of_page(lines, page - 1, -1, may_be_cut),
               after = text_of_page(lines, page, 1, may_be_rest);
    if (!before || !after || lines[*before].rest > 0) continue;
    UnwrappedLine &cut = lines[*before], &rest = lines[*after];
    cut.rest = *after;
    cut.columns_before = columns_in(cut.text);
    if (cut.columns == 0) cut.columns = std::max(columns_in(cut.written), rest.columns);
    rest.is_rest = true;
    const std::string_view text = without_beginning(rest.text);
    if (cut.text.back() != ' ') cut.text += space_between(cut.text, std::string(text));
    join_word(cut.text, without_beginning(rest.written), all);
    cut.text += text;
  }
}

std::vector<UnwrappedLine> unwrapped_lines(const std::string& text, WrappedText kind) {
  std::vector<UnwrappedLine> result;
  std::vector<Line> lines, block;
  for (const std::string_view line : lines_of(text)) lines.push_back(line_of(line));
  if (kind == WrappedText::plain) find_justified(lines);
  for (const Line& next : lines) {
    if (!block.empty() && (block.back().text.empty() || quotations(next) != quotations(block.back()))) {
      unwrap(block, kind, text, result);
      block.clear();
    }
    block.push_back(next);
  }
  unwrap(block, kind, text, result);
  if (kind == WrappedText::plain) join_pages(result, text);
  return result;
}

std::string wrapped_line(std::string_view line, const UnwrappedLine& like) {
  std::string result(line_of(line).indentation);
  size_t columns = columns_in(result);
  bool has_words = false;  // after the last line end; a word that is too long for a line is not cut
  for (size_t at = result.size(); at < line.size();) {
    const size_t end = end_of_word(line, at);
    const size_t word = columns_in(line.substr(at, end - at));
    if (has_words && columns + word > like.columns) {
      at = line.find_first_not_of(' ', at);
      if (at == std::string_view::npos) break;
      result.append("\n").append(like.indentation);
      columns = columns_in(like.indentation);
      has_words = false;
      continue;
    }
    has_words = true;
    result += line.substr(at, end - at);
    columns += word;
    at = end;
  }
  return result;
}

// The spaces between the columns of a line, where Document cuts it: gaps, and those before each bar of a table.
std::vector<ByteSpan> column_ends(std::string_view line, bool is_row) {
  std::vector<ByteSpan> ends;
  for (size_t at = indentation_length(line); at < line.size(); ++at) {
    const size_t next = std::min(line.find_first_not_of(' ', at), line.size());
    const bool is_before_bar = is_row && line.substr(next, 1) == "|";
    if (next < line.size() && (is_before_bar || gap_length(line, at) > 0)) ends.emplace_back(at, next);
    at = std::max(at, next);
  }
  return ends;
}

// The translation of a line, of which each column begins where it does in the source if there is room.
std::string with_columns(std::string_view line, std::string_view source, std::string_view all) {
  const bool is_row = is_row_with_bars(all, static_cast<size_t>(source.data() - all.data()));
  const std::vector<ByteSpan> ends = column_ends(line, is_row), of_source = column_ends(source, is_row);
  if (ends.size() != of_source.size()) return std::string(line);
  std::string result;
  size_t at = 0, of_source_at = 0, columns = 0, place = 0;  // columns of the result so far, and of the source
  for (size_t i = 0; i < ends.size(); ++i) {
    const auto [begin, next] = of_source[i];
    const size_t fewest = std::min<size_t>(next - begin, source[next] == '|' ? 1 : 2);
    const std::string_view words = line.substr(at, ends[i].first - at);
    place += columns_in(source.substr(of_source_at, next - of_source_at));
    columns += columns_in(words);
    const size_t spaces = std::max(fewest, place - std::min(place, columns));
    result.append(words).append(spaces, ' ');
    columns += spaces;
    at = ends[i].second;
    of_source_at = next;
  }
  return result += line.substr(at);
}

// The end of the line that is the last before the end of the page: the lines are divided as the columns of the text
// are.
size_t end_of_page(std::string_view wrapped, const UnwrappedLine& like) {
  const auto lines = static_cast<size_t>(std::count(wrapped.begin(), wrapped.end(), '\n')) + 1;
  const size_t lines_before = lines * like.columns_before / columns_in(like.text);
  size_t end = std::min(wrapped.find('\n'), wrapped.size());
  for (size_t line = 1; line < lines_before; ++line) end = std::min(wrapped.find('\n', end + 1), wrapped.size());
  return end;
}

}  // namespace

std::string without_wrapping(const std::string& text, WrappedText kind) {
  std::string result;
  for (const UnwrappedLine& line : unwrapped_lines(text, kind))
    if (!line.is_rest) result += line.text + '\n';
  result.pop_back();
  return result;
}

std::string wrapped_like(const std::string& text, const std::string& translation, WrappedText kind) {
  const std::vector<UnwrappedLine> lines = unwrapped_lines(text, kind);
  const std::vector<std::string_view> translated = lines_of(translation);
  const auto is_rest = [](const UnwrappedLine& line) { return line.is_rest; };
  if (lines.size() != translated.size() + static_cast<size_t>(std::count_if(lines.begin(), lines.end(), is_rest)))
    return translation;
  std::vector<std::string> rests(lines.size());
  std::string result;
  auto next = translated.begin();
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) result += '\n';
    const UnwrappedLine& line = lines[i];
    if (line.is_rest) {
      result += rests[i];
      continue;
    }
    const bool is_same = *next == line.text;
    std::string wrapped(is_same ? line.written : *next);
    if (!is_same) wrapped = line.columns > 0 ? wrapped_line(*next, line) : with_columns(*next, line.written, text);
    ++next;
    if (line.rest > 0) {
      const std::string_view rest = lines[line.rest].written;
      const size_t end = is_same ? wrapped.size() : end_of_page(wrapped, line);
      rests[line.rest] = is_same ? rest : rest.substr(0, rest.front() == '\f' ? 1 : 0);
      rests[line.rest] += wrapped.substr(std::min(end + 1, wrapped.size()));
      wrapped.resize(end);
    }
    result += wrapped;
  }
  return result;
}

}  // namespace v0
}  // namespace transmute

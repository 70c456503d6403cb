// SPDX-License-Identifier: Apache-2.0
#include <transmute/metrics/metric_text.h>

#include <transmute/common/ascii_case.h>
#include <transmute/common/text_file.h>
#include <transmute/common/utf8.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace {

// The code points that Python's str.isspace() accepts, and therefore str.split() and str.rstrip() remove:
// bidirectional class WS, B or S, or category Zs. It differs from ICU's u_isspace and u_isUWhiteSpace at
// U+001C to U+001F or at U+0085, so it is here in full.
bool is_python_space(UChar32 c) {
  if (c < 0x80) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

// --- 13a --------------------------------------------------------------------------------------
//
// mteval-v13a.pl rewrites a line by a sequence of substitutions; the four below that insert spaces are its
// "language-dependent part". All of them single out ASCII characters, and no byte of a longer UTF-8 sequence
// is ASCII, so they work on bytes. A rule that looks at two characters consumes both, as a regular expression
// does: in "a.,b" the comma is not examined with the full stop as its left neighbor.

bool is_period_or_comma(char c) {
  return c == '.' || c == ',';
}

// ASCII punctuation other than the apostrophe, the comma, the hyphen and the full stop; and the space.
bool is_separate_symbol(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') ||
         (c >= ':' && c <= '@') || c == '/';
}

// Rewrites each pair of neighbors that satisfies `is_pair`, from left to right without overlap.
template <typename String, typename IsPair, typename AppendPair>
String rewrite_pairs(const String& line, IsPair is_pair, AppendPair append_pair) {
  String rewritten;
  rewritten.reserve(line.size() + line.size() / 4);
  std::size_t i = 0;
  while (i < line.size()) {
    if (i + 1 < line.size() && is_pair(line[i], line[i + 1])) {
      append_pair(rewritten, line[i], line[i + 1]);
      i += 2;
    } else {
      rewritten.push_back(line[i]);
      ++i;
    }
  }
  return rewritten;
}

template <typename String, typename Char>
void append_right_apart(String& out, Char left, Char right) {
  out.append({left, ' ', right, ' '});
}

template <typename String, typename Char>
void append_left_apart(String& out, Char left, Char right) {
  out.append({' ', left, ' ', right});
}

// Puts spaces around each character that `is_apart`.
template <typename String, typename IsApart>
String space_out(const String& text, IsApart is_apart) {
  String spaced;
  spaced.reserve(2 * text.size());
  for (const auto c : text) {
    if (is_apart(c)) {
      spaced.append({' ', c, ' '});
    } else {
      spaced.push_back(c);
    }
  }
  return spaced;
}

// "3.5" and "1,000" stay whole; every other full stop or comma becomes a token.
std::string space_out_periods_and_commas(const std::string& line) {
  const std::string after_non_digit = rewrite_pairs(
      line, [](char left, char right) { return !is_ascii_digit(left) && is_period_or_comma(right); },
      append_right_apart<std::string, char>);
  return rewrite_pairs(
      after_non_digit, [](char left, char right) { return is_period_or_comma(left) && !is_ascii_digit(right); },
      append_left_apart<std::string, char>);
}

std::string space_out_hyphens_after_digits(const std::string& line) {
  return rewrite_pairs(
      line, [](char left, char right) { return is_ascii_digit(left) && right == '-'; },
      append_right_apart<std::string, char>);
}

// The order matters twice: "-\n" must go before "\n", and "&amp;lt;" becomes "&lt;", then "<".
std::string resolve_markup(std::string line) {
  replace_all(line, "<skipped>", "");
  replace_all(line, "-\n", "");
  replace_all(line, "\n", " ");
  replace_all(line, "&quot;", "\"");
  replace_all(line, "&amp;", "&");
  replace_all(line, "&lt;", "<");
  replace_all(line, "&gt;", ">");
  return line;
}

std::string tokenize_western(const std::string& line) {
  return space_out_periods_and_hyphens(space_out_symbols(line));
}

std::string tokenize_13a(std::string_view segment) {
  // Spaces around the line give the two-character rules a neighbor at both ends.
  return tokenize_western(" " + resolve_markup(std::string(segment)) + " ");
}

// --- The others --------------------------------------------------------------------------------------------

std::string tokenize_none(std::string_view segment) {
  return std::string(segment);
}

std::u32string code_points(std::string_view text) {
  std::u32string points;
  for (const Character& character : Characters(text))
    points.push_back(character.code < 0 ? U'\uFFFD' : static_cast<char32_t>(character.code));
  return points;
}

std::string to_utf8(const std::u32string& points) {
  std::string text;
  for (const char32_t point : points) append_utf8(text, point);
  return text;
}

bool is_in(char32_t c, uint32_t categories) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & categories) != 0;
}

// mteval-v14.pl: punctuation is split off but between digits, symbols always. Unlike in 13a nothing is put around the
// line, so that a full stop after a final digit stays with it.
std::string tokenize_international(std::string_view segment) {
  const std::u32string after_non_number = rewrite_pairs(
      code_points(segment),
      [](char32_t left, char32_t right) { return !is_in(left, U_GC_N_MASK) && is_in(right, U_GC_P_MASK); },
      append_right_apart<std::u32string, char32_t>);
  const std::u32string punctuated = rewrite_pairs(
      after_non_number,
      [](char32_t left, char32_t right) { return is_in(left, U_GC_P_MASK) && !is_in(right, U_GC_N_MASK); },
      append_left_apart<std::u32string, char32_t>);
  return to_utf8(space_out(punctuated, [](char32_t c) { return is_in(c, U_GC_S_MASK); }));
}

std::string tokenize_characters(std::string_view segment) {
  std::u32string spaced;
  for (const char32_t c : code_points(segment)) spaced.append({c, ' '});
  return to_utf8(spaced);
}

// The characters that sacreBLEU takes for Chinese. Two of its ranges are meant for the supplementary planes but are
// written so that they cover U+2001 to U+2A6D and U+2F81 to U+2FA1; scores must agree, so they stand here as they act.
bool is_chinese(char32_t c) {
  static constexpr char32_t kRanges[][2] = {{0x2001, 0x2A6D}, {0x2E80, 0x2FDF}, {0x2FF0, 0x303F}, {0x3100, 0x312F},
                                            {0x31A0, 0x31BF}, {0x31C0, 0x31EF}, {0x3200, 0x33FF}, {0x3400, 0x4DB5},
                                            {0x4E00, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A}, {0xFA70, 0xFAD9},
                                            {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF}};
  for (const auto& range : kRanges)
    if (c >= range[0] && c <= range[1]) return true;
  return false;
}

// Chinese characters are split off, the rest as in 13a, but without its resolving of markup.
std::string tokenize_chinese(std::string_view segment) {
  std::u32string points = code_points(segment);
  const auto is_space = [](char32_t c) { return is_python_space(static_cast<UChar32>(c)); };
  points.erase(std::find_if_not(points.rbegin(), points.rend(), is_space).base(), points.end());
  points.erase(points.begin(), std::find_if_not(points.begin(), points.end(), is_space));
  return tokenize_western(to_utf8(space_out(points, is_chinese)));
}

// A tokenizer marks token borders by whitespace. A new one is a function and a row here.
struct TokenizerEntry {
  BleuTokenizer tokenizer;
  const char* name;
  std::string (*tokenize)(std::string_view segment);
};

constexpr TokenizerEntry kTokenizers[] = {
    {BleuTokenizer::mteval_13a, "13a", tokenize_13a},
    {BleuTokenizer::none, "none", tokenize_none},
    {BleuTokenizer::international, "intl", tokenize_international},
    {BleuTokenizer::character, "char", tokenize_characters},
    {BleuTokenizer::chinese, "zh", tokenize_chinese},
};

const TokenizerEntry& tokenizer_entry(BleuTokenizer tokenizer) {
  for (const TokenizerEntry& entry : kTokenizers) {
    if (entry.tokenizer == tokenizer) return entry;
  }
  throw std::invalid_argument("BleuOptions::tokenizer has the undefined value " +
                              std::to_string(static_cast<int>(tokenizer)));
}

}  // namespace

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  std::size_t at = text.find(from), begin = 0;
  if (at == std::string::npos) return;
  std::string replaced;
  for (; at != std::string::npos; at = text.find(from, begin)) {
    replaced.append(text, begin, at - begin).append(to);
    begin = at + from.size();
  }
  text = replaced.append(text, begin);
}

std::string space_out_symbols(const std::string& line) {
  return space_out(line, is_separate_symbol);
}

std::string space_out_periods_and_hyphens(const std::string& line) {
  return space_out_hyphens_after_digits(space_out_periods_and_commas(line));
}

// str.split(): the words between runs of whitespace, none of them empty. They point into `text`.
std::vector<std::string_view> split_at_space(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t word_begin = 0;
  for (const auto& [c, begin, end] : Characters(text)) {
    if (!is_python_space(c)) continue;
    if (begin > word_begin) words.push_back(text.substr(word_begin, begin - word_begin));
    word_begin = end;
  }
  if (text.size() > word_begin) words.push_back(text.substr(word_begin));
  return words;
}

// str.rstrip(). Not the same as splitting alone: 13a looks at line feeds inside the segment.
std::string_view strip_right(std::string_view text) {
  auto end = static_cast<int32_t>(text.size());
  while (end > 0) {
    int32_t previous = end;
    UChar32 c;
    U8_PREV(text.data(), 0, previous, c);
    if (!is_python_space(c)) break;
    end = previous;
  }
  return text.substr(0, end);
}

// str.lower(): full mappings of the root locale, a Greek capital sigma by its context.
std::string to_lower(const std::string& text) {
  std::string lowered;
  icu::UnicodeString::fromUTF8(text).toLower(icu::Locale::getRoot()).toUTF8String(lowered);
  return lowered;
}

std::string tokenize_for_bleu(BleuTokenizer tokenizer, std::string_view segment) {
  return tokenizer_entry(tokenizer).tokenize(segment);
}

std::string bleu_tokenizer_name(BleuTokenizer tokenizer) {
  return tokenizer_entry(tokenizer).name;
}

BleuTokenizer bleu_tokenizer_from_name(const std::string& name) {
  std::string known;
  for (const TokenizerEntry& entry : kTokenizers) {
    if (name == entry.name) return entry.tokenizer;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw std::invalid_argument("unknown BLEU tokenizer \"" + name + "\"; known are: " + known);
}

BleuTokenizer bleu_tokenizer_for(const std::vector<std::string>& texts) {
  std::size_t letters = 0, without_spaces = 0, chinese = 0;
  for (const std::string& text : texts)
    for (const char32_t point : code_points(text)) {
      const auto c = static_cast<UChar32>(point);
      if (u_isalpha(c) == 0) continue;
      ++letters;
      UErrorCode error = U_ZERO_ERROR;
      const UScriptCode script = uscript_getScript(c, &error);
      without_spaces += uscript_breaksBetweenLetters(script) != 0 ? 1 : 0;
      chinese += script == USCRIPT_HAN || script == USCRIPT_BOPOMOFO ? 1 : 0;
    }
  if (2 * without_spaces <= letters) return BleuTokenizer::mteval_13a;
  // Japanese has Chinese characters too, but hardly a sentence without kana.
  return 10 * chinese >= 9 * without_spaces ? BleuTokenizer::chinese : BleuTokenizer::character;
}

void check_segment_counts(const std::vector<std::string>& hypotheses,
                          const std::vector<std::vector<std::string>>& references, const std::string& metric) {
  if (hypotheses.empty()) throw std::invalid_argument(metric + " needs at least one segment; there are no hypotheses");
  if (references.empty()) throw std::invalid_argument(metric + " needs at least one reference set; there is none");
  for (std::size_t r = 0; r < references.size(); ++r) {
    if (references[r].size() == hypotheses.size()) continue;
    throw std::invalid_argument("reference set " + std::to_string(r + 1) + " has " +
                                std::to_string(references[r].size()) + " segments but there are " +
                                std::to_string(hypotheses.size()) +
                                " hypotheses; give one reference segment per hypothesis, in the same order");
  }
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/utf8.h>
#include <transmute/metrics/metric_text.h>
#include <transmute/metrics/ter.h>

#include <functional>

namespace transmute {
inline namespace v0 {
namespace {

struct Range {
  char32_t first, last;
};

template <size_t N>
bool is_in_any(char32_t c, const Range (&ranges)[N]) {
  for (const Range& range : ranges)
    if (c >= range.first && c <= range.last) return true;
  return false;
}

bool is_asian_punctuation(char32_t c) {
  static constexpr Range kRanges[] = {{0x3001, 0x3002}, {0x3008, 0x3011}, {0x3014, 0x301F}, {0x30FB, 0x30FB},
                                      {0xFF01, 0xFF02}, {0xFF08, 0xFF09}, {0xFF0C, 0xFF0C}, {0xFF0E, 0xFF0E},
                                      {0xFF1A, 0xFF1B}, {0xFF1F, 0xFF1F}, {0xFF61, 0xFF65}};
  return is_in_any(c, kRanges);
}

// Ideographs, radicals, strokes and compatibility forms. The range from U+3200 on is Tercom's in sacreBLEU as it acts:
// it reaches to U+3F22. The rules there for rows of kana hold only at the ends of a line, where by then a blank stands.
bool is_asian_word(char32_t c) {
  static constexpr Range kRanges[] = {{0x2E80, 0x2EFF}, {0x31C0, 0x31EF}, {0x3200, 0x3F22}, {0x3300, 0x33FF},
                                      {0x3400, 0x4DBF}, {0x4E00, 0x9FFF}, {0xF900, 0xFAFF}, {0xFE30, 0xFE4F}};
  return is_in_any(c, kRanges) || is_asian_punctuation(c);
}

bool is_punctuation(char32_t c) {
  static const std::u32string kMarks = U".,?:;!\"()";
  return kMarks.find(c) != std::u32string::npos;
}

// Puts what `replacement` says for each character.
std::string rewritten(const std::string& text,
                      const std::function<std::string(char32_t, const std::string&)>& replacement) {
  std::string result;
  for (const auto& [code, begin, end] : Characters(text))
    result += replacement(static_cast<char32_t>(code), text.substr(begin, end - begin));
  return result;
}

std::string normalized(std::string text, bool asian_support) {
  replace_all(text, "\n-", "");
  replace_all(text, "\n", " ");
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");
  text = space_out_symbols(" " + text + " ");
  replace_all(text, "'s ", " 's ");
  text = space_out_periods_and_hyphens(text);
  if (!asian_support) return text;
  return rewritten(text,
                   [](char32_t c, const std::string& bytes) { return is_asian_word(c) ? " " + bytes + " " : bytes; });
}

}  // namespace

std::vector<std::string> words_for_ter(const TerOptions& options, const std::string& segment) {
  std::string text(strip_right(segment));
  if (!options.case_sensitive) text = to_lower(text);
  if (options.normalized) text = normalized(text, options.asian_support);
  if (options.no_punctuation)
    text = rewritten(text, [&](char32_t c, const std::string& bytes) {
      return is_punctuation(c) || (options.asian_support && is_asian_punctuation(c)) ? std::string() : bytes;
    });
  std::vector<std::string> words;
  for (const std::string_view word : split_at_space(text)) words.emplace_back(word);
  return words;
}

}  // namespace v0
}  // namespace transmute

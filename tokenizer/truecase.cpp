// SPDX-License-Identifier: Apache-2.0
#include <transmute/tokenizer/truecase.h>

#include <transmute/common/utf8.h>
#include <unicode/uchar.h>

namespace transmute {
inline namespace v0 {

namespace {

// The end of the word that begins at `begin`, which only has letters.
size_t end_of_word(std::string_view text, size_t begin) {
  while (begin < text.size()) {
    const Character next = character_at(text, begin);
    if (!u_isalpha(next.code)) break;
    begin = next.end;
  }
  return begin;
}

// The first character that is a letter or a digit; an empty one at the end of the text where there is none.
Character first_of_word(std::string_view text, size_t begin) {
  while (begin < text.size()) {
    const Character next = character_at(text, begin);
    if (u_isalnum(next.code)) return next;
    begin = next.end;
  }
  return {0, text.size(), text.size()};
}

// True for a letter that is short for a word in Dutch and Afrikaans, as in "'s avonds": the next word has the capital.
bool is_short_for_word(std::string_view text, const Character& letter) {
  const std::string_view before = text.substr(0, letter.begin), after = text.substr(letter.begin);
  const auto is_before = [&](std::string_view mark) {
    return before.size() >= mark.size() && before.substr(before.size() - mark.size()) == mark;
  };
  return (is_before("'") || is_before("\u2019")) && after.size() > 1 && after[1] == ' ' &&
         std::string_view("knst").find(after.front()) != std::string_view::npos;
}

// Replaces a letter by its other case, unless that has another number of bytes.
void replace(std::string& text, const Character& letter, UChar32 other) {
  if (other == letter.code || static_cast<size_t>(U8_LENGTH(other)) != letter.end - letter.begin) return;
  size_t at = letter.begin;
  U8_APPEND_UNSAFE(text.data(), at, other);
}

}  // namespace

bool is_truecasing(std::string_view normalization) {
  return normalization == "nmt_nfkc_tc";
}

std::string truecased(std::string_view text,
                      const std::function<bool(const std::string& capital, const std::string& lower)>& is_lower) {
  std::string changed(text);
  const Character first = first_of_word(text, 0);
  if (!u_isupper(first.code)) return changed;
  const size_t end = end_of_word(text, first.begin);
  if (first.end < end && u_isupper(character_at(text, first.end).code)) return changed;
  replace(changed, first, u_tolower(first.code));
  const std::string capital(text.substr(first.begin, end - first.begin));
  const std::string lower = changed.substr(first.begin, end - first.begin);
  return lower != capital && is_lower(capital, lower) ? changed : std::string(text);
}

std::string with_capital(std::string text, bool is_turkish) {
  Character first = first_of_word(text, 0);
  if (is_short_for_word(text, first)) first = first_of_word(text, first.end);
  if (u_islower(first.code) && !(is_turkish && first.code == 'i')) replace(text, first, u_totitle(first.code));
  return text;
}

bool begins_in_lower_case(std::string_view text) {
  const UChar32 first = first_of_word(text, 0).code;
  return u_islower(first) && u_totitle(first) != first;  // the capitals of Georgian begin no sentence
}

bool begins_in_upper_case(std::string_view text) {
  const UChar32 first = first_of_word(text, 0).code;
  return u_isupper(first) || u_istitle(first);
}

std::string without_capitals(std::string text) {
  for (const Character& next : Characters(text)) replace(text, next, u_tolower(next.code));
  return text;
}

std::string Truecaser::next(const std::string& line) {
  const auto count_of = [this](const std::string& word) {
    const auto found = counts_.find(word);
    return found == counts_.end() ? 0 : found->second;
  };
  bool is_first = true;
  for (size_t at = 0; at < line.size();) {
    const Character first = first_of_word(line, at);
    at = end_of_word(line, first.begin);
    if (at > first.begin && !is_first) ++counts_[line.substr(first.begin, at - first.begin)];
    if (at == first.begin) at = first.end;  // a digit
    is_first = false;
  }
  return truecased(
      line, [&](const std::string& capital, const std::string& lower) { return count_of(lower) > count_of(capital); });
}

}  // namespace v0
}  // namespace transmute

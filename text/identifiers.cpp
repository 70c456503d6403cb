// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/identifiers.h>

#include <transmute/common/ascii_case.h>

#include <algorithm>

namespace transmute {
inline namespace v0 {

namespace {

bool is_small_letter(char c) {
  return c >= 'a' && c <= 'z';
}

bool is_capital_letter(char c) {
  return c >= 'A' && c <= 'Z';
}

bool is_joint(char c) {
  return std::string_view("-:_/+").find(c) != std::string_view::npos;
}

template <class Is>
size_t skip_while(std::string_view text, size_t at, const Is& is) {
  while (at < text.size() && is(text[at])) ++at;
  return at;
}

// True for at least four letters of which all but the first are small, as in most words.
bool is_like_word(std::string_view letters) {
  constexpr size_t kLeast = 4;
  return letters.size() >= kLeast && std::all_of(letters.begin() + 1, letters.end(), is_small_letter);
}

// These properties of a run of letters and digits tell identifiers from words.
struct Signs {
  size_t changes = 0;      // between letters and digits
  size_t digits = 0;       // of the longest run
  bool has_words = false;  // or letters like those of a word
};

Signs signs_of(std::string_view run) {
  Signs signs;
  for (size_t at = 0; at < run.size();) {
    const size_t digits_end = skip_while(run, at, is_ascii_digit);
    const size_t end = digits_end > at ? digits_end : skip_while(run, at, is_ascii_letter);
    signs.digits = std::max(signs.digits, digits_end - at);
    signs.has_words = signs.has_words || is_like_word(run.substr(at, end - at));
    if (end < run.size()) ++signs.changes;
    at = end;
  }
  return signs;
}

bool is_hexadecimal(std::string_view run) {
  const auto has_digits_to = [&](char a, char f) {
    return std::all_of(run.begin(), run.end(), [&](char c) { return is_ascii_digit(c) || (c >= a && c <= f); });
  };
  return has_digits_to('a', 'f') || has_digits_to('A', 'F');
}

// True for 14h30, 14h30min and the like.
bool is_time(std::string_view run) {
  const size_t hours = skip_while(run, 0, is_ascii_digit), minutes = skip_while(run, hours + 1, is_ascii_digit);
  return hours > 0 && hours <= 2 && hours < run.size() && run[hours] == 'h' && minutes == hours + 3 &&
         skip_while(run, minutes, is_small_letter) == run.size();
}

bool is_identifier(std::string_view run) {
  constexpr size_t kLeast = 8, kLeastOfHash = 7, kManyDigits = 16, kManyChanges = 4;
  const Signs signs = signs_of(run);
  if (is_time(run)) return false;
  if (signs.digits >= kManyDigits || (signs.changes >= kManyChanges && run.size() >= kLeast)) return true;
  if (signs.changes < 2) return false;  // added1, 1000000e
  return is_hexadecimal(run) ? run.size() >= kLeastOfHash : run.size() >= kLeast && !signs.has_words;
}

// True for a run that no identifier contains. Groups of UUIDs may have letters alone.
bool is_ordinary(std::string_view run, const Signs& signs) {
  constexpr size_t kManyChanges = 4, kLongestGroup = 4;
  const bool is_group = is_hexadecimal(run) && (signs.digits > 0 || run.size() <= kLongestGroup);
  return is_time(run) || (signs.has_words && signs.changes < kManyChanges && !is_group);
}

// True for groups of one to four hexadecimal digits with colons between them, or of two with hyphens: the addresses of
// networks and their cards.
bool is_network_address(std::string_view text) {
  constexpr size_t kGroupsOfCard = 6, kGroupsOfNetwork = 8, kLongestGroup = 4;
  size_t groups = 0, longest = 0, gaps = 0;
  const size_t mark = text.find_first_of(":-");
  if (mark == std::string_view::npos || text.find_first_of("0123456789") == std::string_view::npos) return false;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(text[mark], at), text.size());
    const std::string_view group = text.substr(at, end - at);
    if (group.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) return false;
    if (group.empty()) ++gaps;
    longest = std::max(longest, group.size());
    ++groups;
    at = end + 1;
  }
  if (longest <= 2 && gaps == 0 && groups == kGroupsOfCard) return text.size() == 3 * kGroupsOfCard - 1;
  return text[mark] == ':' && longest <= kLongestGroup &&
         (gaps == 1 ? groups <= kGroupsOfNetwork : gaps == 0 && groups == kGroupsOfNetwork);
}

}  // namespace

// Parts of a date and a time, and ext2/ext3, IPv4/IPv6 and 1950s/1960s, have fewer changes than those of an identifier.
// What has a word in it, or too few changes, has no identifier that begins later and ends there either.
size_t IdentifierFinder::joined_end(size_t begin) {
  constexpr size_t kLongest = 512, kLeastOfPart = 4, kManyChanges = 4, kLongPart = 6;
  if (begin < next_joined_) return begin;
  size_t changes = 0, end = begin;
  bool has_long = false;
  for (size_t at = begin; at < text_.size();) {
    next_joined_ = skip_while(text_, at, is_ascii_alphanumeric);
    if (next_joined_ == at) break;
    end = next_joined_;
    const Signs signs = signs_of(text_.substr(at, end - at));
    if (is_ordinary(text_.substr(at, end - at), signs) || end - begin > kLongest) return begin;
    const bool may_be_unit =
        signs.changes == 1 && std::none_of(text_.begin() + at, text_.begin() + end, is_capital_letter);
    if (end - at >= kLeastOfPart && !may_be_unit) changes += signs.changes;
    if (end - at >= kLongPart && signs.changes > 1) has_long = true;
    at = skip_while(text_, end, is_joint);
    if (at == end) break;
  }
  return has_long || changes >= kManyChanges || is_network_address(text_.substr(begin, end - begin)) ? end : begin;
}

size_t IdentifierFinder::end_of(size_t begin) {
  const auto separates = [&](size_t at) { return at < text_.size() && (text_[at] == '.' || text_[at] == ','); };
  const auto is_digit_at = [&](size_t at) { return at < text_.size() && is_ascii_digit(text_[at]); };
  if (separates(begin - 1) && is_digit_at(begin - 2)) return begin;  // nothing is at -1
  const size_t run_end = skip_while(text_, begin, is_ascii_alphanumeric);
  size_t end = joined_end(begin);
  if (end <= run_end) end = is_identifier(text_.substr(begin, run_end - begin)) ? run_end : begin;
  if (end == begin || (separates(end) && is_digit_at(end + 1))) return begin;
  const size_t padding_end = skip_while(text_, end, [](char c) { return c == '='; });
  return padding_end == text_.size() || !is_ascii_alphanumeric(text_[padding_end]) ? padding_end : end;
}

}  // namespace v0
}  // namespace transmute

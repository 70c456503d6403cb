// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/characters.h>
#include <transmute/text/letter_case.h>
#include <transmute/translation/torn_names.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

namespace {

// True for a name: it begins with a letter, and has a capital after a small letter or two full stops, unless the first
// one is after a single letter: U.S.A.
bool is_name_of_code(std::string_view word) {
  if (word.empty() || u_isalpha(characters::at(word, 0)) == 0) return false;
  return has_capital_within(word) ||
         (word.substr(characters::end(word, 0), 1) != "." && std::count(word.begin(), word.end(), '.') > 1);
}

// The names in a text, such as InstanceId and Get-ChildItem. What follows a sign of escapes and placeholders is none:
// "\nThe", "%sThe".
std::vector<ProtectedSpan> names_in(std::string_view text) {
  const auto is_of_word = [&](size_t at) { return characters::is_letter_or_digit(characters::at(text, at)); };
  const auto is_capital = [&](size_t at) { return at < text.size() && u_isupper(characters::at(text, at)) != 0; };
  std::vector<ProtectedSpan> names;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const auto joins = [&](size_t joint) {
      if (joint == begin || joint >= text.size()) return false;
      return text[joint] == '.' ? is_of_word(joint + 1)
                                : text[joint] == '-' && is_capital(begin) && is_capital(joint + 1);
    };
    while (is_of_word(at) || joins(at)) at = characters::end(text, at);
    const bool may_be_name = begin == 0 || std::string_view("\\%&$").find(text[begin - 1]) == std::string_view::npos;
    if (may_be_name && is_name_of_code(text.substr(begin, at - begin)))
      names.push_back({begin, at - begin, ProtectedKind::identifier});
    if (at == begin) at = characters::end(text, at);
  }
  return names;
}

}  // namespace

std::vector<ProtectedSpan> torn_names(const std::string& text, const std::string& translation) {
  std::vector<ProtectedSpan> names = names_in(text);
  if (names.empty()) return names;
  const std::vector<ProtectedSpan> others = names_in(translation);
  const bool has_pieces = std::any_of(others.begin(), others.end(), [&](const ProtectedSpan& other) {
    return text.find(translation.substr(other.begin, other.length)) == std::string::npos;
  });
  if (!has_pieces) return {};
  const auto is_whole = [&](const ProtectedSpan& name) {
    const std::string word = text.substr(name.begin, name.length);
    return characters::occurrences(translation, word) >= characters::occurrences(text, word);
  };
  names.erase(std::remove_if(names.begin(), names.end(), is_whole), names.end());
  return names;
}

}  // namespace v0
}  // namespace transmute

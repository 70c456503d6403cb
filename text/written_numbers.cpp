// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/written_numbers.h>

#include <transmute/common/ascii_case.h>

#include <algorithm>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

struct SeparatedNumber {
  std::vector<std::string> groups;  // of digits
  std::vector<size_t> separators;   // places in the text of the points and commas between the groups
};

// Numbers of three groups and more.
std::vector<SeparatedNumber> separated_numbers(const std::string& text) {
  constexpr size_t kFewestGroups = 3;
  const auto is_digit_at = [&](size_t at) { return at < text.size() && is_ascii_digit(text[at]); };
  std::vector<SeparatedNumber> numbers;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!is_digit_at(at)) continue;
    SeparatedNumber number;
    while (true) {
      const size_t begin = at;
      while (is_digit_at(at)) ++at;
      number.groups.push_back(text.substr(begin, at - begin));
      if (at >= text.size() || (text[at] != '.' && text[at] != ',') || !is_digit_at(at + 1)) break;
      number.separators.push_back(at++);
    }
    if (number.groups.size() >= kFewestGroups) numbers.push_back(std::move(number));
  }
  return numbers;
}

std::string marks_of(const SeparatedNumber& number, const std::string& text) {
  std::string marks;
  for (const size_t place : number.separators) marks += text[place];
  return marks;
}

}  // namespace

WrittenNumbers::WrittenNumbers(const std::string& source) {
  constexpr size_t kThousands = 3;  // digits
  for (const SeparatedNumber& number : separated_numbers(source)) {
    const auto is_of_thousands = [](const std::string& group) { return group.size() == kThousands; };
    const std::vector<std::string>& groups = number.groups;
    std::string marks = marks_of(number, source);
    const bool has_decimals = marks.front() != marks.back();
    if (groups.front().size() <= kThousands && marks.find_first_not_of(marks.front()) >= marks.size() - 1 &&
        std::all_of(groups.begin() + 1, groups.end() - (has_decimals ? 1 : 0), is_of_thousands))
      numbers_.emplace(groups, std::move(marks));
  }
}

void WrittenNumbers::restore(Rewriting& translation) const {
  if (!exist()) return;
  const std::string& text = translation.text();
  for (const SeparatedNumber& number : separated_numbers(text)) {
    const auto same = numbers_.find(number.groups);
    if (same == numbers_.end()) continue;
    std::string exchanged = same->second;
    for (char& mark : exchanged) mark = mark == '.' ? ',' : '.';
    const std::string marks = marks_of(number, text);
    if (marks == same->second || marks == exchanged) continue;
    for (size_t i = 0; i < marks.size(); ++i)
      if (const ByteSpan place{number.separators[i], number.separators[i] + 1};
          marks[i] != exchanged[i] && translation.is_free(place))
        translation.replace(place, {exchanged[i]});
  }
}

}  // namespace v0
}  // namespace transmute

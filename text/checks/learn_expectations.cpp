// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/checks/expectations.h>

#include <transmute/common/text_file.h>
#include <transmute/common/utf8.h>
#include <transmute/text/checks/checks.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

namespace transmute {
inline namespace v0 {

namespace {

// The mean and the standard deviation of numbers that come one by one (Welford, 1962).
struct Moments {
  double count = 0, mean = 0, squares = 0;

  void add(double value) {
    ++count;
    const double before = value - mean;
    mean += before / count;
    squares += before * (value - mean);
  }
  double deviation() const { return std::sqrt(squares / count); }
};

void count_scripts(const std::string& text, std::map<int32_t, size_t>& letters) {
  for (const Character& character : Characters(text)) {
    UErrorCode error = U_ZERO_ERROR;
    if (!u_isalpha(character.code)) continue;
    const UScriptCode script = uscript_getScript(character.code, &error);
    if (script > USCRIPT_INHERITED) ++letters[script];
  }
}

}  // namespace

Expectations learn_expectations(const std::vector<std::string>& sources, const std::vector<std::string>& targets) {
  constexpr double kFewestPairs = 100, kLeastDeviation = 0.1, kLeastShare = 0.001;
  Expectations learned;
  std::array<Moments, kLengthClasses> moments;
  std::map<int32_t, size_t> letters;
  size_t copies = 0, all_letters = 0;
  for (size_t i = 0; i < sources.size(); ++i) {
    const size_t source = characters_in(sources[i]), target = characters_in(targets[i]);
    if (source == 0 || target == 0) continue;
    moments[length_class(source)].add(std::log(static_cast<double>(target) / static_cast<double>(source)));
    count_scripts(targets[i], letters);
    copies += checks::is_copy(sources[i], targets[i]) ? 1 : 0;
  }
  for (size_t i = 0; i < kLengthClasses; ++i)
    if (moments[i].count >= kFewestPairs)
      learned.lengths[i] = {moments[i].mean, std::max(kLeastDeviation, moments[i].deviation())};
  for (const auto& [script, count] : letters) all_letters += count;
  for (const auto& [script, count] : letters)
    if (static_cast<double>(count) >= kLeastShare * static_cast<double>(all_letters))
      learned.scripts.emplace_back(uscript_getShortName(static_cast<UScriptCode>(script)));
  if (!sources.empty()) learned.copies = static_cast<double>(copies) / static_cast<double>(sources.size());
  return learned;
}

}  // namespace v0
}  // namespace transmute

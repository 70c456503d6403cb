// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// log(characters of the target / characters of the source) for sources of similar length.
struct LengthExpectation {
  double mean = 0;
  double deviation = 0;  ///< standard deviation
};

/// Number of lengths that Expectations tells apart: sources of fewer than 8 characters, 8 to 15, 16 to 31, … and 512 or
/// more.
constexpr size_t kLengthClasses = 8;

/// Expectations of a model's translations from its training text. The defaults are wide enough for any model.
struct Expectations {
  /// For sources of each length.
  std::array<LengthExpectation, kLengthClasses> lengths{
      {{0, 1}, {0, 0.8}, {0, 0.7}, {0, 0.6}, {0, 0.5}, {0, 0.45}, {0, 0.4}, {0, 0.4}}};
  /// Scripts of the target text by their names in ISO 15924, such as Latn; empty: unknown.
  std::vector<std::string> scripts{};
  /// Share of the training pairs whose target repeats the source.
  double copies = 0;
};

/// The class of a source of so many characters.
inline size_t length_class(size_t characters) {
  size_t found = 0;
  for (size_t rest = characters / 8; rest > 0 && found + 1 < kLengthClasses; rest /= 2) ++found;
  return found;
}

/// Learns from a sample of training pairs what to expect. Lengths of which the sample has few keep their defaults.
Expectations learn_expectations(const std::vector<std::string>& sources, const std::vector<std::string>& targets);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace transmute {

/// Counts the lines with text that the model's vocabulary lacks, and collects examples.
class UnknownText {
 public:
  void add(const Translation& translation);
  /// Notes how many of `lines`, such as "7 lines", these were, and what the vocabulary lacks.
  void report(const std::string& lines) const;

 private:
  int64_t count_ = 0;
  std::set<std::string> known_examples_;
  std::vector<std::string> examples_;
  bool has_more_ = false;
};

}  // namespace transmute

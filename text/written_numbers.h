// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/rewriting.h>

#include <map>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The numbers of a text that have two separators or more: 1,299.99 and 1,234,567. Where a language has points and
/// commas the other way around, models exchange some and not others: "1.299.99", "1.234,567".
class WrittenNumbers {
 public:
  explicit WrittenNumbers(const std::string& source);

  bool exist() const { return !numbers_.empty(); }
  /// Exchanges all separators of numbers some of whose separators are exchanged.
  void restore(Rewriting& translation) const;

 private:
  std::map<std::vector<std::string>, std::string> numbers_;  // separators by the groups of digits that they are between
};

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Finds the marks that begin and end something together, such as the range of a comment, and that nest with the
/// elements around them and with each other. They are told in the order of the text.
class PairedMarks {
 public:
  /// An element begins.
  void enter();
  /// The element that began last ends.
  void leave();
  /// A mark begins what has this key.
  /// @param number of the mark, for end()
  void begin(std::string key, size_t number);
  /// A mark ends what has this key.
  /// @returns the number of the mark that began it in the same element; none without one that is still open
  std::optional<size_t> end(const std::string& key);
  /// No pair reaches beyond this place.
  void clear() { open_.clear(); }

 private:
  std::vector<std::pair<std::string, size_t>> open_;  // marks, and elements, which have no key
};

}  // namespace v0
}  // namespace transmute

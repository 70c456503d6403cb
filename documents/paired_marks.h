// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Finds the marks that begin and end something together, such as the range of a comment, and that nest with the
/// elements around them and with each other. They are told in the order of the text.
class PairedMarks {
 public:
  /// An element begins.
  void enter() { levels_.emplace_back(); }
  /// The element that began last ends.
  void leave();
  /// A mark begins what has this key.
  /// @param number of the mark, for end()
  void begin(const std::string& key, size_t number);
  /// A mark ends what has this key.
  /// @returns the number of the mark that began it in the same element; none without one that is still open
  std::optional<size_t> end(const std::string& key);
  /// Ends all pairs: none reaches beyond this place.
  void clear() { levels_.assign(1, {}); }

 private:
  struct Mark {
    std::string key;
    size_t number;
  };
  // The marks that are open in an element.
  struct Level {
    std::vector<Mark> open;
    std::unordered_map<std::string, size_t> counts;  // numbers of the marks with each key
  };

  std::vector<Level> levels_{1};
};

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Finds which of many terms begin at each place of a text, in a time that grows with the text's length alone: the
/// automaton of Aho and Corasick (Efficient string matching, 1975). It reads a text from its last byte to its first.
class TermFinder {
 public:
  static constexpr uint32_t kStart = 0;  ///< the state at the end of a text
  static constexpr uint32_t kNoTerm = std::numeric_limits<uint32_t>::max();

  /// Without terms.
  TermFinder() = default;
  /// @param terms of one byte or more, all different
  explicit TermFinder(const std::vector<std::string>& terms);

  /// The state at a place of a text, from the byte that is there and the state at the next place.
  uint32_t read(uint8_t byte, uint32_t next) const;
  /// The number of the longest term that begins at the place with this state, or kNoTerm.
  uint32_t longest_at(uint32_t state) const { return states_[state].term; }
  /// The longest shorter one that begins wherever this term does, or kNoTerm.
  uint32_t shorter_than(uint32_t term) const { return shorter_[term]; }

 private:
  // Stands for the last bytes of some terms: the most that a text has at the place.
  struct State {
    uint32_t first_child = 0;  // the states with one more byte, until those of the next state
    uint32_t fallback = 0;     // the state of the most bytes that these begin with
    uint32_t term = kNoTerm;   // the longest that these begin with
    uint8_t byte = 0;          // the first of them
  };

  uint32_t child_of(uint32_t state, uint8_t byte) const;  // or 0

  // Indexed by numbers of bytes; one more comes after them.
  std::vector<State> states_ = std::vector<State>(2);
  std::vector<uint32_t> shorter_;
};

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A set of 64-bit hashes, which takes 10 to 20 bytes for each. Two texts have the same hash once in 2^64.
class HashSet {
 public:
  /// True if the hash was not there before.
  bool insert(uint64_t hash);
  bool contains(uint64_t hash) const;
  size_t size() const { return size_; }

 private:
  size_t place_of(uint64_t hash) const;
  void grow();

  std::vector<uint64_t> places_;  // 0: free
  size_t size_ = 0;
};

/// The hash of a text, and of a text and what follows it.
uint64_t hash_of(const std::string& text, uint64_t before = 0);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The SplitMix64 finalizer (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014):
/// a bijection whose output bits each depend on every input bit.
constexpr uint64_t mix_bits(uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

/// One key from several, so that each (seed, epoch), (seed, step, worker) … has a stream of its own.
template <class... Keys>
constexpr uint64_t combine_keys(uint64_t first, Keys... rest) {
  uint64_t key = mix_bits(first);
  ((key = mix_bits(key ^ static_cast<uint64_t>(rest))), ...);
  return key;
}

/// A number in [0, 1) from the bits of a mixed key.
constexpr double uniform(uint64_t key) {
  return static_cast<double>(key >> 11) * 0x1p-53;
}

/// Shuffles in place (Fisher and Yates); the order is a function of `key` and the size alone, the same with
/// every standard library, which std::shuffle does not promise.
template <class T>
void shuffle(std::vector<T>& items, uint64_t key) {
  for (size_t i = items.size(); i > 1; --i) {
    // The bias of the modulus is below 2^-32 for any list that fits into memory.
    const size_t j = mix_bits(key ^ mix_bits(i)) % i;
    std::swap(items[i - 1], items[j]);
  }
}

}  // namespace v0
}  // namespace transmute

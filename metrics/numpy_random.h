// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace transmute {
inline namespace v0 {

/// The generator of numpy.random.default_rng(seed): PCG64 (O'Neill, 2014: a 128-bit linear congruential generator, its
/// output xorshifted and rotated), seeded by NumPy's SeedSequence. sacreBLEU draws its resampled texts with it.
class NumpyRandom {
 public:
  explicit NumpyRandom(uint64_t seed);

  /// integers(0, count) of NumPy: uniform, from 0 to count - 1. `count` is from 1 to 2^32 - 1.
  uint32_t below(uint32_t count);

 private:
  __extension__ using Wide = unsigned __int128;

  uint64_t next64();
  uint32_t next32();
  void step();

  Wide state_ = 0, increment_ = 0;
  uint32_t kept_ = 0;  // the upper half of the last 64 bits
  bool has_kept_ = false;
};

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/kernels/simd/simd.h>

#include <cstdint>

// The function of an element's number that decides whether dropout keeps it, the same for every kernel.
namespace transmute {
inline namespace v0 {
namespace kernels {

/// Elements that share one 64-bit key; within a block a 32-bit hash of the position decides.
constexpr int64_t kMaskBlock = 1 << 16;

/// Degski's 32-bit variant of the SplitMix finalizer: 32-bit products are what vector units have. `Word` is
/// uint32_t or a vector of them. An element is dropped where the result is below the threshold. constexpr: GPUs call
/// it.
template <class Word>
TRANSMUTE_INLINE constexpr Word hash_element(Word index, uint64_t block_key) {
  Word x = index ^ static_cast<uint32_t>(block_key);
  x = (x ^ (x >> 16)) * 0x45d9f3bU;
  x = (x ^ (x >> 16)) * 0x45d9f3bU;
  x = (x ^ (x >> 16)) + static_cast<uint32_t>(block_key >> 32);
  x = (x ^ (x >> 15)) * 0x2c1b3c6dU;
  return x ^ (x >> 16);
}

/// A dropout mask over consecutive elements. block_keys[i] is of elements [i·kMaskBlock, (i+1)·kMaskBlock); no keys
/// mean that nothing is dropped.
struct MaskView {
  const uint64_t* block_keys = nullptr;
  uint32_t threshold = 0;
  float scale = 1;  ///< factor on what is kept
};

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

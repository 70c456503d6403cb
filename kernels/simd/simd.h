// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// Instruction sets that the CPU kernels are compiled for; each includes those before it of the same architecture. The
/// best one that the machine has is chosen at run time.
enum class Simd {
  baseline,
  // AArch64
  neon,
  neon_dotprod,  ///< and products of int8 (SDOT)
  neon_bf16,     ///< and of bfloat16 (BFDOT)
  // x86-64
  avx2,         ///< with FMA
  avx2_vnni,    ///< and products of int8 (AVX-VNNI), which not every CPU with AVX-512 has
  avx512,       ///< F, BW, DQ, VL
  avx512_vnni,  ///< and products of int8
  avx512_bf16,  ///< and of bfloat16, where they are fast
  amx           ///< and both in tiles, where Linux lets the process use them
};

/// The best level that this machine and its operating system's kernel offer.
Simd best_simd();

/// All levels that they offer, from the baseline to the best.
std::vector<Simd> available_simd();

/// True if the level multiplies bfloat16 numbers. Other levels convert them to float32, which saves no time.
bool multiplies_bfloat16(Simd simd);

/// The level that the kernels use: best_simd(), unless a SimdLimit lowers it.
Simd active_simd();

/// The level's name in logs and in --version, for example "AVX-512 with bfloat16" or "NEON with dot products".
const char* simd_name(Simd simd);

/// Bytes of a core's second-level cache; 1 MiB if it has less or if the system does not say.
int64_t second_level_cache();

/// For tests: makes every kernel use `level`, if the CPU has it, while the object exists.
class SimdLimit {
 public:
  explicit SimdLimit(Simd level);
  ~SimdLimit();
  SimdLimit(const SimdLimit&) = delete;
  SimdLimit& operator=(const SimdLimit&) = delete;

 private:
  Simd outer_;
};

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

#define TRANSMUTE_INLINE inline __attribute__((always_inline))

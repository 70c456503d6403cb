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

/// The fastest that this machine and its kernel offer.
Simd best_simd();

/// All that they offer, from the baseline to the best.
std::vector<Simd> available_simd();

/// True if they multiply bfloat16 numbers; where they do not, a loop of float32 does, and nothing is gained.
bool multiplies_bfloat16(Simd simd);

/// The level that the kernels use: best_simd(), unless a test has the process do with less.
Simd active_simd();

/// Its name as logs and --version write it, for example "AVX-512 with bfloat16" or "NEON with dot products".
const char* simd_name(Simd simd);

/// Bytes of a core's second-level cache; 1 MiB where there is less or where the system does not know.
int64_t second_level_cache();

/// For tests: has every kernel use `level`, where the CPU has it, for as long as the object lives.
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

#pragma once

namespace transmute {
inline namespace v0 {
namespace inference {

/// Instruction sets that the kernels are written for; each has all that stands before it.
enum class Instructions {
  baseline,
  avx2,         ///< with FMA
  avx512,       ///< F, BW, DQ, VL
  avx512_vnni,  ///< and products of int8
  avx512_bf16,  ///< and of bfloat16
  amx           ///< and both in tiles
};

/// The best that this machine and its kernel offer.
Instructions best_instructions();

}  // namespace inference
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/kernels/simd/simd.h>

#include <cstdint>
#include <cstring>

// Scalar functions that compilers vectorize when they are inlined into a loop.
namespace transmute {
inline namespace v0 {
namespace kernels {

TRANSMUTE_INLINE float bfloat16_to_float(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

/// Rounds to nearest, ties to even. A NaN that arithmetic makes stays one; one whose upper bits are all set does not.
TRANSMUTE_INLINE uint16_t float_to_bfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

TRANSMUTE_INLINE float load(float value) {
  return value;
}
TRANSMUTE_INLINE float load(uint16_t value) {
  return bfloat16_to_float(value);
}
TRANSMUTE_INLINE void store(float* to, float value) {
  *to = value;
}
TRANSMUTE_INLINE void store(uint16_t* to, float value) {
  *to = float_to_bfloat16(value);
}

// Constants of exp_of_negative, here and in vectors.
constexpr float kExpLowest = -87.0F;
constexpr float kExpLog2E = 1.44269504F;
constexpr float kExpLn2High = 0.693359375F;
constexpr float kExpLn2Low = -2.12194440e-4F;
constexpr float kExpRound = 12582912.0F;  // 1.5 · 2^23: adding it rounds to an integer that is in the low bits

/// e^x for x <= 0, to about 2 units in the last place; 0 from -87 down. e^x = 2^n e^r with |r| <= ln(2)/2: ln 2 is
/// taken off in two parts so that r is exact, and e^r is its Taylor sum.
TRANSMUTE_INLINE float exp_of_negative(float x) {
  const float clamped = x > kExpLowest ? x : kExpLowest;
  const float shifted = clamped * kExpLog2E + kExpRound;
  const float n = shifted - kExpRound;
  const float r = (clamped - n * kExpLn2High) - n * kExpLn2Low;
  float sum = 1.0F / 720;
  sum = sum * r + 1.0F / 120;
  sum = sum * r + 1.0F / 24;
  sum = sum * r + 1.0F / 6;
  sum = sum * r + 0.5F;
  sum = sum * r + 1.0F;
  sum = sum * r + 1.0F;
  uint32_t shifted_bits;
  std::memcpy(&shifted_bits, &shifted, sizeof(shifted_bits));
  uint32_t bits;
  std::memcpy(&bits, &sum, sizeof(bits));
  bits += shifted_bits << 23;  // times 2^n: only n's low bits survive the shift
  float result;
  std::memcpy(&result, &bits, sizeof(result));
  return x > kExpLowest ? result : 0.0F;
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

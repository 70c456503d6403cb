// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/finite.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace transmute {
inline namespace v0 {

namespace {

// Without a branch, so that compilers make vectors of it. Infinity and what is not a number have every bit of the
// exponent; nothing finite has.
template <class Bits>
bool none_has_all(Bits exponent, const void* numbers, size_t count) {
  const auto* bits = static_cast<const Bits*>(numbers);
  Bits any = 0;
  for (size_t i = 0; i < count; ++i) any = static_cast<Bits>(any | ((bits[i] & exponent) == exponent ? 1 : 0));
  return any == 0;
}

bool all_fit_float32(const double* numbers, size_t count) {
  bool all = true;
  for (size_t i = 0; i < count; ++i) all &= std::abs(numbers[i]) <= std::numeric_limits<float>::max();
  return all;
}

}  // namespace

bool all_finite(const void* numbers, size_t count, torch::Dtype type) {
  switch (type) {
    case torch::kFloat:
      return none_has_all<uint32_t>(0x7f800000, numbers, count);
    case torch::kBFloat16:
      return none_has_all<uint16_t>(0x7f80, numbers, count);
    case torch::kHalf:
      return none_has_all<uint16_t>(0x7c00, numbers, count);
    case torch::kDouble:
      return all_fit_float32(static_cast<const double*>(numbers), count);
    default:
      return true;
  }
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
// Adam's passes over arrays, compiled once for each instruction set.

#include <transmute/kernels/cpu/adam.h>
#include <transmute/kernels/simd/lanes.h>

#include <cmath>

namespace transmute {
inline namespace v0 {
namespace kernels {
namespace {

TRANSMUTE_INLINE Floats root_of(Floats values) {
  Floats roots;
  for (int64_t i = 0; i < kLanes; ++i) roots[i] = std::sqrt(values[i]);
  return roots;
}

void update_parameters(const AdamKernels::Arrays& arrays, int64_t count, const AdamStep& s) {
  const AdamKernels::Arrays a = arrays;  // stores may not change them
  const auto t = static_cast<double>(s.step);
  const auto scale = static_cast<float>(s.gradient_scale);
  const auto beta1 = static_cast<float>(s.beta1), one_minus_beta1 = static_cast<float>(1 - s.beta1);
  const auto beta2 = static_cast<float>(s.beta2), one_minus_beta2 = static_cast<float>(1 - s.beta2);
  const auto rate = static_cast<float>(s.learning_rate / (1 - std::pow(s.beta1, t)));
  const auto root_correction = static_cast<float>(1 / std::sqrt(1 - std::pow(s.beta2, t)));
  const auto epsilon = static_cast<float>(s.epsilon), kept = static_cast<float>(1 - s.decay);
  const auto share = static_cast<float>(s.average_share);
  for_lanes(
      count, [&](int64_t i, auto part) __attribute__((always_inline)) {
        const Floats gradient = load(a.gradient + i, part) * scale;
        const Floats mean = beta1 * load(a.mean + i, part) + one_minus_beta1 * gradient;
        const Floats variance = beta2 * load(a.variance + i, part) + one_minus_beta2 * gradient * gradient;
        const Floats parameter =
            kept * load(a.parameter + i, part) - rate * mean / (root_of(variance) * root_correction + epsilon);
        store(a.mean + i, mean, part);
        store(a.variance + i, variance, part);
        store(a.parameter + i, parameter, part);
        if (a.average != nullptr) {
          const Floats average = load(a.average + i, part);
          store(a.average + i, average + share * (parameter - average), part);
        }
        if (a.rounded != nullptr) store(a.rounded + i, parameter, part);
      });
}

// Several independent partial sums, because the compiler may not reorder a single one.
constexpr int64_t kSums = 16;

double add_squares(const float* values, int64_t count) {
  double partial[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums)
    for (int64_t lane = 0; lane < kSums; ++lane) {
      const double value = values[i + lane];
      partial[lane] += value * value;
    }
  double sum = 0;
  for (const double lane : partial) sum += lane;
  for (; i < count; ++i) sum += static_cast<double>(values[i]) * values[i];
  return sum;
}

}  // namespace

const AdamKernels AdamKernels::TRANSMUTE_SIMD = {update_parameters, add_squares};

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

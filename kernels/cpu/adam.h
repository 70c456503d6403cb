// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// One update of Adam (Kingma and Ba, 2015, Algorithm 1), the same numbers for every element.
struct AdamStep {
  double learning_rate = 0;
  double beta1 = 0;           ///< decay of the gradient's mean
  double beta2 = 0;           ///< decay of the squared gradient's mean
  double epsilon = 0;         ///< added to the root of the squared gradient's mean
  int64_t step = 1;           ///< counts from 1, for the bias corrections
  double gradient_scale = 1;  ///< the gradient is multiplied by this first (clipping)
  /// Decoupled (Loshchilov and Hutter, 2019): the parameter is multiplied by 1 - learning_rate · weight_decay.
  double weight_decay = 0;
  double average_share = 0;  ///< share of the updated parameter in AdamArrays::average
};

/// The arrays that an update reads and writes, all of one size.
struct AdamArrays {
  float* parameter;
  float* mean;
  float* variance;
  const float* gradient;
  float* average = nullptr;  ///< the parameters' exponential moving average; null: none
  void* rounded = nullptr;   ///< the parameters in bfloat16, to nearest, ties to even; null: none
};

/// Updates `count` parameters, their moments and what else `arrays` has of them in one pass.
void adam_update(const AdamArrays& arrays, int64_t count, const AdamStep& step);

/// total[i] += addend[i].
void add_to(float* total, const float* addend, int64_t count);

/// Sum of squares, accumulated in double.
double sum_of_squares(const float* values, int64_t count);

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

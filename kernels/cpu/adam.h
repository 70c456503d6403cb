// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/kernels/simd/dispatch.h>

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
  /// Learning rate times weight decay, decoupled (Loshchilov and Hutter, 2019): the parameter is multiplied by 1 -
  /// decay.
  double decay = 0;
  double average_share = 0;  ///< share of the updated parameter in AdamKernels::Arrays::average
};

struct AdamKernels {
  /// The arrays that an update reads and writes, all of one size.
  struct Arrays {
    float* parameter;
    float* mean;
    float* variance;
    const float* gradient;
    float* average = nullptr;     ///< the parameters' exponential moving average; null: none
    uint16_t* rounded = nullptr;  ///< the parameters in bfloat16, to nearest, ties to even; null: none
  };
  /// Updates `count` parameters in one pass, with their moments and whichever other arrays `arrays` has.
  void (*update)(const Arrays& arrays, int64_t count, const AdamStep& step);

  /// Sum of squares, accumulated in double.
  double (*sum_of_squares)(const float* values, int64_t count);

  static const AdamKernels baseline, avx2, avx512, avx512_bf16;
};

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

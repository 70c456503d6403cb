// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/kernels/simd/dispatch.h>
#include <transmute/kernels/simd/dropout_mask.h>

#include <cstdint>

namespace transmute {
inline namespace v0 {
namespace kernels {

struct Loss {
  double smoothing;
  int64_t ignored;
  float scale;
  bool differentiate;
};

/// The fused passes over rows, on plain arrays: T is float or uint16_t (bfloat16's bits); sums, statistics and
/// one-dimensional parameters are float. Rows are contiguous. Nullable pointers say so.
template <class T>
struct RowKernels {
  /// LayerNorm(residual_scale · residual + Dropout(x + bias)) and its parts, see residual.h.
  struct Norm {
    const T* residual;  ///< [N,D] or null
    const T* x;         ///< [N,D]
    const float* bias;  ///< [D] or null
    const float* weight;
    const float* shift;
    float residual_scale;
    float epsilon;
    MaskView mask;
    int64_t rows, columns;
  };
  /// result: [N,D]; means, inverse_deviations: [N], the latter 1 / sqrt(variance + epsilon). scratch: D.
  void (*norm_forward)(const Norm& norm, T* result, float* means, float* inverse_deviations, float* scratch);
  /// residual_gradient and bias_gradient may be null. The [D] gradients are added to what their arrays hold. scratch:
  /// 2·D + lanes.
  void (*norm_backward)(const Norm& norm, const T* gradient, const float* means, const float* inverse_deviations,
                        T* residual_gradient, T* x_gradient, float* bias_gradient, float* weight_gradient,
                        float* shift_gradient, float* scratch);

  /// result = residual + Dropout(x + bias); backward: the gradient of x, that of bias added to where not null.
  void (*add_forward)(const T* residual, const T* x, const float* bias, MaskView mask, int64_t rows, int64_t columns,
                      T* result);
  void (*add_backward)(const T* gradient, MaskView mask, int64_t rows, int64_t columns, T* x_gradient,
                       float* bias_gradient);

  /// x = Dropout(max(0, x + bias)), in place; backward: the gradient of x from the result. The bias's gradient is added
  /// to bias_gradient.
  void (*relu_forward)(T* x, const float* bias, MaskView mask, int64_t rows, int64_t columns);
  void (*relu_backward)(const T* result, float scale, int64_t rows, int64_t columns, const T* gradient, T* x_gradient,
                        float* bias_gradient);

  /// result[n] = Dropout(scale · table[ids[n]] + positions[n mod length]), with zeros for a negative id's row of the
  /// table. positions: [length,D].
  void (*embed_forward)(const T* table, const int64_t* ids, const float* positions, float scale, int64_t length,
                        MaskView mask, int64_t rows, int64_t columns, T* result);
  /// sums[slots[n]] += scale · Dropout(gradient)[n], except where a slot is negative.
  void (*embed_backward)(const T* gradient, const int64_t* slots, float scale, MaskView mask, int64_t rows,
                         int64_t columns, float* sums);

  /// Smoothed cross-entropy of logits [V,N], one column a token: the sum over the columns whose target is not
  /// `ignored`. If `differentiate`, the logits become `scale` times their gradient, 0 in ignored columns.
  double (*loss_columns)(T* logits, int64_t vocabulary, int64_t columns, const int64_t* targets, const Loss& loss,
                         float* scratch);
  /// The number of floats that the scratch of loss_columns must hold.
  int64_t (*loss_scratch_size)(int64_t vocabulary);

  /// to += from; to = from.
  void (*add_to)(float* to, const T* from, int64_t count);
  void (*widen)(float* to, const T* from, int64_t count);

  static const RowKernels baseline, avx2, avx512, avx512_bf16;
};

extern template struct RowKernels<float>;
extern template struct RowKernels<uint16_t>;

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

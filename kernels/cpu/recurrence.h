// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/kernels/simd/dispatch.h>

#include <cstdint>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// The cells of an SSRU (DecoderSelfAttention::ssru) at all positions of one sentence: f = sigmoid(gate + gate_bias),
/// cell = f (cell before it) + (1 - f) input. Before the first position the cell is 0. Rows are contiguous.
template <class T>
struct RecurrenceKernels {
  struct Sequence {
    const T* input_and_gate;  ///< [T,2,D]
    const float* gate_bias;   ///< [D]
    int64_t positions, width;
  };
  /// cells: [T,D].
  void (*forward)(const Sequence& sequence, T* cells);
  /// cells: as `forward` gave them; gradient: [T,D]; input_and_gate_gradient: [T,2,D]. The bias's gradient is added to
  /// gate_bias_gradient.
  void (*backward)(const Sequence& sequence, const T* cells, const T* gradient, T* input_and_gate_gradient,
                   float* gate_bias_gradient);

  static const RecurrenceKernels baseline, avx2, avx512, avx512_bf16;
};

extern template struct RecurrenceKernels<float>;
extern template struct RecurrenceKernels<uint16_t>;

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

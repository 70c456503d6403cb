// SPDX-License-Identifier: Apache-2.0
// The SSRU's recurrence over one sentence, compiled once for each instruction set. The cells of a vector's width stay
// in a register while the loop runs over the positions.

#include <transmute/kernels/cpu/recurrence.h>
#include <transmute/kernels/simd/lanes.h>

namespace transmute {
inline namespace v0 {
namespace kernels {
namespace {

// f = sigmoid(gate) and 1 - f, each to the last bits. NaN stays NaN.
struct Gate {
  Floats forget, take;
};
TRANSMUTE_INLINE Gate gate_of(Floats x) {
  const Floats e = exp_of_negative(x < Floats{} ? x : -x);
  const Floats upper = 1.0F / (1.0F + e), lower = e * upper;
  const Floats forget = x < Floats{} ? lower : upper;
  return {x == x ? forget : x, x < Floats{} ? upper : lower};
}

template <class T>
void recurrence_forward(const typename RecurrenceKernels<T>::Sequence& sequence, T* cells) {
  const int64_t width = sequence.width;
  for_lanes(width, [&](int64_t i, auto part) {
    const Floats bias = load(sequence.gate_bias + i, part);
    Floats cell = {};
    for (int64_t t = 0; t < sequence.positions; ++t) {
      const T* row = sequence.input_and_gate + t * 2 * width + i;
      const Floats input = load(row, part);
      const Gate gate = gate_of(load(row + width, part) + bias);
      cell = gate.forget * cell + gate.take * input;
      store(cells + t * width + i, cell, part);
    }
  });
}

template <class T>
void recurrence_backward(const typename RecurrenceKernels<T>::Sequence& sequence, const T* cells, const T* gradient,
                         T* input_and_gate_gradient, float* gate_bias_gradient) {
  const int64_t width = sequence.width;
  for_lanes(width, [&](int64_t i, auto part) {
    const Floats bias = load(sequence.gate_bias + i, part);
    Floats of_cell = {};  // the cell's gradient from this position and all later ones
    Floats of_bias = {};
    for (int64_t t = sequence.positions - 1; t >= 0; --t) {
      const T* row = sequence.input_and_gate + t * 2 * width + i;
      T* row_gradient = input_and_gate_gradient + t * 2 * width + i;
      const Floats input = load(row, part);
      const Gate gate = gate_of(load(row + width, part) + bias);
      const Floats before = t > 0 ? load(cells + (t - 1) * width + i, part) : Floats{};
      of_cell += load(gradient + t * width + i, part);
      const Floats of_gate = of_cell * (before - input) * gate.forget * gate.take;
      store(row_gradient, of_cell * gate.take, part);
      store(row_gradient + width, of_gate, part);
      of_bias += of_gate;
      of_cell *= gate.forget;
    }
    store(gate_bias_gradient + i, load(gate_bias_gradient + i, part) + of_bias, part);
  });
}

template <class T>
constexpr RecurrenceKernels<T> kTable = {recurrence_forward<T>, recurrence_backward<T>};

}  // namespace

template <class T>
const RecurrenceKernels<T> RecurrenceKernels<T>::TRANSMUTE_SIMD = kTable<T>;
template const RecurrenceKernels<float> RecurrenceKernels<float>::TRANSMUTE_SIMD;
template const RecurrenceKernels<uint16_t> RecurrenceKernels<uint16_t>::TRANSMUTE_SIMD;

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
// Additive scores of one head, compiled once for each instruction set. Vectors run over the keys, so the keys are
// transposed first: one row for each of their A numbers.

#include <transmute/kernels/cpu/additive_scores.h>
#include <transmute/kernels/simd/lanes.h>

namespace transmute {
inline namespace v0 {
namespace kernels {
namespace {

// Computed from e^-2|x|; near 0, where 1 - e^-2|x| would lose most of its bits, by its Taylor series.
TRANSMUTE_INLINE Floats tanh_of(Floats x) {
  const Floats size = x < Floats{} ? -x : x;
  const Floats power = exp_of_negative(-2.0F * size);
  const Floats far = (1.0F - power) / (1.0F + power);
  const Floats square = x * x;
  Floats series = square * (62.0F / 2835) - 17.0F / 315;
  series = series * square + 2.0F / 15;
  series = series * square - 1.0F / 3;
  const Floats near = size + size * (series * square);
  const Floats value = size < splat(0.25F) ? near : far;
  const Floats result = x < Floats{} ? -value : value;
  return x == x ? result : x;
}

template <class T>
struct Scratch {
  float* columns;           // [A,S'], where S' is S rounded up to whole vectors
  float* column_gradients;  // [A,S']
  float* gradient;          // [S']
  float* weight_gradients;  // [A,lanes]

  Scratch(const typename AdditiveKernels<T>::Head& head, float* memory)
      : columns(memory),
        column_gradients(columns + head.width * rounded_up(head.keys)),
        gradient(column_gradients + head.width * rounded_up(head.keys)),
        weight_gradients(gradient + rounded_up(head.keys)) {}
};

template <class T>
int64_t scratch_size(const typename AdditiveKernels<T>::Head& head) {
  return (2 * head.width + 1) * rounded_up(head.keys) + head.width * kLanes;
}

template <class T>
void turn_keys(const typename AdditiveKernels<T>::Head& head, float* columns) {
  const int64_t stride = rounded_up(head.keys);
  for (int64_t a = 0; a < head.width; ++a) {
    for (int64_t s = 0; s < head.keys; ++s) columns[a * stride + s] = kernels::load(head.key[s * head.width + a]);
    for (int64_t s = head.keys; s < stride; ++s) columns[a * stride + s] = 0;
  }
}

template <class T>
void forward(const typename AdditiveKernels<T>::Head& head, T* scores, float* memory) {
  const Scratch<T> scratch(head, memory);
  turn_keys<T>(head, scratch.columns);
  const int64_t stride = rounded_up(head.keys);
  for (int64_t t = 0; t < head.queries; ++t) {
    const T* query = head.query + t * head.width;
    for_lanes(head.keys, [&](int64_t s, auto part) {
      Floats sum = {};
      for (int64_t a = 0; a < head.width; ++a)
        sum += head.weight[a] * tanh_of(kernels::load(query[a]) + load(scratch.columns + a * stride + s));
      store(scores + t * head.keys + s, sum, part);
    });
  }
}

template <class T>
void backward(const typename AdditiveKernels<T>::Head& head, const T* gradient, T* query_gradient, T* key_gradient,
              float* weight_gradient, float* memory) {
  const Scratch<T> scratch(head, memory);
  turn_keys<T>(head, scratch.columns);
  const int64_t stride = rounded_up(head.keys);
  for (int64_t i = 0; i < head.width * stride; ++i) scratch.column_gradients[i] = 0;
  for (int64_t i = 0; i < head.width * kLanes; ++i) scratch.weight_gradients[i] = 0;
  for (int64_t t = 0; t < head.queries; ++t) {
    for_lanes(head.keys, [&](int64_t s, auto part) {
      store(scratch.gradient + s, zero_behind(load(gradient + t * head.keys + s, part), part));
    });
    for (int64_t a = 0; a < head.width; ++a) {
      const float query = kernels::load(head.query[t * head.width + a]);
      const float* column = scratch.columns + a * stride;
      float* column_gradient = scratch.column_gradients + a * stride;
      Floats of_weight = load(scratch.weight_gradients + a * kLanes);
      Floats of_query = {};
      for (int64_t s = 0; s < stride; s += kLanes) {
        const Floats value = tanh_of(query + load(column + s));
        const Floats through = load(scratch.gradient + s);
        of_weight += through * value;
        const Floats inner = head.weight[a] * through * (1.0F - value * value);
        of_query += inner;
        store(column_gradient + s, load(column_gradient + s) + inner);
      }
      store(scratch.weight_gradients + a * kLanes, of_weight);
      kernels::store(query_gradient + t * head.width + a, sum_of(of_query));
    }
  }
  for (int64_t a = 0; a < head.width; ++a) {
    weight_gradient[a] += sum_of(load(scratch.weight_gradients + a * kLanes));
    for (int64_t s = 0; s < head.keys; ++s)
      kernels::store(key_gradient + s * head.width + a, scratch.column_gradients[a * stride + s]);
  }
}

template <class T>
constexpr AdditiveKernels<T> kTable = {forward<T>, backward<T>, scratch_size<T>};

}  // namespace

template <class T>
const AdditiveKernels<T> AdditiveKernels<T>::TRANSMUTE_SIMD = kTable<T>;
template const AdditiveKernels<float> AdditiveKernels<float>::TRANSMUTE_SIMD;
template const AdditiveKernels<uint16_t> AdditiveKernels<uint16_t>::TRANSMUTE_SIMD;

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

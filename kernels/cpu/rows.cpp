// SPDX-License-Identifier: Apache-2.0
// The fused passes over rows, compiled once for each instruction set.

#include <transmute/kernels/cpu/rows.h>

#include <transmute/kernels/simd/lanes.h>

#include <cmath>

namespace transmute {
inline namespace v0 {
namespace kernels {
namespace {

// Calls body(i, part, keep) for each vector of row `row`, with a mask of ones where an element is kept. A row may lie
// in two of the mask's blocks.
template <class Body>
TRANSMUTE_INLINE void for_masked_lanes(const MaskView& mask, int64_t row, int64_t columns, Body body) {
  if (mask.block_keys == nullptr) {
    const Words all = ~Words{};
    for_lanes(
        columns, [&](int64_t i, auto part) __attribute__((always_inline)) { body(i, part, all); });
    return;
  }
  int64_t begin = 0;
  while (begin < columns) {
    const int64_t element = row * columns + begin;
    const int64_t in_block = element % kMaskBlock;
    const int64_t count = columns - begin < kMaskBlock - in_block ? columns - begin : kMaskBlock - in_block;
    const uint64_t key = mask.block_keys[element / kMaskBlock];
    const Words first = lane_numbers() + static_cast<uint32_t>(in_block);
    for_lanes(
        count, [&](int64_t i, auto part) __attribute__((always_inline)) {
          const Words keep = hash_element(first + static_cast<uint32_t>(i), key) >= mask.threshold;
          body(begin + i, part, keep);
        });
    begin += count;
  }
}

// residual_scale · residual + Dropout(x + bias) of one row into `sums`; returns their total. `keeps` gets the mask
// where not null.
template <class T>
TRANSMUTE_INLINE float sum_row(const typename RowKernels<T>::Norm& n, int64_t row, float* sums, Words* keeps) {
  const T* x = n.x + row * n.columns;
  const T* residual = n.residual == nullptr ? nullptr : n.residual + row * n.columns;
  Floats total = {};
  for_masked_lanes(
      n.mask, row, n.columns, [&](int64_t i, auto part, Words keep) __attribute__((always_inline)) {
        Floats value = load(x + i, part);
        if (n.bias != nullptr) value += load(n.bias + i, part);
        value = only(keep, value * n.mask.scale);
        if (residual != nullptr) value += load(residual + i, part) * n.residual_scale;
        store(sums + i, value, part);
        if (keeps != nullptr) store(reinterpret_cast<float*>(keeps) + i, reinterpret_cast<Floats>(keep), part);
        total += value;
      });
  return sum_of(total);
}

template <class T>
void norm_forward(const typename RowKernels<T>::Norm& n, T* result, float* means, float* inverse_deviations,
                  float* sums) {
  const float inverse = 1.0F / static_cast<float>(n.columns);
  for (int64_t row = 0; row < n.rows; ++row) {
    const float mean = sum_row<T>(n, row, sums, nullptr) * inverse;
    Floats squares = {};
    for_lanes(
        n.columns, [&](int64_t i, auto part) __attribute__((always_inline)) {
          const Floats off = zero_behind(load(sums + i, part) - mean, part);
          squares += off * off;
        });
    const float inverse_deviation = 1.0F / std::sqrt(sum_of(squares) * inverse + n.epsilon);
    T* out = result + row * n.columns;
    for_lanes(
        n.columns, [&](int64_t i, auto part) __attribute__((always_inline)) {
          const Floats normal = (load(sums + i, part) - mean) * inverse_deviation;
          store(out + i, normal * load(n.weight + i, part) + load(n.shift + i, part), part);
        });
    means[row] = mean;
    inverse_deviations[row] = inverse_deviation;
  }
}

template <class T>
void norm_backward(const typename RowKernels<T>::Norm& n, const T* gradient, const float* means,
                   const float* inverse_deviations, T* residual_gradient, T* x_gradient, float* bias_gradient,
                   float* weight_gradient, float* shift_gradient, float* scratch) {
  const float inverse = 1.0F / static_cast<float>(n.columns);
  float* normals = scratch;
  Words* keeps = reinterpret_cast<Words*>(scratch + n.columns);
  for (int64_t row = 0; row < n.rows; ++row) {
    sum_row<T>(n, row, normals, keeps);
    const T* g = gradient + row * n.columns;
    const float mean = means[row];
    const float inverse_deviation = inverse_deviations[row];
    Floats sum = {};
    Floats product_sum = {};
    for_lanes(
        n.columns, [&](int64_t i, auto part) __attribute__((always_inline)) {
          const Floats normal = (load(normals + i, part) - mean) * inverse_deviation;
          const Floats incoming = load(g + i, part);
          store(normals + i, normal, part);
          store(weight_gradient + i, load(weight_gradient + i, part) + incoming * normal, part);
          store(shift_gradient + i, load(shift_gradient + i, part) + incoming, part);
          const Floats weighted = incoming * load(n.weight + i, part);
          sum += weighted;
          product_sum += weighted * normal;
        });
    const float mean_gradient = sum_of(sum) * inverse;
    const float mean_product = sum_of(product_sum) * inverse;
    for_lanes(
        n.columns, [&](int64_t i, auto part) __attribute__((always_inline)) {
          const Floats weighted = load(g + i, part) * load(n.weight + i, part);
          const Floats through =
              (weighted - mean_gradient - load(normals + i, part) * mean_product) * inverse_deviation;
          if (residual_gradient != nullptr)
            store(residual_gradient + row * n.columns + i, through * n.residual_scale, part);
          const Words keep = reinterpret_cast<Words>(load(reinterpret_cast<const float*>(keeps) + i, part));
          const Floats kept = only(keep, through * n.mask.scale);
          store(x_gradient + row * n.columns + i, kept, part);
          if (bias_gradient != nullptr) store(bias_gradient + i, load(bias_gradient + i, part) + kept, part);
        });
  }
}

template <class T>
void add_forward(const T* residual, const T* x, const float* bias, MaskView mask, int64_t rows, int64_t columns,
                 T* result) {
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = row * columns;
    for_masked_lanes(
        mask, row, columns, [&](int64_t i, auto part, Words keep) __attribute__((always_inline)) {
          Floats value = load(x + at + i, part);
          if (bias != nullptr) value += load(bias + i, part);
          store(result + at + i, load(residual + at + i, part) + only(keep, value * mask.scale), part);
        });
  }
}

template <class T>
void add_backward(const T* gradient, MaskView mask, int64_t rows, int64_t columns, T* x_gradient,
                  float* bias_gradient) {
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = row * columns;
    for_masked_lanes(
        mask, row, columns, [&](int64_t i, auto part, Words keep) __attribute__((always_inline)) {
          const Floats kept = only(keep, load(gradient + at + i, part) * mask.scale);
          store(x_gradient + at + i, kept, part);
          if (bias_gradient != nullptr) store(bias_gradient + i, load(bias_gradient + i, part) + kept, part);
        });
  }
}

template <class T>
void relu_forward(T* x, const float* bias, MaskView mask, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row) {
    T* at = x + row * columns;
    for_masked_lanes(
        mask, row, columns, [&](int64_t i, auto part, Words keep) __attribute__((always_inline)) {
          const Floats value = load(at + i, part) + load(bias + i, part);
          // A maximum would turn a NaN into 0.
          const Floats positive = value < Floats{} ? Floats{} : value;
          store(at + i, only(keep, positive * mask.scale), part);
        });
  }
}

template <class T>
void relu_backward(const T* result, float scale, int64_t rows, int64_t columns, const T* gradient, T* x_gradient,
                   float* bias_gradient) {
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = row * columns;
    for_lanes(
        columns, [&](int64_t i, auto part) __attribute__((always_inline)) {
          const Floats passed =
              load(result + at + i, part) > Floats{} ? load(gradient + at + i, part) * scale : Floats{};
          store(x_gradient + at + i, passed, part);
          store(bias_gradient + i, load(bias_gradient + i, part) + passed, part);
        });
  }
}

template <class T>
void embed_forward(const T* table, const int64_t* ids, const float* positions, float scale, int64_t length,
                   MaskView mask, int64_t rows, int64_t columns, T* result) {
  for (int64_t row = 0; row < rows; ++row) {
    const bool has_token = ids[row] >= 0;
    const T* vector = table + (has_token ? ids[row] : 0) * columns;
    const float token_scale = has_token ? scale : 0;
    const float* position = positions + row % length * columns;
    T* out = result + row * columns;
    for_masked_lanes(
        mask, row, columns, [&](int64_t i, auto part, Words keep) __attribute__((always_inline)) {
          const Floats sum = load(position + i, part) + load(vector + i, part) * token_scale;
          store(out + i, only(keep, sum * mask.scale), part);
        });
  }
}

template <class T>
void embed_backward(const T* gradient, const int64_t* slots, float scale, MaskView mask, int64_t rows, int64_t columns,
                    float* sums) {
  for (int64_t row = 0; row < rows; ++row) {
    if (slots[row] < 0) continue;
    const T* g = gradient + row * columns;
    float* sum = sums + slots[row] * columns;
    for_masked_lanes(
        mask, row, columns, [&](int64_t i, auto part, Words keep) __attribute__((always_inline)) {
          store(sum + i, load(sum + i, part) + only(keep, load(g + i, part) * (mask.scale * scale)), part);
        });
  }
}

// The number of vectors of columns that are processed together: their sums stay in registers for the whole vocabulary.
constexpr int kLossVectors = 4;

// The number of rows summed before their sum joins the total: long float32 sums lose digits.
constexpr int64_t kLossRows = 256;

// V vectors of columns; the last of them may be a Part. The first pass takes a block of rows at a time, which stays in
// the cache from its maximum to its exponentials, against the largest logit so far (Milakov and Gimelshein, "Online
// normalizer calculation for softmax", 2018); `maxima` [blocks,V·kLanes] keeps what each block's were taken against.
template <int V, class T, class P>
TRANSMUTE_INLINE double loss_of_group(T* logits, int64_t vocabulary, int64_t stride, int64_t columns,
                                      const int64_t* targets, const Loss& loss, float* maxima, P part) {
  float target_logits[V * kLanes];
  for (int64_t n = 0; n < columns; ++n)
    target_logits[n] = targets[n] == loss.ignored ? 0 : kernels::load(logits[targets[n] * stride + n]);

  Floats largest[V], exponentials[V], values[V];
  for (int v = 0; v < V; ++v) {
    largest[v] = load(logits + v * kLanes, part);
    exponentials[v] = values[v] = Floats{};
  }
  for (int64_t begin = 0; begin < vocabulary; begin += kLossRows) {
    const int64_t end = begin + kLossRows < vocabulary ? begin + kLossRows : vocabulary;
    Floats exponential_part[V] = {};
    Floats value_part[V] = {};
    Floats before[V];
    for (int v = 0; v < V; ++v) before[v] = largest[v];
    for (int64_t row = begin; row < end; ++row)
      for (int v = 0; v < V; ++v) largest[v] = larger(load(logits + row * stride + v * kLanes, part), largest[v]);
    for (int64_t row = begin; row < end; ++row)
      for (int v = 0; v < V; ++v) {
        T* at = logits + row * stride + v * kLanes;
        const Floats value = load(at, part);
        const Floats exponential = exp_of_negative(value - largest[v]);
        exponential_part[v] += exponential;
        value_part[v] += value;
        if (loss.differentiate) store(at, exponential, part);
      }
    for (int v = 0; v < V; ++v) {
      exponentials[v] = exponentials[v] * exp_of_negative(before[v] - largest[v]) + exponential_part[v];
      values[v] += value_part[v];
      store(maxima + begin / kLossRows * V * kLanes + v * kLanes, largest[v]);
    }
  }

  float largest_lanes[V * kLanes], exponential_lanes[V * kLanes], value_lanes[V * kLanes];
  float factors[V * kLanes] = {};
  float shifts[V * kLanes] = {};
  float target_gradients[V * kLanes] = {};
  for (int v = 0; v < V; ++v) {
    store(largest_lanes + v * kLanes, largest[v]);
    store(exponential_lanes + v * kLanes, exponentials[v]);
    store(value_lanes + v * kLanes, values[v]);
  }
  const double pieces = static_cast<double>(vocabulary);
  const auto floor = static_cast<float>(loss.smoothing / pieces);
  double total = 0;
  for (int64_t n = 0; n < columns; ++n) {
    if (targets[n] == loss.ignored) continue;
    // The comparisons above pass over a NaN or an infinity among the logits; this sum does not.
    const double poison = static_cast<double>(value_lanes[n]) * 0.0;
    const double log_sum = largest_lanes[n] + std::log(static_cast<double>(exponential_lanes[n])) + poison;
    const double right = log_sum - target_logits[n];
    const double mean = log_sum - value_lanes[n] / pieces;
    total += (1 - loss.smoothing) * right + loss.smoothing * mean;
    factors[n] = static_cast<float>(1.0 / exponential_lanes[n] + poison) * loss.scale;
    shifts[n] = floor * loss.scale;
    const auto probability = static_cast<float>(std::exp(-right));
    target_gradients[n] = (probability - floor - static_cast<float>(1 - loss.smoothing)) * loss.scale;
  }
  if (!loss.differentiate) return total;

  // (probability - smoothed target) · scale
  for (int64_t begin = 0; begin < vocabulary; begin += kLossRows) {
    const int64_t end = begin + kLossRows < vocabulary ? begin + kLossRows : vocabulary;
    Floats factor[V], shift[V];
    for (int v = 0; v < V; ++v) {
      const Floats against = load(maxima + begin / kLossRows * V * kLanes + v * kLanes);
      factor[v] = load(factors + v * kLanes) * exp_of_negative(against - largest[v]);
      shift[v] = load(shifts + v * kLanes);
    }
    for (int64_t row = begin; row < end; ++row)
      for (int v = 0; v < V; ++v) {
        T* at = logits + row * stride + v * kLanes;
        store(at, load(at, part) * factor[v] - shift[v], part);
      }
  }
  for (int64_t n = 0; n < columns; ++n)
    if (targets[n] != loss.ignored) kernels::store(logits + targets[n] * stride + n, target_gradients[n]);
  return total;
}

template <class T>
double loss_columns(T* logits, int64_t vocabulary, int64_t columns, const int64_t* targets, const Loss& loss,
                    float* scratch) {
  constexpr int64_t kGroup = kLossVectors * kLanes;
  double total = 0;
  int64_t n = 0;
  for (; n + kGroup <= columns; n += kGroup)
    total += loss_of_group<kLossVectors>(logits + n, vocabulary, columns, kGroup, targets + n, loss, scratch, Whole{});
  for (; n + kLanes <= columns; n += kLanes)
    total += loss_of_group<1>(logits + n, vocabulary, columns, kLanes, targets + n, loss, scratch, Whole{});
  if (n < columns)
    total +=
        loss_of_group<1>(logits + n, vocabulary, columns, columns - n, targets + n, loss, scratch, Part{columns - n});
  return total;
}

int64_t loss_scratch_size(int64_t vocabulary) {
  return (vocabulary + kLossRows - 1) / kLossRows * kLossVectors * kLanes;
}

template <class T>
void add_to(float* to, const T* from, int64_t count) {
  for_lanes(
      count, [&](int64_t i, auto part)
                 __attribute__((always_inline)) { store(to + i, load(to + i, part) + load(from + i, part), part); });
}

template <class T>
void widen(float* to, const T* from, int64_t count) {
  for_lanes(
      count, [&](int64_t i, auto part) __attribute__((always_inline)) { store(to + i, load(from + i, part), part); });
}

template <class T>
constexpr RowKernels<T> kTable = {norm_forward<T>, norm_backward<T>,  add_forward<T>,   add_backward<T>,
                                  relu_forward<T>, relu_backward<T>,  embed_forward<T>, embed_backward<T>,
                                  loss_columns<T>, loss_scratch_size, add_to<T>,        widen<T>};

}  // namespace

template <class T>
const RowKernels<T> RowKernels<T>::TRANSMUTE_SIMD = kTable<T>;
template const RowKernels<float> RowKernels<float>::TRANSMUTE_SIMD;
template const RowKernels<uint16_t> RowKernels<uint16_t>::TRANSMUTE_SIMD;

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

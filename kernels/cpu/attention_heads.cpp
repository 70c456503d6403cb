// SPDX-License-Identifier: Apache-2.0
// Attention of one head, compiled once for each instruction set. Its products are too small for a BLAS, whose calls
// and copies would cost more than they do: here all operands are packed into float32 rows that stay in the caches.

#include <transmute/kernels/cpu/attention_heads.h>
#include <transmute/kernels/simd/lanes.h>

#include <cmath>

namespace transmute {
inline namespace v0 {
namespace kernels {
namespace {

// Queries that are processed together.
constexpr int64_t kQueryBlock = 32;

// A[m,k] is at data[m·row_stride + k·column_stride].
struct Left {
  const float* data;
  int64_t row_stride, column_stride;
};

// A tile of C[M,N] (+)= A[M,K]·B[K,N] in registers: R rows, V vectors wide.
template <int R, int V>
void multiply_tile(Left a, const float* b, int64_t b_stride, int64_t depth, float* c, int64_t c_stride, bool add) {
  Floats sums[R][V];
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) sums[r][v] = add ? load(c + r * c_stride + v * kLanes) : Floats{};
  add_products(
      sums, depth, [&](int64_t k, int r) { return a.data[k * a.column_stride + r * a.row_stride]; },
      [&](int64_t k, int v) { return load(b + k * b_stride + v * kLanes); });
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) store(c + r * c_stride + v * kLanes, sums[r][v]);
}

constexpr int kRegisterRows = 6;

// C[rows,columns] (+)= A·B; columns are whole vectors.
void multiply(int64_t rows, int64_t columns, int64_t depth, Left a, const float* b, int64_t b_stride, float* c,
              int64_t c_stride, bool add) {
  for (int64_t n = 0; n < columns; n += kTileVectors * kLanes)
    with_constant<kTileVectors>((columns - n) / kLanes, [&](auto vectors) {
      for (int64_t r = 0; r < rows; r += kRegisterRows)
        with_constant<kRegisterRows>(rows - r, [&](auto tile_rows) {
          multiply_tile<decltype(tile_rows)::value, decltype(vectors)::value>(
              {a.data + r * a.row_stride, a.row_stride, a.column_stride}, b + n, b_stride, depth, c + r * c_stride + n,
              c_stride, add);
        });
    });
}

// [rows,width] -> [rows,rounded_up(width)] float32, filled up with zeros.
template <class T>
void pack(HeadView<const T> from, int64_t rows, int64_t width, float factor, float* to) {
  const int64_t stride = rounded_up(width);
  for (int64_t r = 0; r < rows; ++r)
    for_lanes(
        width, [&](int64_t i, auto part) __attribute__((always_inline)) {
          store(to + r * stride + i, load(from.data + r * from.stride + i, part) * factor);
        });
}

// [rows,width] -> [width,rounded_up(rows)] float32, filled up with zeros.
template <class T>
void pack_transposed(HeadView<const T> from, int64_t rows, int64_t width, float* to) {
  const int64_t stride = rounded_up(rows);
  for (int64_t r = 0; r < rows; r += kLanes) {
    const int64_t count = rows - r < kLanes ? rows - r : kLanes;
    for_lanes(
        width, [&](int64_t i, auto part) __attribute__((always_inline)) {
          Floats block[kLanes];
          for (int64_t j = 0; j < kLanes; ++j)
            block[j] = j < count ? load(from.data + (r + j) * from.stride + i, part) : Floats{};
          transpose(block);
          const int64_t columns = width - i < kLanes ? width - i : kLanes;
          for (int64_t j = 0; j < columns; ++j) store(to + (i + j) * stride + r, block[j]);
        });
  }
}

template <class T>
void unpack(const float* from, int64_t rows, int64_t width, float factor, HeadView<T> to) {
  const int64_t stride = rounded_up(width);
  for (int64_t r = 0; r < rows; ++r)
    for_lanes(
        width, [&](int64_t i, auto part) __attribute__((always_inline)) {
          store(to.data + r * to.stride + i, load(from + r * stride + i) * factor, part);
        });
}

// A mask of the keys that the query may attend to, for the vector of keys that begins at `s`.
TRANSMUTE_INLINE Words allowed_lanes(const HeadShape& shape, int64_t query, int64_t s) {
  const int64_t extent = shape.extents[query];
  Words allowed = lane_numbers() + static_cast<uint32_t>(s) < static_cast<uint32_t>(extent);
  if (shape.allowed != nullptr) {
    const bool* row = shape.allowed + query * shape.allowed_stride;
    for (int64_t i = 0; i < kLanes && s + i < extent; ++i)
      if (!row[s + i]) allowed[i] = 0;
  }
  return allowed;
}

// Factors of dropout, 0 or mask.scale, for the vector of keys that begins at `s`.
TRANSMUTE_INLINE Floats dropout_factors(const HeadShape& shape, int64_t query, int64_t s) {
  const int64_t element = shape.first_element + query * shape.keys + s;
  const int64_t in_block = element % kMaskBlock;
  const uint64_t* key = shape.mask.block_keys + element / kMaskBlock;
  const Words index = lane_numbers() + static_cast<uint32_t>(in_block);
  Words hash = hash_element(index, key[0]);
  if (in_block + kLanes > kMaskBlock && shape.keys - s > kMaskBlock - in_block) {
    const Words next = hash_element(index - static_cast<uint32_t>(kMaskBlock), key[1]);
    hash = index >= static_cast<uint32_t>(kMaskBlock) ? next : hash;
  }
  return only(hash >= shape.mask.threshold, splat(shape.mask.scale));
}

int64_t block_extent(const HeadShape& shape, int64_t begin, int64_t count) {
  int64_t extent = 0;
  for (int64_t t = begin; t < begin + count; ++t)
    if (shape.extents[t] > extent) extent = shape.extents[t];
  return extent;
}

// Turns scores into weights in place, with zeros after the extent. Returns log(sum(exp(scores))), or infinity for a row
// that may attend to nothing, for which exp(score - infinity) is 0. A NaN among the allowed scores makes the whole row
// NaN.
float softmax_row(const HeadShape& shape, int64_t query, float* scores, int64_t stride) {
  const int64_t extent = shape.extents[query];
  const float kNothing = -INFINITY;
  Floats largest = splat(kNothing);
  Floats zeros = {};  // NaN if a score is: comparisons and exp_of_negative lose it
  for (int64_t s = 0; s < extent; s += kLanes) {
    const Words may_attend = allowed_lanes(shape, query, s);
    const Floats allowed = may_attend != 0 ? load(scores + s) : splat(kNothing);
    zeros += only(may_attend, allowed) * 0.0F;
    store(scores + s, allowed);
    largest = larger(largest, allowed);
  }
  const float top = largest_of(largest);
  const float poison = sum_of(zeros);
  if (!(top > kNothing)) {
    for (int64_t s = 0; s < stride; s += kLanes) store(scores + s, splat(poison));
    return INFINITY + poison;
  }
  Floats sums = {};
  int64_t s = 0;
  for (; s < extent; s += kLanes) {
    const Floats exponentials = exp_of_negative(load(scores + s) - top);
    sums += exponentials;
    store(scores + s, exponentials);
  }
  for (; s < stride; s += kLanes) store(scores + s, Floats{});
  const float sum = sum_of(sums);
  const float inverse = 1.0F / sum + poison;
  const bool drops = shape.mask.block_keys != nullptr;
  for (s = 0; s < extent; s += kLanes) {
    Floats weights = load(scores + s) * inverse;
    if (drops) weights *= dropout_factors(shape, query, s);
    store(scores + s, weights);
  }
  return top + std::log(sum) + poison;
}

// The addresses of a head's operands in the scratch.
struct Scratch {
  float *key_columns, *values, *queries, *weights, *sums;                                              // forward
  float *keys, *value_columns, *gradients, *weight_gradients, *row, *key_gradients, *value_gradients;  // backward
  int64_t size;

  Scratch(const HeadShape& shape, float* base) {
    const int64_t keys_rounded = rounded_up(shape.keys);
    const int64_t k = rounded_up(shape.key_width);
    const int64_t v = rounded_up(shape.value_width);
    const int64_t widest = k > v ? k : v;
    size = 0;
    const auto take = [&](int64_t count) {
      float* taken = base == nullptr ? nullptr : base + size;
      size += rounded_up(count);
      return taken;
    };
    key_columns = take(shape.key_width * keys_rounded);
    values = take(shape.keys * v);
    queries = take(kQueryBlock * k);
    weights = take(kQueryBlock * keys_rounded);
    sums = take(kQueryBlock * widest);
    keys = take(shape.keys * k);
    value_columns = take(shape.value_width * keys_rounded);
    gradients = take(kQueryBlock * v);
    weight_gradients = take(kQueryBlock * keys_rounded);
    row = take(keys_rounded);
    key_gradients = take(shape.keys * k);
    value_gradients = take(shape.keys * v);
  }
};

template <class T>
int64_t scratch_size(const HeadShape& shape) {
  return Scratch(shape, nullptr).size;
}

template <class T>
HeadView<T> row_of(HeadView<T> view, int64_t row) {
  return {view.data + row * view.stride, view.stride};
}

template <class T>
void forward(const HeadShape& shape, HeadView<const T> query, HeadView<const T> key, HeadView<const T> value,
             HeadView<T> output, float* log_sums, float* memory) {
  const Scratch s(shape, memory);
  const int64_t k = rounded_up(shape.key_width);
  const int64_t v = rounded_up(shape.value_width);
  const int64_t keys = rounded_up(shape.keys);
  pack_transposed(key, shape.keys, shape.key_width, s.key_columns);
  pack(value, shape.keys, shape.value_width, 1, s.values);
  for (int64_t begin = 0; begin < shape.queries; begin += kQueryBlock) {
    const int64_t count = shape.queries - begin < kQueryBlock ? shape.queries - begin : kQueryBlock;
    const int64_t extent = block_extent(shape, begin, count);
    const int64_t width = rounded_up(extent);
    pack(row_of(query, begin), count, shape.key_width, shape.scale, s.queries);
    multiply(count, width, shape.key_width, {s.queries, k, 1}, s.key_columns, keys, s.weights, keys, false);
    for (int64_t t = 0; t < count; ++t)
      log_sums[begin + t] = softmax_row(shape, begin + t, s.weights + t * keys, width);
    multiply(count, v, extent, {s.weights, keys, 1}, s.values, v, s.sums, v, false);
    unpack(s.sums, count, shape.value_width, 1, row_of(output, begin));
  }
}

// With weights P = exp(S - log_sum), kept weights Pd = P·f for the factors f of dropout, and dPd = dO·Vᵀ:
// dV = Pdᵀ·dO and dS = P·(dPd·f - sum_s(P·dPd·f)). (The sum is dO·O too, but O has been rounded.)
template <class T>
void backward(const HeadShape& shape, HeadView<const T> query, HeadView<const T> key, HeadView<const T> value,
              HeadView<const T> gradient, const float* log_sums, HeadView<T> query_gradient, HeadView<T> key_gradient,
              HeadView<T> value_gradient, float* memory) {
  const Scratch s(shape, memory);
  const int64_t k = rounded_up(shape.key_width);
  const int64_t v = rounded_up(shape.value_width);
  const int64_t keys = rounded_up(shape.keys);
  pack_transposed(key, shape.keys, shape.key_width, s.key_columns);
  pack_transposed(value, shape.keys, shape.value_width, s.value_columns);
  pack(key, shape.keys, shape.key_width, 1, s.keys);
  for (int64_t i = 0; i < shape.keys * k; i += kLanes) store(s.key_gradients + i, Floats{});
  for (int64_t i = 0; i < shape.keys * v; i += kLanes) store(s.value_gradients + i, Floats{});
  const bool drops = shape.mask.block_keys != nullptr;

  for (int64_t begin = 0; begin < shape.queries; begin += kQueryBlock) {
    const int64_t count = shape.queries - begin < kQueryBlock ? shape.queries - begin : kQueryBlock;
    const int64_t extent = block_extent(shape, begin, count);
    const int64_t width = rounded_up(extent);
    pack(row_of(query, begin), count, shape.key_width, shape.scale, s.queries);
    pack(row_of(gradient, begin), count, shape.value_width, 1, s.gradients);
    multiply(count, width, shape.key_width, {s.queries, k, 1}, s.key_columns, keys, s.weights, keys, false);
    multiply(count, width, shape.value_width, {s.gradients, v, 1}, s.value_columns, keys, s.weight_gradients, keys,
             false);
    for (int64_t t = 0; t < count; ++t) {
      const float log_sum = log_sums[begin + t];
      float* weights = s.weights + t * keys;
      float* gradients = s.weight_gradients + t * keys;
      Floats products = {};
      for (int64_t i = 0; i < width; i += kLanes) {
        // Rounding may lift a score above the logarithm of the sum by a little: its weight is then 1.
        const Floats below = load(weights + i) - log_sum;
        const Floats exponentials = exp_of_negative(below < Floats{} ? below : Floats{});
        const Floats weight = only(allowed_lanes(shape, begin + t, i), exponentials);
        Floats through = load(gradients + i);
        Floats kept = weight;
        if (drops) {
          const Floats factors = dropout_factors(shape, begin + t, i);
          through *= factors;
          kept *= factors;
        }
        products += weight * through;
        store(s.row + i, weight);
        store(gradients + i, through);
        store(weights + i, kept);
      }
      const float product = sum_of(products);
      for (int64_t i = 0; i < width; i += kLanes)
        store(gradients + i, load(s.row + i) * (load(gradients + i) - product));
    }
    multiply(extent, v, count, {s.weights, 1, keys}, s.gradients, v, s.value_gradients, v, true);
    multiply(extent, k, count, {s.weight_gradients, 1, keys}, s.queries, k, s.key_gradients, k, true);
    multiply(count, k, extent, {s.weight_gradients, keys, 1}, s.keys, k, s.sums, k, false);
    unpack(s.sums, count, shape.key_width, shape.scale, row_of(query_gradient, begin));
  }
  unpack(s.key_gradients, shape.keys, shape.key_width, 1, key_gradient);
  unpack(s.value_gradients, shape.keys, shape.value_width, 1, value_gradient);
}

template <class T>
constexpr AttentionKernels<T> kTable = {forward<T>, backward<T>, scratch_size<T>};

}  // namespace

template <class T>
const AttentionKernels<T> AttentionKernels<T>::TRANSMUTE_SIMD = kTable<T>;
template const AttentionKernels<float> AttentionKernels<float>::TRANSMUTE_SIMD;
template const AttentionKernels<uint16_t> AttentionKernels<uint16_t>::TRANSMUTE_SIMD;

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

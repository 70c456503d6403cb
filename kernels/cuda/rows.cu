// SPDX-License-Identifier: Apache-2.0
#include <transmute/kernels/cuda/device_kernels.h>
#include <transmute/kernels/cuda/device.cuh>

#include <algorithm>
#include <cmath>

namespace transmute {
inline namespace v0 {
namespace kernels::cuda {

namespace {

constexpr int kRowWarps = 8;  // warps in a block that computes norms
constexpr int kRowThreads = kRowWarps * kLanes;
constexpr int kRowBlocks = 4;  // blocks on a multiprocessor
constexpr int kLossThreads = 256;

// A lane's part of the work on a row if each lane has one vector of it: a row takes W warps, and a block works on
// kRowWarps / W rows at a time.
template <int W>
struct RowPart {
  static constexpr int kRows = kRowWarps / W;  // rows of a block
  static constexpr int kRowLanes = W * kLanes;

  const int group = static_cast<int>(threadIdx.x) / kRowLanes;
  const int64_t column = static_cast<int64_t>(threadIdx.x) % kRowLanes * kVector;

  // The barriers' numbers are constants, so that the assembler can tell how few are used.
  __device__ __forceinline__ void wait_for_row() const {
    switch (group) {
      case 0:
        asm volatile("bar.sync 1, %0;" ::"n"(kRowLanes) : "memory");
        break;
      case 1:
        asm volatile("bar.sync 2, %0;" ::"n"(kRowLanes) : "memory");
        break;
      case 2:
        asm volatile("bar.sync 3, %0;" ::"n"(kRowLanes) : "memory");
        break;
      default:
        asm volatile("bar.sync 4, %0;" ::"n"(kRowLanes) : "memory");
    }
  }

  // Sums over the lanes of a row. Callers pass two memories of kRowWarps in turn, so that one barrier suffices.
  template <int N>
  __device__ __forceinline__ void sum(float (&values)[N], float (&memory)[N][kRowWarps]) const {
#pragma unroll
    for (int n = 0; n < N; ++n) values[n] = warp_sum(values[n]);
    if constexpr (W > 1) {
      if (threadIdx.x % kLanes == 0)
#pragma unroll
        for (int n = 0; n < N; ++n) memory[n][threadIdx.x / kLanes] = values[n];
      wait_for_row();
#pragma unroll
      for (int n = 0; n < N; ++n) {
        values[n] = 0;
#pragma unroll
        for (int w = 0; w < W; ++w) values[n] += memory[n][group * W + w];
      }
    }
  }
};

// residual_scale · residual + Dropout(x + bias), one vector of it, of which `kept` are kept.
template <class T>
__device__ __forceinline__ void sum_vector(const Norm& n, int64_t row, int64_t column, uint32_t kept,
                                           float (&sums)[kVector]) {
  const int64_t at = row * n.columns + column;
  load(static_cast<const T*>(n.x) + at, sums);
  if (n.bias != nullptr) add(sums, n.bias + column);
  apply(kept, n.mask.scale, sums);
  if (n.residual == nullptr) return;
  float residual[kVector];
  load(static_cast<const T*>(n.residual) + at, residual);
#pragma unroll
  for (int i = 0; i < kVector; ++i) sums[i] += residual[i] * n.residual_scale;
}

// One warp for each row, with V vectors for each lane, so that no warp waits for another.
template <class T, int V>
__global__ void __launch_bounds__(kRowThreads)
    norm_forward_kernel(Norm n, T* result, float* means, float* inverse_deviations) {
  const int own_lane = static_cast<int>(threadIdx.x) % kLanes;
  const float inverse = 1.0F / static_cast<float>(n.columns);
  const auto column_of = [&](int v) { return static_cast<int64_t>(v * kLanes + own_lane) * kVector; };
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kRowWarps + threadIdx.x / kLanes;
  if (row >= n.rows) return;
  float sums[V][kVector] = {};
  float total = 0;
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int64_t column = column_of(v);
    if (column < n.columns) sum_vector<T>(n, row, column, kept(n.mask, row * n.columns + column), sums[v]);
#pragma unroll
    for (int i = 0; i < kVector; ++i) total += sums[v][i];
  }
  const float mean = warp_sum(total) * inverse;
  float squares = 0;
#pragma unroll
  for (int v = 0; v < V; ++v)
    if (column_of(v) < n.columns)
#pragma unroll
      for (int i = 0; i < kVector; ++i) squares += (sums[v][i] - mean) * (sums[v][i] - mean);
  const float inverse_deviation = 1.0F / sqrtf(warp_sum(squares) * inverse + n.epsilon);
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int64_t column = column_of(v);
    if (column >= n.columns) continue;
    float weight[kVector], out[kVector];
    load(n.weight + column, weight);
    load(n.shift + column, out);
#pragma unroll
    for (int i = 0; i < kVector; ++i) out[i] += (sums[v][i] - mean) * inverse_deviation * weight[i];
    store(result + row * n.columns + column, out);
  }
  if (own_lane == 0) {
    means[row] = mean;
    inverse_deviations[row] = inverse_deviation;
  }
}

// Each block sums the parameters' gradients over its rows: partial_sums [blocks,3,D].
template <class T, int W>
__global__ void __launch_bounds__(kRowThreads, kRowBlocks)
    norm_backward_kernel(Norm n, const T* gradient, const float* means, const float* inverse_deviations,
                         T* residual_gradient, T* x_gradient, float* partial_sums) {
  __shared__ float memory[2][2][kRowWarps];
  const RowPart<W> part;
  const float inverse = 1.0F / static_cast<float>(n.columns);
  const bool inside = part.column < n.columns;
  float of_weight[kVector] = {}, of_shift[kVector] = {}, of_bias[kVector] = {};
  int turn = 0;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * part.kRows + part.group; row < n.rows;
       row += static_cast<int64_t>(gridDim.x) * part.kRows, turn ^= 1) {
    const int64_t at = row * n.columns + part.column;
    float normals[kVector] = {}, weighted[kVector] = {};
    float totals[2] = {};  // of the gradient, and of its products with what was normalized
    const float inverse_deviation = inverse_deviations[row];
    const uint32_t own_kept = kept(n.mask, at);
    if (inside) {
      float weight[kVector];
      load(gradient + at, weighted);
      sum_vector<T>(n, row, part.column, own_kept, normals);
      load(n.weight + part.column, weight);
      const float mean = means[row];
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        normals[i] = (normals[i] - mean) * inverse_deviation;
        of_weight[i] += weighted[i] * normals[i];
        of_shift[i] += weighted[i];
        weighted[i] *= weight[i];
        totals[0] += weighted[i];
        totals[1] += weighted[i] * normals[i];
      }
    }
    part.sum(totals, memory[turn]);
    if (!inside) continue;
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      weighted[i] = (weighted[i] - totals[0] * inverse - normals[i] * (totals[1] * inverse)) * inverse_deviation;
    if (residual_gradient != nullptr) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) normals[i] = weighted[i] * n.residual_scale;
      store(residual_gradient + at, normals);
    }
    apply(own_kept, n.mask.scale, weighted);
    store(x_gradient + at, weighted);
#pragma unroll
    for (int i = 0; i < kVector; ++i) of_bias[i] += weighted[i];
  }

  __shared__ float shared[kRowThreads * kVector];
  const auto write = [&](const float(&own)[kVector], int64_t row) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) shared[threadIdx.x * kVector + i] = own[i];
    __syncthreads();
    constexpr int kColumns = part.kRowLanes * static_cast<int>(kVector);
    for (int c = static_cast<int>(threadIdx.x); c < kColumns; c += kRowThreads) {
      float sum = 0;
#pragma unroll
      for (int g = 0; g < part.kRows; ++g) sum += shared[g * kColumns + c];
      if (c < n.columns) partial_sums[(blockIdx.x * 3 + row) * n.columns + c] = sum;
    }
    __syncthreads();
  };
  write(of_weight, 0);
  write(of_shift, 1);
  write(of_bias, 2);
}

// sums[c] = the sum of partial[r,c] over the rows, in the same order each time.
constexpr int kSumRows = 8;
__global__ void __launch_bounds__(kLanes* kSumRows)
    column_sums_kernel(const float* partial, int64_t rows, int64_t columns, float* sums) {
  __shared__ float shared[kSumRows][kLanes];
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kLanes + threadIdx.x;
  float sum = 0;
  if (column < columns)
    for (int64_t row = threadIdx.y; row < rows; row += kSumRows) sum += partial[row * columns + column];
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  for (int y = 1; y < kSumRows; ++y) sum += shared[y][threadIdx.x];
  sums[column] = sum;
}

void column_sums(const float* partial, int64_t rows, int64_t columns, float* sums, Stream stream) {
  column_sums_kernel<<<blocks_for(columns, kLanes), dim3(kLanes, kSumRows), 0, static_cast<cudaStream_t>(stream)>>>(
      partial, rows, columns, sums);
  check_launch();
}

// The number of warps that work on a row.
int64_t row_warps(int64_t columns) {
  int64_t warps = 1;
  while (warps * kLanes * kVector < columns) warps *= 2;
  return warps;
}

int64_t norm_blocks(int64_t rows, int64_t columns) {
  const int64_t blocks = blocks_for(rows, kRowWarps / row_warps(columns));
  return std::max<int64_t>(1, std::min(blocks, int64_t{kRowBlocks} * multiprocessors()));
}

template <class T>
__global__ void sum_forward_kernel(Sum s, T* result) {
  const int64_t vectors = s.rows * s.columns / kVector;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < vectors;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const int64_t at = i * kVector;
    float values[kVector];
    load(static_cast<const T*>(s.x) + at, values);
    if (s.bias != nullptr) add(values, s.bias + at % s.columns);
    if (s.relu)
#pragma unroll
      for (int k = 0; k < kVector; ++k) values[k] = values[k] < 0 ? 0 : values[k];  // a NaN must stay one
    apply(kept(s.mask, at), s.mask.scale, values);
    if (s.residual != nullptr) {
      float residual[kVector];
      load(static_cast<const T*>(s.residual) + at, residual);
#pragma unroll
      for (int k = 0; k < kVector; ++k) values[k] += residual[k];
    }
    store(result + at, values);
  }
}

// A block works on kLanes vectors of columns and on every row that is (kSumRows · gridDim.y)-th from its own.
template <class T>
__global__ void __launch_bounds__(kLanes* kSumRows)
    sum_backward_kernel(SumGradient s, T* x_gradient, float* partial_sums) {
  const int64_t column = (static_cast<int64_t>(blockIdx.x) * kLanes + threadIdx.x) * kVector;
  float total[kVector] = {};
  if (column < s.columns)
    for (int64_t row = static_cast<int64_t>(blockIdx.y) * kSumRows + threadIdx.y; row < s.rows;
         row += static_cast<int64_t>(gridDim.y) * kSumRows) {
      const int64_t at = row * s.columns + column;
      float values[kVector];
      load(static_cast<const T*>(s.gradient) + at, values);
      if (s.relu_result != nullptr) {
        float result[kVector];
        load(static_cast<const T*>(s.relu_result) + at, result);
#pragma unroll
        for (int i = 0; i < kVector; ++i) values[i] = result[i] > 0 ? values[i] * s.mask.scale : 0;
      } else {
        apply(kept(s.mask, at), s.mask.scale, values);
      }
      store(x_gradient + at, values);
#pragma unroll
      for (int i = 0; i < kVector; ++i) total[i] += values[i];
    }
  if (partial_sums == nullptr) return;
  __shared__ float shared[kSumRows][kLanes * kVector];
#pragma unroll
  for (int i = 0; i < kVector; ++i) shared[threadIdx.y][threadIdx.x * kVector + i] = total[i];
  __syncthreads();
  const int own = static_cast<int>(threadIdx.y * kLanes + threadIdx.x);  // there are as many threads as columns
  const int64_t own_column = static_cast<int64_t>(blockIdx.x) * kLanes * kVector + own;
  float sum = 0;
#pragma unroll
  for (int y = 0; y < kSumRows; ++y) sum += shared[y][own];
  if (own_column < s.columns) partial_sums[blockIdx.y * s.columns + own_column] = sum;
}
static_assert(kSumRows == kVector, "sum_backward_kernel has a thread for each of a block's columns");

// The number of blocks of rows for sum_backward_kernel.
int64_t sum_blocks(int64_t rows, int64_t columns) {
  const int64_t across = blocks_for(columns, kLanes * kVector);
  return std::max<int64_t>(1, std::min(blocks_for(rows, kSumRows), blocks_for(int64_t{8} * multiprocessors(), across)));
}

template <class T>
__global__ void embed_forward_kernel(Embed e, T* result) {
  const int64_t vectors_of_row = e.columns / kVector;
  const int64_t vectors = e.rows * vectors_of_row;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < vectors;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const int64_t row = i / vectors_of_row;
    const int64_t column = i % vectors_of_row * kVector;
    const int64_t id = e.ids[row];
    if (id < 0 || id >= e.pieces) __trap();
    float values[kVector];
    load(static_cast<const T*>(e.table) + id * e.columns + column, values);
#pragma unroll
    for (int k = 0; k < kVector; ++k) values[k] *= e.scale;
    add(values, e.positions + row % e.length * e.columns + column);
    apply(kept(e.mask, row * e.columns + column), e.mask.scale, values);
    store(result + row * e.columns + column, values);
  }
}

// The largest value so far and the sum of exponentials against it (Milakov and Gimelshein, "Online normalizer
// calculation for softmax", 2018).
struct Exponentials {
  float largest = -INFINITY;
  float sum = 0;

  __device__ __forceinline__ void join(float other_largest, float other_sum) {
    const float both = fmaxf(largest, other_largest);
    if (both == -INFINITY) return;
    sum = sum * __expf(largest - both) + other_sum * __expf(other_largest - both);
    largest = both;
  }
};

constexpr int kLossWarps = kLossThreads / kLanes;

// Calls body(column, values) for a block's share of a row of logits: N elements at a time, kVector, or 1 if rows do
// not begin at vectors.
template <int N, class T, class Body>
__device__ __forceinline__ void for_each_part(const T* logits, int64_t vocabulary, Body body) {
  for (int64_t i = static_cast<int64_t>(threadIdx.x) * N; i < vocabulary; i += kLossThreads * N) {
    float values[N];
    load(logits + i, values);
    body(i, values);
  }
}

// The sums of a row of logits.
struct RowSums {
  float log_sum;  // of the exponentials
  float values;   // their sum
};

// All threads of a block compute it. An infinity, or a NaN that comparisons pass over, makes log_sum a NaN.
template <int N, class T>
__device__ __forceinline__ RowSums sums_of_row(const T* logits, int64_t vocabulary) {
  Exponentials own;
  float value_sum = 0;
  for_each_part<N>(logits, vocabulary, [&](int64_t, const float(&values)[N]) {
    float largest = values[0];
#pragma unroll
    for (int k = 1; k < N; ++k) largest = fmaxf(largest, values[k]);
    float sum = 0;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      sum += __expf(values[k] - largest);
      value_sum += values[k];
    }
    own.join(largest, sum);
  });
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2)
    own.join(__shfl_xor_sync(~0U, own.largest, offset), __shfl_xor_sync(~0U, own.sum, offset));
  value_sum = warp_sum(value_sum);
  __shared__ float largest_of[kLossWarps], sum_of[kLossWarps], values_of[kLossWarps];
  __syncthreads();  // the memory may hold the numbers of another row
  if (threadIdx.x % kLanes == 0) {
    largest_of[threadIdx.x / kLanes] = own.largest;
    sum_of[threadIdx.x / kLanes] = own.sum;
    values_of[threadIdx.x / kLanes] = value_sum;
  }
  __syncthreads();
  Exponentials all;
  float all_values = 0;
#pragma unroll
  for (int w = 0; w < kLossWarps; ++w) {
    all.join(largest_of[w], sum_of[w]);
    all_values += values_of[w];
  }
  return {all.largest + logf(all.sum) + all_values * 0.0F, all_values};
}

template <int N, class T>
__device__ __forceinline__ void zero_row(T* logits, int64_t vocabulary) {
  const float zeros[N] = {};
  for (int64_t i = static_cast<int64_t>(threadIdx.x) * N; i < vocabulary; i += kLossThreads * N)
    store(logits + i, zeros);
}

// The smoothed cross-entropy of a row, the same in every thread; a NaN where the target is no column.
template <class T>
__device__ __forceinline__ float loss_of(const Loss& l, const T* logits, int64_t target, const RowSums& sums) {
  if (target < 0 || target >= l.vocabulary) return NAN;
  const float right = static_cast<float>(logits[target]);
  return (1 - l.smoothing) * (sums.log_sum - right) +
         l.smoothing * (sums.log_sum - sums.values / static_cast<float>(l.vocabulary));
}

__device__ __forceinline__ float wanted(const Loss& l, int64_t column, int64_t target) {
  return l.smoothing / static_cast<float>(l.vocabulary) + (column == target ? 1 - l.smoothing : 0);
}

template <class T, int N>
__global__ void __launch_bounds__(kLossThreads) loss_kernel(Loss l, T* all_logits, float* losses) {
  const int64_t row = blockIdx.x;
  T* logits = all_logits + row * l.vocabulary;
  const int64_t target = l.targets[row];
  if (target == l.ignored) {
    if (threadIdx.x == 0) losses[row] = 0;
    if (l.differentiate) zero_row<N>(logits, l.vocabulary);
    return;
  }
  const RowSums sums = sums_of_row<N>(logits, l.vocabulary);
  const float loss = loss_of(l, logits, target, sums);
  if (threadIdx.x == 0) losses[row] = loss;
  if (!l.differentiate) return;
  __syncthreads();  // every thread has read the target's logit
  for_each_part<N>(logits, l.vocabulary, [&](int64_t column, float(&values)[N]) {
#pragma unroll
    for (int k = 0; k < N; ++k)
      values[k] = (__expf(values[k] - sums.log_sum) - wanted(l, column + k, target)) * l.scale;
    store(logits + column, values);
  });
}

template <class T, int N>
__global__ void __launch_bounds__(kLossThreads)
    consistent_loss_kernel(ConsistentLoss c, T* all_logits, float* losses, float* divergences) {
  const Loss& l = c.loss;
  const int64_t token = blockIdx.x;
  T* first = all_logits + token * l.vocabulary;
  T* second = all_logits + (l.rows + token) * l.vocabulary;
  const int64_t target = l.targets[token];
  if (target == l.ignored) {
    if (threadIdx.x == 0) losses[token] = divergences[token] = 0;
    if (!l.differentiate) return;
    zero_row<N>(first, l.vocabulary);
    zero_row<N>(second, l.vocabulary);
    return;
  }
  const RowSums p = sums_of_row<N>(first, l.vocabulary), q = sums_of_row<N>(second, l.vocabulary);
  float forward = 0, backward = 0;  // KL(first||second), KL(second||first)
  for_each_part<N>(first, l.vocabulary, [&](int64_t column, const float(&of_first)[N]) {
    float of_second[N];
    load(second + column, of_second);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const float log_p = of_first[k] - p.log_sum, log_q = of_second[k] - q.log_sum;
      forward += __expf(log_p) * (log_p - log_q);
      backward += __expf(log_q) * (log_q - log_p);
    }
  });
  forward = block_sum<kLossThreads>(forward);
  backward = block_sum<kLossThreads>(backward);
  const float loss = loss_of(l, first, target, p) + (c.second_too ? loss_of(l, second, target, q) : 0);
  if (threadIdx.x == 0) {
    losses[token] = loss;
    divergences[token] = c.forward_weight * forward + c.backward_weight * backward;
  }
  if (!l.differentiate) return;
  __syncthreads();  // every thread has read the target's logits
  for_each_part<N>(first, l.vocabulary, [&](int64_t column, float(&of_first)[N]) {
    float of_second[N];
    load(second + column, of_second);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const float log_p = of_first[k] - p.log_sum, log_q = of_second[k] - q.log_sum;
      const float own_p = __expf(log_p), own_q = __expf(log_q);
      const float to_right = wanted(l, column + k, target);
      of_first[k] = l.scale * (own_p - to_right + c.forward_weight * own_p * (log_p - log_q - forward) +
                               c.backward_weight * (own_p - own_q));
      of_second[k] = l.scale * ((c.second_too ? own_q - to_right : 0) + c.forward_weight * (own_q - own_p) +
                                c.backward_weight * own_q * (log_q - log_p - backward));
    }
    store(first + column, of_first);
    store(second + column, of_second);
  });
}

template <class Body>
void with_row_warps(int64_t columns, Body body) {
  switch (row_warps(columns)) {
    case 1:
      return body(std::integral_constant<int, 1>());
    case 2:
      return body(std::integral_constant<int, 2>());
    case 4:
      return body(std::integral_constant<int, 4>());
    default:
      return body(std::integral_constant<int, kRowWarps>());
  }
}

constexpr int kThreads = 256;  // threads of passes over single elements

int64_t element_blocks(int64_t elements) {
  return std::max<int64_t>(1, std::min(blocks_for(elements / kVector, kThreads), int64_t{16} * multiprocessors()));
}

}  // namespace

void norm_forward(const Norm& norm, void* result, float* means, float* inverse_deviations, Stream stream) {
  if (norm.rows == 0) return;
  with_element(norm.element, [&](auto element) {
    using T = decltype(element);
    with_row_warps(norm.columns, [&](auto vectors) {
      norm_forward_kernel<T, vectors.value>
          <<<blocks_for(norm.rows, kRowWarps), kRowThreads, 0, static_cast<cudaStream_t>(stream)>>>(
              norm, static_cast<T*>(result), means, inverse_deviations);
    });
  });
  check_launch();
}

int64_t norm_scratch(int64_t rows, int64_t columns) {
  return norm_blocks(rows, columns) * 3 * columns;
}

void norm_backward(const Norm& norm, const void* gradient, const float* means, const float* inverse_deviations,
                   void* residual_gradient, void* x_gradient, float* partial_sums, float* sums, Stream stream) {
  const int64_t blocks = norm_blocks(norm.rows, norm.columns);
  with_element(norm.element, [&](auto element) {
    using T = decltype(element);
    with_row_warps(norm.columns, [&](auto warps) {
      norm_backward_kernel<T, warps.value><<<blocks, kRowThreads, 0, static_cast<cudaStream_t>(stream)>>>(
          norm, static_cast<const T*>(gradient), means, inverse_deviations, static_cast<T*>(residual_gradient),
          static_cast<T*>(x_gradient), partial_sums);
    });
  });
  check_launch();
  column_sums(partial_sums, blocks, 3 * norm.columns, sums, stream);
}

void sum_forward(const Sum& sum, void* result, Stream stream) {
  if (sum.rows == 0) return;
  with_element(sum.element, [&](auto element) {
    using T = decltype(element);
    sum_forward_kernel<T><<<element_blocks(sum.rows * sum.columns), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
        sum, static_cast<T*>(result));
  });
  check_launch();
}

int64_t sum_scratch(int64_t rows, int64_t columns) {
  return sum_blocks(rows, columns) * columns;
}

void sum_backward(const SumGradient& sum, void* x_gradient, float* partial_sums, float* bias_gradient, Stream stream) {
  const int64_t blocks = sum_blocks(sum.rows, sum.columns);
  with_element(sum.element, [&](auto element) {
    using T = decltype(element);
    const dim3 grid(static_cast<unsigned>(blocks_for(sum.columns, kLanes * kVector)), static_cast<unsigned>(blocks));
    sum_backward_kernel<T><<<grid, dim3(kLanes, kSumRows), 0, static_cast<cudaStream_t>(stream)>>>(
        sum, static_cast<T*>(x_gradient), partial_sums);
  });
  check_launch();
  if (partial_sums != nullptr) column_sums(partial_sums, blocks, sum.columns, bias_gradient, stream);
}

void embed_forward(const Embed& embed, void* result, Stream stream) {
  if (embed.rows == 0) return;
  with_element(embed.element, [&](auto element) {
    using T = decltype(element);
    embed_forward_kernel<T>
        <<<element_blocks(embed.rows * embed.columns), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
            embed, static_cast<T*>(result));
  });
  check_launch();
}

void loss_rows(const Loss& loss, void* logits, float* losses, Stream stream) {
  if (loss.rows == 0) return;
  with_element(loss.element, [&](auto element) {
    using T = decltype(element);
    const auto queue = static_cast<cudaStream_t>(stream);
    if (loss.vocabulary % kVector == 0)
      loss_kernel<T, kVector><<<loss.rows, kLossThreads, 0, queue>>>(loss, static_cast<T*>(logits), losses);
    else
      loss_kernel<T, 1><<<loss.rows, kLossThreads, 0, queue>>>(loss, static_cast<T*>(logits), losses);
  });
  check_launch();
}

void consistent_loss_rows(const ConsistentLoss& loss, void* logits, float* losses, float* divergences, Stream stream) {
  if (loss.loss.rows == 0) return;
  with_element(loss.loss.element, [&](auto element) {
    using T = decltype(element);
    const auto queue = static_cast<cudaStream_t>(stream);
    if (loss.loss.vocabulary % kVector == 0)
      consistent_loss_kernel<T, kVector>
          <<<loss.loss.rows, kLossThreads, 0, queue>>>(loss, static_cast<T*>(logits), losses, divergences);
    else
      consistent_loss_kernel<T, 1>
          <<<loss.loss.rows, kLossThreads, 0, queue>>>(loss, static_cast<T*>(logits), losses, divergences);
  });
  check_launch();
}

}  // namespace kernels::cuda
}  // namespace v0
}  // namespace transmute

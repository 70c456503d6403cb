// SPDX-License-Identifier: Apache-2.0
// Attention (Eq. 1) of whole sentences: a block has one head of one sentence, all its queries and keys in shared
// memory, and a warp of it sixteen of them. Products are the tensor cores' m16n8k16 in bfloat16 with float sums.
// Weights are not kept; the backward pass computes them anew from the queries' log-sums (Dao et al., "FlashAttention",
// 2022).

#include <transmute/kernels/cuda/device_kernels.h>
#include <transmute/kernels/cuda/device.cuh>

#include <algorithm>

namespace transmute {
inline namespace v0 {
namespace kernels::cuda {

namespace {

using Number = __nv_bfloat16;

constexpr int kTile = 16;      // queries or keys of a warp
constexpr int kMostTiles = 8;  // of a sentence
constexpr int kGap = 8;        // elements between rows in shared memory, so that eight rows lie in different banks
constexpr float kLog2E = 1.4426950408889634F;

// The operands of mma.m16n8k16, as each lane holds them. A lane's rows are lane / 4 and that + 8, its columns
// 2 (lane % 4) and the next.
struct Left {  // [16,16]
  uint32_t part[4];
};
struct Right {  // [16,8]
  uint32_t part[2];
};
struct Sums {  // [16,8]
  float part[4];
};

__device__ __forceinline__ void multiply_add(Sums& sums, const Left& a, const Right& b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sums.part[0]), "+f"(sums.part[1]), "+f"(sums.part[2]), "+f"(sums.part[3])
      : "r"(a.part[0]), "r"(a.part[1]), "r"(a.part[2]), "r"(a.part[3]), "r"(b.part[0]), "r"(b.part[1]));
}

// Four matrices [8,8], the rows of the i-th at the addresses that lanes 8 i to 8 i + 7 have.
__device__ __forceinline__ void load_matrices(uint32_t (&to)[4], const Number* row) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}
__device__ __forceinline__ void load_transposed(uint32_t (&to)[4], const Number* row) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}

// A matrix in shared memory, its rows `stride` apart.
struct Matrix {
  Number* data;
  int stride;

  __device__ __forceinline__ Number* at(int row, int column) const { return data + row * stride + column; }
};

__device__ __forceinline__ int lane() {
  return static_cast<int>(threadIdx.x) % kLanes;
}

// m[row … row+15, column … column+15] as a left factor, and its transpose [column …, row …] as one.
__device__ __forceinline__ Left left_of(const Matrix& m, int row, int column) {
  Left left;
  load_matrices(left.part, m.at(row + lane() % 16, column + lane() / 16 * 8));
  return left;
}
__device__ __forceinline__ Left transposed_left_of(const Matrix& m, int row, int column) {
  Left left;
  load_transposed(left.part, m.at(row + lane() / 16 * 8 + lane() % 8, column + lane() / 8 % 2 * 8));
  return left;
}

// Two right factors side by side, [16,8] each: m[row … row+15, column … column+15], and the transpose of the same.
__device__ __forceinline__ void right_of(const Matrix& m, int row, int column, Right (&right)[2]) {
  uint32_t parts[4];
  load_transposed(parts, m.at(row + lane() / 8 % 2 * 8 + lane() % 8, column + lane() / 16 * 8));
  right[0] = {{parts[0], parts[1]}};
  right[1] = {{parts[2], parts[3]}};
}
__device__ __forceinline__ void transposed_right_of(const Matrix& m, int row, int column, Right (&right)[2]) {
  uint32_t parts[4];
  load_matrices(parts, m.at(row + lane() / 16 * 8 + lane() % 8, column + lane() / 8 % 2 * 8));
  right[0] = {{parts[0], parts[1]}};
  right[1] = {{parts[2], parts[3]}};
}

__device__ __forceinline__ uint32_t rounded(float a, float b) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(a, b);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

// Two sums side by side, rounded, as a left factor.
__device__ __forceinline__ Left left_of(const Sums& first, const Sums& second) {
  return {{rounded(first.part[0], first.part[1]), rounded(first.part[2], first.part[3]),
           rounded(second.part[0], second.part[1]), rounded(second.part[2], second.part[3])}};
}

__device__ __forceinline__ float quad_sum(float value) {
  value += __shfl_xor_sync(~0U, value, 1);
  return value + __shfl_xor_sync(~0U, value, 2);
}
__device__ __forceinline__ float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(~0U, value, 1));
  return fmaxf(value, __shfl_xor_sync(~0U, value, 2));
}

// Rows of one head into shared memory, with zeros after the last up to whole tiles.
template <int W>
__device__ __forceinline__ void load_rows(const Matrix& to, const Number* from, int64_t stride, int rows, int tiles) {
  constexpr int kVectors = W / static_cast<int>(kVector);
  for (int i = static_cast<int>(threadIdx.x); i < tiles * kTile * kVectors; i += static_cast<int>(blockDim.x)) {
    const int row = i / kVectors;
    const int column = i % kVectors * static_cast<int>(kVector);
    const uint4 bits = row < rows ? *reinterpret_cast<const uint4*>(from + row * stride + column) : uint4{0, 0, 0, 0};
    *reinterpret_cast<uint4*>(to.at(row, column)) = bits;
  }
}

// A tile [16,W] of sums to rows of the device's memory, straight from the lanes.
template <int W>
__device__ __forceinline__ void store_rows(Number* to, int64_t stride, int first, int rows, const Sums (&sums)[W / 8]) {
  const int upper = first + lane() / 4, lower = upper + 8;
  const int column = lane() % 4 * 2;
#pragma unroll
  for (int n = 0; n < W / 8; ++n) {
    if (upper < rows)
      *reinterpret_cast<uint32_t*>(to + upper * stride + n * 8 + column) = rounded(sums[n].part[0], sums[n].part[1]);
    if (lower < rows)
      *reinterpret_cast<uint32_t*>(to + lower * stride + n * 8 + column) = rounded(sums[n].part[2], sums[n].part[3]);
  }
}

// The same by way of a tile of shared memory that only this warp uses, in whole vectors, times a factor for each row.
template <int W>
__device__ __forceinline__ void store_by_way_of(const Matrix& tile, Number* to, int64_t stride, int first, int rows,
                                                const Sums (&sums)[W / 8], float factor_of_upper = 1,
                                                float factor_of_lower = 1) {
  const int upper = lane() / 4, column = lane() % 4 * 2;
#pragma unroll
  for (int n = 0; n < W / 8; ++n) {
    *reinterpret_cast<uint32_t*>(tile.at(upper, n * 8 + column)) =
        rounded(sums[n].part[0] * factor_of_upper, sums[n].part[1] * factor_of_upper);
    *reinterpret_cast<uint32_t*>(tile.at(upper + 8, n * 8 + column)) =
        rounded(sums[n].part[2] * factor_of_lower, sums[n].part[3] * factor_of_lower);
  }
  __syncwarp();
  constexpr int kVectors = W / static_cast<int>(kVector);
#pragma unroll
  for (int i = lane(); i < kTile * kVectors; i += kLanes) {
    const int row = i / kVectors, at = i % kVectors * static_cast<int>(kVector);
    if (first + row < rows)
      *reinterpret_cast<uint4*>(to + (first + row) * stride + at) = *reinterpret_cast<const uint4*>(tile.at(row, at));
  }
}

// The head and sentence of a block.
struct Place {
  int64_t head, sentence;

  __device__ explicit Place(const Heads& h)
      : head(static_cast<int64_t>(blockIdx.x) % h.num_heads),
        sentence(static_cast<int64_t>(blockIdx.x) / h.num_heads) {}

  // Places in tensors [B,L,stride].
  __device__ int64_t in(int64_t length, int64_t stride, int64_t width) const {
    return sentence * length * stride + head * width;
  }
  __device__ int64_t row_of(const Heads& h, int64_t query) const {
    return (sentence * h.num_heads + head) * h.queries + query;
  }
};

// True if each of a lane's scores in tile n of row `query` counts.
__device__ __forceinline__ bool is_allowed(const Heads& h, const Place& place, int query, int key) {
  if (query >= h.queries || key >= h.keys) return false;
  return h.allowed == nullptr ||
         h.allowed[place.sentence * h.allowed_batch_stride + query * h.allowed_query_stride + key];
}

// The dropout mask's elements of one head.
struct Drops {
  const Mask& mask;
  int64_t first;
  int64_t keys;
  int64_t block = -1;
  uint64_t block_key = 0;

  // The factor on a weight: 0, or the scale if the weight is kept.
  __device__ __forceinline__ float factor(int query, int key) {
    if (mask.threshold == 0) return 1;
    const int64_t at = first + query * keys + key;
    if (at / kMaskBlock != block) {
      block = at / kMaskBlock;
      block_key = block_key_of(mask, at);
    }
    return keeps(mask, static_cast<uint32_t>(at), block_key) ? mask.scale : 0;
  }
};

// A tile of the rows of one matrix times all rows of another.
template <int W, int K>
__device__ __forceinline__ void multiply_by_rows(const Matrix& m, int tile, const Matrix& rows, int tiles,
                                                 Sums (&products)[2 * K]) {
#pragma unroll
  for (int n = 0; n < 2 * K; ++n) products[n] = {{0, 0, 0, 0}};
#pragma unroll
  for (int k = 0; k < W / kTile; ++k) {
    const Left left = left_of(m, tile * kTile, k * kTile);
#pragma unroll
    for (int n = 0; n < K; ++n) {
      if (n >= tiles) continue;
      Right right[2];
      transposed_right_of(rows, n * kTile, k * kTile, right);
      multiply_add(products[2 * n], left, right[0]);
      multiply_add(products[2 * n + 1], left, right[1]);
    }
  }
}

// Scores of a warp's queries with all keys, in units of log2: -inf where not allowed.
template <int W, int K>
__device__ __forceinline__ void scores_of(const Heads& h, const Place& place, const Matrix& query, const Matrix& key,
                                          int tile, int key_tiles, Sums (&scores)[2 * K]) {
  multiply_by_rows<W, K>(query, tile, key, key_tiles, scores);
  const float factor = h.scale * kLog2E;
#pragma unroll
  for (int n = 0; n < 2 * K; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = tile * kTile + lane() / 4 + i / 2 * 8;
      const int column = n * 8 + lane() % 4 * 2 + i % 2;
      scores[n].part[i] = is_allowed(h, place, row, column) ? scores[n].part[i] * factor : -INFINITY;
    }
}

// K is the most tiles of keys.
template <int W, int K>
__global__ void __launch_bounds__(kMostTiles* kLanes)
    attention_forward_kernel(Heads h, const Number* query, const Number* key, const Number* value, Number* output,
                             float* log_sums) {
  extern __shared__ uint4 shared[];
  constexpr int kStride = W + kGap;
  const Place place(h);
  const int queries = static_cast<int>(h.queries), keys = static_cast<int>(h.keys);
  const int query_tiles = (queries + kTile - 1) / kTile, key_tiles = (keys + kTile - 1) / kTile;
  const Matrix own_query{reinterpret_cast<Number*>(shared), kStride};
  const Matrix own_key{own_query.at(query_tiles * kTile, 0), kStride};
  const Matrix own_value{own_key.at(key_tiles * kTile, 0), kStride};
  load_rows<W>(own_query, query + place.in(h.queries, h.query_stride, W), h.query_stride, queries, query_tiles);
  load_rows<W>(own_key, key + place.in(h.keys, h.memory_stride, W), h.memory_stride, keys, key_tiles);
  load_rows<W>(own_value, value + place.in(h.keys, h.memory_stride, W), h.memory_stride, keys, key_tiles);
  __syncthreads();

  const int tile = static_cast<int>(threadIdx.x) / kLanes;
  Sums weights[2 * K];
  scores_of<W, K>(h, place, own_query, own_key, tile, key_tiles, weights);
  float largest[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};
#pragma unroll
  for (int n = 0; n < 2 * K; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) largest[i / 2] = fmaxf(largest[i / 2], weights[n].part[i]);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    largest[r] = quad_max(largest[r]);
    if (largest[r] == -INFINITY) largest[r] = 0;  // the query may attend to nothing
  }
  Drops drops{h.mask, place.row_of(h, 0) * h.keys, h.keys};
#pragma unroll
  for (int n = 0; n < 2 * K; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float exponential = exp2f(weights[n].part[i] - largest[i / 2]);
      total[i / 2] += exponential;
      const int row = tile * kTile + lane() / 4 + i / 2 * 8;
      weights[n].part[i] = exponential == 0 ? 0 : exponential * drops.factor(row, n * 8 + lane() % 4 * 2 + i % 2);
    }
  total[0] = quad_sum(total[0]);
  total[1] = quad_sum(total[1]);

  Sums sums[W / 8];
#pragma unroll
  for (int n = 0; n < W / 8; ++n) sums[n] = {{0, 0, 0, 0}};
#pragma unroll
  for (int k = 0; k < K; ++k) {
    if (k >= key_tiles) continue;
    const Left left = left_of(weights[2 * k], weights[2 * k + 1]);
#pragma unroll
    for (int n = 0; n < W / kTile; ++n) {
      Right right[2];
      right_of(own_value, k * kTile, n * kTile, right);
      multiply_add(sums[2 * n], left, right[0]);
      multiply_add(sums[2 * n + 1], left, right[1]);
    }
  }
  const int64_t output_stride = h.num_heads * W;
  const Matrix own_tile{own_query.at(tile * kTile, 0), kStride};
  store_by_way_of<W>(own_tile, output + place.in(h.queries, output_stride, W), output_stride, tile * kTile, queries,
                     sums, total[0] > 0 ? 1 / total[0] : 0, total[1] > 0 ? 1 / total[1] : 0);
  if (lane() % 4 != 0) return;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = tile * kTile + lane() / 4 + r * 8;
    if (row < queries) log_sums[place.row_of(h, row)] = total[r] > 0 ? largest[r] + log2f(total[r]) : 0;
  }
}

template <int W, int K>
__global__ void __launch_bounds__(kMostTiles* kLanes)
    attention_backward_kernel(Heads h, const Number* query, const Number* key, const Number* value,
                              const Number* gradient, const float* log_sums, Number* query_gradient,
                              Number* key_gradient, Number* value_gradient) {
  extern __shared__ uint4 shared[];
  constexpr int kStride = W + kGap;
  const Place place(h);
  const int queries = static_cast<int>(h.queries), keys = static_cast<int>(h.keys);
  const int query_tiles = (queries + kTile - 1) / kTile, key_tiles = (keys + kTile - 1) / kTile;
  const int weight_stride = key_tiles * kTile + kGap;
  const Matrix own_query{reinterpret_cast<Number*>(shared), kStride};
  const Matrix own_gradient{own_query.at(query_tiles * kTile, 0), kStride};
  const Matrix own_key{own_gradient.at(query_tiles * kTile, 0), kStride};
  const Matrix own_value{own_key.at(key_tiles * kTile, 0), kStride};
  const Matrix weights{own_value.at(key_tiles * kTile, 0), weight_stride};  // after dropout
  const Matrix score_gradients{weights.at(query_tiles * kTile, 0), weight_stride};
  const int64_t output_stride = h.num_heads * W;
  load_rows<W>(own_query, query + place.in(h.queries, h.query_stride, W), h.query_stride, queries, query_tiles);
  load_rows<W>(own_gradient, gradient + place.in(h.queries, output_stride, W), output_stride, queries, query_tiles);
  load_rows<W>(own_key, key + place.in(h.keys, h.memory_stride, W), h.memory_stride, keys, key_tiles);
  load_rows<W>(own_value, value + place.in(h.keys, h.memory_stride, W), h.memory_stride, keys, key_tiles);
  __syncthreads();

  const int tile = static_cast<int>(threadIdx.x) / kLanes;
  if (tile < query_tiles) {  // this warp has a tile of queries
    Sums scores[2 * K], to_weights[2 * K];
    scores_of<W, K>(h, place, own_query, own_key, tile, key_tiles, scores);
    multiply_by_rows<W, K>(own_gradient, tile, own_value, key_tiles, to_weights);
    float log_sum[2], inner[2] = {0, 0};
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = tile * kTile + lane() / 4 + r * 8;
      log_sum[r] = row < queries ? log_sums[place.row_of(h, row)] : 0;
    }
    Drops drops{h.mask, place.row_of(h, 0) * h.keys, h.keys};
#pragma unroll
    for (int n = 0; n < 2 * K; ++n) {
      if (n >= 2 * key_tiles) continue;
      float dropped[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float weight = exp2f(scores[n].part[i] - log_sum[i / 2]);
        const int row = tile * kTile + lane() / 4 + i / 2 * 8;
        const float factor = weight == 0 ? 0 : drops.factor(row, n * 8 + lane() % 4 * 2 + i % 2);
        dropped[i] = weight * factor;
        inner[i / 2] += dropped[i] * to_weights[n].part[i];
        to_weights[n].part[i] *= factor;
        scores[n].part[i] = weight;
      }
      const int row = tile * kTile + lane() / 4, column = n * 8 + lane() % 4 * 2;
      *reinterpret_cast<uint32_t*>(weights.at(row, column)) = rounded(dropped[0], dropped[1]);
      *reinterpret_cast<uint32_t*>(weights.at(row + 8, column)) = rounded(dropped[2], dropped[3]);
    }
    inner[0] = quad_sum(inner[0]);
    inner[1] = quad_sum(inner[1]);
    Sums to_query[W / 8];
#pragma unroll
    for (int n = 0; n < W / 8; ++n) to_query[n] = {{0, 0, 0, 0}};
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (k >= key_tiles) continue;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        Sums& score = scores[2 * k + half];
#pragma unroll
        for (int i = 0; i < 4; ++i) score.part[i] *= (to_weights[2 * k + half].part[i] - inner[i / 2]) * h.scale;
        const int row = tile * kTile + lane() / 4, column = (2 * k + half) * 8 + lane() % 4 * 2;
        *reinterpret_cast<uint32_t*>(score_gradients.at(row, column)) = rounded(score.part[0], score.part[1]);
        *reinterpret_cast<uint32_t*>(score_gradients.at(row + 8, column)) = rounded(score.part[2], score.part[3]);
      }
      const Left left = left_of(scores[2 * k], scores[2 * k + 1]);
#pragma unroll
      for (int n = 0; n < W / kTile; ++n) {
        Right right[2];
        right_of(own_key, k * kTile, n * kTile, right);
        multiply_add(to_query[2 * n], left, right[0]);
        multiply_add(to_query[2 * n + 1], left, right[1]);
      }
    }
    store_rows<W>(query_gradient + place.in(h.queries, h.query_stride, W), h.query_stride, tile * kTile, queries,
                  to_query);
  }
  __syncthreads();
  if (tile >= key_tiles) return;

  Sums to_key[W / 8], to_value[W / 8];  // of this warp's tile of keys
#pragma unroll
  for (int n = 0; n < W / 8; ++n) to_key[n] = to_value[n] = {{0, 0, 0, 0}};
  for (int k = 0; k < query_tiles; ++k) {
    const Left weight = transposed_left_of(weights, k * kTile, tile * kTile);
    const Left score_gradient = transposed_left_of(score_gradients, k * kTile, tile * kTile);
#pragma unroll
    for (int n = 0; n < W / kTile; ++n) {
      Right right[2];
      right_of(own_gradient, k * kTile, n * kTile, right);
      multiply_add(to_value[2 * n], weight, right[0]);
      multiply_add(to_value[2 * n + 1], weight, right[1]);
      right_of(own_query, k * kTile, n * kTile, right);
      multiply_add(to_key[2 * n], score_gradient, right[0]);
      multiply_add(to_key[2 * n + 1], score_gradient, right[1]);
    }
  }
  // No warp reads keys and values any more, so their memory is free.
  const Matrix key_tile{own_key.at(tile * kTile, 0), kStride}, value_tile{own_value.at(tile * kTile, 0), kStride};
  store_by_way_of<W>(key_tile, key_gradient + place.in(h.keys, h.memory_stride, W), h.memory_stride, tile * kTile, keys,
                     to_key);
  store_by_way_of<W>(value_tile, value_gradient + place.in(h.keys, h.memory_stride, W), h.memory_stride, tile * kTile,
                     keys, to_value);
}

int tiles_of(int64_t length) {
  return static_cast<int>(blocks_for(length, kTile));
}

size_t forward_memory(int query_tiles, int key_tiles, int64_t width) {
  return sizeof(Number) * static_cast<size_t>(kTile * (query_tiles + 2 * key_tiles) * (width + kGap));
}

size_t backward_memory(int query_tiles, int key_tiles, int64_t width) {
  return sizeof(Number) * static_cast<size_t>(kTile * 2 * (query_tiles + key_tiles) * (width + kGap) +
                                              kTile * 2 * query_tiles * (key_tiles * kTile + kGap));
}

// Calls body(width, most tiles of keys).
template <class Body>
void with_shape(const Heads& h, Body body) {
  const int tiles = tiles_of(h.keys);
  const auto with_tiles = [&](auto width) {
    if (tiles <= 1)
      body(width, std::integral_constant<int, 1>());
    else if (tiles <= 2)
      body(width, std::integral_constant<int, 2>());
    else if (tiles <= 4)
      body(width, std::integral_constant<int, 4>());
    else
      body(width, std::integral_constant<int, kMostTiles>());
  };
  if (h.width == 32)
    with_tiles(std::integral_constant<int, 32>());
  else
    with_tiles(std::integral_constant<int, 64>());
}

// A kernel must ask for a block's shared memory beyond 48 KiB.
template <class Kernel>
void allow(Kernel kernel, size_t memory) {
  if (memory > 48 * 1024)
    check_call(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(memory)));
}

}  // namespace

bool can_attend(int64_t queries, int64_t keys, int64_t width) {
  if (queries < 1 || keys < 1 || queries > kMostTiles * kTile || keys > kMostTiles * kTile) return false;
  if (width != 32 && width != 64) return false;
  return backward_memory(tiles_of(queries), tiles_of(keys), width) <=
         static_cast<size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
}

void attention_forward(const Heads& heads, const void* query, const void* key, const void* value, void* output,
                       float* log_sums, Stream stream) {
  if (heads.batch == 0) return;
  const int query_tiles = tiles_of(heads.queries);
  const size_t memory = forward_memory(query_tiles, tiles_of(heads.keys), heads.width);
  with_shape(heads, [&](auto width, auto tiles) {
    const auto kernel = attention_forward_kernel<width.value, tiles.value>;
    allow(kernel, memory);
    kernel<<<heads.batch * heads.num_heads, query_tiles * kLanes, memory, static_cast<cudaStream_t>(stream)>>>(
        heads, static_cast<const Number*>(query), static_cast<const Number*>(key), static_cast<const Number*>(value),
        static_cast<Number*>(output), log_sums);
  });
  check_launch();
}

void attention_backward(const Heads& heads, const void* query, const void* key, const void* value, const void* gradient,
                        const float* log_sums, void* query_gradient, void* key_gradient, void* value_gradient,
                        Stream stream) {
  if (heads.batch == 0) return;
  const int query_tiles = tiles_of(heads.queries), key_tiles = tiles_of(heads.keys);
  const size_t memory = backward_memory(query_tiles, key_tiles, heads.width);
  with_shape(heads, [&](auto width, auto tiles) {
    const auto kernel = attention_backward_kernel<width.value, tiles.value>;
    allow(kernel, memory);
    kernel<<<heads.batch * heads.num_heads, std::max(query_tiles, key_tiles) * kLanes, memory,
             static_cast<cudaStream_t>(stream)>>>(
        heads, static_cast<const Number*>(query), static_cast<const Number*>(key), static_cast<const Number*>(value),
        static_cast<const Number*>(gradient), log_sums, static_cast<Number*>(query_gradient),
        static_cast<Number*>(key_gradient), static_cast<Number*>(value_gradient));
  });
  check_launch();
}

}  // namespace kernels::cuda
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

// The functions that kernels for GPUs share.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <transmute/common/random.h>
#include <transmute/kernels/cuda/device_kernels.h>
#include <transmute/kernels/simd/dropout_mask.h>

#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace transmute {
inline namespace v0 {
namespace kernels::cuda {

constexpr int kLanes = 32;

inline int64_t blocks_for(int64_t count, int64_t per_block) {
  return (count + per_block - 1) / per_block;
}

inline void check_call(cudaError_t status) {
  if (status == cudaErrorMemoryAllocation) throw std::bad_alloc();
  if (status != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(status));
}

inline void check_launch() {
  check_call(cudaGetLastError());
}

inline int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  check_call(cudaGetDevice(&device));
  check_call(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

inline int multiprocessors() {
  return attribute(cudaDevAttrMultiProcessorCount);
}

/// Calls body(T()) with the element type.
template <class Body>
void with_element(Element element, Body body) {
  switch (element) {
    case Element::float32:
      return body(float());
    case Element::bfloat16:
      return body(__nv_bfloat16());
    case Element::half:
      return body(__half());
  }
}

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(~0U, value, offset);
  return value;
}

/// The sum over a block of that many threads, in each of them. Can be called again at once.
template <int Threads>
__device__ __forceinline__ float block_sum(float value) {
  __shared__ float of_warp[Threads / kLanes];
  value = warp_sum(value);
  __syncthreads();
  if (threadIdx.x % kLanes == 0) of_warp[threadIdx.x / kLanes] = value;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int w = 0; w < Threads / kLanes; ++w) sum += of_warp[w];
  return sum;
}

__device__ __forceinline__ float2 widened(__nv_bfloat162 pair) {
  return __bfloat1622float2(pair);
}
__device__ __forceinline__ float2 widened(__half2 pair) {
  return __half22float2(pair);
}
template <class T>
using PairOf = std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162>;
__device__ __forceinline__ void round_pair(float a, float b, __nv_bfloat162& pair) {
  pair = __floats2bfloat162_rn(a, b);
}
__device__ __forceinline__ void round_pair(float a, float b, __half2& pair) {
  pair = __floats2half2_rn(a, b);
}

/// A vector of kVector elements, or one element.
template <class T, int N>
__device__ __forceinline__ void load(const T* from, float (&values)[N]) {
  if constexpr (N == 1) {
    values[0] = static_cast<float>(*from);
  } else if constexpr (std::is_same_v<T, float>) {
    static_assert(N == kVector);
    const float4 first = reinterpret_cast<const float4*>(from)[0], second = reinterpret_cast<const float4*>(from)[1];
    values[0] = first.x, values[1] = first.y, values[2] = first.z, values[3] = first.w;
    values[4] = second.x, values[5] = second.y, values[6] = second.z, values[7] = second.w;
  } else {
    static_assert(N == kVector);
    const uint4 bits = *reinterpret_cast<const uint4*>(from);
    const auto* pairs = reinterpret_cast<const PairOf<T>*>(&bits);
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      const float2 pair = widened(pairs[i]);
      values[2 * i] = pair.x;
      values[2 * i + 1] = pair.y;
    }
  }
}

template <class T, int N>
__device__ __forceinline__ void store(T* to, const float (&values)[N]) {
  if constexpr (N == 1) {
    *to = static_cast<T>(values[0]);
  } else if constexpr (std::is_same_v<T, float>) {
    static_assert(N == kVector);
    reinterpret_cast<float4*>(to)[0] = make_float4(values[0], values[1], values[2], values[3]);
    reinterpret_cast<float4*>(to)[1] = make_float4(values[4], values[5], values[6], values[7]);
  } else {
    static_assert(N == kVector);
    uint4 bits;
    auto* pairs = reinterpret_cast<PairOf<T>*>(&bits);
#pragma unroll
    for (int i = 0; i < N / 2; ++i) round_pair(values[2 * i], values[2 * i + 1], pairs[i]);
    *reinterpret_cast<uint4*>(to) = bits;
  }
}

__device__ __forceinline__ void add(float (&values)[kVector], const float* from) {
  float more[kVector];
  load(from, more);
#pragma unroll
  for (int i = 0; i < kVector; ++i) values[i] += more[i];
}

/// The key of element `at`'s block, see dropout_mask.h.
__device__ __forceinline__ uint64_t block_key_of(const Mask& mask, int64_t at) {
  return mix_bits(mask.mixed_key ^ static_cast<uint64_t>(at / kMaskBlock));
}

/// True if element `at` is kept, whose block has this key.
__device__ __forceinline__ bool keeps(const Mask& mask, uint32_t at, uint64_t block_key) {
  return hash_element(at % static_cast<uint32_t>(kMaskBlock), block_key) >= mask.threshold;
}

/// A bit for each of the elements from `at` on that is kept. `at` is a multiple of kVector: they lie in one block.
__device__ __forceinline__ uint32_t kept(const Mask& mask, int64_t at) {
  if (mask.threshold == 0) return ~0U;
  const uint64_t block_key = block_key_of(mask, at);
  uint32_t bits = 0;
#pragma unroll
  for (int i = 0; i < kVector; ++i)
    bits |= keeps(mask, static_cast<uint32_t>(at) + static_cast<uint32_t>(i), block_key) ? 1U << i : 0U;
  return bits;
}

__device__ __forceinline__ void apply(uint32_t kept, float scale, float (&values)[kVector]) {
#pragma unroll
  for (int i = 0; i < kVector; ++i) values[i] = (kept >> i & 1U) != 0 ? values[i] * scale : 0;
}

}  // namespace kernels::cuda
}  // namespace v0
}  // namespace transmute

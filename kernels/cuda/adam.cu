// SPDX-License-Identifier: Apache-2.0
// Adam over all parameters together: as many as fit into the arguments of one launch at a time.

#include <transmute/kernels/cuda/device_kernels.h>
#include <transmute/kernels/cuda/device.cuh>

#include <algorithm>

namespace transmute {
inline namespace v0 {
namespace kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int64_t kChunk = 1 << 15;  // elements that a block takes

// Every driver takes 4 KiB of arguments.
constexpr int kMost = 60;
struct Part {
  Trained parameters[kMost];
  bool in_vectors[kMost];
  int first_chunks[kMost + 1];
  int count;
};
static_assert(sizeof(Part) < 3900);

int64_t chunks_of(const Trained& parameter) {
  return std::max<int64_t>(1, blocks_for(parameter.elements, kChunk));
}

bool begins_vector(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0;  // true for null, too
}

bool lies_in_vectors(const Trained& t) {
  return t.offset % kVector == 0 && begins_vector(t.gradient) && begins_vector(t.parameter) &&
         begins_vector(t.rounded) && begins_vector(t.average);
}

// Calls body(part, chunks, index of its first parameter, index of its first chunk).
template <class Body>
void for_each_part(const Trained* parameters, int64_t count, Body body) {
  int64_t chunks_before = 0;
  for (int64_t begin = 0; begin < count; begin += kMost) {
    Part part;
    part.count = static_cast<int>(std::min<int64_t>(kMost, count - begin));
    part.first_chunks[0] = 0;
    for (int i = 0; i < part.count; ++i) {
      part.parameters[i] = parameters[begin + i];
      part.in_vectors[i] = lies_in_vectors(parameters[begin + i]);
      part.first_chunks[i + 1] = part.first_chunks[i] + static_cast<int>(chunks_of(parameters[begin + i]));
    }
    const int chunks = part.first_chunks[part.count];
    body(part, chunks, begin, chunks_before);
    chunks_before += chunks;
  }
}

__device__ __forceinline__ int parameter_of_block(const Part& part) {
  int p = 0;
  while (static_cast<int>(blockIdx.x) >= part.first_chunks[p + 1]) ++p;
  return p;
}

// The loop over a block's elements, kVector at a time if they are aligned. body(begin, number of elements).
template <class Body>
__device__ __forceinline__ void for_each_vector(const Part& part, int p, Body body) {
  const Trained& t = part.parameters[p];
  const int64_t begin = (static_cast<int64_t>(blockIdx.x) - part.first_chunks[p]) * kChunk;
  const int64_t end = min(begin + kChunk, t.elements);
  const int64_t whole = part.in_vectors[p] ? begin + (end - begin) / kVector * kVector : begin;
  for (int64_t i = begin + static_cast<int64_t>(threadIdx.x) * kVector; i < whole; i += kThreads * kVector)
    body(i, std::integral_constant<int, kVector>());
  for (int64_t i = whole + threadIdx.x; i < end; i += kThreads) body(i, std::integral_constant<int, 1>());
}

template <int N>
__device__ __forceinline__ void load_gradient(const Trained& t, int64_t at, float (&values)[N]) {
  if (t.gradient_is_bfloat16)
    load(static_cast<const __nv_bfloat16*>(t.gradient) + at, values);
  else
    load(static_cast<const float*>(t.gradient) + at, values);
}

__global__ void __launch_bounds__(kThreads) squares_kernel(Part part, float* partial_sums) {
  const int p = parameter_of_block(part);
  float squares = 0;
  for_each_vector(part, p, [&](int64_t at, auto width) {
    float gradient[width.value];
    load_gradient(part.parameters[p], at, gradient);
#pragma unroll
    for (int i = 0; i < width.value; ++i) squares += gradient[i] * gradient[i];
  });
  squares = block_sum<kThreads>(squares);
  if (threadIdx.x == 0) partial_sums[blockIdx.x] = squares;
}

__global__ void __launch_bounds__(kThreads) norms_kernel(Part part, const float* partial_sums, float* norms) {
  float sum = 0;
  for (int chunk = part.first_chunks[blockIdx.x] + static_cast<int>(threadIdx.x);
       chunk < part.first_chunks[blockIdx.x + 1]; chunk += kThreads)
    sum += partial_sums[chunk];
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) norms[blockIdx.x] = sqrtf(sum);
}

__global__ void __launch_bounds__(kThreads) update_kernel(Part part, AdamUpdate u) {
  const float factor = u.numbers[0];
  if (factor == 0) return;
  const float rate = u.numbers[1];
  const float correction = u.numbers[2];
  const float share = u.numbers[3];
  const int p = parameter_of_block(part);
  const Trained& t = part.parameters[p];
  for_each_vector(part, p, [&](int64_t at, auto width) {
    constexpr int N = width.value;
    float gradient[N], mean[N], variance[N], value[N];
    load_gradient(t, at, gradient);
    load(u.means + t.offset + at, mean);
    load(u.variances + t.offset + at, variance);
    load(t.parameter + at, value);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float g = gradient[i] * factor;
      mean[i] = u.beta1 * mean[i] + (1 - u.beta1) * g;
      variance[i] = u.beta2 * variance[i] + (1 - u.beta2) * g * g;
      const float decay = t.decays ? u.decay * value[i] : 0;
      value[i] -= rate * mean[i] / (sqrtf(variance[i]) * correction + u.epsilon) + decay;
    }
    store(u.means + t.offset + at, mean);
    store(u.variances + t.offset + at, variance);
    store(t.parameter + at, value);
    if (t.rounded != nullptr) store(static_cast<__nv_bfloat16*>(t.rounded) + at, value);
    if (t.average != nullptr) {
      float average[N];
      load(t.average + at, average);
#pragma unroll
      for (int i = 0; i < N; ++i) average[i] += share * (value[i] - average[i]);
      store(t.average + at, average);
    }
  });
}

}  // namespace

int64_t adam_scratch(const Trained* parameters, int64_t count) {
  int64_t chunks = 0;
  for (int64_t p = 0; p < count; ++p) chunks += chunks_of(parameters[p]);
  return chunks;
}

void gradient_norms(const Trained* parameters, int64_t count, float* partial_sums, float* norms, Stream stream) {
  const auto queue = static_cast<cudaStream_t>(stream);
  for_each_part(parameters, count, [&](const Part& part, int chunks, int64_t parameter, int64_t chunk) {
    squares_kernel<<<chunks, kThreads, 0, queue>>>(part, partial_sums + chunk);
    norms_kernel<<<part.count, kThreads, 0, queue>>>(part, partial_sums + chunk, norms + parameter);
  });
  check_launch();
}

void adam_update(const Trained* parameters, int64_t count, const AdamUpdate& update, Stream stream) {
  for_each_part(parameters, count, [&](const Part& part, int chunks, int64_t, int64_t) {
    update_kernel<<<chunks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(part, update);
  });
  check_launch();
}

}  // namespace kernels::cuda
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
// Passes over the logits of a hypothesis's next token, compiled once for each instruction set.

#include <transmute/kernels/cpu/score_kernels.h>
#include <transmute/kernels/simd/lanes.h>

namespace transmute {
inline namespace v0 {
namespace kernels {
namespace {

constexpr float kNever = -__builtin_inff();

float find_tops(const float* logits, int64_t count, float* tops) {
  constexpr int64_t kTopLanes = ScoreKernels::kTopLanes, kChunk = ScoreKernels::kChunk;
  Floats largest = splat(kNever);
  for (; count >= kChunk; count -= kChunk, logits += kChunk, tops += kTopLanes)
    for (int64_t lane = 0; lane < kTopLanes; lane += kLanes) {
      Floats top[2] = {splat(kNever), splat(kNever)};
      for (int64_t i = lane; i < kChunk; i += 2 * kTopLanes) {
        top[0] = larger(load(logits + i), top[0]);
        top[1] = larger(load(logits + i + kTopLanes), top[1]);
      }
      top[0] = larger(top[0], top[1]);
      largest = larger(top[0], largest);
      store(tops + lane, top[0]);
    }
  float top = largest_of(largest);
  if (count == 0) return top;
  for (int64_t lane = 0; lane < kTopLanes; ++lane) tops[lane] = kNever;
  for (int64_t i = 0; i < count; ++i) {
    float& of_lane = tops[i % kTopLanes];
    if (logits[i] > of_lane) of_lane = logits[i];
    if (logits[i] > top) top = logits[i];
  }
  return top;
}

// e^x = 2^n 2^r with |r| <= 1/2; 2^r is the best polynomial of the fifth degree that is exact at 0. Lower x are taken
// as -87.
TRANSMUTE_INLINE Floats exponential(Floats x) {
  const Floats t = larger(splat(-126.0F), x * kExpLog2E);  // NaN stays NaN
  const Floats shifted = t + kExpRound;
  const Floats r = t - (shifted - kExpRound);
  Floats sum = r * 1.32647272e-3F + 9.67151264e-3F;
  sum = sum * r + 5.55073374e-2F;
  sum = sum * r + 2.40222421e-1F;
  sum = sum * r + 6.93146978e-1F;
  sum = sum * r + 1.0F;
  const Words power = (reinterpret_cast<Words>(shifted) << 23) + 0x3f800000U;  // 2^n: n is in the low bits
  return sum * reinterpret_cast<Floats>(power);
}

float sum_exponentials(const float* logits, int64_t count, float top) {
  constexpr int64_t kSums = 32 / kLanes;  // 32 sums, in the same order, in every instruction set
  Floats sums[kSums] = {};
  int64_t i = 0;
  for (; i + 32 <= count; i += 32)
#pragma GCC unroll 8
    for (int64_t s = 0; s < kSums; ++s) sums[s] += exponential(load(logits + i + s * kLanes) - top);
  for (int64_t s = 0; i < count; i += kLanes, ++s) {
    const Part part{count - i < kLanes ? count - i : kLanes};
    sums[s] += zero_behind(exponential(load(logits + i, part) - top), part);
  }
  for (int64_t width = kSums / 2; width > 0; width /= 2)
    for (int64_t s = 0; s < width; ++s) sums[s] += sums[s + width];
  return sum_of(sums[0]);
}

// A bit for each lane whose value is above `bar`.
TRANSMUTE_INLINE unsigned lanes_above(Floats values, float bar) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(values, splat(bar), _CMP_GT_OQ);
#elif defined(__AVX2__)
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(values, splat(bar), _CMP_GT_OQ)));
#else
  unsigned lanes = 0;
  for (int64_t i = 0; i < kLanes; ++i) lanes |= (values[i] > bar ? 1U : 0U) << i;
  return lanes;
#endif
}

int64_t next_above(const float* values, int64_t from, int64_t count, float bar) {
  for (; from + kLanes <= count; from += kLanes)
    if (const unsigned lanes = lanes_above(load(values + from), bar); lanes != 0) return from + __builtin_ctz(lanes);
  while (from < count && !(values[from] > bar)) ++from;
  return from;
}

// The natural logarithm of x from 1 up: x = 2^n m with m in [2/3, 4/3), and log m = 2 artanh((m - 1) / (m + 1)), whose
// series ends where its terms are below float32.
TRANSMUTE_INLINE Floats log_from_one_up(Floats x) {
  constexpr int32_t kTwoThirds = 0x3f2aaaab;
  const Signed bits = reinterpret_cast<Signed>(x);
  const Signed n = (bits - kTwoThirds) >> 23;
  const Floats m = reinterpret_cast<Floats>(bits - (n << 23));
  const Floats t = (m - 1.0F) / (m + 1.0F), square = t * t;
  const Floats series = 1.0F + square * (1.0F / 3 + square * (1.0F / 5 + square * (1.0F / 7 + square * (1.0F / 9))));
  constexpr float kLn2 = 0.693147181F;
  return __builtin_convertvector(n, Floats) * kLn2 + 2.0F * t * series;
}

void log_of_sums(const ScoreKernels::ModelRow* models, size_t model_count, int64_t count, float* to) {
  const auto* const end = models + model_count;
  for_lanes(count, [&](int64_t i, auto part) {
    Floats most = splat(kNever), sum = {};
    for (const auto* model = models; model < end; ++model)
      most = larger(load(model->logits + i, part) - model->normalizer, most);
    for (const auto* model = models; model < end; ++model)
      sum += exp_of_negative(load(model->logits + i, part) - model->normalizer - most);
    store(to + i, most == splat(kNever) ? most : most + log_from_one_up(sum), part);
  });
}

}  // namespace

const ScoreKernels ScoreKernels::TRANSMUTE_SIMD{kernels::find_tops, kernels::sum_exponentials, kernels::next_above,
                                                kernels::log_of_sums};

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

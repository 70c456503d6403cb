// SPDX-License-Identifier: Apache-2.0
#include <transmute/search/top_candidates.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/kernels/simd/avx512.h>
#include <transmute/kernels/simd/vector_math.h>
#include <transmute/tokenizer/special_ids.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

using kernels::Simd;

constexpr float kNever = -std::numeric_limits<float>::infinity();
// The largest logits of each chunk are kept, in 16 lanes, so that choosing need not read most chunks again.
constexpr int64_t kLanes = 16;
constexpr int64_t kChunk = 8 * kLanes;

int64_t chunks_of(int64_t vocabulary) {
  return (vocabulary + kChunk - 1) / kChunk;
}

[[noreturn]] void refuse_scores() {
  throw std::runtime_error(
      "the model's scores are not finite numbers: its weights are damaged, or too large for the precision; try "
      "precision float32, or restore or retrain the model");
}

// The best candidates so far, best first.
class Best {
 public:
  Best(size_t count, std::vector<Candidate>& list) : count_(count), list_(list) { list_.reserve(count + 1); }

  /// A score of no more than this is not among the best.
  double bar() const {
    return list_.size() < count_ ? -std::numeric_limits<double>::infinity() : list_.back().log_probability;
  }

  void offer(const Candidate& candidate) {
    if (!(candidate.log_probability > bar())) return;
    const auto better = [](const Candidate& a, const Candidate& b) { return a.log_probability > b.log_probability; };
    list_.insert(std::upper_bound(list_.begin(), list_.end(), candidate, better), candidate);
    if (list_.size() > count_) list_.pop_back();
  }

 private:
  size_t count_;
  std::vector<Candidate>& list_;
};

// A row's candidates: its logits plus `shift` are log-probabilities of whole hypotheses. None is above `most`, that of
// their parent, as rounding would have it where the model is certain.
struct Shifted {
  LogitsRow logits;
  int64_t parent;
  double shift;
  double most;
  const Ids& excluded;

  bool may_have(int64_t token) const {
    return !is_never_chosen(token) && std::find(excluded.begin(), excluded.end(), token) == excluded.end();
  }

  Candidate candidate(int64_t token) const {
    return {parent, token, std::min(static_cast<double>(logits.values[token]) + shift, most)};
  }
  // Logits up to this are below the bar; rounding leaves some above that are not.
  float bar(const Best& best) const { return std::nextafter(static_cast<float>(best.bar() - shift), kNever); }
};

// The largest of each chunk, in lanes; returns the largest of all.
TRANSMUTE_INLINE float find_tops(const float* logits, int64_t count, float* tops) {
  float top = kNever;
  for (int64_t begin = 0; begin < count; begin += kChunk, tops += kLanes) {
    const int64_t size = std::min(kChunk, count - begin);
    for (int64_t lane = 0; lane < kLanes; ++lane) tops[lane] = kNever;
    int64_t i = 0;
    for (; i + kLanes <= size; i += kLanes)
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const float value = logits[begin + i + lane];
        tops[lane] = value > tops[lane] ? value : tops[lane];
      }
    for (int64_t lane = 0; i < size; ++i, ++lane) tops[lane] = std::max(tops[lane], logits[begin + i]);
    for (int64_t lane = 0; lane < kLanes; ++lane) top = std::max(top, tops[lane]);
  }
  return top;
}

// exp_of_negative() takes what is not a number for very little.
TRANSMUTE_INLINE float exponential_or_nan(float x) {
  return kernels::exp_of_negative(x) + (x != x ? x : 0.0F);
}

TRANSMUTE_INLINE double sum_exponentials(const float* logits, int64_t count, float top) {
  constexpr int64_t kSums = 32;
  float sums[kSums] = {};
  const int64_t whole = count / kSums * kSums;
  for (int64_t i = 0; i < whole; i += kSums)
    for (int64_t lane = 0; lane < kSums; ++lane) sums[lane] += exponential_or_nan(logits[i + lane] - top);
  double sum = 0;
  for (const float lane : sums) sum += lane;
  for (int64_t i = whole; i < count; ++i) sum += exponential_or_nan(logits[i] - top);
  return sum;
}

TRANSMUTE_INLINE void choose(const Shifted& row, const float* tops, Best& best) {
  float bar = row.bar(best);
  for (int64_t begin = 0; begin < row.logits.count; begin += kChunk, tops += kLanes) {
    bool any = false;
    for (int64_t lane = 0; lane < kLanes; ++lane) any = any || tops[lane] > bar;
    if (!any) continue;
    const int64_t end = std::min(begin + kChunk, row.logits.count);
    for (int64_t token = begin; token < end; ++token) {
      if (!(row.logits.values[token] > bar) || !row.may_have(token)) continue;
      best.offer(row.candidate(token));
      bar = row.bar(best);
    }
  }
}

struct Passes {
  float (*find_tops)(const float*, int64_t, float*);
  double (*sum_exponentials)(const float*, int64_t, float);
  void (*choose)(const Shifted&, const float*, Best&);
};

float find_tops_baseline(const float* logits, int64_t count, float* tops) {
  return find_tops(logits, count, tops);
}
double sum_exponentials_baseline(const float* logits, int64_t count, float top) {
  return sum_exponentials(logits, count, top);
}
void choose_baseline(const Shifted& row, const float* tops, Best& best) {
  choose(row, tops, best);
}
TRANSMUTE_TARGET_AVX2 float find_tops_avx2(const float* logits, int64_t count, float* tops) {
  return find_tops(logits, count, tops);
}
TRANSMUTE_TARGET_AVX2 double sum_exponentials_avx2(const float* logits, int64_t count, float top) {
  return sum_exponentials(logits, count, top);
}

#if defined(__x86_64__)

using kernels::first_lanes;

TRANSMUTE_TARGET_AVX512 float find_tops_avx512(const float* logits, int64_t count, float* tops) {
  const __m512 never = _mm512_set1_ps(kNever);
  __m512 largest = never;
  for (int64_t begin = 0; begin < count; begin += kChunk, tops += kLanes) {
    __m512 top[2] = {never, never};
    for (int64_t v = 0; v < kChunk; v += 2 * kLanes)
      for (int half = 0; half < 2; ++half) {
        const int64_t at = begin + v + half * kLanes;
        top[half] = _mm512_max_ps(_mm512_mask_loadu_ps(never, first_lanes(count - at), logits + at), top[half]);
      }
    const __m512 both = _mm512_max_ps(top[0], top[1]);
    _mm512_storeu_ps(tops, both);
    largest = _mm512_max_ps(largest, both);
  }
  return _mm512_reduce_max_ps(largest);
}

// e^(x - top) = 2^n 2^r with 0 <= r < 1; 2^r by the best polynomial of the fifth degree, to 2e-7. The maximum returns
// its second operand where one is not a number.
TRANSMUTE_TARGET_AVX512 inline __m512 exponential(__m512 x, __m512 top) {
  const __m512 scaled = _mm512_mul_ps(_mm512_sub_ps(x, top), _mm512_set1_ps(1.44269504F));
  const __m512 t = _mm512_max_ps(_mm512_set1_ps(-200.0F), scaled);
  const __m512 n = _mm512_roundscale_ps(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  const __m512 r = _mm512_sub_ps(t, n);
  __m512 sum = _mm512_set1_ps(1.8775767e-3F);
  sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(8.9893397e-3F));
  sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(5.5826318e-2F));
  sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(2.4015361e-1F));
  sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(6.9315308e-1F));
  sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(9.9999994e-1F));
  return _mm512_scalef_ps(sum, n);
}

TRANSMUTE_TARGET_AVX512 double sum_exponentials_avx512(const float* logits, int64_t count, float top) {
  const __m512 tops = _mm512_set1_ps(top);
  const __m512 never = _mm512_set1_ps(kNever);
  __m512 sums[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    sums[0] = _mm512_add_ps(sums[0], exponential(_mm512_loadu_ps(logits + i), tops));
    sums[1] = _mm512_add_ps(sums[1], exponential(_mm512_loadu_ps(logits + i + kLanes), tops));
  }
  for (; i < count; i += kLanes) {
    const __m512 x = _mm512_mask_loadu_ps(never, first_lanes(count - i), logits + i);
    sums[0] = _mm512_add_ps(sums[0], exponential(x, tops));
  }
  return static_cast<double>(_mm512_reduce_add_ps(_mm512_add_ps(sums[0], sums[1])));
}

// The functions that a hit calls are compiled without AVX. While the upper parts of the vector registers are in use,
// their instructions wait for these, and compilers do not always clear them by themselves.
TRANSMUTE_TARGET_AVX512 void choose_avx512(const Shifted& row, const float* tops, Best& best) {
  float bar = row.bar(best);
  for (int64_t begin = 0; begin < row.logits.count; begin += kChunk, tops += kLanes) {
    if (_mm512_cmp_ps_mask(_mm512_loadu_ps(tops), _mm512_set1_ps(bar), _CMP_GT_OQ) == 0) continue;
    for (int64_t at = begin; at < std::min(begin + kChunk, row.logits.count); at += kLanes) {
      const __mmask16 lanes = first_lanes(row.logits.count - at);
      const __m512 logits = _mm512_maskz_loadu_ps(lanes, row.logits.values + at);
      unsigned hits = _mm512_mask_cmp_ps_mask(lanes, logits, _mm512_set1_ps(bar), _CMP_GT_OQ);
      for (; hits != 0; hits &= hits - 1) {
        _mm256_zeroupper();
        const int64_t token = at + __builtin_ctz(hits);
        if (!row.may_have(token)) continue;
        best.offer(row.candidate(token));
        bar = row.bar(best);
      }
    }
  }
}

#endif

Passes passes(Simd simd) {
#if defined(__x86_64__)
  if (simd >= Simd::avx512) return {find_tops_avx512, sum_exponentials_avx512, choose_avx512};
#endif
  if (simd >= Simd::avx2) return {find_tops_avx2, sum_exponentials_avx2, choose_baseline};
  return {find_tops_baseline, sum_exponentials_baseline, choose_baseline};
}

}  // namespace

double CandidateFinder::log_sum_exp(const LogitsRow& logits) {
  const Passes with = passes(simd_);
  const int64_t size = chunks_of(logits.count) * kLanes;
  float* tops = chunk_tops_.at_least(size);
  const float top = with.find_tops(logits.values, logits.count, tops);
  if (top == kNever) {
    if (std::any_of(logits.values, logits.values + logits.count, [](float x) { return std::isnan(x); }))
      refuse_scores();
    return kNever;
  }
  const double sum = with.sum_exponentials(logits.values, logits.count, top);
  if (!std::isfinite(sum)) refuse_scores();
  return static_cast<double>(top) + std::log(sum);
}

std::vector<Candidate> CandidateFinder::best(const std::vector<CandidateRow>& rows, size_t count, const Ids& excluded) {
  std::vector<Candidate> list;
  Best best(count, list);
  for (size_t parent = 0; parent < rows.size(); ++parent) {
    const CandidateRow& row = rows[parent];
    const double normalizer = log_sum_exp(row.logits);
    if (normalizer == kNever) continue;  // nothing has a probability
    const Shifted shifted{row.logits, static_cast<int64_t>(parent), row.log_probability - normalizer,
                          row.log_probability, excluded};
    passes(simd_).choose(shifted, chunk_tops_.data(), best);
  }
  return list;
}

void check_scores(const float* values, int64_t count) {
  const bool all_may_be = std::all_of(values, values + count, [](float x) { return x < -kNever; });
  if (!all_may_be) refuse_scores();
}

double CandidateFinder::log_probability(const LogitsRow& logits, int64_t token) {
  if (token < 0 || token >= logits.count)
    throw std::out_of_range(fmt::format("token {} lies outside of the {} that have scores", token, logits.count));
  return std::min(static_cast<double>(logits.values[token]) - log_sum_exp(logits), 0.0);
}

}  // namespace v0
}  // namespace transmute

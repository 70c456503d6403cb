// SPDX-License-Identifier: Apache-2.0
#include <transmute/search/top_candidates.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/kernels/cpu/score_kernels.h>
#include <transmute/tokenizer/special_ids.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

using kernels::ScoreKernels;

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr int64_t kTopLanes = ScoreKernels::kTopLanes, kChunk = ScoreKernels::kChunk;

int64_t tops_of(int64_t count) {
  return (count + kChunk - 1) / kChunk * kTopLanes;
}

[[noreturn]] void refuse_scores() {
  throw std::runtime_error(
      "the model's scores are not finite numbers: its weights are damaged, or too large for the precision; try "
      "precision float32, or restore or retrain the model");
}

// The best candidates found so far, best first.
class Best {
 public:
  Best(size_t count, std::vector<Candidate>& list) : count_(count), list_(list) { list_.reserve(count + 1); }

  /// The score that a candidate must exceed to be among the best.
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

// The candidates of a row: its logits plus `shift` are log-probabilities of whole hypotheses. `most` is the parent's,
// which rounding must not exceed if the model is certain.
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
  // Logits up to this value are below the bar. Because of rounding, some above it are too.
  float bar(const Best& best) const { return std::nextafter(static_cast<float>(best.bar() - shift), kNever); }
};

void choose(const Shifted& row, const float* tops, Best& best) {
  const auto next_above = kernels::active_kernels<ScoreKernels>().next_above;
  const auto [values, count] = row.logits;
  float bar = row.bar(best);
  const int64_t tops_count = tops_of(count);
  for (int64_t chunk = 0;; ++chunk) {
    chunk = next_above(tops, chunk * kTopLanes, tops_count, bar) / kTopLanes;
    if (chunk * kTopLanes == tops_count) return;
    const int64_t end = std::min((chunk + 1) * kChunk, count);
    for (int64_t token = next_above(values, chunk * kChunk, end, bar); token < end;
         token = next_above(values, token + 1, end, bar)) {
      if (!row.may_have(token)) continue;
      best.offer(row.candidate(token));
      bar = row.bar(best);
    }
  }
}

}  // namespace

double CandidateFinder::log_sum_exp(const LogitsRow& logits) {
  const auto& kernels = kernels::active_kernels<ScoreKernels>();
  const float top = kernels.find_tops(logits.values, logits.count, chunk_tops_.at_least(tops_of(logits.count)));
  if (top == kNever) {
    if (std::any_of(logits.values, logits.values + logits.count, [](float x) { return std::isnan(x); }))
      refuse_scores();
    return kNever;
  }
  const double sum = static_cast<double>(kernels.sum_exponentials(logits.values, logits.count, top));
  if (!std::isfinite(sum)) refuse_scores();
  return static_cast<double>(top) + std::log(sum);
}

std::vector<Candidate> CandidateFinder::best(const std::vector<CandidateRow>& rows, size_t count, const Ids& excluded) {
  std::vector<Candidate> list;
  Best best(count, list);
  for (size_t parent = 0; parent < rows.size(); ++parent) {
    const CandidateRow& row = rows[parent];
    const double normalizer = log_sum_exp(row.logits);
    if (normalizer == kNever) continue;  // no token has a probability
    const Shifted shifted{row.logits, static_cast<int64_t>(parent), row.log_probability - normalizer,
                          row.log_probability, excluded};
    choose(shifted, chunk_tops_.data(), best);
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

// SPDX-License-Identifier: Apache-2.0
#include <transmute/search/next_scores.h>

#include <cmath>
#include <limits>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace search {

namespace {

float changed(float logit, double penalty) {
  if (std::isinf(penalty)) return -std::numeric_limits<float>::infinity();
  return static_cast<float>(logit < 0 ? logit * penalty : logit / penalty);
}

// Scores of logits in memory, which are read in one fused pass for each hypothesis.
class ScoresOnCpu : public NextScores {
 public:
  /// @param first the row of sentence 0; the next sentence's is `rows_per_sentence` further
  ScoresOnCpu(const NextToken& next, int64_t first, int64_t rows_per_sentence,
              const std::vector<SentenceSearch>& sentences, CandidateFinder& finder)
      : next_(next), first_(first), rows_per_sentence_(rows_per_sentence), finder_(finder) {
    if (sentences.front().changes_logits()) change_logits(sentences);
  }

  std::vector<Candidate> best(const SentenceSearch& sentence, size_t count) override {
    std::vector<CandidateRow> rows;
    for (size_t n = 0; n < sentence.live().size(); ++n)
      rows.push_back({row(sentence, static_cast<int64_t>(n)), sentence.live()[n].log_probability});
    return in_tokens(sentence, finder_.best(rows, count, sentence.excluded()));
  }
  std::vector<Candidate> best_of(const SentenceSearch& sentence, int64_t n, size_t count) override {
    const double so_far = sentence.live()[static_cast<size_t>(n)].log_probability;
    auto candidates = in_tokens(sentence, finder_.best({{row(sentence, n), so_far}}, count, sentence.excluded()));
    for (Candidate& candidate : candidates) candidate.parent = n;
    return candidates;
  }
  double log_probability(const SentenceSearch& sentence, int64_t n, int64_t token) override {
    return finder_.log_probability(row(sentence, n), sentence.column_of(token).value());
  }
  std::vector<float> all(const SentenceSearch& sentence, int64_t n) override {
    const LogitsRow logits = row(sentence, n);
    check_scores(logits.values, logits.count);
    return {logits.values, logits.values + logits.count};
  }

 private:
  LogitsRow row(const SentenceSearch& sentence, int64_t n) const {
    const int64_t b = sentence.place();
    const float* values =
        changed_.empty() ? next_.logits(first_ + b * rows_per_sentence_ + n)
                         : &changed_[first_changed_[static_cast<size_t>(b)] + static_cast<size_t>(n * next_.columns)];
    return {values, sentence.columns(next_.columns)};
  }
  void change_logits(const std::vector<SentenceSearch>& sentences) {
    for (size_t b = 0; b < sentences.size(); ++b) {
      first_changed_.push_back(changed_.size());
      for (size_t n = 0; n < sentences[b].live().size(); ++n) {
        const float* logits =
            next_.logits(first_ + static_cast<int64_t>(b) * rows_per_sentence_ + static_cast<int64_t>(n));
        float* copy = &*changed_.insert(changed_.end(), logits, logits + next_.columns);
        for (const auto& [column, penalty] : sentences[b].changed_logits(n))
          copy[column] = changed(copy[column], penalty);
      }
    }
  }
  static std::vector<Candidate> in_tokens(const SentenceSearch& sentence, std::vector<Candidate> columns) {
    for (Candidate& candidate : columns) candidate.token = sentence.token_of(candidate.token);
    return columns;
  }

  const NextToken& next_;
  int64_t first_, rows_per_sentence_;
  std::vector<float> changed_;  // copies of the live hypotheses' rows, if any are changed
  std::vector<size_t> first_changed_;
  CandidateFinder& finder_;
};

}  // namespace

std::unique_ptr<NextScores> make_next_scores(const NextToken& next, int64_t position, int64_t rows_per_sentence,
                                             const std::vector<SentenceSearch>& sentences, size_t count,
                                             CandidateFinder& finder) {
  if (next.on_device) return next.on_device->scores(position, sentences, count);
  return std::make_unique<ScoresOnCpu>(next, position, rows_per_sentence, sentences, finder);
}

}  // namespace search
}  // namespace v0
}  // namespace transmute

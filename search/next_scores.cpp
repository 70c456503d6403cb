// SPDX-License-Identifier: Apache-2.0
#include <transmute/search/next_scores.h>

namespace transmute {
inline namespace v0 {
namespace search {

namespace {

// In memory: a fused pass over each hypothesis' logits.
class ScoresOnCpu : public NextScores {
 public:
  /// @param first the row of sentence 0; the next sentence's is `rows_per_sentence` further
  ScoresOnCpu(const float* first, int64_t columns, int64_t rows_per_sentence, CandidateFinder& finder)
      : first_(first), columns_(columns), rows_per_sentence_(rows_per_sentence), finder_(finder) {}

  std::vector<Candidate> best(const SentenceSearch& sentence, int64_t b, size_t count) override {
    std::vector<CandidateRow> rows;
    for (size_t n = 0; n < sentence.live().size(); ++n)
      rows.push_back({row(sentence, b, static_cast<int64_t>(n)), sentence.live()[n].log_probability});
    return in_tokens(sentence, finder_.best(rows, count, sentence.excluded()));
  }
  std::vector<Candidate> best_of(const SentenceSearch& sentence, int64_t b, int64_t n, size_t count) override {
    const double so_far = sentence.live()[static_cast<size_t>(n)].log_probability;
    auto candidates = in_tokens(sentence, finder_.best({{row(sentence, b, n), so_far}}, count, sentence.excluded()));
    for (Candidate& candidate : candidates) candidate.parent = n;
    return candidates;
  }
  double log_probability(const SentenceSearch& sentence, int64_t b, int64_t n, int64_t token) override {
    return finder_.log_probability(row(sentence, b, n), sentence.column_of(token).value());
  }
  std::vector<float> all(const SentenceSearch& sentence, int64_t b, int64_t n) override {
    const LogitsRow logits = row(sentence, b, n);
    check_scores(logits.values, logits.count);
    return {logits.values, logits.values + logits.count};
  }

 private:
  LogitsRow row(const SentenceSearch& sentence, int64_t b, int64_t n) const {
    return {first_ + (b * rows_per_sentence_ + n) * columns_, sentence.columns(columns_)};
  }
  static std::vector<Candidate> in_tokens(const SentenceSearch& sentence, std::vector<Candidate> columns) {
    for (Candidate& candidate : columns) candidate.token = sentence.token_of(candidate.token);
    return columns;
  }

  const float* first_;
  int64_t columns_, rows_per_sentence_;
  CandidateFinder& finder_;
};

}  // namespace

std::unique_ptr<NextScores> make_next_scores(const NextToken& next, int64_t position, int64_t rows_per_sentence,
                                             const std::vector<SentenceSearch>& sentences, size_t count,
                                             CandidateFinder& finder) {
  if (next.on_device) return next.on_device->scores(position, sentences, count);
  return std::make_unique<ScoresOnCpu>(next.logits + position * next.columns, next.columns, rows_per_sentence, finder);
}

}  // namespace search
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/device/tensor_logits.h>

#include <transmute/libtorch/libtorch.h>
#include <transmute/search/next_scores.h>
#include <transmute/search/top_candidates.h>

#include <algorithm>

namespace transmute {
inline namespace v0 {

namespace {

using search::kNever;
using search::NextScores;
using search::SentenceSearch;

// Logits, [B,N,V], as SentenceSearch::changed_logits() says.
torch::Tensor changed(const torch::Tensor& logits, const std::vector<SentenceSearch>& sentences) {
  if (!sentences.front().changes_logits()) return logits;
  std::vector<int64_t> places;  // in [B·N·V]
  std::vector<double> penalties;
  for (size_t b = 0; b < sentences.size(); ++b)
    for (size_t n = 0; n < sentences[b].live().size(); ++n)
      for (const auto& [column, penalty] : sentences[b].changed_logits(n)) {
        const auto row = static_cast<int64_t>(b) * logits.size(1) + static_cast<int64_t>(n);
        places.push_back(row * logits.size(2) + column);
        penalties.push_back(penalty);
      }
  const torch::Tensor chosen = torch::tensor(places, torch::kLong).to(logits.device());
  const torch::Tensor penalty = torch::tensor(penalties, torch::kDouble).to(logits.device());
  torch::Tensor flat = logits.flatten().clone();
  const torch::Tensor before = flat.index_select(0, chosen).to(torch::kDouble);
  const torch::Tensor after =
      torch::where(before.lt(0), before * penalty, before / penalty).masked_fill(penalty.isinf(), kNever);
  return flat.index_copy_(0, chosen, after.to(logits.scalar_type())).view(logits.sizes());
}

// LibTorch's operations on all rows at once, and one copy of the candidates.
class ScoresOnDevice : public NextScores {
 public:
  ScoresOnDevice(const torch::Tensor& logits, const std::vector<SentenceSearch>& sentences, size_t count)
      : log_probs_(torch::log_softmax(changed(logits, sentences), -1, torch::kFloat)) {
    totals_ = log_probs_ + totals_so_far(sentences).to(log_probs_.device());
    for (const int64_t never : kNeverChosen) totals_.select(2, never).fill_(kNever);
    for (const int64_t never : sentences.front().excluded()) totals_.select(2, never).fill_(kNever);
    const auto most = std::min(static_cast<int64_t>(count), totals_.size(1) * totals_.size(2));
    const auto [values, indices] = totals_.flatten(1).topk(most, 1);  // [B,2N]
    best_ = torch::stack({values.to(torch::kDouble), indices.to(torch::kDouble)}).to(torch::kCPU).contiguous();
  }

  std::vector<Candidate> best(const SentenceSearch& sentence, size_t) override {
    const int64_t count = best_.size(2);
    const double* value = best_.data_ptr<double>() + sentence.place() * count;
    const double* place = value + best_.size(1) * count;
    const int64_t columns = log_probs_.size(2);
    std::vector<Candidate> candidates;
    for (int64_t i = 0; i < count && value[i] != kNever; ++i) {
      checked(value[i]);
      const auto index = static_cast<int64_t>(place[i]);
      candidates.push_back(candidate(sentence, index / columns, index % columns, value[i]));
    }
    return candidates;
  }
  std::vector<Candidate> best_of(const SentenceSearch& sentence, int64_t n, size_t count) override {
    const auto [values, columns] =
        totals_[sentence.place()][n].topk(std::min(static_cast<int64_t>(count), totals_.size(2)));
    const torch::Tensor on_host = torch::stack({values.to(torch::kDouble), columns.to(torch::kDouble)}).to(torch::kCPU);
    const auto found = on_host.accessor<double, 2>();
    std::vector<Candidate> candidates;
    for (int64_t i = 0; i < found.size(1) && found[0][i] != kNever; ++i)
      candidates.push_back(candidate(sentence, n, static_cast<int64_t>(found[1][i]), checked(found[0][i])));
    return candidates;
  }
  double log_probability(const SentenceSearch& sentence, int64_t n, int64_t token) override {
    const int64_t column = sentence.column_of(token).value();
    if (token != special_ids::kEnd) return checked(log_probs_[sentence.place()][n][column].item<double>());
    // Sentences come to their ends together.
    if (!ends_.defined()) ends_ = log_probs_.select(2, column).to(torch::kCPU);
    return checked(ends_.accessor<float, 2>()[sentence.place()][n]);
  }
  std::vector<float> all(const SentenceSearch& sentence, int64_t n) override {
    const torch::Tensor row = log_probs_[sentence.place()][n].to(torch::kCPU).contiguous();
    check_scores(row.data_ptr<float>(), row.numel());
    return {row.data_ptr<float>(), row.data_ptr<float>() + sentence.columns(row.numel())};
  }

 private:
  // Sums in float32 may round to more than the parent's log-probability.
  static Candidate candidate(const SentenceSearch& sentence, int64_t parent, int64_t column, double total) {
    const double most = sentence.live()[static_cast<size_t>(parent)].log_probability;
    return {parent, sentence.token_of(column), std::min(total, most)};
  }

  // The softmax of a row with a number that is none, or infinite, has no number at all.
  static double checked(double value) {
    const auto score = static_cast<float>(value);
    check_scores(&score, 1);
    return value;
  }

  // Log-probabilities of the hypotheses so far, [B,N,1]; -inf for the repeats that fill a beam.
  torch::Tensor totals_so_far(const std::vector<SentenceSearch>& sentences) const {
    const int64_t beam = log_probs_.size(1);
    torch::Tensor totals = torch::full({log_probs_.size(0), beam, 1}, kNever, torch::kFloat);
    float* next = totals.data_ptr<float>();
    for (const auto& sentence : sentences) {
      for (size_t n = 0; n < sentence.live().size(); ++n)
        next[n] = static_cast<float>(sentence.live()[n].log_probability);
      next += beam;
    }
    return totals;
  }

  torch::Tensor log_probs_, totals_;  // [B,N,V], or [B,N,L]
  torch::Tensor best_;                // on the host: values and places among [N·V] of the best, [2,B,2N]
  torch::Tensor ends_;                // on the host, once wanted: log-probabilities of the end [B,N]
};

}  // namespace

std::unique_ptr<search::NextScores> TensorLogits::scores(int64_t position, const std::vector<SentenceSearch>& sentences,
                                                         size_t count) const {
  const torch::Tensor logits = positions_ > 1 ? logits_.slice(1, position, position + 1) : logits_;
  return std::make_unique<ScoresOnDevice>(logits, sentences, count);
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/device/tensor_logits.h>

#include <c10/core/InferenceMode.h>
#include <transmute/libtorch/device.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/libtorch/plain_errors.h>
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
  const torch::Tensor chosen = on_device(torch::tensor(places, torch::kLong), logits.device());
  const torch::Tensor penalty = on_device(torch::tensor(penalties, torch::kDouble), logits.device());
  torch::Tensor flat = logits.to(torch::kFloat, /*non_blocking=*/false, /*copy=*/true).flatten();
  const torch::Tensor before = flat.index_select(0, chosen).to(torch::kDouble);
  const torch::Tensor after =
      torch::where(before.lt(0), before * penalty, before / penalty).masked_fill(penalty.isinf(), kNever);
  return flat.index_copy_(0, chosen, after.to(torch::kFloat)).view(logits.sizes());
}

// LibTorch's operations on all rows at once, and one copy of the candidates. Nothing waits for the device before that.
class ScoresOnDevice : public NextScores {
 public:
  ScoresOnDevice(const torch::Tensor& logits, const std::vector<SentenceSearch>& sentences, size_t count)
      : log_probs_(torch::log_softmax(changed(logits, sentences), -1, torch::kFloat)),
        totals_(log_probs_ + on_device(totals_so_far(sentences), log_probs_.device())),
        count_(std::min(static_cast<int64_t>(count), totals_.size(1) * totals_.size(2))) {
    static_assert(kNeverChosen[0] == 0 && kNeverChosen[1] == 1 && kNeverChosen[2] == 2, "they are the first columns");
    totals_.narrow(2, 0, kNeverChosen.size()).fill_(kNever);
    for (const int64_t never : sentences.front().excluded()) totals_.select(2, never).fill_(kNever);
  }

  std::vector<Candidate> best(const SentenceSearch& sentence, size_t) override {
    if (!best_.value.defined()) {
      const c10::InferenceMode inference;
      best_ = with_plain_errors([&] { return on_host(best_in(totals_.flatten(1), count_)); });
    }
    const float* value = best_.value.data_ptr<float>() + sentence.place() * count_;
    const int64_t* place = best_.place.data_ptr<int64_t>() + sentence.place() * count_;
    const int64_t columns = log_probs_.size(2);
    std::vector<Candidate> candidates;
    for (int64_t i = 0; i < count_ && value[i] != kNever; ++i)
      candidates.push_back(candidate(sentence, place[i] / columns, place[i] % columns, checked(value[i])));
    return candidates;
  }
  std::vector<Candidate> best_of(const SentenceSearch& sentence, int64_t n, size_t count) override {
    const int64_t most = std::min(static_cast<int64_t>(count), totals_.size(2));
    const Best found =
        with_plain_errors([&] { return on_host(best_in(totals_[sentence.place()][n].unsqueeze(0), most)); });
    std::vector<Candidate> candidates;
    for (int64_t i = 0; i < most; ++i) {
      const float value = found.value.data_ptr<float>()[i];
      if (value == kNever) break;
      candidates.push_back(candidate(sentence, n, found.place.data_ptr<int64_t>()[i], checked(value)));
    }
    return candidates;
  }
  double log_probability(const SentenceSearch& sentence, int64_t n, int64_t token) override {
    const int64_t column = sentence.column_of(token).value();
    if (token != special_ids::kEnd)
      return checked(with_plain_errors([&] { return log_probs_[sentence.place()][n][column].item<float>(); }));
    // Sentences come to their ends together.
    if (!ends_.defined()) ends_ = with_plain_errors([&] { return log_probs_.select(2, column).to(torch::kCPU); });
    return checked(ends_.accessor<float, 2>()[sentence.place()][n]);
  }
  std::vector<float> all(const SentenceSearch& sentence, int64_t n) override {
    const torch::Tensor row =
        with_plain_errors([&] { return log_probs_[sentence.place()][n].to(torch::kCPU).contiguous(); });
    check_scores(row.data_ptr<float>(), row.numel());
    return {row.data_ptr<float>(), row.data_ptr<float>() + sentence.columns(row.numel())};
  }

 private:
  struct Best {
    torch::Tensor value;  // float32 [R,count]
    torch::Tensor place;  // int64 [R,count]
  };
  // The best of each row of totals, [R,…], best first.
  static Best best_in(const torch::Tensor& totals, int64_t count) {
    const auto [value, place] = count == 1 ? totals.max(1, /*keepdim=*/true) : totals.topk(count, 1);
    return {value, place};
  }
  // In one copy, of the bits.
  static Best on_host(const Best& best) {
    const int64_t count = best.value.size(1);
    const torch::Tensor both =
        torch::cat({best.value.view(torch::kInt), best.place.view(torch::kInt)}, 1).to(torch::kCPU);
    const auto part = [&](int64_t from, int64_t width, torch::Dtype type) {
      return both.narrow(1, from, width).clone(torch::MemoryFormat::Contiguous).view(type);
    };
    return {part(0, count, torch::kFloat), part(count, 2 * count, torch::kLong)};
  }

  // Sums in float32 may round to more than the parent's log-probability.
  static Candidate candidate(const SentenceSearch& sentence, int64_t parent, int64_t column, double total) {
    const double most = sentence.live()[static_cast<size_t>(parent)].log_probability;
    return {parent, sentence.token_of(column), std::min(total, most)};
  }

  // The softmax of a row with a number that is none, or infinite, has no number at all.
  static float checked(float value) {
    check_scores(&value, 1);
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
  int64_t count_;                     // candidates of a sentence
  Best best_;                         // on the host, once wanted: [B,count_] of [N·V]
  torch::Tensor ends_;                // on the host, once wanted: log-probabilities of the end [B,N]
};

}  // namespace

std::unique_ptr<search::NextScores> TensorLogits::scores(int64_t position, const std::vector<SentenceSearch>& sentences,
                                                         size_t count) const {
  const c10::InferenceMode inference;
  const torch::Tensor logits = positions_ > 1 ? logits_.slice(1, position, position + 1) : logits_;
  return with_plain_errors([&] { return std::make_unique<ScoresOnDevice>(logits, sentences, count); });
}

}  // namespace v0
}  // namespace transmute

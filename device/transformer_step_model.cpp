// SPDX-License-Identifier: Apache-2.0
#include <transmute/device/transformer_step_model.h>

#include <transmute/libtorch/libtorch.h>

#include <algorithm>
#include <limits>

namespace transmute {
inline namespace v0 {

torch::Tensor padded_sources(const std::vector<Ids>& sources) {
  size_t longest = 0;
  for (const auto& source : sources) longest = std::max(longest, source.size());
  torch::Tensor ids = torch::full({static_cast<int64_t>(sources.size()), static_cast<int64_t>(longest) + 1},
                                  special_ids::kPad, torch::kLong);
  int64_t* row = ids.data_ptr<int64_t>();
  for (const auto& source : sources) {
    std::copy(source.begin(), source.end(), row);
    row[source.size()] = special_ids::kEnd;
    row += ids.size(1);
  }
  return ids;
}

namespace {

// Whether they are 0, 1, 2, … .
bool counts_up(const torch::Tensor& numbers) {
  const int64_t* at = numbers.data_ptr<int64_t>();
  for (int64_t i = 0; i < numbers.size(0); ++i)
    if (at[i] != i) return false;
  return true;
}

class TransformerBatch : public DecodingBatch {
 public:
  TransformerBatch(Transformer transformer, torch::Device device, const std::vector<Ids>& sources,
                   AttentionChoice attention, const std::vector<Ids>& shortlists)
      : transformer_(std::move(transformer)), device_(device), attention_(attention) {
    const torch::NoGradGuard no_grad;
    sentences_ = rows_ = static_cast<int64_t>(sources.size());
    const torch::Tensor ids =
        transformer_->encoder ? padded_sources(sources) : torch::empty({sentences_, 0}, torch::kLong);
    cache_ = transformer_->start_decoding(transformer_->encode(ids.to(device_)));
    if (!shortlists.empty()) take(shortlists);
  }

  NextToken step(const torch::Tensor& ids) override {
    const torch::NoGradGuard no_grad;
    return next_token(transformer_->step(ids.to(device_), cache_, wanted_weights()));
  }

  NextToken extend(const torch::Tensor& ids) override {
    const torch::NoGradGuard no_grad;
    return next_token(transformer_->extend(ids.to(device_), cache_, wanted_weights()));
  }

  void select(const torch::Tensor& sentences, const torch::Tensor& parents) override {
    const torch::NoGradGuard no_grad;
    const bool all_stay = sentences.size(0) == sentences_;
    const bool in_place = all_stay && counts_up(parents) && parents.size(0) == rows_;  // a greedy search's, for one
    sentences_ = sentences.size(0);
    rows_ = parents.size(0);
    if (in_place) return;
    cache_ = cache_.select(all_stay ? torch::Tensor() : sentences.to(device_), parents.to(device_));
    if (columns_.defined() && !all_stay) columns_ = columns_.index_select(0, sentences.to(device_));
  }

 private:
  ReturnWeights wanted_weights() const { return attention_.wanted ? ReturnWeights::yes : ReturnWeights::no; }

  NextToken next_token(DecoderStep result) {
    cache_ = std::move(result.cache);
    NextToken next{transformer_->project(result.states).to(torch::kFloat), {}};
    if (columns_.defined()) next.logits = shortlisted(next.logits);
    if (attention_.wanted) {
      const auto layer =
          attention_.layer > 0 ? static_cast<size_t>(attention_.layer) - 1 : result.cross_weights.size() - 1;
      const torch::Tensor weights = result.cross_weights[layer];  // [B,H,N,S]
      next.attention = (attention_.head > 0 ? weights.select(1, attention_.head - 1) : weights.mean(1))
                           .to(torch::kCPU, torch::kFloat)
                           .contiguous();
    }
    return next;
  }

  void take(const std::vector<Ids>& shortlists) {
    const int64_t vocabulary = transformer_->options.target_vocab_size;
    size_t longest = 0;
    for (const Ids& shortlist : shortlists) {
      check_shortlist(shortlist, vocabulary);
      longest = std::max(longest, shortlist.size());
    }
    columns_ =
        torch::full({static_cast<int64_t>(shortlists.size()), static_cast<int64_t>(longest)}, kNoToken, torch::kLong);
    int64_t* row = columns_.data_ptr<int64_t>();
    for (const Ids& shortlist : shortlists) {
      std::copy(shortlist.begin(), shortlist.end(), row);
      row += longest;
    }
    columns_ = columns_.to(device_);
  }

  // logits: [B,N,V]; result: [B,N,L].
  torch::Tensor shortlisted(const torch::Tensor& logits) const {
    const torch::Tensor columns = columns_.unsqueeze(1);  // [B,1,L]
    return logits.gather(2, columns.clamp_min(0).expand({-1, logits.size(1), -1}))
        .masked_fill(columns == kNoToken, -std::numeric_limits<float>::infinity());
  }

  static constexpr int64_t kNoToken = -1;  // beyond the end of a shortlist

  Transformer transformer_;
  torch::Device device_;
  AttentionChoice attention_;
  DecoderCache cache_;
  int64_t sentences_ = 0;
  int64_t rows_ = 0;       // hypotheses of all sentences
  torch::Tensor columns_;  // [B,L]: the sentences' shortlists; undefined where there are none
};

}  // namespace

TransformerStepModel::TransformerStepModel(Transformer transformer, torch::Device device)
    : transformer_(std::move(transformer)), device_(device) {}

std::unique_ptr<DecodingBatch> TransformerStepModel::start(const std::vector<Ids>& sources, AttentionChoice attention,
                                                           const std::vector<Ids>& shortlists) const {
  check(attention, transformer_->options);
  return std::make_unique<TransformerBatch>(transformer_, device_, sources, attention, shortlists);
}

}  // namespace v0
}  // namespace transmute

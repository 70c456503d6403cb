#include <transmute/translation/transformer_step_model.h>

#include <transmute/model/libtorch.h>

#include <algorithm>

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

class TransformerBatch : public DecodingBatch {
 public:
  TransformerBatch(Transformer transformer, torch::Device device, const std::vector<Ids>& sources,
                   AttentionChoice attention)
      : transformer_(std::move(transformer)), device_(device), attention_(attention) {
    const torch::NoGradGuard no_grad;
    const auto sentences = static_cast<int64_t>(sources.size());
    const torch::Tensor ids =
        transformer_->encoder ? padded_sources(sources) : torch::empty({sentences, 0}, torch::kLong);
    cache_ = transformer_->start_decoding(transformer_->encode(ids.to(device_)));
  }

  NextToken step(const torch::Tensor& ids) override {
    const torch::NoGradGuard no_grad;
    DecoderStep result =
        transformer_->step(ids.to(device_), cache_, attention_.wanted ? ReturnWeights::yes : ReturnWeights::no);
    cache_ = std::move(result.cache);
    NextToken next{transformer_->project(result.states).to(torch::kFloat), {}};
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

  void select(const torch::Tensor& sentences, const torch::Tensor& parents) override {
    const torch::NoGradGuard no_grad;
    const bool all_stay = !cache_.source_mask.defined() || sentences.size(0) == cache_.source_mask.size(0);
    cache_ = cache_.select(all_stay ? torch::Tensor() : sentences.to(device_), parents.to(device_));
  }

 private:
  Transformer transformer_;
  torch::Device device_;
  AttentionChoice attention_;
  DecoderCache cache_;
};

}  // namespace

TransformerStepModel::TransformerStepModel(Transformer transformer, torch::Device device)
    : transformer_(std::move(transformer)), device_(device) {}

std::unique_ptr<DecodingBatch> TransformerStepModel::start(const std::vector<Ids>& sources,
                                                           AttentionChoice attention) const {
  check(attention, transformer_->options);
  return std::make_unique<TransformerBatch>(transformer_, device_, sources, attention);
}

}  // namespace v0
}  // namespace transmute

#include <transmute/translation/ensemble.h>

#include <transmute/model/libtorch.h>

#include <cmath>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

class EnsembleBatch : public DecodingBatch {
 public:
  explicit EnsembleBatch(std::vector<std::unique_ptr<DecodingBatch>> members) : members_(std::move(members)) {}

  NextToken step(const torch::Tensor& ids) override {
    const torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> log_probs;
    torch::Tensor attention;
    for (auto& member : members_) {
      const NextToken next = member->step(ids);
      log_probs.push_back(torch::log_softmax(next.logits, -1));
      if (next.attention.defined())
        attention = attention.defined() ? attention + next.attention : next.attention.clone();
    }
    const auto count = static_cast<double>(members_.size());
    if (attention.defined()) attention = attention / count;
    return {torch::logsumexp(torch::stack(log_probs), {0}) - std::log(count), attention};
  }

  void select(const torch::Tensor& sentences, const torch::Tensor& parents) override {
    for (auto& member : members_) member->select(sentences, parents);
  }

 private:
  std::vector<std::unique_ptr<DecodingBatch>> members_;
};

}  // namespace

EnsembleStepModel::EnsembleStepModel(std::vector<std::shared_ptr<const StepModel>> models)
    : models_(std::move(models)) {
  if (models_.empty()) throw std::invalid_argument("an ensemble needs at least one model");
}

std::unique_ptr<DecodingBatch> EnsembleStepModel::start(const std::vector<Ids>& sources,
                                                        AttentionChoice attention) const {
  std::vector<std::unique_ptr<DecodingBatch>> members;
  for (const auto& model : models_) members.push_back(model->start(sources, attention));
  return std::make_unique<EnsembleBatch>(std::move(members));
}

}  // namespace v0
}  // namespace transmute

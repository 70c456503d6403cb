// SPDX-License-Identifier: Apache-2.0
#include <transmute/search/ensemble.h>

#include <transmute/libtorch/libtorch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

class EnsembleBatch : public DecodingBatch {
 public:
  /// columns: of each sentence's logits, where they differ.
  EnsembleBatch(std::vector<std::unique_ptr<DecodingBatch>> members, std::vector<int64_t> columns)
      : members_(std::move(members)), columns_(std::move(columns)) {}

  NextToken step(const torch::Tensor& ids) override {
    return averaged([&](DecodingBatch& member) { return member.step(ids); });
  }
  NextToken extend(const torch::Tensor& ids) override {
    return averaged([&](DecodingBatch& member) { return member.extend(ids); });
  }

  void select(const torch::Tensor& sentences, const torch::Tensor& parents) override {
    for (auto& member : members_) member->select(sentences, parents);
    if (columns_.empty()) return;
    const torch::Tensor kept = sentences.contiguous();
    std::vector<int64_t> columns;
    for (int64_t i = 0; i < kept.size(0); ++i)
      columns.push_back(columns_[static_cast<size_t>(kept.data_ptr<int64_t>()[i])]);
    columns_ = std::move(columns);
  }

 private:
  template <class AskMember>
  NextToken averaged(AskMember ask) {
    const torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> log_probs;
    torch::Tensor attention;
    for (auto& member : members_) {
      const NextToken next = ask(*member);
      log_probs.push_back(log_softmax(next.logits));
      if (next.attention.defined())
        attention = attention.defined() ? attention + next.attention : next.attention.clone();
    }
    const auto count = static_cast<double>(members_.size());
    if (attention.defined()) attention = attention / count;
    return {torch::logsumexp(torch::stack(log_probs), {0}) - std::log(count), attention};
  }

  // Over each sentence's own columns: the order of a sum must not depend on how many its neighbors have. As wide as the
  // longest list: when a sentence has left, some models still have its columns, others do not.
  torch::Tensor log_softmax(const torch::Tensor& logits) const {
    if (columns_.empty()) return torch::log_softmax(logits, -1);
    const int64_t width = *std::max_element(columns_.begin(), columns_.end());
    torch::Tensor log_probs =
        torch::full({logits.size(0), logits.size(1), width}, -std::numeric_limits<float>::infinity(), logits.options());
    for (int64_t b = 0; b < logits.size(0); ++b) {
      const int64_t count = columns_[static_cast<size_t>(b)];
      log_probs[b].slice(1, 0, count).copy_(torch::log_softmax(logits[b].slice(1, 0, count).contiguous(), -1));
    }
    return log_probs;
  }

  std::vector<std::unique_ptr<DecodingBatch>> members_;
  std::vector<int64_t> columns_;  // by sentence, where there are shortlists
};

}  // namespace

EnsembleStepModel::EnsembleStepModel(std::vector<std::shared_ptr<const StepModel>> models)
    : models_(std::move(models)) {
  if (models_.empty()) throw std::invalid_argument("an ensemble needs at least one model");
}

std::unique_ptr<DecodingBatch> EnsembleStepModel::start(const std::vector<Ids>& sources, AttentionChoice attention,
                                                        const std::vector<Ids>& shortlists) const {
  std::vector<std::unique_ptr<DecodingBatch>> members;
  for (const auto& model : models_) members.push_back(model->start(sources, attention, shortlists));
  std::vector<int64_t> columns;
  for (const Ids& shortlist : shortlists) columns.push_back(static_cast<int64_t>(shortlist.size()));
  return std::make_unique<EnsembleBatch>(std::move(members), std::move(columns));
}

}  // namespace v0
}  // namespace transmute

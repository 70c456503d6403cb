// SPDX-License-Identifier: Apache-2.0
#include <transmute/search/ensemble.h>

#include <transmute/kernels/cpu/score_kernels.h>
#include <transmute/search/top_candidates.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

using kernels::ScoreKernels;

constexpr float kNoProbability = -std::numeric_limits<float>::infinity();

class EnsembleBatch : public DecodingBatch {
 public:
  /// @param columns number of columns of each sentence's logits, if they have shortlists
  EnsembleBatch(std::vector<std::unique_ptr<DecodingBatch>> members, size_t sentences, std::vector<int64_t> columns)
      : members_(std::move(members)), sentences_(sentences), columns_(std::move(columns)) {}

  NextToken step(const Ids& ids, int64_t positions) override {
    std::vector<NextToken> all;
    for (auto& member : members_) all.push_back(member->step(ids, positions));
    NextToken mean;
    mean.source_width = all.front().source_width;
    mean.attention = std::move(all.front().attention);
    for (size_t m = 1; m < all.size(); ++m)
      for (size_t i = 0; i < mean.attention.size(); ++i) mean.attention[i] += all[m].attention[i];
    for (float& weight : mean.attention) weight /= static_cast<float>(all.size());
    // The result is as wide as the longest list: after a sentence has left the batch, some models still have its
    // columns and others do not.
    mean.columns = columns_.empty() ? all.front().columns : *std::max_element(columns_.begin(), columns_.end());
    const auto width = static_cast<size_t>(mean.columns);
    logits_.assign(ids.size() * width, kNoProbability);
    for (size_t row = 0; row < ids.size(); ++row) {
      // Sums go over a sentence's own columns: their order must not depend on how many its neighbors have.
      const int64_t count = columns_.empty() ? mean.columns : columns_[row / (ids.size() / sentences_)];
      average_row(all, static_cast<int64_t>(row), count, &logits_[row * width]);
    }
    mean.logits = [this, width](int64_t row) { return &logits_[static_cast<size_t>(row) * width]; };
    return mean;
  }

  void select(const std::vector<int64_t>& sentences, const std::vector<int64_t>& parents) override {
    for (auto& member : members_) member->select(sentences, parents);
    sentences_ = sentences.size();
    if (columns_.empty()) return;
    std::vector<int64_t> columns;
    for (const int64_t kept : sentences) columns.push_back(columns_[static_cast<size_t>(kept)]);
    columns_ = std::move(columns);
  }

 private:
  // Writes the logarithm of the mean probability, up to a constant, which does not matter.
  void average_row(const std::vector<NextToken>& all, int64_t row, int64_t count, float* mean) {
    std::vector<ScoreKernels::ModelRow> models;
    for (const NextToken& next : all) {
      const LogitsRow logits{next.logits(row), count};
      const double normalizer = finder_.log_sum_exp(logits);
      models.push_back({logits.values, std::isinf(normalizer) ? 0.0F : static_cast<float>(normalizer)});
    }
    kernels::active_kernels<ScoreKernels>().log_of_sums(models.data(), models.size(), count, mean);
  }

  std::vector<std::unique_ptr<DecodingBatch>> members_;
  size_t sentences_;
  std::vector<int64_t> columns_;  // of each sentence; empty without shortlists
  std::vector<float> logits_;     // the result of the last step
  CandidateFinder finder_;
};

}  // namespace

EnsembleStepModel::EnsembleStepModel(std::vector<std::shared_ptr<const StepModel>> models)
    : models_(std::move(models)) {
  if (models_.empty()) throw std::invalid_argument("an ensemble needs at least one model");
}

void EnsembleStepModel::check(AttentionChoice attention) const {
  for (const auto& model : models_) model->check(attention);
}

std::unique_ptr<DecodingBatch> EnsembleStepModel::start(const std::vector<Ids>& sources, AttentionChoice attention,
                                                        const std::vector<Ids>& shortlists) const {
  std::vector<std::unique_ptr<DecodingBatch>> members;
  for (const auto& model : models_) members.push_back(model->start(sources, attention, shortlists));
  std::vector<int64_t> columns;
  for (const Ids& shortlist : shortlists) columns.push_back(static_cast<int64_t>(shortlist.size()));
  return std::make_unique<EnsembleBatch>(std::move(members), sources.size(), std::move(columns));
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/engine/inference_model.h>

#include <transmute/engine/batch.h>
#include <transmute/engine/encoder.h>

#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

InferenceModel::InferenceModel(Weights weights, Precision precision, const ParallelFor& parallel_for, WeightUse use)
    : workspaces_(std::make_shared<inference::Workspaces>()) {
  if (const std::string reason = slow_reason(weights.options()); !reason.empty()) throw std::invalid_argument(reason);
  network_ = std::make_shared<const inference::Network>(std::move(weights), precision, parallel_for, use);
}

InferenceModel::~InferenceModel() = default;

std::string InferenceModel::slow_reason(const TransformerOptions& options) {
  const ScoreFunction function = options.score_function;
  if (function == ScoreFunction::scaled_dot_product || function == ScoreFunction::dot_product) return "";
  return "transmute's operations for CPUs compute model.score_function scaled_dot_product and dot_product, not "
         "additive, bilinear or uniform";
}

void InferenceModel::check(AttentionChoice attention) const {
  v0::check(attention, network_->options);
}

std::unique_ptr<DecodingBatch> InferenceModel::start(const std::vector<Ids>& sources, AttentionChoice attention,
                                                     const std::vector<Ids>& shortlists) const {
  check(attention);
  return inference::start_batch(network_, workspaces_->take(), sources, attention, shortlists);
}

std::vector<std::vector<float>> InferenceModel::encode(const std::vector<Ids>& sources) const {
  return inference::encode_states(*network_, *workspaces_->take(), sources);
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/libtorch/libtorch.h>
#include <transmute/search/step_model.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace transmute::testing {

// Copies of what a model predicts.
struct NextTensors {
  torch::Tensor logits;     // [B,N,V]
  torch::Tensor attention;  // [B,N,S], undefined where there is none
};

// A batch that takes and returns tensors, which tests compare.
class TensorBatch {
 public:
  TensorBatch(const StepModel& model, const std::vector<Ids>& sources, AttentionChoice attention,
              const std::vector<Ids>& shortlists)
      : batch_(model.start(sources, attention, shortlists)) {}

  NextTensors step(const torch::Tensor& ids) { return copy_of(batch_->step(list(ids), 1), ids); }
  NextTensors extend(const torch::Tensor& ids) { return copy_of(batch_->step(list(ids), ids.size(1)), ids); }
  void select(const torch::Tensor& sentences, const torch::Tensor& parents) {
    batch_->select(list(sentences), list(parents));
  }

 private:
  static std::vector<int64_t> list(const torch::Tensor& numbers) {
    const torch::Tensor flat = numbers.to(torch::kLong).contiguous();
    return {flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel()};
  }
  static NextTensors copy_of(const NextToken& next, const torch::Tensor& ids) {
    const auto tensor = [&](const float* numbers, int64_t width) {
      return torch::from_blob(const_cast<float*>(numbers), {ids.size(0), ids.size(1), width}, torch::kFloat).clone();
    };
    std::vector<float> logits;
    for (int64_t row = 0; row < ids.numel(); ++row)
      logits.insert(logits.end(), next.logits(row), next.logits(row) + next.columns);
    return {tensor(logits.data(), next.columns),
            next.attention.empty() ? torch::Tensor() : tensor(next.attention.data(), next.source_width)};
  }

  std::unique_ptr<DecodingBatch> batch_;
};

inline std::unique_ptr<TensorBatch> start(const StepModel& model, const std::vector<Ids>& sources,
                                          AttentionChoice attention = {}, const std::vector<Ids>& shortlists = {}) {
  return std::make_unique<TensorBatch>(model, sources, attention, shortlists);
}

}  // namespace transmute::testing

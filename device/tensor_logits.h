// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/search/step_model.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The meaning of a sentence's rows of logits.
enum class LogitsRows { hypotheses, positions };

/// Logits of any type on any device, read by LibTorch's operations.
class TensorLogits : public search::DeviceLogits {
 public:
  /// logits: [B,N,V], or [B,T,V] for positions.
  TensorLogits(torch::Tensor logits, LogitsRows rows) : logits_(std::move(logits)), rows_(rows) {}

  const torch::Tensor& tensor() const { return logits_; }

  std::unique_ptr<search::NextScores> scores(int64_t position, const std::vector<search::SentenceSearch>& sentences,
                                             size_t count) const override;

 private:
  torch::Tensor logits_;
  LogitsRows rows_;
};

}  // namespace v0
}  // namespace transmute

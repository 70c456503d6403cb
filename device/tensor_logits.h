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

/// Logits of any type on any device, read by LibTorch's operations.
class TensorLogits : public search::DeviceLogits {
 public:
  /// logits: [B,N,V], or [B,T,V] for several positions.
  TensorLogits(torch::Tensor logits, int64_t positions) : logits_(std::move(logits)), positions_(positions) {}

  const torch::Tensor& tensor() const { return logits_; }

  std::unique_ptr<search::NextScores> scores(int64_t position, const std::vector<search::SentenceSearch>& sentences,
                                             size_t count) const override;

 private:
  torch::Tensor logits_;
  int64_t positions_;
};

}  // namespace v0
}  // namespace transmute

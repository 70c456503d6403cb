// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <transmute/common/export.h>
#include <transmute/model/options.h>

namespace transmute {
inline namespace v0 {

/// PE(pos, 2i) = sin(pos / 10000^(2i/D)), PE(pos, 2i+1) = cos(the same), section 3.5; computed in double.
/// Rows are the positions first … first+length-1. Result: [length,D] float32.
TRANSMUTE_API torch::Tensor sinusoidal_positions(int64_t first, int64_t length, int64_t d_model);

/// The position vectors that are added to the embeddings: sinusoids (a buffer, in no file), or a learned
/// table (Table 3, row E) with parameter weight [max_positions,D], drawn from N(0, 1/D) as the embeddings
/// are.
class TRANSMUTE_API PositionalEncodingImpl : public torch::nn::Module {
 public:
  /// @param other one of the same kind and sizes, whose sinusoids serve both; null: none
  PositionalEncodingImpl(PositionalEncodingKind kind, int64_t d_model, int64_t max_positions,
                         const PositionalEncodingImpl* other = nullptr);

  /// Vectors of the positions first … first+length-1: [length,D].
  /// @throws c10::ValueError where a learned table has too few rows.
  torch::Tensor forward(int64_t first, int64_t length);

 private:
  PositionalEncodingKind kind_;
  int64_t d_model_;
  int64_t max_positions_;
  torch::Tensor table_;  // the learned weight, or the first max_positions sinusoids
};
TORCH_MODULE(PositionalEncoding);

}  // namespace v0
}  // namespace transmute

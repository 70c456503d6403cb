// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <transmute/common/export.h>
#include <transmute/network/options.h>

namespace transmute {
inline namespace v0 {

/// sinusoids_at() as a tensor [length,D].
TRANSMUTE_API torch::Tensor sinusoidal_positions(int64_t first, int64_t length, int64_t d_model,
                                                 const Sinusoids& sinusoids = {});

/// Position vectors, which are added to the embeddings: sinusoids (a buffer that is not saved), or a learned table
/// (Table 3, row E) with parameter weight [max_positions,D], initialized from N(0, 1/D) like the embeddings.
class TRANSMUTE_API PositionalEncodingImpl : public torch::nn::Module {
 public:
  /// @param options must be validated
  /// @param other an encoding with the same options whose sinusoids to share, or null
  explicit PositionalEncodingImpl(const TransformerOptions& options, const PositionalEncodingImpl* other = nullptr);

  /// Vectors of the positions first … first+length-1: [length,D].
  /// @throws c10::ValueError if a learned table has too few rows.
  torch::Tensor forward(int64_t first, int64_t length);

 private:
  PositionalEncodingKind kind_;
  int64_t d_model_;
  Sinusoids sinusoids_;
  torch::Tensor table_;  // the learned weight, or the first sinusoids
};
TORCH_MODULE(PositionalEncoding);

}  // namespace v0
}  // namespace transmute

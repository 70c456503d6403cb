// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/model/transformer.h>
#include <transmute/search/network_model.h>
#include <transmute/search/search.h>

#include <memory>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Each source followed by the end, filled up to the longest: [B,S].
TRANSMUTE_API torch::Tensor padded_sources(const std::vector<Ids>& sources);

/// Transformers for search, which LibTorch's operations run: each encodes once, then decodes with cached keys and
/// values. The probabilities of several are averaged. For a decoder-only network, only the number of sources matters.
class TRANSMUTE_API TransformerStepModel : public NetworkModel {
 public:
  /// The transformer must be in eval mode and on `device`. It is not modified.
  TransformerStepModel(Transformer transformer, torch::Device device);
  /// Several of one vocabulary, at least one.
  TransformerStepModel(std::vector<Transformer> transformers, torch::Device device);
  void check(AttentionChoice attention) const override;
  std::unique_ptr<DecodingBatch> start(const std::vector<Ids>& sources, AttentionChoice attention,
                                       const std::vector<Ids>& shortlists) const override;
  /// The first of the transformers encodes.
  std::vector<std::vector<float>> encode(const std::vector<Ids>& sources) const override;

 private:
  std::vector<Transformer> transformers_;
  torch::Device device_;
};

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/model/transformer.h>
#include <transmute/search/search.h>

namespace transmute {
inline namespace v0 {

/// Each source followed by the end, filled up to the longest: [B,S].
TRANSMUTE_API torch::Tensor padded_sources(const std::vector<Ids>& sources);

/// A Transformer for search: encodes once, then decodes with cached keys and values. The module must be in eval mode
/// and is not modified. For a decoder-only network, only the number of sources matters.
class TRANSMUTE_API TransformerStepModel : public StepModel {
 public:
  /// The transformer must be in eval mode and on `device`.
  TransformerStepModel(Transformer transformer, torch::Device device);
  std::unique_ptr<DecodingBatch> start(const std::vector<Ids>& sources, AttentionChoice attention,
                                       const std::vector<Ids>& shortlists) const override;

 private:
  Transformer transformer_;
  torch::Device device_;
};

}  // namespace v0
}  // namespace transmute

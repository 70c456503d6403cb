// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/threads.h>
#include <transmute/engine/weight_use.h>
#include <transmute/network/options.h>
#include <transmute/network/precision.h>
#include <transmute/network/weights.h>
#include <transmute/search/network_model.h>

#include <memory>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace inference {
struct Network;
class Workspaces;
}  // namespace inference

/// A network made ready to produce text on the CPU: weights packed for their products in one precision, no padding,
/// keys and values that hypotheses share. May be used by many threads at once, each of whose batches runs on its thread
/// alone.
///
/// Next to bfloat16 and int8 products, keys and values are kept in bfloat16; everything else is float32.
///
/// A sentence's logits depend on nothing but the sentence, bit for bit: not on its neighbors, their number or their
/// order. Shortlists shorten the last product: to what is on any list of the batch.
class InferenceModel : public NetworkModel {
 public:
  /// Weights that are int8 already are packed as they are, if `precision` is int8. `parallel_for` runs the packing.
  /// @throws std::invalid_argument if slow_reason() is not empty.
  InferenceModel(Weights weights, Precision precision, const ParallelFor& parallel_for = one_by_one,
                 WeightUse use = WeightUse::copied);
  ~InferenceModel() override;

  /// Why a model with such options cannot be run here, so that it needs LibTorch's operations, which are several times
  /// slower; empty if it can.
  static std::string slow_reason(const TransformerOptions& options);

  void check(AttentionChoice attention) const override;

  /// A decoder-only model starts as many sentences as there are sources, whatever these are.
  /// @throws std::invalid_argument if a source is longer than the learned positions.
  std::unique_ptr<DecodingBatch> start(const std::vector<Ids>& sources, AttentionChoice attention,
                                       const std::vector<Ids>& shortlists) const override;

  std::vector<std::vector<float>> encode(const std::vector<Ids>& sources) const override;

 private:
  std::shared_ptr<const inference::Network> network_;
  std::shared_ptr<inference::Workspaces> workspaces_;
};

}  // namespace v0
}  // namespace transmute

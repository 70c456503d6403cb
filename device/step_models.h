// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/threads.h>
#include <transmute/engine/inference_model.h>
#include <transmute/model/transformer.h>
#include <transmute/network/precision.h>
#include <transmute/search/search.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Networks as search sees them, on the quickest way that there is for them.
struct ReadyModel {
  std::shared_ptr<const StepModel> model;
  /// Why LibTorch's operations run it on the CPU, several times slower; empty where they do not.
  std::string slow_reason;
  /// What a source or a target can have, where positions are learned; the end, or begin, takes one too.
  int64_t most_tokens = std::numeric_limits<int64_t>::max();
};

/// Why a network is not run in a precision on a device; empty where it is.
std::string precision_error(Precision precision, torch::Device device, const TransformerOptions& options);

/// On the CPU an InferenceModel uses the weights as `use` says. On other devices, and for what that model does not
/// know, LibTorch's operations run the transformer itself, or a copy of it in another precision. The probabilities of
/// several are averaged.
/// @throws std::invalid_argument for a precision that there is not on the device, and for any but float32 where
///   LibTorch's operations run it on the CPU.
ReadyModel make_step_model(const std::vector<Transformer>& transformers, torch::Device device, Precision precision,
                           const ParallelFor& parallel_for = one_by_one, WeightUse use = WeightUse::copied);

}  // namespace v0
}  // namespace transmute

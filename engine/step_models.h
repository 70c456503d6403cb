// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/threads.h>
#include <transmute/engine/weight_use.h>
#include <transmute/network/device.h>
#include <transmute/network/precision.h>
#include <transmute/network/weights.h>
#include <transmute/search/network_model.h>

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
  Architecture architecture = Architecture::encoder_decoder;
  /// Why LibTorch's operations run it on the CPU, several times slower; empty if they do not.
  std::string slow_reason;
  /// The most tokens of a source or a target, where positions are learned; the end, or begin, takes one too.
  int64_t most_tokens = std::numeric_limits<int64_t>::max();
};

/// Why a network is not run in a precision on a device; empty if it is.
std::string precision_error(Precision precision, const Device& device, const TransformerOptions& options);

/// A network on the CPU by InferenceModel, which uses the weights as `use` says, or by the DeviceBackend: on a GPU, and
/// on the CPU if InferenceModel cannot run it.
/// @throws std::invalid_argument for a precision that there is not on the device, std::runtime_error if the backend is
/// needed and not installed
std::shared_ptr<const NetworkModel> make_network_model(Weights weights, const Device& device, Precision precision,
                                                       const ParallelFor& parallel_for, WeightUse use);

/// The same for search. The probabilities of several networks are averaged.
ReadyModel make_step_model(std::vector<Weights> networks, const Device& device, Precision precision,
                           const ParallelFor& parallel_for, WeightUse use);

}  // namespace v0
}  // namespace transmute

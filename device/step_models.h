// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/common/threads.h>
#include <transmute/engine/step_models.h>
#include <transmute/model/transformer.h>
#include <transmute/network/precision.h>

#include <memory>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Transformers in eval mode and on `device` that LibTorch's operations run, or copies of them in another precision.
std::shared_ptr<const NetworkModel> make_device_model(const std::vector<Transformer>& transformers,
                                                      torch::Device device, Precision precision);

/// A module as search sees it, on the quickest way that there is for it: on the CPU an InferenceModel with a copy of
/// its weights.
/// @throws std::invalid_argument for a precision that there is not on the device
ReadyModel make_step_model(const Transformer& transformer, torch::Device device, Precision precision,
                           const ParallelFor& parallel_for = one_by_one);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/model_folder.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/module_weights.h>

namespace transmute::testing {

/// A loaded model's network as modules on the CPU.
inline Transformer modules_of(const LoadedModel& model) {
  return make_transformer(model.weights, torch::kCPU);
}

}  // namespace transmute::testing

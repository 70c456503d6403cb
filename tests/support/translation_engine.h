// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/device/step_models.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/translation/engine.h>

#include <utility>

namespace transmute::testing {

/// An engine that translates with a module's weights on the CPU.
inline TranslationEngine engine_of(const Transformer& transformer, const Tokenizer& tokenizer,
                                   ParallelFor parallel_for = transmute::one_by_one,
                                   Precision precision = Precision::float32) {
  return {make_step_model(transformer, torch::kCPU, precision, parallel_for), tokenizer, std::move(parallel_for)};
}

}  // namespace transmute::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/jit/api/module.h>
#include <transmute/export/options.h>
#include <transmute/model/transformer.h>
#include <transmute/tokenizer/tokenizer.h>

#include <optional>

namespace transmute {
inline namespace v0 {
namespace torchscript {

/// The same network as a TorchScript module, with the methods of transformer.py and search.py, or, decoder-only, of
/// language_model.py and generation.py. Parameters have the same names; they are shared where `dtype` is theirs, else
/// converted. `target`: the vocabulary whose line breaks its searches never choose; where the decoder must be told its
/// language, they refuse to search. Null: they do neither. `forward_search`: as in TorchScriptOptions, for translation
/// models.
torch::jit::Module script_transformer(const Transformer& transformer, torch::Dtype dtype,
                                      const SubwordModel* target = nullptr,
                                      const std::optional<TorchScriptSearch>& forward_search = std::nullopt);

}  // namespace torchscript
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/translation/files/model_folder.h>

#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Several models with one tokenizer, for make_step_model.
struct LoadedEnsemble {
  std::vector<Transformer> transformers;
  Tokenizer tokenizer;
  Precision precision;   ///< to run them in
  SearchOptions search;  ///< what the first one's configuration recommends
};

/// Opens models of one architecture. `precision`: see TranslatorOptions; without it, the type that all models are
/// stored in, or float32. Weights that are int8 already, and are wanted so, stay as they are.
/// @throws as load_model, and std::invalid_argument naming a model with another tokenizer than the first.
LoadedEnsemble load_ensemble(const std::vector<std::string>& paths, torch::Device device, Architecture architecture,
                             std::optional<Precision> precision, const ParallelFor& parallel_for = one_by_one);

/// @param a_path, b_path the names of the models in the message
/// @throws std::invalid_argument where they have different tokenizers.
void check_same_tokenizer(const Tokenizer& a, const std::string& a_path, const Tokenizer& b, const std::string& b_path);

/// The model and those that TranslatorOptions::ensemble names beside it.
std::vector<std::string> ensemble_of(std::string model, const std::vector<std::string>& others);

}  // namespace v0
}  // namespace transmute

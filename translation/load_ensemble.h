// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/threads.h>
#include <transmute/formats/model_folder.h>
#include <transmute/text/types.h>

#include <memory>
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
  TextProfile profile;   ///< what is known of the first one's training text
};

/// Opens models of one architecture. `precision`: see TranslatorOptions; without it, the type that all models are
/// stored in, or float32. Weights that are int8 already, and are wanted so, stay as they are.
/// @throws as load_model, and std::invalid_argument naming a model with another tokenizer than the first.
LoadedEnsemble load_ensemble(const std::vector<std::string>& paths, torch::Device device, Architecture architecture,
                             std::optional<Precision> precision, const ParallelFor& parallel_for = one_by_one);

/// A model's ensemble with what it runs on.
struct OpenedEnsemble {
  torch::Device device;
  std::unique_ptr<ThreadPool> threads;
  LoadedEnsemble models;
};

/// Opens `model` and those that options.ensemble names beside it.
/// @throws as parse_device, worker_count, ThreadPool and load_ensemble.
OpenedEnsemble open_ensemble(const std::string& model, const TranslatorOptions& options, Architecture architecture);

/// @param a_path, b_path the names of the models in the message
/// @throws std::invalid_argument where they have different tokenizers.
void check_same_tokenizer(const Tokenizer& a, const std::string& a_path, const Tokenizer& b, const std::string& b_path);

}  // namespace v0
}  // namespace transmute

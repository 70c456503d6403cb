// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/threads.h>
#include <transmute/engine/step_models.h>
#include <transmute/formats/tensor_file.h>
#include <transmute/formats/text_profile.h>
#include <transmute/network/search_options.h>
#include <transmute/text/shortlist.h>
#include <transmute/text/types.h>
#include <transmute/tokenizer/tokenizer.h>

#include <memory>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// One or several models with one tokenizer, ready for search.
struct OpenedModels {
  ReadyModel ready;                            ///< the models, whose probabilities are averaged
  Precision precision;                         ///< what they run in
  Tokenizer tokenizer;                         ///< for both languages
  SearchOptions search;                        ///< what the first one's configuration recommends
  TextProfile profile;                         ///< what is known of the first one's training text
  std::shared_ptr<const Shortlist> shortlist;  ///< that of a single model whose files have one; else null
};

/// The memory in which the weights of model folders are to be kept.
WeightMemory memory_of(const TranslatorOptions& options);

/// Opens models of one architecture, with the precision and the memory for weights of `options`. Without a precision,
/// it is the type that all models are stored in, or float32.
/// @throws as load_model and make_step_model, and std::invalid_argument naming a model with another tokenizer than the
/// first.
OpenedModels open_models(const std::vector<std::string>& paths, const Device& device, Architecture architecture,
                         const TranslatorOptions& options, const ParallelFor& parallel_for = one_by_one);

/// The path of a model and of those that options.ensemble names beside it.
std::vector<std::string> model_paths(const std::string& model, const TranslatorOptions& options);

/// @param a_path, b_path the names of the models in the message
/// @throws std::invalid_argument if they have different tokenizers.
void check_same_tokenizer(const Tokenizer& a, const std::string& a_path, const Tokenizer& b, const std::string& b_path);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/formats/model_config.h>
#include <transmute/formats/tensor_file.h>
#include <transmute/formats/text_profile.h>
#include <transmute/network/options.h>
#include <transmute/network/search_options.h>
#include <transmute/network/weights.h>
#include <transmute/tokenizer/tokenizer.h>

#include <cstdint>
#include <memory>
#include <string>

namespace transmute {
inline namespace v0 {

class Shortlist;

/// A model as its files describe it. make_transformer() makes modules of it.
struct LoadedModel {
  TransformerOptions options;                    ///< the network, validated, with the sizes of the vocabularies
  Weights weights;                               ///< its parameters, as they are stored
  Tokenizer tokenizer;                           ///< for both languages
  std::string config;                            ///< the YAML with which it was trained
  SearchOptions search{};                        ///< what its configuration recommends
  TextProfile profile{};                         ///< what is known of its training text
  std::shared_ptr<const Shortlist> shortlist{};  ///< the one that its files have; null: none
};

/// Reads a model folder: `config.yaml`, the tokenizer, the weights in `weights.safetensors` or `model.safetensors`, and
/// `text_profile.yaml` if there is one. Of a finished training's run folder, reads the recommended model.
/// `parallel_for` distributes the reading of the weights. Mapped weights may not be overwritten in their place.
/// @throws std::runtime_error if a file is missing, damaged or changed since it was saved (see ModelChecksums), a
/// weight is not finite, or the parts are inconsistent.
TRANSMUTE_API LoadedModel load_model_folder(const std::string& folder, const ParallelFor& parallel_for = one_by_one,
                                            WeightMemory memory = WeightMemory::mapped);

/// Writes the files of a model folder and their checksums into an existing folder. `config` is the whole resolved YAML.
/// Weights are written as they are stored; see Weights::stored_as. Each int8 matrix `….weight` [outputs,inputs] comes
/// with `….weight_scale` [outputs], float32. `profile`: what is known of the training text; a profile that knows
/// nothing has no file.
TRANSMUTE_API void save_model_folder(const std::string& folder, const std::string& config, const Tokenizer& tokenizer,
                                     const Weights& weights, const char* weights_file = kWeightsFile,
                                     const TextProfile& profile = {});

/// Makes a model of its parts. `config_name` and `weights_name`: names of the YAML and of the weights in messages.
/// `weight_bytes`: size of the file of weights; a model with more parameters than it can hold is refused before memory
/// is taken.
/// @throws std::runtime_error naming the YAML if it does not describe a model, or the weights if they do not fit the
/// network.
TRANSMUTE_API LoadedModel make_model(Tokenizer tokenizer, std::string config, const std::string& config_name,
                                     const NamedArrays& weights, const std::string& weights_name,
                                     uint64_t weight_bytes);

/// Reads the weights of a model folder with the checks of load_model_folder.
TRANSMUTE_API NamedArrays read_weights(const std::string& folder, const ParallelFor& parallel_for = one_by_one,
                                       WeightMemory memory = WeightMemory::mapped);

/// Writes the file of weights in a model folder. Returns its CRC-32.
TRANSMUTE_API uint32_t write_weights(const std::string& path, const Weights& weights);

/// `options` with the vocabulary sizes and the padding id of `tokenizer`.
TRANSMUTE_API TransformerOptions with_vocabulary(TransformerOptions options, const Tokenizer& tokenizer);

}  // namespace v0
}  // namespace transmute

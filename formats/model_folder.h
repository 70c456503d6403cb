// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/formats/model_config.h>
#include <transmute/formats/tensor_file.h>
#include <transmute/formats/text_profile.h>
#include <transmute/model/transformer.h>
#include <transmute/network/precision.h>
#include <transmute/network/search_options.h>
#include <transmute/tokenizer/tokenizer.h>

#include <cstdint>
#include <string>

namespace transmute {
inline namespace v0 {

/// Treatment of weights that are stored in int8.
enum class Int8Weights {
  expanded,  ///< convert to float32, for any use
  kept       ///< keep in int8, for an InferenceModel in int8 only; see keep_int8
};

/// A model, ready for translation.
struct LoadedModel {
  Transformer transformer;                ///< in eval mode, on the device
  Tokenizer tokenizer;                    ///< for both languages
  std::string config;                     ///< the YAML with which it was trained
  SearchOptions search{};                 ///< what its configuration recommends
  TextProfile profile{};                  ///< what is known of its training text
  Precision stored = Precision::float32;  ///< the type in which its matrices were stored
};

/// Reads a model folder: `config.yaml`, the tokenizer, the weights in `weights.safetensors` or `model.safetensors`, and
/// `text_profile.yaml` if there is one.
/// `parallel_for` distributes the reading of the weights.
/// @throws std::runtime_error if a file is missing, damaged or changed since it was saved (see ModelChecksums), a
/// weight is not finite, or the parts are inconsistent.
TRANSMUTE_API LoadedModel load_model_folder(const std::string& folder, torch::Device device,
                                            Int8Weights int8 = Int8Weights::expanded,
                                            const ParallelFor& parallel_for = one_by_one);

/// Writes the files of a model folder and their checksums into an existing folder. `config` is the whole resolved YAML.
/// `stored`: the type of the matrices that multiply states; vectors, embeddings and position vectors are float32. Each
/// int8 matrix `….weight` [outputs,inputs] comes with `….weight_scale` [outputs], float32. `profile`: what is known of
/// the training text; a profile that knows nothing has no file.
TRANSMUTE_API void save_model_folder(const std::string& folder, const std::string& config, const Tokenizer& tokenizer,
                                     const Transformer& transformer, const char* weights_file = kWeightsFile,
                                     Precision stored = Precision::float32, const TextProfile& profile = {});

/// Makes a model without its weights. `config_name`: name of the YAML in messages. `weight_bytes`: size of the file of
/// weights; a model with more parameters than it can hold is refused before memory is taken.
/// @throws std::runtime_error naming the YAML if it does not describe a model.
TRANSMUTE_API LoadedModel make_model(Tokenizer tokenizer, std::string config, const std::string& config_name,
                                     uint64_t weight_bytes);

/// Gives a network its weights, moves it to the device and sets eval mode. Contiguous float32 weights become its
/// parameters without a copy. Returns the type in which the matrices were stored. `weights_name`: their name in
/// messages.
/// @throws std::runtime_error if they do not fit the network.
TRANSMUTE_API Precision give_weights(Transformer& transformer, const NamedTensors& weights,
                                     const std::string& weights_name, torch::Device device,
                                     Int8Weights int8 = Int8Weights::expanded);

/// Reads the weights of a model folder with the checks of load_model_folder.
TRANSMUTE_API NamedTensors read_weights(const std::string& folder, const ParallelFor& parallel_for = one_by_one);

/// Writes the file of weights in a model folder. Returns its CRC-32.
TRANSMUTE_API uint32_t write_weights(const std::string& path, const Transformer& transformer, Precision stored);

/// The parameters, in the order and with the names of the file format.
TRANSMUTE_API NamedTensors parameters_of(const Transformer& transformer);

/// Copies values, stored in any type, into the module's parameters.
/// @throws std::runtime_error naming `path` and the first name or shape that does not fit.
TRANSMUTE_API void assign_parameters(Transformer& transformer, const NamedTensors& values, const std::string& path);

/// `options` with the vocabulary sizes and the padding id of `tokenizer`.
TRANSMUTE_API TransformerOptions with_vocabulary(TransformerOptions options, const Tokenizer& tokenizer);

/// A second network with the same parameters, on the device of `numbers`, matrices in its type. Parameters share memory
/// if both are unchanged. Vectors and buffers stay float32.
TRANSMUTE_API Transformer twin_of(const Transformer& original, const torch::TensorOptions& numbers);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/config_schema.h>
#include <transmute/common/export.h>
#include <transmute/model/transformer.h>
#include <transmute/tokenizer/tokenizer.h>
#include <transmute/translation/files/tensor_file.h>
#include <transmute/translation/precision.h>

#include <cstdint>
#include <string>

namespace transmute {
inline namespace v0 {

constexpr const char* kConfigFile = "config.yaml";                ///< the configuration in a model folder
constexpr const char* kWeightsFile = "weights.safetensors";       ///< the weights in a model folder
constexpr const char* kNeutralWeightsFile = "model.safetensors";  ///< what other programs call theirs

/// The YAML keys of a model folder's config, bound to the options: `format_version` at the top level, and the
/// sections `tokenizer` and `model`. The vocabulary sizes are not among them: the tokenizer has them.
struct TRANSMUTE_API ModelConfig {
  int64_t format_version = kFormatVersion;  ///< version of the model folder that was read
  TokenizerOptions tokenizer;               ///< section `tokenizer`
  TransformerOptions model;                 ///< section `model`

  /// Version of the model folder's layout and of the parameter names.
  static constexpr int64_t kFormatVersion = 1;

  /// Binds every key to its field.
  void declare(ConfigSchema& schema);
};

/// What becomes of weights that are stored in int8.
enum class Int8Weights {
  expanded,  ///< float32, which all can use
  kept       ///< as they are, for an InferenceModel in int8 alone; see keep_int8
};

/// What translation needs of a model.
struct LoadedModel {
  Transformer transformer;                ///< in eval mode, on the device
  Tokenizer tokenizer;                    ///< for both languages
  std::string config;                     ///< the YAML that it was made with
  Precision stored = Precision::float32;  ///< how its matrices were stored
};

/// Reads a model folder: `config.yaml`, the tokenizer and the weights, `weights.safetensors`. Where they are called
/// `model.safetensors`, as other programs do, they are taken too. `parallel_for` runs the reading of the weights.
/// @throws std::runtime_error where a file is missing, damaged or other than it was saved (see ModelChecksums), a
/// weight is not finite, or parts do not fit together.
TRANSMUTE_API LoadedModel load_model_folder(const std::string& folder, torch::Device device,
                                            Int8Weights int8 = Int8Weights::expanded,
                                            const ParallelFor& parallel_for = one_by_one);

/// Writes one, file by file, with their checksums; see write_folder_atomically. `config` is the whole resolved YAML.
/// `stored`: the type of the matrices that states are multiplied by; vectors, embeddings and position vectors are
/// float32. For each int8 matrix `….weight` [outputs,inputs] there is `….weight_scale` [outputs], float32.
TRANSMUTE_API void save_model_folder(const std::string& folder, const std::string& config, const Tokenizer& tokenizer,
                                     const Transformer& transformer, const char* weights_file = kWeightsFile,
                                     Precision stored = Precision::float32);

/// A model that still needs its weights. `config_name`: what messages call the YAML. `weight_bytes`: of the file that
/// has them, which no model is made for that has more parameters.
/// @throws std::runtime_error where its content is no model's.
TRANSMUTE_API LoadedModel make_model(Tokenizer tokenizer, std::string config, const std::string& config_name,
                                     uint64_t weight_bytes);

/// Weights for a network, which is in eval mode and on the device afterwards. Those that are contiguous float32 become
/// its parameters and are not copied. Returns how the matrices were stored. `weights_name`: what messages call them.
/// @throws std::runtime_error where they do not fit it.
TRANSMUTE_API Precision give_weights(Transformer& transformer, const NamedTensors& weights,
                                     const std::string& weights_name, torch::Device device,
                                     Int8Weights int8 = Int8Weights::expanded);

/// The weights of a model folder, checked as load_model_folder checks them.
TRANSMUTE_API NamedTensors read_weights(const std::string& folder, const ParallelFor& parallel_for = one_by_one);

/// The file of weights in a model folder. Returns its CRC-32.
TRANSMUTE_API uint32_t write_weights(const std::string& path, const Transformer& transformer, Precision stored);

/// Parameters in the order and under the names of the file format.
TRANSMUTE_API NamedTensors parameters_of(const Transformer& transformer);

/// Copies the values, of whichever type they were stored in, into the module's parameters.
/// @throws std::runtime_error naming `path` and the first name or shape that does not fit.
TRANSMUTE_API void assign_parameters(Transformer& transformer, const NamedTensors& values, const std::string& path);

/// `options` with the vocabulary sizes and the padding id of `tokenizer`.
TRANSMUTE_API TransformerOptions with_vocabulary(TransformerOptions options, const Tokenizer& tokenizer);

/// Another network on the same numbers, which share their memory where `numbers` names neither another device nor
/// another type. What is no parameter stays float32.
TRANSMUTE_API Transformer twin_of(const Transformer& original, const torch::TensorOptions& numbers);

}  // namespace v0
}  // namespace transmute

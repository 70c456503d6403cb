// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/config_schema.h>
#include <transmute/common/export.h>
#include <transmute/network/options.h>
#include <transmute/network/search_options.h>
#include <transmute/tokenizer/options.h>

#include <algorithm>
#include <cstdint>

namespace transmute {
inline namespace v0 {

constexpr const char* kConfigFile = "config.yaml";                ///< the configuration in a model folder
constexpr const char* kWeightsFile = "weights.safetensors";       ///< the weights in a model folder
constexpr const char* kNeutralWeightsFile = "model.safetensors";  ///< the name that other programs use for the weights
constexpr const char* kRecommendedModel = "recommended";          ///< the link to a run folder's better model

/// Bounds of settings of the section `model`, and of the same settings in other programs' files.
struct NetworkBounds {
  static constexpr Bounds<double> kDropout{0.0, 0.99};     ///< TransformerOptions::dropout and the other two
  static constexpr Bounds<double> kNormEpsilon{0.0, 1.0};  ///< TransformerOptions::norm_epsilon, which is not 0
};

/// Bounds of the section `search`, and of the same settings in other programs' files and in requests.
struct SearchBounds {
  static constexpr Bounds<int64_t> kBeamSize{1, 1000};                  ///< SearchOptions::beam_size
  static constexpr Bounds<double> kLengthAlpha{0.0, kMostLengthAlpha};  ///< SearchOptions::length_alpha
  static constexpr Bounds<int64_t> kNoRepeatNgram{0, 100};              ///< SearchOptions::no_repeat_ngram
  static constexpr Bounds<double> kRepetitionPenalty{kLeastRepetitionPenalty,
                                                     kMostRepetitionPenalty};  ///< SearchOptions::repetition_penalty
};

/// The keys of a model folder's configuration, bound to the options: `format_version` at the top level, and the
/// sections `tokenizer`, `model` and `search`. The sizes of the vocabularies come from the tokenizer instead.
struct TRANSMUTE_API ModelConfig {
  int64_t format_version = kFormatVersion;  ///< version of the model folder that was read
  TokenizerOptions tokenizer;               ///< section `tokenizer`
  TransformerOptions model;                 ///< section `model`
  SearchOptions search;                     ///< section `search`, which sets a few of these options

  /// Version of the model folder's layout and of the parameter names.
  static constexpr int64_t kFormatVersion = 1;

  /// Binds every key to its field.
  void declare(ConfigSchema& schema);
};

/// The decoder layer, from 1, whose attention head training.guided_alignment trains. `configured`:
/// training.guided_layer; 0: the last layer but one.
inline int64_t guided_layer(int64_t configured, int64_t num_decoder_layers) {
  return configured > 0 ? configured : std::max<int64_t>(num_decoder_layers - 1, 1);
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/json.h>
#include <transmute/formats/model_folder.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace formats {

// Parts that the writers of other programs' formats share.

/// A setting of the network, and if another program's networks can have its value.
struct Expressible {
  const char* key;  ///< in the section `model` of the configuration, such as "norm_position"
  bool holds;       ///< they can
};

/// @param program whose format it is
/// @throws std::invalid_argument naming the first setting that the program's networks do not have, with its value.
/// Refused in every format: language models, other score functions than scaled_dot_product, widths of heads other than
/// d_model / num_heads, and vocabularies that truecase.
void require_expressible(const LoadedModel& model, const std::string& program,
                         std::initializer_list<Expressible> settings);

/// The same network with NormPosition::post instead of deep: LayerNorm(alpha x + f(x)) = LayerNorm(x + f(x) / alpha),
/// but for norm_epsilon, where f ends with a linear layer, which is divided here.
LoadedModel without_residual_scales(const LoadedModel& model);

/// The pieces of a vocabulary by its ids; those of the reserved ids are kReservedPieces. Those of a vocabulary of words
/// between spaces are the words, without SentencePiece's mark.
/// @throws std::invalid_argument if a piece has two ids
std::vector<std::string> pieces_by_id(const SubwordModel& subwords);

/// True if both sides have the same pieces under the same ids.
bool has_one_vocabulary(const Tokenizer& tokenizer);

/// @throws std::invalid_argument if a vocabulary of the program's models cannot be this one, of words between spaces
void require_sentencepiece(const SubwordModel& subwords, const std::string& program);

void write_json(const std::string& folder, const std::string& name, const Json& json);

/// Writes the SentencePiece models as `source.spm` and `target.spm`; a vocabulary of words between spaces has none.
void write_sentencepiece_models(const Tokenizer& tokenizer, const std::string& folder);

/// The position vectors of a stack, [rows,D]: the learned ones, or the sinusoids of at least
/// TransformerOptions::max_positions rows.
Array position_table(const LoadedModel& model, Stack stack);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

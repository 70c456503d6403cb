// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/model_folder.h>

#include <string>

namespace transmute {
inline namespace v0 {
namespace formats {

/// Writes a translation model for CTranslate2 into an existing folder: `model.bin` of version 6 (TransformerSpec),
/// `config.json`, the vocabulary, and the SentencePiece models that split its text, `source.spm` and `target.spm`.
/// load_ctranslate2_folder() reads it back with the same weights, bit for bit in float32.
/// @param precision of all weights; with int8, of the matrices, which have one scale for each row
/// @throws std::invalid_argument naming what CTranslate2 cannot express: NormPosition::deep, SSRUs, and what
/// require_expressible() refuses
void save_ctranslate2_folder(const LoadedModel& model, Precision precision, const std::string& folder);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

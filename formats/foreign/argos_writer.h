// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/foreign/model_card.h>

#include <string>

namespace transmute {
inline namespace v0 {
namespace formats {

/// Writes a translation model as a package of Argos Translate: a zip archive of `metadata.json`, `README.md`,
/// `sentencepiece.model`, and what save_ctranslate2_folder() writes in `model/`.
/// @param facts with both languages
/// @param path of the file to write; its name ends in .argosmodel
/// @throws std::invalid_argument naming the language that is missing, or what CTranslate2 or Argos Translate cannot
/// express: a vocabulary without a SentencePiece model, and a target language that the model must be told
/// @throws std::runtime_error if the package cannot be written, or grows over 4 GiB
void save_argos_package(const LoadedModel& model, Precision precision, const ModelFacts& facts,
                        const std::string& path);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

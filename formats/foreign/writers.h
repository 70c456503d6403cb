// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/foreign/model_card.h>
#include <transmute/formats/model_folder.h>

#include <string>
#include <vector>

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

/// Writes a translation model for CTranslate2 into an existing folder: `model.bin` of version 6 (TransformerSpec),
/// `config.json`, the vocabulary, and the SentencePiece models that split its text, `source.spm` and `target.spm`.
/// load_ctranslate2_folder() reads it back with the same weights, bit for bit in float32, but those of
/// NormPosition::deep, which becomes post.
/// @param precision of all weights; with int8, of the matrices, which have one scale for each row
/// @throws std::invalid_argument naming what CTranslate2 cannot express: SSRUs, and what require_expressible() refuses
void save_ctranslate2_folder(const LoadedModel& model, Precision precision, const std::string& folder);

/// Writes a translation model for Hugging Face Transformers, as a MarianMT model, into an existing folder:
/// `model.safetensors`, `config.json`, `generation_config.json`, the files of its tokenizer, and `README.md`, its model
/// card.
///
/// MarianMT's sinusoids are in halves. For those of PositionLayout::interleaved, all numbers of the residual stream
/// change places alike, which computes the same. load_model() reads the folder back, in float32 with the same numbers
/// bit for bit, in their new places.
/// @param precision of all weights: float32, bfloat16 or half
/// @param facts for the model card, and the languages for the tokenizer
/// @return what the files cannot say, a sentence each
/// @throws std::invalid_argument naming what MarianMT cannot express: NormPosition::pre, learned
/// positions and other sinusoids than the paper's, SSRUs, norms of the embeddings, sources without an end, and what
/// require_expressible() refuses
std::vector<std::string> save_hugging_face_folder(const LoadedModel& model, Precision precision,
                                                  const std::string& folder, const ModelFacts& facts = {});

}  // namespace formats
}  // namespace v0
}  // namespace transmute

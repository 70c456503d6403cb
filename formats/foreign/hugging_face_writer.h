// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/foreign/model_card.h>
#include <transmute/formats/model_folder.h>

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace formats {

/// Writes a translation model for Hugging Face Transformers, as a MarianMT model, into an existing folder:
/// `model.safetensors`, `config.json`, `generation_config.json`, the files of its tokenizer, and `README.md`, its model
/// card.
///
/// MarianMT's sinusoids are in halves. For those of PositionLayout::interleaved, all numbers of the residual stream
/// change places alike, which computes the same. load_model() reads the folder back, in float32 with the same numbers
/// bit for bit, in their new places.
/// @param precision of all weights: float32, bfloat16 or half
/// @param facts for the model card
/// @return what the files cannot say, a sentence each
/// @throws std::invalid_argument naming what MarianMT cannot express: other norms than NormPosition::post, learned
/// positions and other sinusoids than the paper's, SSRUs, norms of the embeddings, sources without an end, and what
/// require_expressible() refuses
std::vector<std::string> save_hugging_face_folder(const LoadedModel& model, Precision precision,
                                                  const std::string& folder, const ModelFacts& facts = {});

}  // namespace formats
}  // namespace v0
}  // namespace transmute

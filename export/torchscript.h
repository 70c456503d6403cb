// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/export/options.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// Writes a model as one TorchScript file, atomically. It runs without transmute in any program with LibTorch or
/// PyTorch of at least this build's version: torch::jit::load(path), torch.jit.load(path). Its types are named tuples.
///
///   translate(sources: List[List[int]], beam_size, num_hypotheses, length_alpha, max_extra_length, batch_size,
///             batch_tokens) -> List[List[Hypothesis(ids, score, log_probability, alignment)]]
///   greedy(sources: List[List[int]], max_extra_length, batch_size, batch_tokens) -> List[List[int]]
///   encode(source: Tensor) -> EncodedSource(memory, mask)
///   start_decoding(EncodedSource) -> DecoderCache
///   decode_step(ids: Tensor, DecoderCache) -> DecoderStep(log_probabilities, alignment, cache)
///   select(DecoderCache, sentences: Tensor, parents: Tensor) -> DecoderCache
///   forward(source: Tensor, target_in: Tensor) -> logits; with options.forward_search
///   forward(source: Tensor) -> (ids: Tensor [B,T], lengths: Tensor [B], scores: Tensor [B])
///
/// A language model (Architecture::decoder_only) has instead
///
///   generate(prompts: List[List[int]], max_new_tokens, temperature, top_k, top_p, seed, num_samples, batch_size)
///             -> List[List[Text(ids, log_probability)]]
///   greedy(prompts: List[List[int]], max_new_tokens, batch_size) -> List[List[int]]
///   start_decoding(texts: int) -> TextCache
///   decode_step(ids: Tensor, TextCache) -> TextStep(log_probabilities, cache)
///   select(TextCache, rows: Tensor) -> TextCache
///   forward(ids: Tensor) -> logits
///
/// Defaults are those of SearchOptions and TranslationOptions. In export/, which is installed with the documentation,
/// types.py, transformer.py, search.py and forward.py, or language_model.py and generation.py, document each method.
/// `greedy` gives the same ids as the native search; `generate` samples from the same distribution, but not the same
/// texts. Sources and prompts are ids without begin and end. `translate` and `greedy` refuse a model whose decoder must
/// be told the target language, which they cannot do; encode and decode_step are the way there. Parameters have the
/// same names as in a model folder. Extra files: `config.yaml`, `tokenizer.model` (or `tokenizer.source.model` and
/// `tokenizer.target.model`), and `transmute.json` with format_version, special_ids, precision and a checksum.
///
/// `model`: any model that load_model opens.
/// @throws std::runtime_error if the model cannot be read or the file cannot be written; std::invalid_argument for
/// int8 and a search option that is out of range, and with forward_search for a language model and for one whose
/// decoder must be told the target language.
TRANSMUTE_API void export_torchscript(const std::string& model, const std::string& output,
                                      const TorchScriptOptions& options = {});

/// Writes a translation model for NVIDIA Triton's PyTorch backend: `folder`/config.pbtxt and `folder`/1/model.pt, whose
/// forward() translates (with TorchScriptSearch's defaults unless options.forward_search is set). The last component of
/// `folder` is the model's name in Triton; its parent folder is Triton's model repository.
/// @throws as export_torchscript does.
TRANSMUTE_API void export_triton_model(const std::string& model, const std::string& folder,
                                       const TorchScriptOptions& options = {});

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/model_folder.h>

#include <string>

namespace transmute {
inline namespace v0 {
namespace formats {

/// The folder of CTranslate2 that a path means, with its `model.bin`: itself, or the one called `model` in a package of
/// Argos Translate; empty for anything else.
std::string find_ctranslate2_folder(const std::string& path);

/// Reads one of the kind TransformerSpec with absolute positions. Text is split by `source.spm` and `target.spm` or by
/// `sentencepiece.bpe.model`, `sentencepiece.model` or `spm.model` where they are beside it, or in the package of
/// Argos Translate around it; without them it is a list of pieces with spaces between them.
/// @throws std::runtime_error naming the file and the variable that is missing or damaged, or the feature of the model
/// that is not supported.
LoadedModel load_ctranslate2_folder(const std::string& folder);

/// The checkpoint of fairseq that a path names: a file of torch.save with dictionaries (dict.LANGUAGE.txt) beside it,
/// or the one in a folder of both. Dictionaries may also be in the folder data-bin beside it. Empty if there is
/// none.
/// @throws std::runtime_error if a folder has several checkpoints, none of them called as fairseq calls the best
std::string find_fairseq_checkpoint(const std::string& path);

/// A checkpoint of fairseq's `transformer` for the task `translation`, with the dictionaries that its settings name and
/// the SentencePiece models of its folder. Nothing of the checkpoint is run.
/// @throws std::runtime_error naming the file, if something is missing, damaged, or not supported
LoadedModel load_fairseq_checkpoint(const std::string& path);

/// True if a folder is a model of Hugging Face's transformers: it has a `config.json` that names a `model_type`, and is
/// no conversion by CTranslate2 that the file was copied to.
bool is_hugging_face_folder(const std::string& folder);

/// Reads one: MarianMT (`model_type` marian), M2M-100 and NLLB-200 (m2m_100), mBART-50 (mbart). Weights may be in
/// `model.safetensors` or `pytorch_model.bin`, whole or in shards; of a pickle, tensors and plain containers are read
/// and nothing is run.
/// @throws std::runtime_error naming the file, and the tensor or the key, that is missing, damaged or unsupported.
LoadedModel load_hugging_face_folder(const std::string& folder, const ParallelFor& parallel_for = one_by_one);

/// The checkpoint of JoeyNMT that a path names: a file `*.ckpt` with a config.yaml beside it, or the one in a folder of
/// both. Empty if there is none.
/// @throws std::runtime_error if a folder has several checkpoints, none of them called as JoeyNMT calls the best
std::string find_joeynmt_checkpoint(const std::string& path);

/// A checkpoint of JoeyNMT's transformer, with the config.yaml, the vocabularies and the SentencePiece models of its
/// folder. Nothing of the checkpoint is run.
/// @throws std::runtime_error naming the file, if something is missing, damaged, or not supported
LoadedModel load_joeynmt_checkpoint(const std::string& path);

/// Reads a Transformer of Marian in either format, and the shortlist beside it if there is one. Vocabularies are what
/// the model's own `.npz.decoder.yml`, the folder's `decoder.yml` or a `config.*.yml` names, or `vocab.spm`,
/// `vocab.yml`, or the folder's only `*.vocab.yml` or `*.spm`, or see MarianNeighbors; with a `.yml`, text is split by
/// `source.spm` and `target.spm`, as in OPUS-MT, and without those it is a list of pieces with spaces between them.
/// @throws std::runtime_error naming the file, and the array or the option that is missing, damaged or not supported.
LoadedModel load_marian_model(const std::string& path);

/// The checkpoint of OpenNMT-py that a path names: a file `*.pt` of torch.save with the parts that OpenNMT-py saves, or
/// the only one in a folder. Empty if there is none.
/// @throws std::runtime_error if a folder has several checkpoints
std::string find_opennmt_checkpoint(const std::string& path);

/// A checkpoint of OpenNMT-py's transformer, which has its vocabularies itself, with the SentencePiece models of its
/// folder. Nothing of the checkpoint is run.
/// @throws std::runtime_error naming the file, if something is missing, damaged, or not supported
LoadedModel load_opennmt_checkpoint(const std::string& path);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

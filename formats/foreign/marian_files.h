// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/tensor_file.h>
#include <transmute/network/search_options.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace formats {

/// The record or item that has a model's options, and far more bytes than they take.
constexpr const char* kMarianSettings = "special:model.yml";
constexpr uint64_t kMaxMarianSettings = 1 << 20;  ///< likewise

/// The content of a model of Marian, a `.npz` or a `.bin`.
struct MarianFile {
  NamedArrays tensors;  ///< float32 [inputs,outputs], or int8 [outputs,inputs]; embeddings are [V,D]
  std::unordered_map<std::string, float> int8_scales;  ///< of the int8 matrices, one each
  std::map<std::string, std::string> settings;         ///< of `special:model.yml`, as texts without their quotes
};

/// Reads a model in an archive of NumPy.
/// @throws std::runtime_error naming the file, and the array that is damaged.
MarianFile read_marian_npz(const std::string& path);

/// The settings in a `decoder.yml`; empty if it does not say so.
struct MarianDecoder {
  std::vector<std::string> models, vocabs, shortlist;
  std::string beam_size, normalize;
};

/// @param name what messages call the text
/// @throws std::runtime_error if it is no YAML or a value is of another kind
MarianDecoder parse_marian_decoder(const std::string& text, const std::string& name);
/// @throws std::runtime_error also if the file is far larger than one
MarianDecoder read_marian_decoder(const std::string& path);

/// The top level of a YAML file as Marian writes it: `key: value` lines. A list's items become one text, with ", "
/// between them; maps below are left out.
std::map<std::string, std::string> read_flat_yaml(const std::string& text);

/// Marian's vocabulary, by number. As in Marian, a `.yml`, `.yaml` or `.json` has the number of each piece, and any
/// other file has one piece a line. YAML is read as Marian writes it: lines `piece: number`, pieces in quotes where
/// YAML needs them, long ones as `? piece` and `: number`. Numbers from `rows` on are left out.
/// @throws std::runtime_error naming the file, and the line or the piece.
std::vector<std::string> read_marian_vocabulary(const std::string& path, size_t rows);

/// True if a file is in Marian's binary format, as the models of Firefox are.
bool is_marian_binary(const std::string& path);

/// Reads a model in Marian's binary format: float32, or 8 or 16 bits as intgemm multiplies them. Ranges of activations
/// (`…_QuantMultA`) are left out.
/// @throws std::runtime_error naming the file, and the array that is damaged or of another type.
MarianFile read_marian_binary(const std::string& path);

/// Reads a model of Marian in either format, that or an archive of NumPy.
MarianFile read_marian_file(const std::string& path);

/// The model of Marian in a folder: what its `decoder.yml` or `config.*.yml` names, or the only `.npz`, or `model.npz`
/// among several, or the only binary model; empty if there is none.
/// @throws std::runtime_error naming the models if there are several and none of them is meant.
std::string find_marian_file(const std::string& folder);

/// True if a file is an archive `.npz` with the options of a model of Marian, or in Marian's binary format.
bool is_marian_file(const std::string& path);

/// The files beside a model of Marian, which its decoder.yml or, in folders of Firefox and translateLocally, a
/// `config.*.yml` names, or which have the usual names. Where a folder has several models, those with the model's
/// middle name belong to it: `model.ende.intgemm.alphas.bin` has `vocab.ende.spm` and `lex.50.50.ende.s2t.bin`.
struct MarianNeighbors {
  std::string source_vocabulary, target_vocabulary;  ///< equal where both sides share one
  std::string shortlist;                             ///< a binary shortlist; empty if there is none
  SearchOptions search;                              ///< what the model's makers search with, as far as they say so
};

/// @param is_intgemm whether the model has 8-bit matrices: Bergamot's models, which are made for greedy search
/// @throws std::runtime_error naming the model whose vocabularies are not found, or the settings that are damaged
MarianNeighbors find_marian_neighbors(const std::string& model, bool is_intgemm);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/network/search_options.h>

#include <string>

namespace transmute {
inline namespace v0 {
namespace formats {

/// The model of Marian in a folder: what its `decoder.yml` or `config.*.yml` names, or the only `.npz`, or `model.npz`
/// among several, or the only binary model; empty where there is none.
/// @throws std::runtime_error naming the models where there are several and none of them is meant.
std::string find_marian_file(const std::string& folder);

/// True if a file is an archive `.npz` with the options of a model of Marian, or in Marian's binary format.
bool is_marian_file(const std::string& path);

/// The files beside a model of Marian, which its decoder.yml or, in folders of Firefox and translateLocally, a
/// `config.*.yml` names, or which have the usual names. Where a folder has several models, those with the model's
/// middle name belong to it: `model.ende.intgemm.alphas.bin` has `vocab.ende.spm` and `lex.50.50.ende.s2t.bin`.
struct MarianNeighbors {
  std::string source_vocabulary, target_vocabulary;  ///< equal where both sides share one
  std::string shortlist;                             ///< a binary shortlist; empty where there is none
  SearchOptions search;                              ///< what the model's makers search with, as far as they say so
};

/// @param is_intgemm whether the model has 8-bit matrices: Bergamot's models, which are made for greedy search
/// @throws std::runtime_error naming the model whose vocabularies are not found, or the settings that are damaged
MarianNeighbors find_marian_neighbors(const std::string& model, bool is_intgemm);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

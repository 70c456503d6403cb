// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/model_folder.h>

#include <string>

namespace transmute {
inline namespace v0 {
namespace formats {

/// The `.npz` of Marian in a folder: what its `decoder.yml` names, or the only one, or `model.npz` among several; empty
/// where there is none. A binary model, which load_marian_model refuses, where the folder has nothing else.
/// @throws std::runtime_error naming the models where there are several and none of them is meant.
std::string find_marian_file(const std::string& folder);

/// Whether a file is an archive `.npz` with the options of a model of Marian, or in Marian's binary format.
bool is_marian_file(const std::string& path);

/// Reads a Transformer of Marian. Vocabularies are what the model's own `.npz.decoder.yml` or the folder's
/// `decoder.yml` names, or `vocab.spm`, `vocab.yml`, or the folder's only `*.vocab.yml` or `*.spm`; with a `.yml`, text
/// is split by `source.spm` and `target.spm`, as in OPUS-MT, and without those it is a list of pieces with spaces
/// between them.
/// @throws std::runtime_error naming the file, and the array or the option that is missing, damaged or not supported.
LoadedModel load_marian_model(const std::string& npz);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

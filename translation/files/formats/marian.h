// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/translation/files/model_folder.h>

#include <string>

namespace transmute {
inline namespace v0 {
namespace formats {

/// The `.npz` of Marian in a folder, by its `decoder.yml` where it says so; empty where there is none, or more.
std::string find_marian_file(const std::string& folder);

/// Whether a file is an archive `.npz` with the options of a model of Marian.
bool is_marian_file(const std::string& path);

/// Reads a Transformer of Marian. Vocabularies are what `decoder.yml` beside it names, or `vocab.spm`, `vocab.yml` or
/// the folder's only `*.vocab.yml`; with a `.yml`, text is split by `source.spm` and `target.spm`, as in OPUS-MT, and
/// without those it is a list of pieces with spaces between them.
/// @throws std::runtime_error naming the file, and the array or the option that is missing, damaged or not supported.
LoadedModel load_marian_model(const std::string& npz, torch::Device device);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

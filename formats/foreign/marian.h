// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/model_folder.h>

#include <string>

namespace transmute {
inline namespace v0 {
namespace formats {

/// Reads a Transformer of Marian in either format, and the shortlist beside it if there is one. Vocabularies are what
/// the model's own `.npz.decoder.yml`, the folder's `decoder.yml` or a `config.*.yml` names, or `vocab.spm`,
/// `vocab.yml`, or the folder's only `*.vocab.yml` or `*.spm`, or see MarianNeighbors; with a `.yml`, text is split by
/// `source.spm` and `target.spm`, as in OPUS-MT, and without those it is a list of pieces with spaces between them.
/// @throws std::runtime_error naming the file, and the array or the option that is missing, damaged or not supported.
LoadedModel load_marian_model(const std::string& path);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

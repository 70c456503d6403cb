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

}  // namespace formats
}  // namespace v0
}  // namespace transmute

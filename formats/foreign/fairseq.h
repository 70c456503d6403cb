// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/model_folder.h>

#include <string>

namespace transmute {
inline namespace v0 {
namespace formats {

/// The checkpoint of fairseq that a path names: a file of torch.save with dictionaries (dict.LANGUAGE.txt) beside it,
/// or the one in a folder of both. Dictionaries may also be in the folder data-bin beside it. Empty where there is
/// none.
/// @throws std::runtime_error where a folder has several checkpoints, none of them called as fairseq calls the best
std::string find_fairseq_checkpoint(const std::string& path);

/// A checkpoint of fairseq's `transformer` for the task `translation`, with the dictionaries that its settings name and
/// the SentencePiece models of its folder. Nothing of the checkpoint is run.
/// @throws std::runtime_error naming the file, where something is missing, damaged, or not supported
LoadedModel load_fairseq_checkpoint(const std::string& path);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

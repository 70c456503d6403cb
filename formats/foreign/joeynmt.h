// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/model_folder.h>

#include <string>

namespace transmute {
inline namespace v0 {
namespace formats {

/// The checkpoint of JoeyNMT that a path names: a file `*.ckpt` with a config.yaml beside it, or the one in a folder of
/// both. Empty where there is none.
/// @throws std::runtime_error where a folder has several checkpoints, none of them called as JoeyNMT calls the best
std::string find_joeynmt_checkpoint(const std::string& path);

/// A checkpoint of JoeyNMT's transformer, with the config.yaml, the vocabularies and the SentencePiece models of its
/// folder. Nothing of the checkpoint is run.
/// @throws std::runtime_error naming the file, where something is missing, damaged, or not supported
LoadedModel load_joeynmt_checkpoint(const std::string& path);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/model_folder.h>

#include <string>

namespace transmute {
inline namespace v0 {
namespace formats {

/// The checkpoint of OpenNMT-py that a path names: a file `*.pt` of torch.save with the parts that OpenNMT-py saves, or
/// the only one in a folder. Empty where there is none.
/// @throws std::runtime_error where a folder has several checkpoints
std::string find_opennmt_checkpoint(const std::string& path);

/// A checkpoint of OpenNMT-py's transformer, which has its vocabularies itself, with the SentencePiece models of its
/// folder. Nothing of the checkpoint is run.
/// @throws std::runtime_error naming the file, where something is missing, damaged, or not supported
LoadedModel load_opennmt_checkpoint(const std::string& path);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

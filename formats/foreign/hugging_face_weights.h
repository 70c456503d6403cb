// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/threads.h>
#include <transmute/formats/tensor_file.h>

#include <string>

namespace transmute {
inline namespace v0 {
namespace formats {

/// True if a folder has one of the files that read_hugging_face_weights() looks for.
bool has_hugging_face_weights(const std::string& folder);

/// All tensors of a folder's `model.safetensors` or `pytorch_model.bin`, or of the shards that
/// `model.safetensors.index.json` or `pytorch_model.bin.index.json` lists. safetensors come first.
/// @throws std::runtime_error naming the file that is missing, damaged or a pointer of Git LFS.
NamedArrays read_hugging_face_weights(const std::string& folder, const ParallelFor& parallel_for);

/// The path of a file that a downloaded model needs.
/// @throws std::runtime_error naming it if it is missing.
std::string downloaded_file(const std::string& folder, const std::string& name);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

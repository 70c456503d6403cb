// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/model_folder.h>

#include <string>

namespace transmute {
inline namespace v0 {
namespace formats {

/// True if a folder is a model of Hugging Face's transformers: it has a `config.json` that names a `model_type`, and is
/// no conversion by CTranslate2 that the file was copied to.
bool is_hugging_face_folder(const std::string& folder);

/// Reads one: MarianMT (`model_type` marian), M2M-100 and NLLB-200 (m2m_100), mBART-50 (mbart). Weights may be in
/// `model.safetensors` or `pytorch_model.bin`, whole or in shards; of a pickle, tensors and plain containers are read
/// and nothing is run.
/// @throws std::runtime_error naming the file, and the tensor or the key, that is missing, damaged or unsupported.
LoadedModel load_hugging_face_folder(const std::string& folder, const ParallelFor& parallel_for = one_by_one);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

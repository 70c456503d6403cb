// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/jit/api/module.h>
#include <transmute/formats/model_folder.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// Writes a scripted network as one file, atomically. Config and tokenizer of `model` go along as extra files, with
/// `transmute.json`, which has format_version, special_ids, the precision's name and a checksum.
/// @throws std::runtime_error where the file cannot be written.
void save_torchscript_model(const std::string& path, const torch::jit::Module& module, const LoadedModel& model,
                            const std::string& precision);

/// Opens such a file as a native model: weights as float32, config and tokenizer from the extra files.
/// @throws std::runtime_error where the file is missing, damaged, of another version or not from export_torchscript.
LoadedModel load_torchscript_model(const std::string& path, torch::Device device);

}  // namespace v0
}  // namespace transmute

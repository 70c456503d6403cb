// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/model_folder.h>

#include <string>
#include <unordered_map>

namespace transmute {
inline namespace v0 {

/// The texts in a TorchScript file beside the network, by name: config, tokenizer and text profile of `model`, and
/// `transmute.json`, which has format_version, special_ids, the precision's name and a checksum. `parameters`: those of
/// the scripted network.
std::unordered_map<std::string, std::string> torchscript_extra_files(const LoadedModel& model,
                                                                     const NamedArrays& parameters,
                                                                     const std::string& precision);

/// Opens a file of export_torchscript as a native model: config and tokenizer come from the extra files. The file's
/// code is not run.
/// @throws std::runtime_error where the file is missing, damaged, of another version or not from export_torchscript.
LoadedModel load_torchscript_model(const std::string& path);

}  // namespace v0
}  // namespace transmute

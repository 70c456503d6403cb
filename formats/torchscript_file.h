// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/zip_archive.h>
#include <transmute/formats/model_folder.h>
#include <transmute/formats/tensor_file.h>

#include <string>
#include <unordered_map>

namespace transmute {
inline namespace v0 {

/// Parameters of the module in a TorchScript file, under their names and without its constant tables. The file's
/// records are read as data: its code is neither parsed nor run, and its pickle may hold modules, tensors and plain
/// values only.
/// @throws PickleError saying what the pickle has that it may not have, or which tensor lies outside its storage, and
/// std::runtime_error as the archive does.
NamedArrays read_torchscript_parameters(const ZipArchive& archive);

/// The texts in a TorchScript file beside the network, by name: config, tokenizer and text profile of `model`, and
/// `transmute.json`, which has format_version, special_ids, the precision's name and a checksum. `parameters`: those of
/// the scripted network.
std::unordered_map<std::string, std::string> torchscript_extra_files(const LoadedModel& model,
                                                                     const NamedArrays& parameters,
                                                                     const std::string& precision);

/// Opens a file of export_torchscript as a native model: config and tokenizer come from the extra files. The file's
/// code is not run.
/// @throws std::runtime_error if the file is missing, damaged, of another version or not from export_torchscript.
LoadedModel load_torchscript_model(const std::string& path);

}  // namespace v0
}  // namespace transmute

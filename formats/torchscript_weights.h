// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/zip_archive.h>
#include <transmute/formats/tensor_file.h>

namespace transmute {
inline namespace v0 {

/// Parameters of the module in a TorchScript file, under their names and without its constant tables. The file's
/// records are read as data: its code is neither parsed nor run, and its pickle may hold modules, tensors and plain
/// values only.
/// @throws PickleError saying what the pickle has that it may not have, or which tensor lies outside its storage, and
/// std::runtime_error as the archive does.
NamedArrays read_torchscript_parameters(const ZipArchive& archive);

}  // namespace v0
}  // namespace transmute

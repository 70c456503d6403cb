// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/zip_archive.h>
#include <transmute/translation/files/tensor_file.h>

namespace transmute {
inline namespace v0 {

/// Parameters of the module in a TorchScript file, under their names and without its constant tables. The file's
/// records are read as data: its code is neither parsed nor run, and its pickle may hold modules, tensors and plain
/// values only.
/// @throws std::runtime_error saying what the pickle has that it may not have, or which tensor lies outside its record.
NamedTensors read_torchscript_parameters(const ZipArchive& archive);

/// Tensors of the dictionary that `torch.save` wrote, under their names; other values of it are passed over. As above,
/// the pickle may hold tensors and plain containers only. Tensors may share their records.
NamedTensors read_state_dict(const ZipArchive& archive);

}  // namespace v0
}  // namespace transmute

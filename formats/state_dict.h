// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/tensor_file.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// Tensors of the dictionary that Python's `torch.save` wrote to a file, under their names; other values of it are
/// passed over. Both layouts are read: an archive, and pickles before the raw numbers, as PyTorch wrote before version
/// 1.6. The pickles may hold tensors and plain containers only, and nothing of them is run. Tensors may share storages.
/// @throws std::runtime_error naming the file, and what it has that it may not have or which tensor is damaged.
NamedArrays read_state_dict(const std::string& path);

}  // namespace v0
}  // namespace transmute

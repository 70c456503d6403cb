// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/pickle.h>
#include <transmute/formats/pickled_tensors.h>
#include <transmute/formats/tensor_file.h>

#include <functional>
#include <string>

namespace transmute {
inline namespace v0 {

/// Tensors of the dictionary that Python's `torch.save` wrote to a file, under their names; other values of it are
/// passed over. Both layouts are read: an archive, and pickles before the raw numbers, as PyTorch wrote before version
/// 1.6. The pickles may hold tensors and plain containers only, and nothing of them is run. Tensors may share storages.
/// @throws std::runtime_error naming the file, and what it has that it may not have or which tensor is damaged.
NamedArrays read_state_dict(const std::string& path);

/// Tensors of a dictionary in a file of torch.save, under their names.
/// @throws PickleError if `dictionary` is none, or as PickledTensors::read() does
NamedArrays tensors_of(const Pickle& pickle, const PickleValue& dictionary, PickledTensors& tensors);

/// True if a file begins as one of torch.save, in either layout. Files of torch.jit.save begin like that, too.
bool is_saved(const std::string& path);

/// Calls `use` with the pickle of whatever torch.save wrote to a file, in either layout, and with its tensors.
/// @throws PickleError as Pickle does, and std::runtime_error naming the file if it is none of torch.save
void read_saved(const std::string& path, PickleObjects objects,
                const std::function<void(const Pickle&, PickledTensors&)>& use);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/json.h>
#include <transmute/formats/state_dict.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace formats {

/// True for a file of torch.jit.save, which has a record beside what torch.save writes.
bool is_torchscript(const std::string& path);

/// The checkpoint that a path means: a file, or in a folder the first of the names in `best`, or the only file. It is
/// empty if there is none. `is_checkpoint` gets the absolute paths of regular files.
/// @throws std::runtime_error if a folder has several and none of these names
std::string find_checkpoint(const std::string& path, const std::vector<std::string>& best,
                            const std::function<bool(const std::filesystem::path&)>& is_checkpoint);

/// Calls `use` as read_saved() does, with objects kept as records.
/// @throws std::runtime_error naming the file, also for what `use` throws as PickleError
void read_checkpoint(const std::string& path, const std::function<void(const Pickle&, PickledTensors&)>& use);

/// Adds the single values of a record of settings, such as an argparse.Namespace: numbers and texts. Those that are
/// none stay away; null is a record without any.
/// @throws PickleError if there are more than in any program
void add_settings(const Pickle& pickle, const PickleValue* record, Json& settings);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

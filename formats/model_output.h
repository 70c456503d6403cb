// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace transmute {
inline namespace v0 {

/// A model folder may be written to `path`: there is nothing, an empty folder, or a model folder in which each file is
/// one that transmute writes. Replacing any other folder would delete what is not ours.
/// @param flag which flag's value to change, for the message
/// @throws std::invalid_argument naming what is in the way.
void check_may_replace_model(const std::string& path, const std::string& flag = "--output");

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace transmute {

/// A program may write a model folder to `path`: there is nothing, an empty folder, or a model folder in which each
/// file is one that transmute writes. Replacing any other folder would delete what is not ours.
/// @throws std::invalid_argument naming what stands in the way.
void check_may_replace_model(const std::string& path);

}  // namespace transmute

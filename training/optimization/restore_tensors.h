// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/model/module_weights.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// Copies into each of `own` the one of `values` that has its name.
/// @param path the file that the values come from, for the message
/// @throws std::runtime_error naming the first that is missing or has another shape.
void restore_tensors(const NamedTensors& own, const NamedTensors& values, const std::string& path);

}  // namespace v0
}  // namespace transmute

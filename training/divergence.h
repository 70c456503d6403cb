// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/model/module_weights.h>
#include <transmute/training/distributed/process_group.h>

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Says which numbers of a step are not finite: weights, gradients of this rank, or gradients of other ranks. Every
/// rank calls it after a step that diverged.
/// @param unsound by parameter: whether this rank's gradients are not finite
std::string where_not_finite(const NamedTensors& parameters, const std::vector<bool>& unsound, ProcessGroup& group);

}  // namespace v0
}  // namespace transmute

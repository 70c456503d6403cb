// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/common/export.h>

#include <cstddef>

namespace transmute {
inline namespace v0 {

/// Whether all numbers are finite as float32, which is what weights are computed with. Whole numbers are.
TRANSMUTE_API bool all_finite(const void* numbers, size_t count, torch::Dtype type);

}  // namespace v0
}  // namespace transmute

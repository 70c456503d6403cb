// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// A tile of AMX: 16 rows of 64 bytes.
constexpr int64_t kTileRows = 16;
constexpr int64_t kTileRowBytes = 64;

/// Outputs of a packed matrix are filled up with zeros to a multiple of it.
constexpr int64_t kPanel = 32;

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

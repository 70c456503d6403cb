// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace transmute {
inline namespace v0 {

/// Limits of the training pairs; longer and more unequal ones are left out.
struct LengthLimits {
  int64_t source_tokens = 256;
  int64_t target_tokens = 256;
  double ratio = 0;  ///< tokens of the longer side for each of the shorter, at most; 0: no limit
};

}  // namespace v0
}  // namespace transmute

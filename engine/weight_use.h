// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace transmute {
inline namespace v0 {

/// What becomes of the weights of a Transformer that is made ready.
enum class WeightUse {
  copied,  ///< they stay, and may change or go
  taken    ///< each leaves it once it is packed, so that all are never in memory twice; it is of no use afterwards
};

}  // namespace v0
}  // namespace transmute

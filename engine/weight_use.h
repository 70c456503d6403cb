// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace transmute {
inline namespace v0 {

/// The fate of the weights of a network that is made ready.
enum class WeightUse {
  copied,  ///< they stay, and may change or go
  taken    ///< nobody else has or changes them: each is let go of once it is packed, so that none is in memory twice
};

}  // namespace v0
}  // namespace transmute

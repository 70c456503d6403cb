// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace transmute {
inline namespace v0 {

/// Numbers of tokens at the beginning of a source and of its target that name the languages. These tokens are part of
/// the request: their probabilities count as 1, and results do not contain them.
struct GivenTokens {
  size_t source = 0;
  size_t target = 0;
};

}  // namespace v0
}  // namespace transmute

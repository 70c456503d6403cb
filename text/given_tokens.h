// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace transmute {
inline namespace v0 {

/// How many tokens at the beginning of a source and of its target name the languages. They are part of the request:
/// their probabilities count as 1, and no result has them.
struct GivenTokens {
  size_t source = 0;
  size_t target = 0;
};

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/utf8.h>
#include <unicode/uchar.h>

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace checks {

/// Bytes [first, second) of a text.
using Span = std::pair<size_t, size_t>;

inline bool is_inside(size_t at, const std::vector<Span>& spans) {
  for (const Span& span : spans)
    if (span.first <= at && at < span.second) return true;
  return false;
}

}  // namespace checks
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace transmute::testing {

/// While it lives, operator new throws std::bad_alloc on this thread, after it has worked `more` times.
class NoMemory {
 public:
  explicit NoMemory(size_t more = 0);
  ~NoMemory();
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;
};

}  // namespace transmute::testing

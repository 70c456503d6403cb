// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace transmute::testing {

/// As long as it lives, operator new throws std::bad_alloc on this thread.
class NoMemory {
 public:
  NoMemory();
  ~NoMemory();
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;
};

}  // namespace transmute::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>

#include <new>
#include <stdexcept>
#include <string>

namespace transmute {
inline namespace v0 {

/// LibTorch had no memory for a tensor, on the CPU or a GPU. what() is LibTorch's message.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(const std::string& message) : message_(message) {}
  const char* what() const noexcept override { return message_.what(); }

 private:
  std::runtime_error message_;  // copies of it cannot throw
};

/// Throws the current exception on. What LibTorch threw becomes an OutOfMemory where memory ran out, and otherwise a
/// std::runtime_error without a C++ backtrace.
[[noreturn]] void rethrow_plainly();

/// Calls `body` and returns what it returns; exceptions pass through rethrow_plainly().
template <class Body>
auto with_plain_errors(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    rethrow_plainly();
  }
}

}  // namespace v0
}  // namespace transmute

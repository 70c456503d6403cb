// SPDX-License-Identifier: Apache-2.0
#include <transmute/libtorch/plain_errors.h>

#include <c10/util/Exception.h>

namespace transmute {
inline namespace v0 {
namespace {

// The first line, from the allocator's own words on. Empty if the error is another one.
std::string out_of_memory_message(const std::string& message) {
  for (const char* beginning : {"DefaultCPUAllocator: ", "CUDA out of memory", "CUDA error: out of memory",
                                "CUDA error: CUBLAS_STATUS_ALLOC_FAILED"}) {
    const size_t begin = message.find(beginning);
    if (begin != std::string::npos) return message.substr(begin, message.find('\n', begin) - begin);
  }
  return {};
}

}  // namespace

void rethrow_plainly() {
  try {
    throw;
  } catch (const c10::Error& error) {
    const std::string message = error.what_without_backtrace();
    const std::string out_of_memory = out_of_memory_message(message);
    if (!out_of_memory.empty()) throw OutOfMemory(out_of_memory);
    throw std::runtime_error(message);
  }
}

}  // namespace v0
}  // namespace transmute

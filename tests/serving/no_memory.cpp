// SPDX-License-Identifier: Apache-2.0
#include <transmute/tests/serving/no_memory.h>

#include <cstdlib>
#include <limits>
#include <new>

namespace transmute::testing {

namespace {

constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();
thread_local size_t calls_left = kUnlimited;

bool takes_a_call() {
  if (calls_left == 0) return false;
  if (calls_left != kUnlimited) --calls_left;
  return true;
}

}  // namespace

NoMemory::NoMemory(size_t more) {
  calls_left = more;
}

NoMemory::~NoMemory() {
  calls_left = kUnlimited;
}

}  // namespace transmute::testing

void* operator new(size_t bytes) {
  void* memory = transmute::testing::takes_a_call() ? std::malloc(bytes == 0 ? 1 : bytes) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, size_t /*bytes*/) noexcept {
  std::free(memory);
}

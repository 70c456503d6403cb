// SPDX-License-Identifier: Apache-2.0
#include <transmute/tests/serving/no_memory.h>

#include <cstdlib>
#include <new>

namespace transmute::testing {

namespace {

thread_local bool has_memory = true;

}  // namespace

NoMemory::NoMemory() {
  has_memory = false;
}

NoMemory::~NoMemory() {
  has_memory = true;
}

}  // namespace transmute::testing

void* operator new(size_t bytes) {
  void* memory = transmute::testing::has_memory ? std::malloc(bytes == 0 ? 1 : bytes) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, size_t /*bytes*/) noexcept {
  std::free(memory);
}

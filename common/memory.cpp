// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/memory.h>

#include <sys/mman.h>

#include <cstdint>
#include <new>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace transmute {
inline namespace v0 {

void return_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_TOP_PAD, 64 << 20);
#endif
}

void prefer_huge_pages([[maybe_unused]] void* block, [[maybe_unused]] size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr uintptr_t kHugePage = uintptr_t{1} << 21;
  if (bytes < kLargeBlock) return;
  // To whole huge pages: otherwise each of several adjacent blocks would lose those at its ends.
  const uintptr_t before = reinterpret_cast<uintptr_t>(block) % kHugePage;
  const uintptr_t whole = (before + bytes + kHugePage - 1) / kHugePage * kHugePage;
  ::madvise(static_cast<char*>(block) - before, whole, MADV_HUGEPAGE);
#endif
}

void* map_memory(size_t bytes) {
  void* block = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) throw std::bad_alloc();
  prefer_huge_pages(block, bytes);
  return block;
}

void unmap_memory(void* block, size_t bytes) {
  ::munmap(block, bytes);
}

}  // namespace v0
}  // namespace transmute

#include <transmute/common/memory.h>

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

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

void prefer_huge_pages([[maybe_unused]] void* block, [[maybe_unused]] size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr size_t kLarge = size_t{1} << 18;
  constexpr uintptr_t kHugePage = uintptr_t{1} << 21;
  if (bytes < kLarge) return;
  // To whole huge pages: blocks that lie one behind the other would else each lose those at their ends.
  const uintptr_t begin = reinterpret_cast<uintptr_t>(block) / kHugePage * kHugePage;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(block) + bytes + kHugePage - 1) / kHugePage * kHugePage;
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

}  // namespace v0
}  // namespace transmute

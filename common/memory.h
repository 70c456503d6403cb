// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace transmute {
inline namespace v0 {

/// Returns memory that was freed to the system. The C library keeps much of it for later allocations: after loading a
/// model as much as the weights take, after learning a vocabulary far more than the training needs.
void return_freed_memory();

/// Keeps freed memory in the process instead of handing large blocks back to the system, whose page faults cost more
/// than the work in them. Only programs call it, because they own their process.
void keep_freed_memory();

/// Has the system back a large block with huge pages (2 MB with x86-64) when it is first touched, where it leaves that
/// to programs: fewer faults, and fewer misses when addresses are translated. A hint, which also reaches what shares a
/// huge page with the block; small blocks are left alone.
void prefer_huge_pages(void* block, size_t bytes);

/// A block of zeros directly from the system, aligned to a page. The C library writes a few bytes before each of its
/// blocks, and memory around a touched page can no longer get huge pages. Blocks that are mapped side by side before
/// any of them is touched do get them.
/// @throws std::bad_alloc
void* map_memory(size_t bytes);
void unmap_memory(void* block, size_t bytes);

/// Blocks from here on are worth a mapping of their own.
constexpr size_t kLargeBlock = size_t{1} << 18;

}  // namespace v0
}  // namespace transmute

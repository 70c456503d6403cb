#pragma once

#include <cstddef>

namespace transmute {
inline namespace v0 {

/// Returns memory that was freed to the system. The C library keeps much of it for what may come, which after loading a
/// model is as much as the weights, after learning pieces far more than what follows.
void return_freed_memory();

/// Has the system back a large block with huge pages (2 MB with x86-64) when it is first touched, where it leaves that
/// to programs: fewer faults, and fewer misses when addresses are translated. A hint, which also reaches what shares a
/// huge page with the block; small blocks are left alone.
void prefer_huge_pages(void* block, size_t bytes);

}  // namespace v0
}  // namespace transmute

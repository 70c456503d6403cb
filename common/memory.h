#pragma once

namespace transmute {
inline namespace v0 {

/// Returns memory that was freed to the system. The C library keeps much of it for what may come, which after loading a
/// model is as much as the weights.
void return_freed_memory();

}  // namespace v0
}  // namespace transmute

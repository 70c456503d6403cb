// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace transmute {
inline namespace v0 {

/// Makes LibTorch's operations run on the calling thread alone, without changing any other thread's setting:
/// the workers of training and translation each take whole tasks. (An OpenMP region that must wait
/// for a second thread costs more than it gains at the sizes of one sentence or one micro-batch.)
void run_operations_on_this_thread_only();

/// For programs, which own their process: as above for every thread, and BLAS's own thread pool too, which would
/// otherwise fight with the workers. Also keeps freed memory in the process instead of handing large blocks back to
/// the system after each operation, whose page faults cost more than the operation, and has LibTorch's tensors in huge
/// pages where the system leaves that to programs.
/// @throws std::runtime_error if LibTorch cannot find out about the CPU.
void configure_process_for_workers();

/// The warning for users whose LibTorch multiplies matrices with the reference BLAS, which is many times slower than
/// the machine; empty if it does not.
std::string slow_blas_warning();

}  // namespace v0
}  // namespace transmute

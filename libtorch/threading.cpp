// SPDX-License-Identifier: Apache-2.0
#include <transmute/libtorch/threading.h>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <transmute/common/memory.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// Calls `name(value)` where a loaded library offers it. LibTorch brings its own OpenMP runtime and BLAS:
// linking a second copy of either would set the wrong one.
void call_if_loaded(const char* name, int value) {
  using Setter = void (*)(int);
  if (const auto set = reinterpret_cast<Setter>(dlsym(RTLD_DEFAULT, name))) set(value);
}

// LibTorch's own allocator, in huge pages. No "override", because what is virtual and what is const has changed between
// LibTorch's versions.
class HugePageAllocator : public c10::Allocator {
 public:
  explicit HugePageAllocator(c10::Allocator* allocator) : allocator_(allocator) {}

  c10::DataPtr allocate(size_t bytes) const {
    c10::DataPtr block = allocator_->allocate(bytes);
    if (block) prefer_huge_pages(block.get(), bytes);
    return block;
  }
  c10::DataPtr allocate(size_t bytes) { return std::as_const(*this).allocate(bytes); }
  c10::DeleterFnPtr raw_deleter() const { return allocator_->raw_deleter(); }
  void copy_data(void* to, const void* from, size_t bytes) const { std::memcpy(to, from, bytes); }

 private:
  c10::Allocator* allocator_;
};

}  // namespace

void run_operations_on_this_thread_only() {
  at::get_num_threads();  // lets LibTorch apply its process-wide setting to this thread first
  call_if_loaded("omp_set_num_threads", 1);
}

void configure_process_for_workers() {
  try {
    at::set_num_threads(1);
  } catch (const c10::Error& error) {
    throw std::runtime_error(std::string("LibTorch cannot start: ") + error.what_without_backtrace() +
                             "; it needs /proc/cpuinfo, which systemd's ProcSubset=pid hides");
  }
  call_if_loaded("openblas_set_num_threads", 1);
  keep_freed_memory();
  // Never destroyed: tensors are made until the process ends.
  static auto* const in_huge_pages = new HugePageAllocator(c10::GetCPUAllocator());
  c10::SetCPUAllocator(in_huge_pages, /*priority=*/1);
}

std::string slow_blas_warning() {
  for (const char* known : {"openblas_get_corename", "bli_info_get_version_str", "ATL_buildinfo"})
    if (dlsym(RTLD_DEFAULT, known) != nullptr) return "";
  if (at::hasMKL() || dlsym(RTLD_DEFAULT, "sgemm_") == nullptr) return "";  // its own BLAS, inside
  return "LibTorch uses the reference BLAS here, which is many times slower than this CPU; install OpenBLAS "
         "(Debian: apt install libopenblas0-pthread)";
}

}  // namespace v0
}  // namespace transmute

#include <transmute/model/threading.h>

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <malloc.h>

namespace transmute {

namespace {

// Calls `name(value)` where a loaded library offers it. LibTorch brings its own OpenMP runtime and BLAS:
// linking a second copy of either would set the wrong one.
void call_if_loaded(const char* name, int value) {
  using Setter = void (*)(int);
  if (const auto set = reinterpret_cast<Setter>(dlsym(RTLD_DEFAULT, name))) set(value);
}

}  // namespace

void run_operations_on_this_thread_only() {
  at::get_num_threads();  // lets LibTorch apply its process-wide setting to this thread first
  call_if_loaded("omp_set_num_threads", 1);
}

void configure_process_for_workers() {
  at::set_num_threads(1);
  call_if_loaded("openblas_set_num_threads", 1);
#if defined(__GLIBC__)
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_TOP_PAD, 64 << 20);
#endif
}

}  // namespace transmute

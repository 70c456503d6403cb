#include <transmute/model/kernels/simd.h>

#include <algorithm>
#include <atomic>

namespace transmute {
inline namespace v0 {
namespace kernels {

namespace {

std::atomic<Simd>& level() {
  static std::atomic<Simd> active{best_simd()};
  return active;
}

}  // namespace

Simd active_simd() {
  return level().load(std::memory_order_relaxed);
}

SimdLimit::SimdLimit(Simd wanted) : outer_(active_simd()) {
  level() = std::min(wanted, best_simd());
}

SimdLimit::~SimdLimit() {
  level() = outer_;
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

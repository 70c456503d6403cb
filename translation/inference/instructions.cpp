#include <transmute/model/kernels/simd.h>
#include <transmute/translation/inference/instructions.h>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace transmute {
inline namespace v0 {
namespace inference {

namespace {

// A process has to ask Linux for the tiles' 8 KB of state before it touches them.
bool may_use_amx() {
#if defined(__x86_64__) && defined(__linux__) && defined(SYS_arch_prctl)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kBf16 = 1U << 22, kTile = 1U << 24, kInt8 = 1U << 25;
  if ((d & (kBf16 | kTile | kInt8)) != (kBf16 | kTile | kInt8)) return false;
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

Instructions find() {
  switch (kernels::best_simd()) {
    case kernels::Simd::baseline:
      return Instructions::baseline;
    case kernels::Simd::avx2:
      return Instructions::avx2;
    case kernels::Simd::avx512:
    case kernels::Simd::avx512_bf16:
      break;
  }
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx512vnni")) return Instructions::avx512;
  if (!__builtin_cpu_supports("avx512bf16")) return Instructions::avx512_vnni;
  return may_use_amx() ? Instructions::amx : Instructions::avx512_bf16;
#else
  return Instructions::baseline;
#endif
}

}  // namespace

Instructions best_instructions() {
  static const Instructions best = find();
  return best;
}

}  // namespace inference
}  // namespace v0
}  // namespace transmute

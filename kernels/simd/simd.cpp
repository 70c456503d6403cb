// SPDX-License-Identifier: Apache-2.0
#include <transmute/kernels/simd/simd.h>

#include <algorithm>
#include <atomic>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace transmute {
inline namespace v0 {
namespace kernels {

namespace {

#if defined(__x86_64__)
// True if the processor lists all of these bits (leaf 7, EDX). Clang 14's __builtin_cpu_supports knows none of them.
bool has_features(unsigned wanted) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & wanted) == wanted;
}

// A process has to ask Linux for the tiles' 8 KB of state before it touches them.
bool may_use_amx() {
#if defined(__linux__) && defined(SYS_arch_prctl)
  constexpr unsigned kBf16 = 1U << 22, kTile = 1U << 24, kInt8 = 1U << 25;
  if (!has_features(kBf16 | kTile | kInt8)) return false;
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

// On Intel's CPUs since Sapphire Rapids, the first with AVX512-FP16, only the tiles are fast at bfloat16: a vector
// instruction for it does the work of two for float32 in the time of four.
bool has_slow_bfloat16_vectors() {
  constexpr unsigned kFp16 = 1U << 23;
  return __builtin_cpu_is("intel") && has_features(kFp16);
}
#endif

// Clang 14's __builtin_cpu_supports does not know AVX-VNNI either.
bool has_avx_vnni() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kAvxVnni = 1U << 4;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kAvxVnni) != 0;
#else
  return false;
#endif
}

Simd find_best() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    if (!__builtin_cpu_supports("avx512vnni")) return Simd::avx512;
    if (!__builtin_cpu_supports("avx512bf16")) return Simd::avx512_vnni;
    if (may_use_amx()) return Simd::amx;
    return has_slow_bfloat16_vectors() ? Simd::avx512_vnni : Simd::avx512_bf16;
  }
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Simd::baseline;
  return has_avx_vnni() ? Simd::avx2_vnni : Simd::avx2;
#elif defined(__aarch64__) && defined(__linux__)
  if ((::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) == 0) return Simd::neon;
  return (::getauxval(AT_HWCAP2) & HWCAP2_BF16) == 0 ? Simd::neon_dotprod : Simd::neon_bf16;
#elif defined(__aarch64__)
  return Simd::neon;
#else
  return Simd::baseline;
#endif
}

std::atomic<Simd>& level() {
  static std::atomic<Simd> active{best_simd()};
  return active;
}

}  // namespace

Simd best_simd() {
  static const Simd best = find_best();
  return best;
}

std::vector<Simd> available_simd() {
#if defined(__aarch64__)
  constexpr Simd kFirst = Simd::neon;
#else
  constexpr Simd kFirst = Simd::avx2;
#endif
  std::vector<Simd> levels{Simd::baseline};
  for (int level = static_cast<int>(kFirst); level <= static_cast<int>(best_simd()); ++level)
    if (const auto simd = static_cast<Simd>(level); simd != Simd::avx2_vnni || has_avx_vnni()) levels.push_back(simd);
  return levels;
}

bool multiplies_bfloat16(Simd simd) {
  return simd == Simd::neon_bf16 || simd >= Simd::avx512_bf16;
}

int64_t second_level_cache() {
  constexpr int64_t kLeast = 1 << 20;
#if defined(_SC_LEVEL2_CACHE_SIZE)
  static const int64_t bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  return std::max(kLeast, bytes);
#else
  return kLeast;
#endif
}

Simd active_simd() {
  return level().load(std::memory_order_relaxed);
}

const char* simd_name(Simd simd) {
  switch (simd) {
    case Simd::neon:
      return "NEON";
    case Simd::neon_dotprod:
      return "NEON with dot products";
    case Simd::neon_bf16:
      return "NEON with dot products and bfloat16";
    case Simd::avx2:
      return "AVX2";
    case Simd::avx2_vnni:
      return "AVX2 with dot products (AVX-VNNI)";
    case Simd::avx512:
    case Simd::avx512_vnni:
      return "AVX-512";
    case Simd::avx512_bf16:
      return "AVX-512 with bfloat16";
    case Simd::amx:
      return "AVX-512 with bfloat16 tiles (AMX)";
    default:
      return "baseline";
  }
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

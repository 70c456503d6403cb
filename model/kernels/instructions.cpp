#include <transmute/model/kernels/instructions.h>
#include <transmute/model/kernels/simd.h>

namespace transmute {
inline namespace v0 {
namespace inference {

namespace {

Instructions find() {
  switch (kernels::best_simd()) {
    case kernels::Simd::baseline:
      return Instructions::baseline;
    case kernels::Simd::avx2:
      return Instructions::avx2;
    case kernels::Simd::amx:
      return Instructions::amx;
    case kernels::Simd::avx512:
    case kernels::Simd::avx512_bf16:
      break;
  }
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx512vnni")) return Instructions::avx512;
  return __builtin_cpu_supports("avx512bf16") ? Instructions::avx512_bf16 : Instructions::avx512_vnni;
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

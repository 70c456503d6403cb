// SPDX-License-Identifier: Apache-2.0
#include <transmute/kernels/cpu/additive_scores.h>
#include <transmute/kernels/cpu/attention_heads.h>
#include <transmute/kernels/cpu/consistent_loss.h>
#include <transmute/kernels/cpu/recurrence.h>
#include <transmute/kernels/cpu/rows.h>

namespace transmute {
inline namespace v0 {
namespace kernels {

#define TRANSMUTE_DECLARE_TABLES(simd)                                   \
  namespace simd {                                                       \
  extern const RowKernels<float> float_rows;                             \
  extern const RowKernels<uint16_t> bfloat16_rows;                       \
  extern const ConsistentLossKernels<float> float_consistent_loss;       \
  extern const ConsistentLossKernels<uint16_t> bfloat16_consistent_loss; \
  extern const AttentionKernels<float> float_attention;                  \
  extern const AttentionKernels<uint16_t> bfloat16_attention;            \
  extern const AdditiveKernels<float> float_additive;                    \
  extern const AdditiveKernels<uint16_t> bfloat16_additive;              \
  extern const RecurrenceKernels<float> float_recurrence;                \
  extern const RecurrenceKernels<uint16_t> bfloat16_recurrence;          \
  }
TRANSMUTE_DECLARE_TABLES(baseline)
#if defined(__x86_64__)
TRANSMUTE_DECLARE_TABLES(avx2)
TRANSMUTE_DECLARE_TABLES(avx512)
TRANSMUTE_DECLARE_TABLES(avx512_bf16)
#endif

namespace {

template <class Table>
const Table& of_active_simd([[maybe_unused]] const Table& for_avx512_bf16, [[maybe_unused]] const Table& for_avx512,
                            [[maybe_unused]] const Table& for_avx2, const Table& for_any) {
  switch (active_simd()) {
    case Simd::amx:
    case Simd::avx512_bf16:
      return for_avx512_bf16;
    case Simd::avx512_vnni:
    case Simd::avx512:
      return for_avx512;
    case Simd::avx2:
      return for_avx2;
    default:
      return for_any;
  }
}

}  // namespace

#if !defined(__x86_64__)
namespace avx2 = baseline;
namespace avx512 = baseline;
namespace avx512_bf16 = baseline;
#endif

template <>
const RowKernels<float>& row_kernels() {
  return of_active_simd(avx512_bf16::float_rows, avx512::float_rows, avx2::float_rows, baseline::float_rows);
}
template <>
const RowKernels<uint16_t>& row_kernels() {
  return of_active_simd(avx512_bf16::bfloat16_rows, avx512::bfloat16_rows, avx2::bfloat16_rows,
                        baseline::bfloat16_rows);
}
template <>
const ConsistentLossKernels<float>& consistent_loss_kernels() {
  return of_active_simd(avx512_bf16::float_consistent_loss, avx512::float_consistent_loss, avx2::float_consistent_loss,
                        baseline::float_consistent_loss);
}
template <>
const ConsistentLossKernels<uint16_t>& consistent_loss_kernels() {
  return of_active_simd(avx512_bf16::bfloat16_consistent_loss, avx512::bfloat16_consistent_loss,
                        avx2::bfloat16_consistent_loss, baseline::bfloat16_consistent_loss);
}
template <>
const AttentionKernels<float>& attention_kernels() {
  return of_active_simd(avx512_bf16::float_attention, avx512::float_attention, avx2::float_attention,
                        baseline::float_attention);
}
template <>
const AttentionKernels<uint16_t>& attention_kernels() {
  return of_active_simd(avx512_bf16::bfloat16_attention, avx512::bfloat16_attention, avx2::bfloat16_attention,
                        baseline::bfloat16_attention);
}
template <>
const AdditiveKernels<float>& additive_kernels() {
  return of_active_simd(avx512_bf16::float_additive, avx512::float_additive, avx2::float_additive,
                        baseline::float_additive);
}
template <>
const AdditiveKernels<uint16_t>& additive_kernels() {
  return of_active_simd(avx512_bf16::bfloat16_additive, avx512::bfloat16_additive, avx2::bfloat16_additive,
                        baseline::bfloat16_additive);
}
template <>
const RecurrenceKernels<float>& recurrence_kernels() {
  return of_active_simd(avx512_bf16::float_recurrence, avx512::float_recurrence, avx2::float_recurrence,
                        baseline::float_recurrence);
}
template <>
const RecurrenceKernels<uint16_t>& recurrence_kernels() {
  return of_active_simd(avx512_bf16::bfloat16_recurrence, avx512::bfloat16_recurrence, avx2::bfloat16_recurrence,
                        baseline::bfloat16_recurrence);
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

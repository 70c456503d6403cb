// SPDX-License-Identifier: Apache-2.0
// The products of PackedLinear, compiled once for each instruction set, except those in tiles of AMX.

#include <transmute/kernels/cpu/product_kernels.h>
#include <transmute/kernels/simd/lanes.h>

namespace transmute {
inline namespace v0 {
namespace inference {
namespace {

using namespace kernels;

// The most vectors of sums that fit into the registers beside their operands: sums in float32, and sums of four
// products of bytes.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kFloatSums = 24, kNarrowSums = 16;
#elif defined(__AVX__)
constexpr int kFloatSums = 12, kNarrowSums = 8;
#else
constexpr int kFloatSums = 8, kNarrowSums = 8;
#endif

// Writes a vector of sums to row `row`, from output `column` on. The bias is padded to whole vectors; the output and
// the residual are not.
template <class Extent>
TRANSMUTE_INLINE void finish(Floats sums, int64_t row, int64_t column, Extent extent, const ProductOutput& out) {
  const int64_t at = row * out.outputs + column;
  if (out.bias != nullptr) sums += load(out.bias + column);
  if (out.residual != nullptr) sums += load(out.residual + at, extent);
  if (out.relu) sums = larger(sums, Floats{});
  store(out.y + at, sums, extent);
}

// Writes a tile: value_of(r, v) is the vector v of row `row` + r, from output `column` on.
template <int kRows, int kVectors, class ValueOf>
TRANSMUTE_INLINE void finish_tile(int64_t row, int64_t column, const ProductOutput& output, const ValueOf& value_of) {
  const ProductOutput out = output;  // writing y cannot change the copy
  const bool is_whole = column + kVectors * kLanes <= out.outputs;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      const int64_t first = column + v * kLanes;
      if (is_whole) {
        finish(value_of(r, v), row + r, first, Whole{}, out);
      } else if (first < out.outputs) {
        finish(value_of(r, v), row + r, first, Part{out.outputs - first < kLanes ? out.outputs - first : kLanes}, out);
      }
    }
}

// Vectors of a tile of `rows` rows: of `least`, doubled while the sums fit `sums` registers. Few rows need many vectors
// to hide the latency of an addition.
constexpr int vectors_of(int rows, int least, int sums) {
  constexpr int kMost = 8;
  int vectors = least;
  while (vectors < kMost && 2 * vectors * rows <= sums) vectors *= 2;
  return vectors;
}

constexpr int kFloatVectors = kPanel / kLanes < 4 ? kPanel / kLanes : 4;
constexpr int kFloatRows = kFloatSums / kFloatVectors;
constexpr int64_t kInputsAhead = 24;  // distance at which weights are fetched ahead

// kRows rows of a block of `stride` times the outputs from `column` on.
template <int kRows, int kVectors>
void float32_tile(const float* x, int64_t stride, const float* weight, int64_t inputs, int64_t row, int64_t column,
                  const float* next, const ProductOutput& out) {
  constexpr int kInPanel = kPanel / kLanes;
  Floats sums[kRows][kVectors] = {};
  const float* w = weight + column / kPanel * inputs * kPanel + column % kPanel;
  const int64_t panel = inputs * kPanel;
  if (next == nullptr) next = w;  // prefetching it again is harmless, and a branch would cost more
  add_products(
      sums, inputs, [=](int64_t i, int r) __attribute__((always_inline)) { return x[i * stride + r]; },
      [=](int64_t i, int v) __attribute__((always_inline)) {
        constexpr int kToSecondLevel = 2, kToFirstLevel = 3;
        const float* values = w + i * kPanel + v / kInPanel * panel + v % kInPanel * kLanes;
        if (v == 0) __builtin_prefetch(next + i * kFetchedPerInput, 0, kToSecondLevel);
        if (v * kLanes % 16 == 0) __builtin_prefetch(values + kInputsAhead * kPanel, 0, kToFirstLevel);
        return load(values);
      });
  finish_tile<kRows, kVectors>(
      row, column, out, [&](int r, int v) __attribute__((always_inline)) { return sums[r][v]; });
}

void multiply_float32(const float* x, int64_t rows, const float* weight, int64_t inputs, Panels panels,
                      const float* next, const ProductOutput& out) {
  const int64_t tiles = (rows + kFloatRows - 1) / kFloatRows;
  // Rows of several tiles are multiplied by one panel while the first-level cache holds it.
  const int64_t at_once = tiles == 1 ? panels.end - panels.first : 1;
  for (int64_t panel = panels.first; panel < panels.end; panel += at_once)
    for (int64_t row = 0, tile = tiles; tile > 0; --tile) {
      const int64_t count = (rows - row + tile - 1) / tile;  // tiles of about equal size
      with_constant<kFloatRows>(count, [&](auto constant) {
        constexpr int kRows = decltype(constant)::value;
        constexpr int kVectors = vectors_of(kRows, kFloatVectors, kFloatSums);
        const int64_t end = (panel + at_once) * kPanel;
        int64_t column = panel * kPanel;
        for (; column + kVectors * kLanes <= end; column += kVectors * kLanes)
          float32_tile<kRows, kVectors>(x + row, rows, weight, inputs, row, column, next, out);
        for (; column < end; column += kFloatVectors * kLanes)
          float32_tile<kRows, kFloatVectors>(x + row, rows, weight, inputs, row, column, next, out);
      });
      row += count;
    }
}

// sums[i] += the four products of the int8 numbers in the words x[i] and w[i]. x has kInt8Offset added.
#if defined(__AVX512VNNI__)
constexpr int32_t kInt8Offset = 128;
TRANSMUTE_INLINE Signed add_dots(Signed sums, Words x, Words w) {
  return reinterpret_cast<Signed>(
      _mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums), reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(w)));
}
#elif defined(__AVXVNNI__)
constexpr int32_t kInt8Offset = 128;
TRANSMUTE_INLINE Signed add_dots(Signed sums, Words x, Words w) {
  return reinterpret_cast<Signed>(_mm256_dpbusd_avx_epi32(reinterpret_cast<__m256i>(sums), reinterpret_cast<__m256i>(x),
                                                          reinterpret_cast<__m256i>(w)));
}
#else
constexpr int32_t kInt8Offset = 0;
TRANSMUTE_INLINE Signed add_dots(Signed sums, Words x, Words w) {
// The instruction multiplies unsigned bytes by signed ones and adds pairs of products in 16 bits. The unsigned bytes
// are the weights' magnitudes; x, from -127 to 127, takes the weights' signs. A pair is at most 2 · 128 · 127.
#if defined(__AVX512BW__)
  const auto weights = reinterpret_cast<__m512i>(w), inputs = reinterpret_cast<__m512i>(x);
  const __m512i with_sign = _mm512_mask_sub_epi8(inputs, _mm512_movepi8_mask(weights), _mm512_setzero_si512(), inputs);
  const __m512i pairs = _mm512_maddubs_epi16(_mm512_abs_epi8(weights), with_sign);
  return sums + reinterpret_cast<Signed>(_mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
#elif defined(__AVX2__)
  const auto weights = reinterpret_cast<__m256i>(w), inputs = reinterpret_cast<__m256i>(x);
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(inputs, weights));
  return sums + reinterpret_cast<Signed>(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#elif defined(__SSE2__)
  // Bytes at even and at odd places become 16-bit numbers.
  const auto weights = reinterpret_cast<__m128i>(w), inputs = reinterpret_cast<__m128i>(x);
  const auto even = [](__m128i bytes) { return _mm_srai_epi16(_mm_slli_epi16(bytes, 8), 8); };
  const auto odd = [](__m128i bytes) { return _mm_srai_epi16(bytes, 8); };
  return sums + reinterpret_cast<Signed>(_mm_add_epi32(_mm_madd_epi16(even(inputs), even(weights)),
                                                       _mm_madd_epi16(odd(inputs), odd(weights))));
#elif defined(__ARM_FEATURE_DOTPROD)
  return reinterpret_cast<Signed>(
      vdotq_s32(reinterpret_cast<int32x4_t>(sums), reinterpret_cast<int8x16_t>(x), reinterpret_cast<int8x16_t>(w)));
#else
#pragma GCC unroll 4
  for (int shift = 24; shift >= 0; shift -= 8)
    sums += (reinterpret_cast<Signed>(x << shift) >> 24) * (reinterpret_cast<Signed>(w << shift) >> 24);
  return sums;
#endif
}
#endif

// sums[i] += the two products of the bfloat16 numbers in the words x[i] and w[i].
TRANSMUTE_INLINE Floats add_dots(Floats sums, Words x, Words w) {
#if defined(__AVX512BF16__)
  return add_bfloat16_dots(sums, reinterpret_cast<__m512i>(x), reinterpret_cast<__m512i>(w));
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
  return reinterpret_cast<Floats>(vbfdotq_f32(reinterpret_cast<float32x4_t>(sums), reinterpret_cast<bfloat16x8_t>(x),
                                              reinterpret_cast<bfloat16x8_t>(w)));
#else
  // A bfloat16 number is the upper half of a float32.
  constexpr uint32_t kUpper = 0xffff0000U;
  sums += reinterpret_cast<Floats>(x << 16) * reinterpret_cast<Floats>(w << 16);
  return sums + reinterpret_cast<Floats>(x & kUpper) * reinterpret_cast<Floats>(w & kUpper);
#endif
}

constexpr int kNarrowVectors = kTileOutputs / kLanes < 2 ? 2 : kTileOutputs / kLanes;
constexpr int kNarrowRows = kNarrowSums / kNarrowVectors;
static_assert(kTileRows % kNarrowRows == 0);

TRANSMUTE_INLINE Words load_words(const void* from) {
  Words words;
  __builtin_memcpy(&words, from, sizeof(words));
  return words;
}

// kRows rows of a block of 16 times the outputs from `column` on. Sums: Signed for int8, Floats for bfloat16.
// value_of(sums, row, column) is what the sums are worth.
template <class Sums, int kRows, class ValueOf>
TRANSMUTE_INLINE void narrow_tile(const uint8_t* x, const uint8_t* weight, int64_t steps, int64_t row, int64_t column,
                                  const ProductOutput& out, const ValueOf& value_of) {
  constexpr int kInPanel = kTileOutputs / kLanes, kVectors = kNarrowVectors;
  Sums sums[kRows][kVectors] = {};
  const uint8_t* w = weight + column / kTileOutputs * steps * kTileBytes + column % kTileOutputs * 4;
  const int64_t panel = steps * kTileBytes;
  // The first rows prefetch the weights of the next tile.
  const uint8_t* next = row == 0 ? w + (kVectors * kLanes + kTileOutputs - 1) / kTileOutputs * panel : w;
  for (int64_t step = 0; step < steps; ++step, x += kTileBytes, w += kTileBytes, next += kTileBytes)
    for (int64_t group = 0; group < kTileRows; ++group) {
      Words values[kVectors];
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        const int64_t at = group * kStepBytes + v / kInPanel * panel + v % kInPanel * kLanes * 4;
        if (v % kInPanel == 0) __builtin_prefetch(next + at);
        values[v] = load_words(w + at);
      }
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        uint32_t numbers;
        __builtin_memcpy(&numbers, x + r * kStepBytes + group * 4, sizeof(numbers));
        const Words inputs = numbers - Words{};
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) sums[r][v] = add_dots(sums[r][v], inputs, values[v]);
      }
    }
  finish_tile<kRows, kVectors>(
      row, column, out, [&](int r, int v) __attribute__((always_inline)) {
        return value_of(sums[r][v], row + r, column + v * kLanes);
      });
}

template <class Sums, class ValueOf>
TRANSMUTE_INLINE void narrow_product(const void* x, int64_t rows, const void* weight, int64_t steps,
                                     const ProductOutput& out, const ValueOf& value_of) {
  const auto* weights = static_cast<const uint8_t*>(weight);
  for (int64_t column = 0; column < out.outputs; column += kNarrowVectors * kLanes)
    for (int64_t row = 0; row < rows; row += kNarrowRows) {
      const uint8_t* from =
          static_cast<const uint8_t*>(x) + row / kTileRows * steps * kTileBytes + row % kTileRows * kStepBytes;
      with_constant<kNarrowRows>(rows - row, [&](auto count) {
        narrow_tile<Sums, decltype(count)::value>(from, weights, steps, row, column, out, value_of);
      });
    }
}

void multiply_bfloat16(const uint16_t* x, int64_t rows, const uint16_t* weight, int64_t steps,
                       const ProductOutput& out) {
  narrow_product<Floats>(
      x, rows, weight, steps, out, [](Floats sums, int64_t, int64_t) __attribute__((always_inline)) { return sums; });
}

void multiply_int8(const int8_t* x, int64_t rows, const int8_t* weight, int64_t steps, const ProductOutput& out,
                   const Int8Scales& scales) {
  narrow_product<Signed>(
      x, rows, weight, steps, out, [&](Signed sums, int64_t row, int64_t column) __attribute__((always_inline)) {
        if (kInt8Offset != 0) sums -= reinterpret_cast<Signed>(load_words(scales.column_sums + column));
        return __builtin_convertvector(sums, Floats) * scales.rows[row] * load(scales.columns + column);
      });
}

}  // namespace

const ProductKernels ProductKernels::TRANSMUTE_SIMD = {multiply_float32, multiply_bfloat16, multiply_int8, kInt8Offset};

}  // namespace inference
}  // namespace v0
}  // namespace transmute

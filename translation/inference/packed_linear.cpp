#include <transmute/model/kernels/avx512.h>
#include <transmute/model/kernels/vector_math.h>
#include <transmute/translation/inference/packed_linear.h>
#include <transmute/translation/inference/product_kernels.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace inference {

namespace {

int64_t blocks_of(int64_t count, int64_t size) {
  return (count + size - 1) / size;
}

template <class Number>
int64_t count(const std::vector<Rows<Number>>& matrix) {
  int64_t sum = 0;
  for (const Rows<Number>& rows : matrix) sum += rows.count;
  return sum;
}

// Where each row begins.
template <class Number>
std::vector<const Number*> rows_of(const std::vector<Rows<Number>>& matrix, int64_t width) {
  std::vector<const Number*> rows;
  for (const Rows<Number>& part : matrix)
    for (int64_t row = 0; row < part.count; ++row) rows.push_back(part.data + row * width);
  return rows;
}

constexpr int64_t kBlock = 16;

// to[column][row] = from[row][column], 16 x 16 at a time: so many lines fit the first-level cache, whatever the stride.
TRANSMUTE_INLINE void transpose(const float* from, int64_t rows, int64_t columns, int64_t from_stride, float* to,
                                int64_t to_stride) {
  const auto turn = [&](int64_t first_row, int64_t row_count, int64_t first_column, int64_t column_count) {
    const float* source = from + first_row * from_stride + first_column;
    float* target = to + first_column * to_stride + first_row;
    for (int64_t c = 0; c < column_count; ++c)
      for (int64_t r = 0; r < row_count; ++r) target[c * to_stride + r] = source[r * from_stride + c];
  };
  for (int64_t column = 0; column < columns; column += kBlock)
    for (int64_t row = 0; row < rows; row += kBlock) {
      if (row + kBlock <= rows && column + kBlock <= columns) {
        turn(row, kBlock, column, kBlock);
      } else {
        turn(row, std::min(kBlock, rows - row), column, std::min(kBlock, columns - column));
      }
    }
}

// The largest magnitude: in lanes, for the compiler to make vectors of.
TRANSMUTE_INLINE float largest_magnitude(const float* x, int64_t count) {
  constexpr int64_t kLanes = 32;
  float lanes[kLanes] = {};
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const float magnitude = std::fabs(x[i + lane]);
      lanes[lane] = magnitude > lanes[lane] ? magnitude : lanes[lane];
    }
  for (int64_t i = whole; i < count; ++i) lanes[0] = std::max(lanes[0], std::fabs(x[i]));
  return *std::max_element(lanes, lanes + kLanes);
}

// Rounds |x| <= 2^22 to the nearest integer, ties to even: adding 1.5 · 2^23 leaves it in the low bits.
TRANSMUTE_INLINE int32_t round_to_int(float x) {
  const float shifted = x + 12582912.0F;
  int32_t bits;
  std::memcpy(&bits, &shifted, sizeof(bits));
  return bits - 0x4b400000;
}

// One row into its tiles, 64 numbers each 1 KB apart. Returns the scale.
TRANSMUTE_INLINE float quantize_row(const float* x, int64_t inputs, int64_t steps, int32_t offset, int8_t* to) {
  const float largest = largest_magnitude(x, inputs);
  const float inverse = largest > 0 ? 127.0F / largest : 0.0F;
  const int64_t whole = inputs / kStepBytes;
  for (int64_t step = 0; step < whole; ++step)
    for (int64_t i = 0; i < kStepBytes; ++i)
      to[step * kTileBytes + i] = static_cast<int8_t>(round_to_int(x[step * kStepBytes + i] * inverse) + offset);
  if (whole < steps) {
    std::memset(to + whole * kTileBytes, 0, kStepBytes);
    for (int64_t i = whole * kStepBytes; i < inputs; ++i)
      to[whole * kTileBytes + i - whole * kStepBytes] = static_cast<int8_t>(round_to_int(x[i] * inverse) + offset);
  }
  return largest / 127.0F;
}

TRANSMUTE_INLINE void round_row(const float* x, int64_t inputs, int64_t steps, uint16_t* to) {
  constexpr int64_t kPerStep = kStepBytes / 2;
  constexpr int64_t kTile = kTileBytes / 2;
  const int64_t whole = inputs / kPerStep;
  for (int64_t step = 0; step < whole; ++step)
    for (int64_t i = 0; i < kPerStep; ++i) to[step * kTile + i] = kernels::float_to_bfloat16(x[step * kPerStep + i]);
  if (whole == steps) return;
  std::memset(to + whole * kTile, 0, kStepBytes);
  for (int64_t i = whole * kPerStep; i < inputs; ++i)
    to[whole * kTile + i - whole * kPerStep] = kernels::float_to_bfloat16(x[i]);
}

// The same of what is int8 already.
void copy_row(const int8_t* x, int64_t inputs, int64_t steps, int8_t* to) {
  for (int64_t step = 0; step < steps; ++step, x += kStepBytes, to += kTileBytes) {
    const int64_t count = std::min(kStepBytes, inputs - step * kStepBytes);
    std::memcpy(to, x, static_cast<size_t>(count));
    std::memset(to + count, 0, static_cast<size_t>(kStepBytes - count));
  }
}

// Of a row that lies in its tiles.
TRANSMUTE_INLINE int32_t sum_of_row(const int8_t* row, int64_t steps) {
  int32_t sum = 0;
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t i = 0; i < kStepBytes; ++i) sum += row[step * kTileBytes + i];
  return sum;
}

// Each of these in the instructions at hand.
struct Converters {
  void (*transpose)(const float*, int64_t, int64_t, int64_t, float*, int64_t);
  float (*quantize_row)(const float*, int64_t, int64_t, int32_t, int8_t*);
  void (*round_row)(const float*, int64_t, int64_t, uint16_t*);
  int32_t (*sum_of_row)(const int8_t*, int64_t);
};
void transpose_baseline(const float* from, int64_t rows, int64_t columns, int64_t from_stride, float* to,
                        int64_t to_stride) {
  transpose(from, rows, columns, from_stride, to, to_stride);
}
float quantize_row_baseline(const float* x, int64_t inputs, int64_t steps, int32_t offset, int8_t* to) {
  return quantize_row(x, inputs, steps, offset, to);
}
void round_row_baseline(const float* x, int64_t inputs, int64_t steps, uint16_t* to) {
  round_row(x, inputs, steps, to);
}
int32_t sum_of_row_baseline(const int8_t* row, int64_t steps) {
  return sum_of_row(row, steps);
}
TRANSMUTE_TARGET_AVX2 void transpose_avx2(const float* from, int64_t rows, int64_t columns, int64_t from_stride,
                                          float* to, int64_t to_stride) {
  transpose(from, rows, columns, from_stride, to, to_stride);
}
TRANSMUTE_TARGET_AVX2 float quantize_row_avx2(const float* x, int64_t inputs, int64_t steps, int32_t offset,
                                              int8_t* to) {
  return quantize_row(x, inputs, steps, offset, to);
}
TRANSMUTE_TARGET_AVX2 void round_row_avx2(const float* x, int64_t inputs, int64_t steps, uint16_t* to) {
  round_row(x, inputs, steps, to);
}
TRANSMUTE_TARGET_AVX2 int32_t sum_of_row_avx2(const int8_t* row, int64_t steps) {
  return sum_of_row(row, steps);
}
#if defined(__x86_64__)
using kernels::first_lanes;
constexpr int64_t kLanes = 16;

TRANSMUTE_TARGET_AVX512 void transpose_avx512(const float* from, int64_t rows, int64_t columns, int64_t from_stride,
                                              float* to, int64_t to_stride) {
  for (int64_t row = 0; row < rows; row += kBlock)
    for (int64_t column = 0; column < columns; column += kBlock) {
      const int64_t row_count = std::min(kBlock, rows - row);
      const int64_t column_count = std::min(kBlock, columns - column);
      const float* source = from + row * from_stride + column;
      float* target = to + column * to_stride + row;
      __m512i block[kBlock];
#pragma GCC unroll 16
      for (int i = 0; i < kBlock; ++i)
        block[i] = i < row_count ? _mm512_maskz_loadu_epi32(first_lanes(column_count), source + i * from_stride)
                                 : _mm512_setzero_si512();
      kernels::transpose_words(block);
#pragma GCC unroll 16
      for (int i = 0; i < kBlock; ++i)
        if (i < column_count) _mm512_mask_storeu_epi32(target + i * to_stride, first_lanes(row_count), block[i]);
    }
}

// By hand: compilers make several passes of the conversion to bytes.
TRANSMUTE_TARGET_AVX512 float quantize_row_avx512(const float* x, int64_t inputs, int64_t steps, int32_t offset,
                                                  int8_t* to) {
  __m512 largest_of[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
  int64_t i = 0;
  for (; i + 2 * kLanes <= inputs; i += 2 * kLanes) {
    largest_of[0] = _mm512_max_ps(largest_of[0], _mm512_abs_ps(_mm512_loadu_ps(x + i)));
    largest_of[1] = _mm512_max_ps(largest_of[1], _mm512_abs_ps(_mm512_loadu_ps(x + i + kLanes)));
  }
  for (; i < inputs; i += kLanes)
    largest_of[0] = _mm512_max_ps(largest_of[0], _mm512_abs_ps(_mm512_maskz_loadu_ps(first_lanes(inputs - i), x + i)));
  const float largest = _mm512_reduce_max_ps(_mm512_max_ps(largest_of[0], largest_of[1]));
  const __m512 inverse = _mm512_set1_ps(largest > 0 ? 127.0F / largest : 0.0F);
  const __m512i shift = _mm512_set1_epi8(static_cast<char>(offset));
  // A whole step at a time: a tile's load would wait for parts of a line that were written apart.
  for (int64_t step = 0; step < steps; ++step) {
    __m128i parts[4];
#pragma GCC unroll 4
    for (int64_t part = 0; part < 4; ++part) {
      const int64_t at = step * kStepBytes + part * kLanes;
      const __m512 values = _mm512_maskz_loadu_ps(first_lanes(inputs - at), x + at);
      parts[part] = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(values, inverse)));
    }
    __m512i bytes = _mm512_castsi128_si512(parts[0]);
    bytes = _mm512_inserti32x4(bytes, parts[1], 1);
    bytes = _mm512_inserti32x4(bytes, parts[2], 2);
    bytes = _mm512_inserti32x4(bytes, parts[3], 3);
    _mm512_store_si512(to + step * kTileBytes, _mm512_add_epi8(bytes, shift));
  }
  return largest / 127.0F;
}
#else
constexpr auto transpose_avx512 = transpose_baseline;
constexpr auto quantize_row_avx512 = quantize_row_baseline;
#endif
TRANSMUTE_TARGET_AVX512 void round_row_avx512(const float* x, int64_t inputs, int64_t steps, uint16_t* to) {
  round_row(x, inputs, steps, to);
}
TRANSMUTE_TARGET_AVX512 int32_t sum_of_row_avx512(const int8_t* row, int64_t steps) {
  return sum_of_row(row, steps);
}

Converters converters(Instructions instructions) {
  if (instructions >= Instructions::avx512)
    return {transpose_avx512, quantize_row_avx512, round_row_avx512, sum_of_row_avx512};
  if (instructions >= Instructions::avx2) return {transpose_avx2, quantize_row_avx2, round_row_avx2, sum_of_row_avx2};
  return {transpose_baseline, quantize_row_baseline, round_row_baseline, sum_of_row_baseline};
}

// How weights of every precision lie: [outputs/width][groups][width][group], a group of 4 bytes.
struct PackedLayout {
  int64_t width;
  int64_t group;
  int64_t groups;
};

// Outputs of a packed matrix as one of their own, filled up with zeros to a multiple of kPanel.
template <class T>
void select_columns(const T* from, const std::vector<int64_t>& outputs, PackedLayout layout, T* to) {
  constexpr size_t kGroupBytes = 4;
  const auto [width, group, groups] = layout;
  const auto count = static_cast<int64_t>(outputs.size());
  const int64_t padded = blocks_of(count, kPanel) * kPanel;
  std::vector<const T*> columns(static_cast<size_t>(width));
  for (int64_t first = 0; first < padded; first += width) {
    for (int64_t c = 0; c < width; ++c) {
      columns[static_cast<size_t>(c)] = nullptr;
      if (first + c >= count) continue;
      const int64_t output = outputs[static_cast<size_t>(first + c)];
      columns[static_cast<size_t>(c)] = from + (output / width * groups * width + output % width) * group;
    }
    for (int64_t g = 0; g < groups; ++g)
      for (int64_t c = 0; c < width; ++c, to += group) {
        const T* column = columns[static_cast<size_t>(c)];
        if (column != nullptr) {
          std::memcpy(to, column + g * width * group, kGroupBytes);
        } else {
          std::memset(to, 0, kGroupBytes);
        }
      }
  }
}

int64_t second_level_cache() {
  constexpr int64_t kLeast = 1 << 20;  // and where the system doesn't know
#if defined(_SC_LEVEL2_CACHE_SIZE)
  static const int64_t bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  return std::max(kLeast, bytes);
#else
  return kLeast;
#endif
}

ProductOutput from_row(ProductOutput out, int64_t row) {
  out.y += row * out.outputs;
  if (out.residual != nullptr) out.residual += row * out.outputs;
  return out;
}

}  // namespace

PackedLinear::PackedLinear(int64_t outputs, int64_t inputs, InferencePrecision precision, Instructions instructions)
    : outputs_(outputs), inputs_(inputs), precision_(precision), instructions_(instructions) {
  switch (precision) {
    case InferencePrecision::float32:
      float32_.mapped(padded_outputs() * inputs);
      break;
    case InferencePrecision::bfloat16:
      bfloat16_.mapped(narrow_size(kStepBytes / 2));
      break;
    case InferencePrecision::int8:
      int8_.mapped(narrow_size(kStepBytes));
      break;
    case InferencePrecision::half:
      throw std::invalid_argument("PackedLinear: half is for GPUs");
  }
}

PackedLinear::PackedLinear(const std::vector<Rows<float>>& weight, const float* bias, int64_t inputs,
                           InferencePrecision precision, Instructions instructions)
    : PackedLinear(count(weight), inputs, precision, instructions) {
  pack(weight, bias);
}

void PackedLinear::pack(const std::vector<Rows<float>>& weight, const float* bias) {
  pack_bias(bias);
  switch (precision_) {
    case InferencePrecision::float32:
      pack_float32(weight);
      break;
    case InferencePrecision::bfloat16:
      pack_bfloat16(weight);
      break;
    case InferencePrecision::int8:
      pack_int8(weight);
      break;
    case InferencePrecision::half:
      break;  // there is none
  }
}

void PackedLinear::pack(const std::vector<Rows<int8_t>>& weight, const float* scales, const float* bias) {
  pack_bias(bias);
  const std::vector<const int8_t*> rows = rows_of(weight, inputs_);
  pack_int8_rows([&](int64_t output, int64_t steps, int8_t* to) {
    copy_row(rows[static_cast<size_t>(output)], inputs_, steps, to);
    return scales[output];
  });
}

int64_t PackedLinear::padded_outputs() const {
  return blocks_of(outputs_, kPanel) * kPanel;
}

int64_t PackedLinear::narrow_size(int64_t per_step) const {
  return padded_outputs() * blocks_of(inputs_, per_step) * per_step;
}

void PackedLinear::pack_bias(const float* bias) {
  if (bias == nullptr) return;
  std::fill_n(bias_.at_least(padded_outputs()), padded_outputs(), 0.0F);
  std::copy_n(bias, outputs_, bias_.data());
}

void PackedLinear::select(const std::vector<int64_t>& outputs, PackedLinear& selection) const {
  PackedLinear& s = selection;
  s.outputs_ = static_cast<int64_t>(outputs.size());
  s.inputs_ = inputs_;
  s.precision_ = precision_;
  s.instructions_ = instructions_;
  const int64_t padded = s.padded_outputs();
  const auto select_each = [&](const auto& from, auto& to) {
    if (from.size() == 0) {
      to = {};
      return;
    }
    auto* next = std::fill_n(to.at_least(padded), padded, 0) - padded;
    for (const int64_t output : outputs) *next++ = from.data()[output];
  };
  select_each(bias_, s.bias_);
  select_each(column_scales_, s.column_scales_);
  select_each(column_sums_, s.column_sums_);
  switch (precision_) {
    case InferencePrecision::float32:
      select_columns(float32_.data(), outputs, {kPanel, 1, inputs_}, s.float32_.at_least(padded * inputs_));
      break;
    case InferencePrecision::bfloat16: {
      const int64_t steps = blocks_of(inputs_, kStepBytes / 2);
      select_columns(bfloat16_.data(), outputs, {kTileOutputs, 2, steps * kTileRows},
                     s.bfloat16_.at_least(s.narrow_size(kStepBytes / 2)));
      break;
    }
    case InferencePrecision::int8: {
      const int64_t steps = blocks_of(inputs_, kStepBytes);
      select_columns(int8_.data(), outputs, {kTileOutputs, 4, steps * kTileRows},
                     s.int8_.at_least(s.narrow_size(kStepBytes)));
      break;
    }
    case InferencePrecision::half:
      break;  // there is none
  }
}

void PackedLinear::pack_float32(const std::vector<Rows<float>>& weight) {
  const int64_t panels = blocks_of(outputs_, kPanel);
  const auto transpose = converters(instructions_).transpose;
  float* to = float32_.data();
  const int64_t whole = outputs_ / kPanel;
  std::fill_n(to + whole * inputs_ * kPanel, (panels - whole) * inputs_ * kPanel, 0.0F);
  int64_t output = 0;
  for (const Rows<float>& rows : weight)
    for (int64_t row = 0; row < rows.count;) {
      const int64_t column = output % kPanel;
      const int64_t count = std::min(kPanel - column, rows.count - row);
      transpose(rows.data + row * inputs_, count, inputs_, inputs_, to + (output - column) * inputs_ + column, kPanel);
      row += count;
      output += count;
    }
}

void PackedLinear::pack_bfloat16(const std::vector<Rows<float>>& weight) {
  constexpr int64_t kPerStep = kStepBytes / 2;
  const auto round_row = converters(instructions_).round_row;
  const std::vector<const float*> rows = rows_of(weight, inputs_);
  pack_narrow(bfloat16_, kPerStep, [&](int64_t output, int64_t steps, uint16_t* to) {
    round_row(rows[static_cast<size_t>(output)], inputs_, steps, to);
  });
}

void PackedLinear::pack_int8(const std::vector<Rows<float>>& weight) {
  const auto quantize_row = converters(instructions_).quantize_row;
  const std::vector<const float*> rows = rows_of(weight, inputs_);
  pack_int8_rows([&](int64_t output, int64_t steps, int8_t* to) {
    return quantize_row(rows[static_cast<size_t>(output)], inputs_, steps, 0, to);
  });
}

// convert_row gives the row's scale.
template <class ConvertRow>
void PackedLinear::pack_int8_rows(const ConvertRow& convert_row) {
  std::fill_n(column_scales_.at_least(padded_outputs()), padded_outputs(), 0.0F);
  std::fill_n(column_sums_.at_least(padded_outputs()), padded_outputs(), 0);
  const auto sum_of_row = converters(instructions_).sum_of_row;
  pack_narrow(int8_, kStepBytes, [&](int64_t output, int64_t steps, int8_t* to) {
    column_scales_.data()[output] = convert_row(output, steps, to);
    column_sums_.data()[output] = 128 * sum_of_row(to, steps);
  });
}

// Converts the rows of weights as those of activations are, 16 of them into their tiles, and turns each tile's words.
template <class Number, class ConvertRow>
void PackedLinear::pack_narrow(AlignedBuffer<Number>& packed, int64_t per_step, const ConvertRow& convert_row) {
  const int64_t steps = blocks_of(inputs_, per_step);
  const int64_t padded = padded_outputs();
  const int64_t panel_size = kTileOutputs * steps * per_step;
  const auto transpose = converters(instructions_).transpose;
  Number* panel = packed.data();
  for (int64_t first = 0; first < padded; first += kTileOutputs, panel += panel_size) {
    if (first + kTileOutputs > outputs_) std::fill_n(panel, panel_size, Number{0});
    const int64_t count = std::min(kTileOutputs, outputs_ - first);
    for (int64_t row = 0; row < count; ++row) convert_row(first + row, steps, panel + row * per_step);
    for (int64_t step = 0; step < steps; ++step) {
      constexpr int64_t kWords = kStepBytes / sizeof(float);
      float rows[kTileOutputs * kWords], columns[kTileOutputs * kWords];  // whatever the bits mean
      Number* tile = panel + step * kTileOutputs * per_step;
      std::memcpy(rows, tile, kTileBytes);
      transpose(rows, kTileOutputs, kWords, kWords, columns, kTileOutputs);
      std::memcpy(tile, columns, kTileBytes);
    }
  }
}

void PackedLinear::apply(const float* x, int64_t rows, float* y, const Epilogue& epilogue,
                         ProductScratch& scratch) const {
  if (rows == 0) return;
  if (precision_ == InferencePrecision::float32) {
    apply_float32(x, rows, y, epilogue, scratch);
  } else {
    apply_narrow(x, rows, y, epilogue, scratch);
  }
}

void PackedLinear::apply_float32(const float* x, int64_t rows, float* y, const Epilogue& epilogue,
                                 ProductScratch& scratch) const {
  const ProductKernels products = product_kernels(instructions_);
  const auto transpose = converters(instructions_).transpose;
  const ProductOutput out{y, bias_.data(), epilogue.residual, epilogue.relu, outputs_};
  // A panel of weights is multiplied by all the rows that half of the second-level cache holds. Parts and blocks of
  // about equal size: the last one should not be left with a row or two.
  const int64_t fitting = std::max(kRowBlock, second_level_cache() / 2 / (inputs_ * 4));
  const int64_t most = blocks_of(rows, blocks_of(rows, fitting));
  const int64_t panels = blocks_of(outputs_, kPanel);
  for (int64_t first = 0; first < rows; first += most) {
    const int64_t count = std::min(most, rows - first);
    const int64_t blocks = blocks_of(count, kRowBlock);
    const auto begin_of = [&](int64_t b) { return first + count * b / blocks; };
    const float* packed = x + first * inputs_;
    if (count > 1) {
      float* to = scratch.float32.at_least(count * inputs_);
      packed = to;
      for (int64_t b = 0; b < blocks; ++b) {
        const int64_t begin = begin_of(b);
        const int64_t block_rows = begin_of(b + 1) - begin;
        transpose(x + begin * inputs_, block_rows, inputs_, inputs_, to + (begin - first) * inputs_, block_rows);
      }
    }
    // A block alone goes through all panels at once: where rows are few, the kernel takes several at a time.
    const int64_t at_once = blocks == 1 ? panels : 1;
    for (int64_t panel = 0; panel < panels; panel += at_once)
      for (int64_t b = 0; b < blocks; ++b) {
        const int64_t begin = begin_of(b);
        // This block's share of the next panel.
        const float* next = panel + at_once < panels && b < kPanel / kFetchedPerInput
                                ? float32_.data() + ((panel + 1) * kPanel + b * kFetchedPerInput) * inputs_
                                : nullptr;
        products.float32_block(packed + (begin - first) * inputs_, begin_of(b + 1) - begin, float32_.data(), inputs_,
                               {panel, panel + at_once}, next, from_row(out, begin));
      }
  }
}

void PackedLinear::apply_narrow(const float* x, int64_t rows, float* y, const Epilogue& epilogue,
                                ProductScratch& scratch) const {
  const bool is_int8 = precision_ == InferencePrecision::int8;
  const int64_t per_step = is_int8 ? kStepBytes : kStepBytes / 2;
  const int64_t steps = blocks_of(inputs_, per_step);
  // As for float32, so many rows that the second-level cache holds them and what becomes of them: results are written
  // 32 outputs wide, and lines that have left the cache in between cost more than reading the weights once more.
  constexpr int64_t kCachedBytes = 1 << 20;
  const int64_t fitting = kCachedBytes / (steps * kStepBytes + outputs_ * 4) / 32 * 32;
  const int64_t most = std::min<int64_t>(256, std::max<int64_t>(64, fitting));
  const ProductOutput whole{y, bias_.data(), epilogue.residual, epilogue.relu, outputs_};
  const Converters convert = converters(instructions_);
  const ProductKernels products = product_kernels(instructions_);
  for (int64_t first = 0; first < rows; first += most) {
    const int64_t count = std::min(most, rows - first);
    const ProductOutput out = from_row(whole, first);
    const int64_t size = blocks_of(count, kTileRows) * steps * kTileRows * per_step;
    const auto at = [&](int64_t row) {
      return row / kTileRows * steps * kTileRows * per_step + row % kTileRows * per_step;
    };
    if (!is_int8) {
      uint16_t* packed = scratch.bfloat16.at_least(size);
      for (int64_t row = 0; row < count; ++row)
        convert.round_row(x + (first + row) * inputs_, inputs_, steps, packed + at(row));
      products.bfloat16_product(packed, count, bfloat16_.data(), steps, out);
      continue;
    }
    int8_t* packed = scratch.int8.at_least(size);
    float* row_scales = scratch.row_scales.at_least(count);
    for (int64_t row = 0; row < count; ++row)
      row_scales[row] =
          convert.quantize_row(x + (first + row) * inputs_, inputs_, steps, products.int8_offset, packed + at(row));
    const Int8Scales scales{row_scales, column_scales_.data(), column_sums_.data()};
    products.int8_product(packed, count, int8_.data(), steps, out, scales);
  }
}

}  // namespace inference
}  // namespace v0
}  // namespace transmute

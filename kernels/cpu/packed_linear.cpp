// SPDX-License-Identifier: Apache-2.0
#include <transmute/kernels/cpu/packed_linear.h>
#include <transmute/kernels/cpu/product_kernels.h>
#include <transmute/kernels/cpu/row_converters.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

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

// The address of each row.
template <class Number>
std::vector<const Number*> rows_of(const std::vector<Rows<Number>>& matrix, int64_t width) {
  std::vector<const Number*> rows;
  for (const Rows<Number>& part : matrix)
    for (int64_t row = 0; row < part.count; ++row) rows.push_back(part.data + row * width);
  return rows;
}

// The layout of weights of every precision: [outputs/width][groups][width][group], a group of 4 bytes.
struct PackedLayout {
  int64_t width;
  int64_t group;
  int64_t groups;
};

// Copies the given outputs of a packed matrix into a smaller packed matrix, padded with zeros to a multiple of kPanel.
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

// Lays out a row that is already int8, as quantize_row does for float32.
void copy_row(const int8_t* x, int64_t inputs, int64_t steps, int8_t* to) {
  for (int64_t step = 0; step < steps; ++step, x += kStepBytes, to += kTileBytes) {
    const int64_t count = std::min(kStepBytes, inputs - step * kStepBytes);
    std::memcpy(to, x, static_cast<size_t>(count));
    std::memset(to + count, 0, static_cast<size_t>(kStepBytes - count));
  }
}

ProductKernels product_kernels(kernels::Simd simd) {
#if defined(__x86_64__)
  if (simd == kernels::Simd::amx)
    return {ProductKernels::avx512.float32_block, bfloat16_product_amx, int8_product_amx, 0};
  if (simd == kernels::Simd::avx512_vnni) return ProductKernels::avx512_vnni;
  if (simd == kernels::Simd::avx2_vnni) return ProductKernels::avx2_vnni;
#elif defined(__aarch64__)
  if (simd == kernels::Simd::neon_bf16) return ProductKernels::neon_bf16;
  if (simd == kernels::Simd::neon_dotprod) return ProductKernels::neon_dotprod;
#endif
  return kernels::kernels_for<ProductKernels>(simd);
}

ProductOutput from_row(ProductOutput out, int64_t row) {
  out.y += row * out.outputs;
  if (out.residual != nullptr) out.residual += row * out.outputs;
  return out;
}

}  // namespace

PackedLinear::PackedLinear(int64_t outputs, int64_t inputs, Precision precision)
    : outputs_(outputs), inputs_(inputs), precision_(precision) {
  switch (precision) {
    case Precision::float32:
      float32_.mapped(padded_outputs() * inputs);
      break;
    case Precision::bfloat16:
      bfloat16_.mapped(narrow_size(kStepBytes / 2));
      break;
    case Precision::int8:
      int8_.mapped(narrow_size(kStepBytes));
      break;
    case Precision::half:
      throw std::invalid_argument("PackedLinear: half is for GPUs");
  }
}

PackedLinear::PackedLinear(const std::vector<Rows<float>>& weight, const float* bias, int64_t inputs,
                           Precision precision)
    : PackedLinear(count(weight), inputs, precision) {
  pack(weight, bias);
}

void PackedLinear::pack(const std::vector<Rows<float>>& weight, const float* bias) {
  pack_bias(bias);
  switch (precision_) {
    case Precision::float32:
      pack_float32(weight);
      break;
    case Precision::bfloat16:
      pack_bfloat16(weight);
      break;
    case Precision::int8:
      pack_int8(weight);
      break;
    case Precision::half:
      break;  // PackedLinear has no such precision
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

void PackedLinear::pack(Array panels, const float* scales, const float* bias) {
  pack_bias(bias);
  int8_ = {};
  panels_ = std::move(panels);
  const int64_t padded = padded_outputs(), steps = blocks_of(inputs_, kStepBytes);
  std::fill_n(column_scales_.at_least(padded), padded, 0.0F);
  std::copy_n(scales, outputs_, column_scales_.data());
  // A product with a row of ones gives the sums of the columns, exactly, because it adds integers. The ones are stored
  // without the offset of activations, and a column_sums_ of 0 takes nothing off.
  std::fill_n(column_sums_.at_least(padded), padded, 0);
  const std::vector<int8_t> ones(static_cast<size_t>(steps * kTileBytes), 1);
  const std::vector<float> units(static_cast<size_t>(padded), 1.0F);
  std::vector<float> sums(static_cast<size_t>(padded));
  const Int8Scales exact{units.data(), units.data(), column_sums_.data()};
  product_kernels(simd_).int8_product(ones.data(), 1, int8_data(), steps,
                                      {sums.data(), nullptr, nullptr, false, padded}, exact);
  for (int64_t output = 0; output < outputs_; ++output)
    column_sums_.data()[output] = 128 * static_cast<int32_t>(sums[static_cast<size_t>(output)]);
}

int64_t PackedLinear::padded_outputs() const {
  return blocks_of(outputs_, kPanel) * kPanel;
}

int64_t PackedLinear::narrow_step() const {
  return precision_ == Precision::int8 ? kStepBytes : kStepBytes / 2;
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
  s.simd_ = simd_;
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
    case Precision::float32:
      select_columns(float32_.data(), outputs, {kPanel, 1, inputs_}, s.float32_.at_least(padded * inputs_));
      break;
    case Precision::bfloat16: {
      const int64_t steps = blocks_of(inputs_, kStepBytes / 2);
      select_columns(bfloat16_.data(), outputs, {kTileOutputs, 2, steps * kTileRows},
                     s.bfloat16_.at_least(s.narrow_size(kStepBytes / 2)));
      break;
    }
    case Precision::int8: {
      const int64_t steps = blocks_of(inputs_, kStepBytes);
      s.panels_ = {};
      select_columns(int8_data(), outputs, {kTileOutputs, 4, steps * kTileRows},
                     s.int8_.at_least(s.narrow_size(kStepBytes)));
      break;
    }
    case Precision::half:
      break;  // PackedLinear has no such precision
  }
}

void PackedLinear::pack_float32(const std::vector<Rows<float>>& weight) {
  const int64_t panels = blocks_of(outputs_, kPanel);
  const auto transpose = kernels::kernels_for<RowConverters>(simd_).transpose;
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
  const auto round_row = kernels::kernels_for<RowConverters>(simd_).round_row;
  const std::vector<const float*> rows = rows_of(weight, inputs_);
  pack_narrow(bfloat16_, kPerStep, [&](int64_t output, int64_t steps, uint16_t* to) {
    round_row(rows[static_cast<size_t>(output)], inputs_, steps, to);
  });
}

void PackedLinear::pack_int8(const std::vector<Rows<float>>& weight) {
  const auto quantize_row = kernels::kernels_for<RowConverters>(simd_).quantize_row;
  const std::vector<const float*> rows = rows_of(weight, inputs_);
  pack_int8_rows([&](int64_t output, int64_t steps, int8_t* to) {
    return quantize_row(rows[static_cast<size_t>(output)], inputs_, steps, 0, to);
  });
}

// convert_row returns the row's scale.
template <class ConvertRow>
void PackedLinear::pack_int8_rows(const ConvertRow& convert_row) {
  std::fill_n(column_scales_.at_least(padded_outputs()), padded_outputs(), 0.0F);
  std::fill_n(column_sums_.at_least(padded_outputs()), padded_outputs(), 0);
  const auto sum_of_row = kernels::kernels_for<RowConverters>(simd_).sum_of_row;
  pack_narrow(int8_, kStepBytes, [&](int64_t output, int64_t steps, int8_t* to) {
    column_scales_.data()[output] = convert_row(output, steps, to);
    column_sums_.data()[output] = 128 * sum_of_row(to, steps);
  });
}

// Converts the rows of the weights as those of activations are, 16 rows to a panel, and then transposes the
// 4-byte words of each tile.
template <class Number, class ConvertRow>
void PackedLinear::pack_narrow(AlignedBuffer<Number>& packed, int64_t per_step, const ConvertRow& convert_row) {
  const int64_t steps = blocks_of(inputs_, per_step);
  const int64_t padded = padded_outputs();
  const int64_t panel_size = kTileOutputs * steps * per_step;
  const auto transpose = kernels::kernels_for<RowConverters>(simd_).transpose;
  Number* panel = packed.data();
  for (int64_t first = 0; first < padded; first += kTileOutputs, panel += panel_size) {
    if (first + kTileOutputs > outputs_) std::fill_n(panel, panel_size, Number{0});
    const int64_t count = std::min(kTileOutputs, outputs_ - first);
    for (int64_t row = 0; row < count; ++row) convert_row(first + row, steps, panel + row * per_step);
    for (int64_t step = 0; step < steps; ++step) {
      constexpr int64_t kWords = kStepBytes / sizeof(float);
      float rows[kTileOutputs * kWords], columns[kTileOutputs * kWords];  // words of any kind
      Number* tile = panel + step * kTileOutputs * per_step;
      std::memcpy(rows, tile, kTileBytes);
      transpose(rows, kTileOutputs, kWords, kWords, columns, kTileOutputs);
      std::memcpy(tile, columns, kTileBytes);
    }
  }
}

int64_t PackedLinear::rows_at_a_time() const {
  // In float32, half of the second-level cache holds the rows.
  if (precision_ == Precision::float32) return std::max(kRowBlock, kernels::second_level_cache() / 2 / (inputs_ * 4));
  // Narrow rows fit the cache together with their results: these are written 32 outputs wide, and lines that have left
  // the cache in between cost more than reading the weights once more.
  constexpr int64_t kCachedBytes = 1 << 20;
  const int64_t row_bytes = blocks_of(inputs_, narrow_step()) * kStepBytes + outputs_ * 4;
  return std::min<int64_t>(256, std::max<int64_t>(64, kCachedBytes / row_bytes / 32 * 32));
}

void PackedLinear::apply(const float* x, int64_t rows, float* y, const Epilogue& epilogue,
                         ProductScratch& scratch) const {
  if (rows == 0) return;
  if (precision_ == Precision::float32) {
    apply_float32(x, rows, y, epilogue, scratch);
  } else {
    apply_narrow(x, rows, y, epilogue, scratch);
  }
}

void PackedLinear::apply_float32(const float* x, int64_t rows, float* y, const Epilogue& epilogue,
                                 ProductScratch& scratch) const {
  const ProductKernels products = product_kernels(simd_);
  const auto transpose = kernels::kernels_for<RowConverters>(simd_).transpose;
  const ProductOutput out{y, bias_.data(), epilogue.residual, epilogue.relu, outputs_};
  // Parts and blocks have about equal sizes, so that the last one is not left with a row or two.
  const int64_t most = blocks_of(rows, blocks_of(rows, rows_at_a_time()));
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
    // A single block goes through all panels at once: with few rows the kernel takes several panels at a time.
    const int64_t at_once = blocks == 1 ? panels : 1;
    for (int64_t panel = 0; panel < panels; panel += at_once)
      for (int64_t b = 0; b < blocks; ++b) {
        const int64_t begin = begin_of(b);
        // The share of the next panel that this block prefetches.
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
  const bool is_int8 = precision_ == Precision::int8;
  const int64_t per_step = narrow_step();
  const int64_t steps = blocks_of(inputs_, per_step);
  const int64_t most = rows_at_a_time();
  const ProductOutput whole{y, bias_.data(), epilogue.residual, epilogue.relu, outputs_};
  const RowConverters& convert = kernels::kernels_for<RowConverters>(simd_);
  const ProductKernels products = product_kernels(simd_);
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
    products.int8_product(packed, count, int8_data(), steps, out, scales);
  }
}

}  // namespace inference
}  // namespace v0
}  // namespace transmute

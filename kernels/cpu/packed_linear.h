// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/aligned_buffer.h>
#include <transmute/kernels/simd/simd.h>
#include <transmute/network/array.h>
#include <transmute/network/precision.h>

#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace inference {

/// The operations on a product before it is written: y = relu(x W^T + bias + residual), each of which may be left out.
struct Epilogue {
  const float* residual = nullptr;  ///< [rows,outputs]; may be the output itself
  bool relu = false;
};

/// Contiguous rows of a matrix. Lists of them stand for the matrix of all their rows.
template <class Number>
struct Rows {
  const Number* data;
  int64_t count;
};

/// Scratch for activations in a product's layout. Each thread needs its own.
struct ProductScratch {
  AlignedBuffer<float> float32;
  AlignedBuffer<uint16_t> bfloat16;
  AlignedBuffer<int8_t> int8;
  AlignedBuffer<float> row_scales;
};

/// A linear map whose weights lie as the product reads them, once and in order.
///
/// A row of the result is a function of that row of the input alone, bit for bit: every output is one sum over the
/// inputs in the same order, however many rows there are and wherever the row is.
///
/// int8: weights are scaled per output, activations per row, both symmetrically, by their largest magnitude; sums are
/// exact. bfloat16: weights and activations are rounded, sums are float32.
class PackedLinear {
 public:
  PackedLinear() = default;
  /// Allocates memory for the weights, which pack() fills. Maps constructed before any of them is filled get huge
  /// pages.
  PackedLinear(int64_t outputs, int64_t inputs, Precision precision);

  /// weight: [outputs,inputs]; bias: [outputs] or null. Both are copied.
  void pack(const std::vector<Rows<float>>& weight, const float* bias);
  /// The same for weights that are already int8, each worth its number times its output's scale. All are copied.
  void pack(const std::vector<Rows<int8_t>>& weight, const float* scales, const float* bias);
  /// The same for int8 weights in panels (int8_panels.h) that begin at a cache line; they are used in place, not
  /// copied.
  void pack(Array panels, const float* scales, const float* bias);

  /// Constructs and packs.
  PackedLinear(const std::vector<Rows<float>>& weight, const float* bias, int64_t inputs, Precision precision);

  /// Makes `selection` the map to the given outputs alone, in the given order. Each output is the same number, bit for
  /// bit, as here. Memory that `selection` has is used again.
  void select(const std::vector<int64_t>& outputs, PackedLinear& selection) const;

  /// x: [rows,inputs], y: [rows,outputs].
  void apply(const float* x, int64_t rows, float* y, const Epilogue& epilogue, ProductScratch& scratch) const;

  int64_t outputs() const { return outputs_; }
  /// The number of rows that apply() multiplies in one pass over the weights; it splits longer inputs.
  int64_t rows_at_a_time() const;

 private:
  void pack_float32(const std::vector<Rows<float>>& weight);
  void pack_bfloat16(const std::vector<Rows<float>>& weight);
  void pack_int8(const std::vector<Rows<float>>& weight);
  template <class ConvertRow>
  void pack_int8_rows(const ConvertRow& convert_row);
  void pack_bias(const float* bias);
  const int8_t* int8_data() const { return panels_.defined() ? panels_.int8s() : int8_.data(); }
  int64_t padded_outputs() const;
  int64_t narrow_step() const;                  // numbers in a step
  int64_t narrow_size(int64_t per_step) const;  // numbers in bfloat16_ or int8_
  template <class Number, class ConvertRow>
  void pack_narrow(AlignedBuffer<Number>& packed, int64_t per_step, const ConvertRow& convert_row);
  void apply_float32(const float* x, int64_t rows, float* y, const Epilogue& epilogue, ProductScratch& scratch) const;
  void apply_narrow(const float* x, int64_t rows, float* y, const Epilogue& epilogue, ProductScratch& scratch) const;

  int64_t outputs_ = 0;
  int64_t inputs_ = 0;
  Precision precision_ = Precision::float32;
  kernels::Simd simd_ = kernels::active_simd();  // when the weights were packed
  AlignedBuffer<float> float32_;
  AlignedBuffer<uint16_t> bfloat16_;
  AlignedBuffer<int8_t> int8_;
  Array panels_;                        // int8: in place of int8_
  AlignedBuffer<float> bias_;           // padded like the outputs; empty if there is none
  AlignedBuffer<float> column_scales_;  // int8
  AlignedBuffer<int32_t> column_sums_;  // int8: 128 times the sum of a column's weights
};

}  // namespace inference
}  // namespace v0
}  // namespace transmute

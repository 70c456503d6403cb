// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The types of numbers that files of weights hold.
enum class NumberType { float32, float64, bfloat16, float16, int64, int32, int16, int8, uint8, boolean };

/// Size of a number in bytes.
TRANSMUTE_API size_t size_of(NumberType type);

/// "float32", "int8" and so on, for messages.
TRANSMUTE_API const char* name_of(NumberType type);

/// True for floating-point types.
TRANSMUTE_API bool is_real(NumberType type);

/// Numbers in memory, contiguous in row-major order. Copies share the memory, as those of a torch::Tensor do. An Array
/// made without arguments is undefined: it has no memory.
class TRANSMUTE_API Array {
 public:
  Array() = default;
  /// Numbers that are not yet set; an empty shape is that of a single number.
  /// @throws std::invalid_argument for a negative size, std::bad_alloc if there is too little memory
  explicit Array(std::vector<int64_t> shape, NumberType type = NumberType::float32);
  /// Numbers in memory that belongs to others; `memory` keeps it alive and points to the first number.
  Array(std::vector<int64_t> shape, NumberType type, std::shared_ptr<void> memory);
  /// float32 zeros.
  static Array zeros(std::vector<int64_t> shape);
  /// float32 numbers, whose count must fit the shape.
  static Array of(std::vector<int64_t> shape, const std::vector<float>& numbers);

  bool defined() const { return memory_ != nullptr; }
  NumberType type() const { return type_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t dimensions() const { return static_cast<int64_t>(shape_.size()); }
  int64_t size(size_t dimension) const { return shape_.at(dimension); }
  int64_t count() const { return count_; }  ///< of all numbers
  size_t bytes() const { return static_cast<size_t>(count_) * size_of(type_); }

  const std::shared_ptr<void>& memory() const { return memory_; }
  void* data() { return memory_.get(); }
  const void* data() const { return memory_.get(); }
  /// @throws std::logic_error if the type is not float32
  float* floats();
  const float* floats() const;
  int8_t* int8s();  ///< likewise
  const int8_t* int8s() const;

  /// The numbers in float32: the array itself if it has that type, else a converted copy. Integers are converted too.
  Array to_float32() const;
  /// The same numbers in another shape.
  Array reshaped(std::vector<int64_t> shape) const;
  /// Rows begin … begin+count-1 of the first dimension, in the same memory.
  /// @throws std::out_of_range if there are no such rows
  Array rows(int64_t begin, int64_t count) const;
  /// A copy of the rows with these numbers, in their order.
  /// @throws std::out_of_range likewise
  Array gathered(const std::vector<int64_t>& rows) const;
  /// A copy of a matrix [R,C] as [C,R].
  Array transposed() const;
  Array copy() const;
  /// Arrays joined along their first dimension. All have one type, and their other dimensions are equal.
  static Array joined(const std::vector<Array>& parts);
  /// True if type, shape and all bytes are equal.
  bool equals(const Array& other) const;
  /// "[2,3]", for messages.
  std::string shape_text() const;

 private:
  size_t row_bytes() const;

  std::vector<int64_t> shape_;
  NumberType type_ = NumberType::float32;
  int64_t count_ = 0;
  std::shared_ptr<void> memory_;
};

/// Named arrays in a file's order.
using NamedArrays = std::vector<std::pair<std::string, Array>>;

/// "[2,3]".
TRANSMUTE_API std::string shape_text(const std::vector<int64_t>& shape);

/// True if all numbers are finite as float32, in which weights are computed. Integers always are.
TRANSMUTE_API bool all_finite(const void* numbers, size_t count, NumberType type);

/// The nearest numbers of `type`, which is float32, bfloat16 or float16.
TRANSMUTE_API Array rounded(const Array& numbers, NumberType type);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/network/array.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/memory.h>
#include <transmute/kernels/simd/vector_math.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

int64_t count_of(const std::vector<int64_t>& shape, NumberType type) {
  auto bytes = static_cast<int64_t>(size_of(type));
  int64_t count = 1;
  bool fits = true;
  for (const int64_t size : shape) {
    if (size < 0) throw std::invalid_argument("an array cannot have the shape " + shape_text(shape));
    // A size of 0 must not hide that the others overflow.
    fits = fits && !__builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes);
    count = fits ? count * size : 0;
  }
  if (!fits) throw std::bad_alloc();
  return count;
}

std::shared_ptr<void> new_memory(size_t bytes) {
  constexpr size_t kLine = 64;
  if (bytes >= kLargeBlock) return {map_memory(bytes), [bytes](void* block) { unmap_memory(block, bytes); }};
  void* block = std::aligned_alloc(kLine, std::max((bytes + kLine - 1) / kLine * kLine, kLine));
  if (block == nullptr) throw std::bad_alloc();
  return {block, std::free};
}

float of_bits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// The exponent's bias is 15 in half and 127 in float; subnormal numbers are multiples of 2^-24.
float widened_half(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000U} << 16;
  const uint32_t exponent = bits >> 10 & 0x1fU, fraction = bits & 0x3ffU;
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 0x1f ? 0xff : exponent + (127 - 15);
  return of_bits(sign | wide << 23 | fraction << 13);
}

// Every NaN stays one here, whatever its bits.
uint16_t rounded_bfloat16(float value) {
  return std::isnan(value) ? static_cast<uint16_t>(bits_of(value) >> 16 | 0x40U) : kernels::float_to_bfloat16(value);
}

uint16_t rounded_half(float value) {
  const uint32_t bits = bits_of(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000U);
  const float magnitude = std::abs(value);
  constexpr float kLeastNormal = 6.103515625e-05F, kOverflow = 65520.0F;
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00U);
  if (magnitude >= kOverflow) return static_cast<uint16_t>(sign | 0x7c00U);
  if (magnitude < kLeastNormal)  // std::nearbyint rounds ties to even
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, 24))));
  const uint32_t without_sign = bits & 0x7fffffffU;
  const uint32_t in_range = without_sign + 0xfffU + (without_sign >> 13 & 1U) - (uint32_t{127 - 15} << 23);
  return static_cast<uint16_t>(sign | in_range >> 13);
}

template <class From, class Convert>
void convert_all(const void* from, int64_t count, float* to, const Convert& convert) {
  const auto* numbers = static_cast<const From*>(from);
  for (int64_t i = 0; i < count; ++i) to[i] = convert(numbers[i]);
}

template <class From>
void cast_all(const void* from, int64_t count, float* to) {
  convert_all<From>(from, count, to, [](From number) { return static_cast<float>(number); });
}

// No branch, so that compilers vectorize it. Infinity and NaN have every bit of the exponent set; finite numbers do
// not.
template <class Bits>
bool none_has_all(Bits exponent, const void* numbers, size_t count) {
  const auto* bits = static_cast<const Bits*>(numbers);
  Bits any = 0;
  for (size_t i = 0; i < count; ++i) any = static_cast<Bits>(any | ((bits[i] & exponent) == exponent ? 1 : 0));
  return any == 0;
}

// Blocks that fit the cache, because one of the two sides is walked with a stride.
template <class Number>
void transpose(const void* source, void* target, int64_t rows, int64_t columns) {
  constexpr int64_t kBlock = 32;
  const auto* from = static_cast<const Number*>(source);
  auto* to = static_cast<Number*>(target);
  for (int64_t top = 0; top < rows; top += kBlock)
    for (int64_t left = 0; left < columns; left += kBlock)
      for (int64_t column = left; column < std::min(left + kBlock, columns); ++column)
        for (int64_t row = top; row < std::min(top + kBlock, rows); ++row)
          to[column * rows + row] = from[row * columns + column];
}

bool all_fit_float32(const double* numbers, size_t count) {
  bool all = true;
  for (size_t i = 0; i < count; ++i) all &= std::abs(numbers[i]) <= std::numeric_limits<float>::max();
  return all;
}

}  // namespace

size_t size_of(NumberType type) {
  switch (type) {
    case NumberType::float64:
    case NumberType::int64:
      return 8;
    case NumberType::float32:
    case NumberType::int32:
      return 4;
    case NumberType::bfloat16:
    case NumberType::float16:
    case NumberType::int16:
      return 2;
    default:
      return 1;
  }
}

const char* name_of(NumberType type) {
  switch (type) {
    case NumberType::float32:
      return "float32";
    case NumberType::float64:
      return "float64";
    case NumberType::bfloat16:
      return "bfloat16";
    case NumberType::float16:
      return "float16";
    case NumberType::int64:
      return "int64";
    case NumberType::int32:
      return "int32";
    case NumberType::int16:
      return "int16";
    case NumberType::int8:
      return "int8";
    case NumberType::uint8:
      return "uint8";
    default:
      return "bool";
  }
}

bool is_real(NumberType type) {
  return type == NumberType::float32 || type == NumberType::float64 || type == NumberType::bfloat16 ||
         type == NumberType::float16;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

Array::Array(std::vector<int64_t> shape, NumberType type)
    : shape_(std::move(shape)), type_(type), count_(count_of(shape_, type)), memory_(new_memory(bytes())) {}

Array::Array(std::vector<int64_t> shape, NumberType type, std::shared_ptr<void> memory)
    : shape_(std::move(shape)), type_(type), count_(count_of(shape_, type)), memory_(std::move(memory)) {}

Array Array::zeros(std::vector<int64_t> shape) {
  Array array(std::move(shape));
  std::fill_n(array.floats(), array.count(), 0.0F);
  return array;
}

Array Array::of(std::vector<int64_t> shape, const std::vector<float>& numbers) {
  Array array(std::move(shape));
  if (array.count() != static_cast<int64_t>(numbers.size()))
    throw std::invalid_argument("an array of the shape " + array.shape_text() + " does not have " +
                                std::to_string(numbers.size()) + " numbers");
  std::copy(numbers.begin(), numbers.end(), array.floats());
  return array;
}

float* Array::floats() {
  return const_cast<float*>(std::as_const(*this).floats());
}

const float* Array::floats() const {
  if (type_ != NumberType::float32)
    throw std::logic_error(std::string("an array of ") + name_of(type_) + " as float32");
  return static_cast<const float*>(data());
}

int8_t* Array::int8s() {
  return const_cast<int8_t*>(std::as_const(*this).int8s());
}

const int8_t* Array::int8s() const {
  if (type_ != NumberType::int8) throw std::logic_error(std::string("an array of ") + name_of(type_) + " as int8");
  return static_cast<const int8_t*>(data());
}

Array Array::to_float32() const {
  if (type_ == NumberType::float32) return *this;
  Array result(shape_);
  float* to = result.floats();
  switch (type_) {
    case NumberType::float64:
      cast_all<double>(data(), count_, to);
      break;
    case NumberType::bfloat16:
      convert_all<uint16_t>(data(), count_, to, kernels::bfloat16_to_float);
      break;
    case NumberType::float16:
      convert_all<uint16_t>(data(), count_, to, widened_half);
      break;
    case NumberType::int64:
      cast_all<int64_t>(data(), count_, to);
      break;
    case NumberType::int32:
      cast_all<int32_t>(data(), count_, to);
      break;
    case NumberType::int16:
      cast_all<int16_t>(data(), count_, to);
      break;
    case NumberType::int8:
      cast_all<int8_t>(data(), count_, to);
      break;
    default:
      cast_all<uint8_t>(data(), count_, to);
      break;
  }
  return result;
}

Array Array::reshaped(std::vector<int64_t> shape) const {
  Array result(std::move(shape), type_, memory_);
  if (result.count_ != count_)
    throw std::invalid_argument("numbers of the shape " + shape_text() + " do not fit " + result.shape_text());
  return result;
}

size_t Array::row_bytes() const {
  return shape_.front() == 0 ? 0 : bytes() / static_cast<size_t>(shape_.front());
}

Array Array::rows(int64_t begin, int64_t count) const {
  if (shape_.empty() || begin < 0 || count < 0 || begin > shape_.front() - count)
    throw std::out_of_range("an array of the shape " + shape_text() + " has no " + std::to_string(count) +
                            " rows from " + std::to_string(begin) + " on");
  std::vector<int64_t> shape = shape_;
  shape.front() = count;
  const std::shared_ptr<void> first(memory_,
                                    static_cast<char*>(memory_.get()) + static_cast<size_t>(begin) * row_bytes());
  return {std::move(shape), type_, first};
}

Array Array::gathered(const std::vector<int64_t>& rows) const {
  std::vector<int64_t> shape = shape_;
  shape.at(0) = static_cast<int64_t>(rows.size());
  Array result(std::move(shape), type_);
  const size_t bytes = row_bytes();
  const auto* from = static_cast<const char*>(data());
  auto* to = static_cast<char*>(result.data());
  for (const int64_t row : rows) {
    if (row < 0 || row >= shape_.front())
      throw std::out_of_range("an array of the shape " + shape_text() + " has no row " + std::to_string(row));
    std::memcpy(to, from + static_cast<size_t>(row) * bytes, bytes);
    to += bytes;
  }
  return result;
}

Array Array::transposed() const {
  if (dimensions() != 2) throw std::invalid_argument("an array of the shape " + shape_text() + " is no matrix");
  Array result({shape_[1], shape_[0]}, type_);
  const auto of_number = [&](auto number) { transpose<decltype(number)>(data(), result.data(), shape_[0], shape_[1]); };
  switch (size_of(type_)) {
    case 1:
      of_number(uint8_t{});
      break;
    case 2:
      of_number(uint16_t{});
      break;
    case 4:
      of_number(uint32_t{});
      break;
    default:
      of_number(uint64_t{});
      break;
  }
  return result;
}

Array Array::copy() const {
  Array result(shape_, type_);
  if (bytes() > 0) std::memcpy(result.data(), data(), bytes());
  return result;
}

Array Array::joined(const std::vector<Array>& parts) {
  std::vector<int64_t> shape = parts.at(0).shape();
  shape.at(0) = 0;
  for (const Array& part : parts) {
    shape.front() += part.size(0);
    if (part.type() != parts.front().type() || part.dimensions() != parts.front().dimensions() ||
        !std::equal(shape.begin() + 1, shape.end(), part.shape().begin() + 1))
      throw std::invalid_argument("arrays of the shapes " + parts.front().shape_text() + " and " + part.shape_text() +
                                  " cannot be joined");
  }
  Array result(std::move(shape), parts.front().type());
  auto* to = static_cast<char*>(result.data());
  for (const Array& part : parts) {
    if (part.bytes() > 0) std::memcpy(to, part.data(), part.bytes());
    to += part.bytes();
  }
  return result;
}

bool Array::equals(const Array& other) const {
  return type_ == other.type_ && shape_ == other.shape_ && defined() == other.defined() &&
         (bytes() == 0 || data() == other.data() || std::memcmp(data(), other.data(), bytes()) == 0);
}

std::string Array::shape_text() const {
  return v0::shape_text(shape_);
}

bool all_finite(const void* numbers, size_t count, NumberType type) {
  switch (type) {
    case NumberType::float32:
      return none_has_all<uint32_t>(0x7f800000, numbers, count);
    case NumberType::bfloat16:
      return none_has_all<uint16_t>(0x7f80, numbers, count);
    case NumberType::float16:
      return none_has_all<uint16_t>(0x7c00, numbers, count);
    case NumberType::float64:
      return all_fit_float32(static_cast<const double*>(numbers), count);
    default:
      return true;
  }
}

Array rounded(const Array& numbers, NumberType type) {
  Array from = numbers.to_float32();
  if (type == NumberType::float32) return from;
  if (type != NumberType::bfloat16 && type != NumberType::float16)
    throw std::invalid_argument(std::string("numbers cannot be rounded to ") + name_of(type));
  Array to(numbers.shape(), type);
  auto* bits = static_cast<uint16_t*>(to.data());
  const auto round = type == NumberType::bfloat16 ? rounded_bfloat16 : rounded_half;
  for (int64_t i = 0; i < from.count(); ++i) bits[i] = round(from.floats()[i]);
  return to;
}

}  // namespace v0
}  // namespace transmute

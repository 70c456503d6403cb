// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/marian_files.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/formats/foreign/file_cursor.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

constexpr const char* kBinaryKind = "binary model of Marian";
constexpr uint64_t kMostItems = 100'000;  // 1,000 layers have fewer
constexpr uint64_t kMostNameBytes = 4096;
constexpr uint64_t kMostShapeSizes = 4;

// The types of items that are read, by the numbers that the file uses.
enum ItemType : uint64_t { kText = 0x101, kFloat16 = 0x402, kFloat32 = 0x404, kIntgemm8 = 0x4101, kIntgemm16 = 0x4202 };

struct Item {
  std::string name;
  uint64_t type, name_bytes, dimensions, bytes;
  std::vector<int64_t> shape;
  uint64_t count = 1;  // of its numbers
};

uint64_t number_bytes(uint64_t type) {
  return type == kFloat32 ? 4 : type == kFloat16 || type == kIntgemm16 ? 2 : 1;
}

bool is_intgemm(const Item& item) {
  return item.type == kIntgemm8 || item.type == kIntgemm16;
}

// A text as the file has it, with zeros at its end.
std::string read_text(FileCursor& cursor, uint64_t bytes, const std::string& what) {
  std::string text = cursor.text(bytes, what);
  text.resize(std::min(text.size(), text.find('\0')));
  return text;
}

// Checked against the file before memory is taken for the data, which follow item by item.
std::vector<Item> read_items(FileCursor& cursor) {
  const uint64_t count = cursor.number(8);
  if (count > kMostItems) cursor.damaged(fmt::format("it has {} items", count));
  std::vector<Item> items;
  for (uint64_t i = 0; i < count; ++i) {
    Item item;
    for (uint64_t* field : {&item.name_bytes, &item.type, &item.dimensions, &item.bytes}) *field = cursor.number(8);
    if (item.name_bytes == 0 || item.name_bytes > kMostNameBytes || item.dimensions > kMostShapeSizes)
      cursor.damaged(
          fmt::format("item {} has a name of {} bytes and {} dimensions", i, item.name_bytes, item.dimensions));
    items.push_back(item);
  }
  std::set<std::string> names;
  for (Item& item : items) {
    item.name = read_text(cursor, item.name_bytes, "a name");
    if (!names.insert(item.name).second) cursor.damaged(fmt::format("it has '{}' twice", item.name));
  }
  for (Item& item : items)
    for (uint64_t d = 0; d < item.dimensions; ++d) {
      item.shape.push_back(static_cast<int64_t>(cursor.number(4)));
      if (__builtin_mul_overflow(item.count, static_cast<uint64_t>(item.shape.back()), &item.count))
        cursor.damaged(fmt::format("impossible shape of '{}'", item.name));
    }
  cursor.skip(cursor.number(8), "the space before the data");
  uint64_t left = cursor.bytes_left();
  for (const Item& item : items) {
    if (item.bytes > left) cursor.damaged(fmt::format("'{}' is cut short", item.name));
    left -= item.bytes;
  }
  return items;
}

// The divisor of 8- or 16-bit numbers, which follows them.
float read_multiplier(FileCursor& cursor, const Item& item) {
  float multiplier = 0;
  cursor.read(&multiplier, sizeof multiplier, "'" + item.name + "'");
  if (!std::isfinite(multiplier) || multiplier <= 0 || !std::isfinite(1 / multiplier))
    cursor.damaged(fmt::format("'{}' has the multiplier {}", item.name, multiplier));
  return multiplier;
}

NumberType stored_type(FileCursor& cursor, const Item& item) {
  switch (item.type) {
    case kFloat32:
      return NumberType::float32;
    case kFloat16:
      return NumberType::float16;
    case kIntgemm8:
      return NumberType::int8;
    case kIntgemm16:
      return NumberType::int16;
    default:
      throw std::runtime_error(fmt::format(
          "{}: \"{}\" has numbers of Marian's type {:#x}, packed for one kind of processor; only float32, float16, "
          "intgemm8 and intgemm16 are supported: take the model from which this file was made",
          cursor.path(), item.name, item.type));
  }
}

// Reads one item into `file`. Marian transposes the matrices that intgemm multiplies, though not their shapes, and
// leaves tables of embeddings as they are.
void read_tensor(FileCursor& cursor, const Item& item, MarianFile& file) {
  const NumberType type = stored_type(cursor, item);
  const uint64_t scale_bytes = is_intgemm(item) ? sizeof(float) : 0;
  if (item.bytes < scale_bytes || (item.bytes - scale_bytes) / number_bytes(item.type) < item.count)
    cursor.damaged(fmt::format("shape and size of '{}' disagree", item.name));
  if (is_intgemm(item) && item.dimensions != 2) cursor.damaged(fmt::format("'{}' is no matrix", item.name));
  std::vector<int64_t> shape = item.shape;
  const bool is_transposed = is_intgemm(item) && item.name.find("Wemb") == std::string::npos;
  if (is_transposed) std::swap(shape[0], shape[1]);
  Array numbers(item.count == 0 ? std::vector<int64_t>{0} : shape, type);
  cursor.read(numbers.data(), numbers.bytes(), "'" + item.name + "'");
  const float multiplier = is_intgemm(item) ? read_multiplier(cursor, item) : 1;
  cursor.skip(item.bytes - scale_bytes - numbers.bytes(), "'" + item.name + "'");
  if (type == NumberType::int8) {
    file.int8_scales[item.name] = 1 / multiplier;
  } else {
    numbers = numbers.to_float32();
    for (int64_t i = 0; i < numbers.count() && multiplier != 1; ++i) numbers.floats()[i] /= multiplier;
    if (is_transposed) numbers = numbers.transposed();
  }
  file.tensors.emplace_back(item.name, std::move(numbers));
}

}  // namespace

// It begins with a version of 64 bits: 1, or 2 where it is encrypted. A model.bin of CTranslate2 that begins so has no
// variables.
bool is_marian_binary(const std::string& path) {
  const InputFile file(path);
  unsigned char version[8] = {};
  if (file.read(0, version, sizeof version) < sizeof version) return false;
  return (version[0] == 1 || version[0] == 2) &&
         std::all_of(version + 1, std::end(version), [](unsigned char byte) { return byte == 0; });
}

MarianFile read_marian_binary(const std::string& path) {
  FileCursor cursor(path, kBinaryKind);
  if (const uint64_t version = cursor.number(8); version != 1)
    throw std::runtime_error(
        fmt::format("{}: is in version {} of Marian's binary format, which is encrypted; only version 1 is supported",
                    path, version));
  MarianFile file;
  for (const Item& item : read_items(cursor)) {
    if (item.name == kMarianSettings && item.type == kText) {
      if (item.bytes > kMaxMarianSettings) cursor.damaged(fmt::format("'{}' has {} bytes", item.name, item.bytes));
      file.settings = read_flat_yaml(read_text(cursor, item.bytes, "'" + item.name + "'"));
    } else if (begins_with(item.name, "special:") || ends_in(item.name, "_QuantMultA")) {
      cursor.skip(item.bytes, "'" + item.name + "'");
    } else {
      read_tensor(cursor, item, file);
    }
  }
  if (file.settings.empty()) cursor.damaged(fmt::format("it has no '{}'", kMarianSettings));
  return file;
}

MarianFile read_marian_file(const std::string& path) {
  return is_marian_binary(path) ? read_marian_binary(path) : read_marian_npz(path);
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute

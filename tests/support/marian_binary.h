// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tests/support/zip_files.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace transmute::testing {

/// An item of Marian's binary format.
struct BinaryItem {
  std::string name;
  uint64_t type;
  std::vector<int64_t> shape;
  std::string bytes;
};

inline std::string bytes_of(const std::vector<float>& numbers) {
  std::string bytes(numbers.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

/// A matrix [rows,columns] as marian-conv writes it for intgemm: rounded to 8 bits, transposed but for embeddings, and
/// what the numbers were multiplied by. `numbers` become what the file has of them.
inline BinaryItem intgemm8_item(const std::string& name, int64_t rows, int64_t columns, std::vector<float>& numbers) {
  float largest = 0;
  for (const float number : numbers) largest = std::max(largest, std::abs(number));
  const float multiplier = 127 / largest;
  std::string bytes(numbers.size(), '\0');
  const bool is_table = name.find("Wemb") != std::string::npos;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      float& number = numbers[static_cast<size_t>(r * columns + c)];
      const auto rounded = static_cast<int8_t>(std::nearbyint(number * multiplier));
      bytes[static_cast<size_t>(is_table ? r * columns + c : c * rows + r)] = static_cast<char>(rounded);
      number = static_cast<float>(rounded) / multiplier;
    }
  return {name, 0x4101, {rows, columns}, bytes + bytes_of({multiplier})};
}

inline std::string binary_file(const std::vector<BinaryItem>& items) {
  const auto padded = [](const std::string& bytes) {
    return bytes + std::string((256 - bytes.size() % 256) % 256, '\0');
  };
  std::string file = little_endian(1, 8) + little_endian(items.size(), 8);
  for (const BinaryItem& item : items)
    file += little_endian(item.name.size() + 1, 8) + little_endian(item.type, 8) + little_endian(item.shape.size(), 8) +
            little_endian(padded(item.bytes).size(), 8);
  for (const BinaryItem& item : items) file += item.name + '\0';
  for (const BinaryItem& item : items)
    for (const int64_t size : item.shape) file += little_endian(static_cast<uint64_t>(size), 4);
  const size_t space = 256 - (file.size() + 8) % 256;
  file += little_endian(space, 8) + std::string(space, '\0');
  for (const BinaryItem& item : items) file += padded(item.bytes);
  return file;
}

/// A binary shortlist of Marian: the tokens of each source token, and the number of those that are always allowed.
inline std::string binary_shortlist(const std::vector<std::vector<uint32_t>>& lists, uint64_t always) {
  std::string offsets, tokens;
  uint64_t count = 0;
  for (const auto& list : lists) {
    offsets += little_endian(count, 8);
    for (const uint32_t token : list) tokens += little_endian(token, 4);
    count += list.size();
  }
  offsets += little_endian(count, 8);
  const std::string content = little_endian(always, 8) + little_endian(50, 8) + little_endian(lists.size() + 1, 8) +
                              little_endian(count, 8) + offsets + tokens;
  uint64_t hash = 0;
  for (size_t at = 0; at + 8 <= content.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, content.data() + at, 8);
    hash ^= word + 0x9e3779b9 + (hash << 6) + (hash >> 2);
  }
  return little_endian(0xF11A48D5013417F5, 8) + little_endian(hash, 8) + content;
}

}  // namespace transmute::testing

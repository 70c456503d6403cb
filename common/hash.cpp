// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/hash.h>

#include <libdeflate.h>
#include <spdlog/fmt/fmt.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

constexpr uint64_t kPrime1 = 11400714785074694791ULL;
constexpr uint64_t kPrime2 = 14029467366897019727ULL;
constexpr uint64_t kPrime3 = 1609587929392839161ULL;
constexpr uint64_t kPrime4 = 9650029242287828579ULL;
constexpr uint64_t kPrime5 = 2870177450012600261ULL;
constexpr size_t kFileBlock = 1 << 20;

uint64_t rotate(uint64_t value, int bits) {
  return (value << bits) | (value >> (64 - bits));
}

template <class T>
uint64_t read(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

uint64_t round(uint64_t lane, uint64_t input) {
  return rotate(lane + input * kPrime2, 31) * kPrime1;
}

}  // namespace

uint64_t hash_bytes(const void* bytes, size_t count, uint64_t seed) {
  const auto* next = static_cast<const uint8_t*>(bytes);
  const uint8_t* const end = next + count;
  uint64_t hash = seed + kPrime5;
  if (count >= 32) {
    uint64_t lanes[4] = {seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1};
    for (; end - next >= 32; next += 32)
      for (int lane = 0; lane < 4; ++lane) lanes[lane] = round(lanes[lane], read<uint64_t>(next + 8 * lane));
    hash = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
    for (const uint64_t lane : lanes) hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
  }
  hash += count;
  for (; end - next >= 8; next += 8) hash = rotate(hash ^ round(0, read<uint64_t>(next)), 27) * kPrime1 + kPrime4;
  for (; end - next >= 4; next += 4) hash = rotate(hash ^ (read<uint32_t>(next) * kPrime1), 23) * kPrime2 + kPrime3;
  for (; next != end; ++next) hash = rotate(hash ^ (*next * kPrime5), 11) * kPrime1;
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

uint64_t hash_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  std::vector<uint8_t> block(kFileBlock);
  uint64_t hash = 0;
  while (const size_t count = std::fread(block.data(), 1, block.size(), file.get()))
    hash = hash_bytes(block.data(), count, hash);
  if (std::ferror(file.get()))
    throw std::runtime_error(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  return hash;
}

uint32_t crc32(uint32_t crc, const void* bytes, size_t count) {
  // The null pointer of an empty tensor would mean: start anew.
  return count == 0 ? crc : libdeflate_crc32(crc, bytes, count);
}

uint32_t joined_crc32(uint32_t first, uint32_t second, uint64_t count) {
  return static_cast<uint32_t>(crc32_combine(first, second, static_cast<z_off_t>(count)));
}

}  // namespace v0
}  // namespace transmute

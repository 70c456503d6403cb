// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// XXH64 (Collet, github.com/Cyan4973/xxHash): tells contents apart at the speed of memory. No protection against
/// those who forge.
uint64_t hash_bytes(const void* bytes, size_t count, uint64_t seed = 0);

/// The same of a text's bytes.
inline uint64_t hash_text(std::string_view text, uint64_t seed = 0) {
  return hash_bytes(text.data(), text.size(), seed);
}

/// The hash of a file's content, read in blocks.
/// @throws std::runtime_error naming the file that cannot be read.
uint64_t hash_file(const std::string& path);

/// Continues a CRC-32 (ISO 3309, as in zip and PNG). `crc`: checksum of the bytes before these; 0 if there are none.
uint32_t crc32(uint32_t crc, const void* bytes, size_t count);

/// The checksum of two consecutive byte ranges from theirs. `count`: bytes of the second.
uint32_t joined_crc32(uint32_t first, uint32_t second, uint64_t count);

}  // namespace v0
}  // namespace transmute

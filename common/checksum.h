// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace transmute {
inline namespace v0 {

/// Continues a CRC-32 (ISO 3309, as in zip and PNG). `crc`: checksum of the bytes before these; 0 if there are none.
uint32_t crc32(uint32_t crc, const void* bytes, size_t count);

/// The checksum of two consecutive byte ranges from theirs. `count`: bytes of the second.
uint32_t joined_crc32(uint32_t first, uint32_t second, uint64_t count);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace transmute {
inline namespace v0 {

/// The CRC-32 of ISO 3309, which zip and PNG have, of what `crc` is of and these bytes behind it. 0 is that of nothing.
uint32_t crc32(uint32_t crc, const void* bytes, size_t count);

/// The checksum of two consecutive byte ranges from theirs. `count`: bytes of the second.
uint32_t joined_crc32(uint32_t first, uint32_t second, uint64_t count);

}  // namespace v0
}  // namespace transmute

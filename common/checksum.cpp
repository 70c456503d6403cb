// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/checksum.h>

#include <libdeflate.h>
#include <zlib.h>

namespace transmute {
inline namespace v0 {

uint32_t crc32(uint32_t crc, const void* bytes, size_t count) {
  // The null pointer of an empty tensor would mean: start anew.
  return count == 0 ? crc : libdeflate_crc32(crc, bytes, count);
}

uint32_t joined_crc32(uint32_t first, uint32_t second, uint64_t count) {
  return static_cast<uint32_t>(crc32_combine(first, second, static_cast<z_off_t>(count)));
}

}  // namespace v0
}  // namespace transmute

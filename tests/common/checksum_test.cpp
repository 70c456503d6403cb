// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/common/checksum.h>
#include <zlib.h>

#include <cstdint>
#include <string>

namespace transmute {
namespace {

// The check value of CRC-32, and zlib's own function.
TEST(Crc32, IsTheOneOfZip) {
  const std::string digits = "123456789";
  EXPECT_EQ(crc32(0, digits.data(), digits.size()), 0xcbf43926U);
  EXPECT_EQ(crc32(0, nullptr, 0), 0U);
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>(i * i % 251);
  const auto of_zlib = static_cast<uint32_t>(::crc32(0, reinterpret_cast<const Bytef*>(text.data()), 5000));
  EXPECT_EQ(crc32(0, text.data(), text.size()), of_zlib);
  for (const size_t cut : {0, 1, 7, 64, 4095, 4999, 5000}) {
    const uint32_t first = crc32(0, text.data(), cut);
    EXPECT_EQ(crc32(first, text.data() + cut, text.size() - cut), of_zlib) << cut;
    EXPECT_EQ(joined_crc32(first, crc32(0, text.data() + cut, text.size() - cut), text.size() - cut), of_zlib) << cut;
  }
}

}  // namespace
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/hash.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <zlib.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace transmute {
namespace {

using testing::message_of;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::write_text;

// Values that the publications of XXH64 and its bindings give.
TEST(HashBytes, IsXxh64) {
  const auto hash = [](const std::string& text, uint64_t seed = 0) {
    return hash_bytes(text.data(), text.size(), seed);
  };
  EXPECT_EQ(hash(""), 0xef46db3751d8e999u);
  EXPECT_EQ(hash("a"), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(hash("abc"), 0x44bc2cf5ad770999u);
  EXPECT_EQ(hash("xxhash"), 0x32dd38952c4bc720u);
  EXPECT_EQ(hash("xxhash", 20141025), 0xb559b98d844e0635u);
  EXPECT_EQ(hash("Nobody inspects the spammish repetition"), 0xfbcea83c8a378bf1u);
}

TEST(HashFile, SeesEveryByte) {
  const TemporaryFolder folder;
  std::string content((1 << 20) + 100, 'x');
  write_text(folder / "file", content);
  const uint64_t hash = hash_file(folder / "file");
  EXPECT_EQ(hash_file(folder / "file"), hash);
  for (const size_t place : {size_t{0}, size_t{1} << 20, content.size() - 1}) {
    std::string other = content;
    other[place] = 'y';
    write_text(folder / "file", other);
    EXPECT_NE(hash_file(folder / "file"), hash) << place;
  }
  EXPECT_THAT(message_of<std::runtime_error>([&] { hash_file(folder / "none"); }), StartsWith(folder / "none"));
}

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

// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/hash.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>

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

}  // namespace
}  // namespace transmute

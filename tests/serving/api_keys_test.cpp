// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/serving/api_keys.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>

#include <stdexcept>

namespace transmute::testing {
namespace {

using ::testing::HasSubstr;

// `printf %s secret | sha256sum` and `printf %s other | sha256sum`.
constexpr const char* kSecret = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
constexpr const char* kOther = "D9298A10D1B0735837DC4BD85DAC641B0F3CEF27A47E5D53A54F2F3F5B2FCFFA";

TEST(ApiKeys, KnowTheirNames) {
  const TemporaryFolder folder;
  write_text(folder / "keys", std::string("# comment\n\n") + kSecret + " alice\n" + kOther + "\tbob  \n");
  const ApiKeys keys(folder / "keys");
  EXPECT_TRUE(keys.are_needed());
  EXPECT_EQ(keys.name_of("secret"), "alice");
  EXPECT_EQ(keys.name_of("other"), "bob") << "hexadecimal digits in capitals are the same";
  EXPECT_EQ(keys.name_of("Secret"), std::nullopt);
  EXPECT_EQ(keys.name_of(kSecret), std::nullopt) << "the hash is not the key";
  EXPECT_EQ(keys.name_of(""), std::nullopt);
}

TEST(ApiKeys, AreNotNeededWithoutAFile) {
  EXPECT_FALSE(ApiKeys().are_needed());
}

TEST(ApiKeys, NameTheLineThatIsWrong) {
  const TemporaryFolder folder;
  for (const std::string& line : {std::string("secret alice"), std::string(kSecret), std::string(63, 'a') + "g x"}) {
    write_text(folder / "keys", std::string(kSecret) + " alice\n" + line + "\n");
    EXPECT_THAT(message_of<std::runtime_error>([&] { ApiKeys(folder / "keys"); }), HasSubstr("keys:2: ")) << line;
  }
  EXPECT_THROW(ApiKeys(folder / "missing"), std::runtime_error);
}

TEST(ApiKeys, AreReadAgainAndStayWhereThatFails) {
  const TemporaryFolder folder;
  write_text(folder / "keys", std::string(kSecret) + " alice\n");
  CurrentApiKeys keys(folder / "keys");
  write_text(folder / "keys", std::string(kOther) + " bob\n");
  EXPECT_EQ(keys.current()->name_of("secret"), "alice");
  keys.reload();
  EXPECT_EQ(keys.current()->name_of("secret"), std::nullopt);
  EXPECT_EQ(keys.current()->name_of("other"), "bob");
  write_text(folder / "keys", "nonsense\n");
  EXPECT_THROW(keys.reload(), std::runtime_error);
  EXPECT_EQ(keys.current()->name_of("other"), "bob");
}

}  // namespace
}  // namespace transmute::testing

// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/mapped_file.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>

#include <stdexcept>
#include <string>

namespace transmute {
namespace {

using testing::message_of;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::write_text;

TEST(MappedFile, HoldsTheContentAlsoAfterItsRelease) {
  const TemporaryFolder folder;
  const std::string content(10'000, 'x');
  write_text(folder / "file", content);
  write_text(folder / "empty", "");
  const MappedFile file(folder / "file");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(file.data()), file.size()), content);
    file.release();
    file.will_need(5000, 3000);
  }
  EXPECT_EQ(MappedFile(folder / "empty").size(), 0u);
  EXPECT_THAT(message_of<std::runtime_error>([&] { MappedFile(folder / "none"); }), StartsWith(folder / "none"));
}

}  // namespace
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/common/files.h>
#include <transmute/common/mapped_file.h>
#include <transmute/tests/support/temporary_folder.h>

#include <cstring>
#include <memory>
#include <string>

namespace transmute {
namespace {

TEST(MappedFile, HasTheBytesOfTheFileAndKeepsWhatIsWrittenToItself) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "file";
  std::string content(3 << 14, 'a');  // pages of 16 KB, too
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i % 251);
  write_file_atomically(path, content);
  const auto map = [&] { return std::make_shared<MappedFile>(InputFile(path), path); };
  auto file = map();
  const auto other = MappedFile::part(map(), 0, content.size());
  auto part = MappedFile::part(file, 7, content.size() - 7);
  file.reset();  // the part keeps it
  auto* bytes = static_cast<char*>(part.get());
  EXPECT_EQ(std::memcmp(bytes, content.data() + 7, content.size() - 7), 0);
  std::memset(bytes, 'x', content.size() - 7);
  EXPECT_EQ(std::memcmp(other.get(), content.data(), content.size()), 0);
  EXPECT_EQ(read_file(path), content);
}

TEST(MappedFile, LosesTheWholePagesOfAPartThatGoesAndNothingBesideThem) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "file", content(1 << 18, 'a');
  write_file_atomically(path, content);
  const auto file = std::make_shared<MappedFile>(InputFile(path), path);
  constexpr size_t kBegin = 100, kBytes = 1 << 17;
  const auto whole = MappedFile::part(file, 0, content.size());
  auto* bytes = static_cast<char*>(whole.get());
  std::memset(bytes, 'x', content.size());
  MappedFile::part(file, kBegin, kBytes).reset();
  EXPECT_EQ(bytes[kBegin - 1], 'x');
  EXPECT_EQ(bytes[kBegin + kBytes], 'x');
  EXPECT_EQ(bytes[1 << 16], 'a') << "the page is the file's again";
}

}  // namespace
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/line_stream.h>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;

class LinesOfAPipe : public ::testing::Test {
 protected:
  LinesOfAPipe() {
    EXPECT_EQ(pipe(ends_.data()), 0);
    next_block_ = arriving_lines(ends_[0], "pipe");
  }
  ~LinesOfAPipe() override {
    close(ends_[0]);
    end();
  }
  void write(const std::string& text) const {
    ASSERT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void end() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

  std::array<int, 2> ends_{};
  BlockSource next_block_;
};

TEST_F(LinesOfAPipe, ComeInOneBlockWithoutWaitingForMore) {
  write("a\nb\r\nhal");
  EXPECT_THAT(next_block_(10), ElementsAre("a", "b"));
  std::thread later([&] { write("f\nc\nd\n"); });
  EXPECT_THAT(next_block_(1), ElementsAre("half"));
  later.join();
  EXPECT_THAT(next_block_(1), ElementsAre("c"));
  end();
  EXPECT_THAT(next_block_(10), ElementsAre("d"));
  EXPECT_THAT(next_block_(10), IsEmpty());
}

TEST_F(LinesOfAPipe, BeforeABadOneAreHandedOutFirst) {
  write("a\n\xff\n");
  EXPECT_THAT(next_block_(10), ElementsAre("a"));
  EXPECT_THAT(message_of<BadLine>([&] { next_block_(10); }),
              AllOf(HasSubstr("pipe:2: not valid UTF-8"), HasSubstr("iconv")));
}

TEST_F(LinesOfAPipe, ComeAsTheyAreWrittenByItsNameToo) {
  const BlockSource named = open_input("/dev/fd/" + std::to_string(ends_[0]));
  write("a\nhal");
  EXPECT_THAT(named(10), ElementsAre("a"));
  end();
  EXPECT_THAT(named(10), ElementsAre("hal"));
}

TEST_F(LinesOfAPipe, AreNotWhatXzHasPacked) {
  write(
      std::string("\xfd"
                  "7zXZ\0\0\4",
                  8));
  end();
  EXPECT_THAT(message_of<BadLine>([&] { next_block_(10); }), HasSubstr("pipe: is not plain or gzipped text: xz has"));
}

TEST(StandardInput, IsReadByOneFlagAlone) {
  EXPECT_NO_THROW(check_standard_input_once({{"--a", "-"}, {"--b", "file"}, {"--c", ""}}));
  EXPECT_THAT(message_of<std::invalid_argument>([] {
                check_standard_input_once({{"--a", "-"}, {"--b", "file"}, {"--c", "-"}});
              }),
              HasSubstr("--a and --c both read standard input"));
}

TEST(AnOutput, IsNoneOfTheInputs) {
  const testing::TemporaryFolder folder;
  testing::write_text(folder / "a", "text");
  std::filesystem::create_directory(folder / "model");
  std::filesystem::create_symlink("a", folder / "link");
  const auto refusal = [](const std::string& output, const std::vector<NamedInput>& inputs) {
    return message_of<std::invalid_argument>([&] { check_output_is_no_input(output, inputs); });
  };
  EXPECT_THAT(refusal(folder.path() + "/./a", {{"--x", folder / "other"}, {"--y", folder / "a"}}),
              HasSubstr("--output is the file of --y, which would be lost"));
  EXPECT_THAT(refusal(folder / "link", {{"--x", folder / "a"}}), HasSubstr("--output is the file of --x"));
  EXPECT_THAT(refusal(folder / "model/", {{"--model", folder / "model"}}), HasSubstr("is the folder of --model"));
  for (const char* name : {"model/tokenizer.model", "model/results.txt"}) testing::write_text(folder / name, "text");
  EXPECT_THAT(refusal(folder / "model/tokenizer.model", {{"--model", folder / "model"}}),
              HasSubstr("--output is a file in the folder of --model, which would be lost"));
  for (const char* name : {"model/new.model", "model/results.txt"})
    EXPECT_NO_THROW(check_output_is_no_input(folder / name, {{"--model", folder / "model"}})) << name;
  const std::vector<NamedInput> inputs{{"--a", folder / "a"}, {"--b", "-"}, {"--c", ""}, {"--d", "/dev/null"}};
  for (const std::string& output : {folder / "new", std::string("-"), std::string(), std::string("/dev/null")})
    EXPECT_NO_THROW(check_output_is_no_input(output, inputs)) << output;
}

TEST(PlaceOfAFile, IsTheSameByAllItsNames) {
  const testing::TemporaryFolder folder;
  testing::write_text(folder / "a", "text");
  std::filesystem::create_symlink("a", folder / "link");
  EXPECT_EQ(place_of(folder / "link"), place_of(folder.path() + "/./a"));
  EXPECT_EQ(place_of(folder / "new"), place_of(folder.path() + "/./new"));
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const std::string name = "/dev/fd/" + std::to_string(ends[0]);  // which leads to no file
  EXPECT_EQ(place_of(name), name);
  for (const int end : ends) close(end);
}

std::string gzipped(const std::string& text) {
  const testing::TemporaryFolder folder;
  testing::write_text(folder / "text", text);
  EXPECT_EQ(std::system(("gzip -n " + (folder / "text")).c_str()), 0);
  return testing::read_text(folder / "text.gz");
}

TEST_F(LinesOfAPipe, AreUnpackedWhereTheyAreGzipped) {
  const std::string packed = gzipped("one\ntwo\n") + gzipped("three");
  for (const char byte : packed.substr(0, 3)) write(std::string(1, byte));
  write(packed.substr(3));
  end();
  std::exception_ptr failure;
  EXPECT_THAT(next_full_block(next_block_, 10, failure), ElementsAre("one", "two", "three"));
  EXPECT_FALSE(failure);
}

TEST_F(LinesOfAPipe, AreAFullBlockUpToABadOne) {
  write("a\nb\n\xff\nc\n");
  std::exception_ptr failure;
  EXPECT_THAT(next_full_block(next_block_, 10, failure), ElementsAre("a", "b"));
  EXPECT_THAT(message_of<BadLine>([&] { std::rethrow_exception(failure); }), HasSubstr("pipe:3: not valid UTF-8"));
}

TEST(LinesOfATerminal, EndAtTheFirstEndThatIsTyped) {
  const int keyboard = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_EQ(grantpt(keyboard) + unlockpt(keyboard), 0);
  const int terminal = open(ptsname(keyboard), O_RDWR | O_NOCTTY);
  const std::string keys = "\x04later\n";  // Ctrl-D on an empty line
  ASSERT_EQ(::write(keyboard, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  EXPECT_THAT(arriving_lines(terminal, "terminal")(10), IsEmpty());
  close(terminal);
  close(keyboard);
}

TEST_F(LinesOfAPipe, MayBeOneByteOfAGzippedText) {
  write("\x1f");
  end();
  EXPECT_THAT(next_block_(10), ElementsAre("\x1f"));
}

TEST_F(LinesOfAPipe, AreNotWholeWhereTheGzippedTextIsCutOffOrDamaged) {
  const std::string packed = gzipped("one\ntwo\n");
  write(packed.substr(0, packed.size() - 4));
  end();
  EXPECT_THAT(next_block_(10), ElementsAre("one", "two"));
  EXPECT_THAT(message_of<BadLine>([&] { next_block_(10); }), HasSubstr("pipe: cannot be read after line 2"));
  std::array<int, 2> other{};
  ASSERT_EQ(pipe(other.data()), 0);
  const std::string bytes = gzipped("zero\n") + packed.substr(0, 10) + std::string(20, '\xff');
  ASSERT_EQ(::write(other[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ::close(other[1]);
  const BlockSource damaged = arriving_lines(other[0], "pipe");
  EXPECT_THAT(damaged(10), ElementsAre("zero"));
  EXPECT_THAT(message_of<BadLine>([&] { damaged(10); }), HasSubstr("the gzipped text is damaged"));
  ::close(other[0]);
}

}  // namespace
}  // namespace transmute

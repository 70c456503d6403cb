// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/line_stream.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/errors.h>
#include <unistd.h>

#include <array>
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
    stream_ = std::make_unique<LineStream>(ends_[0], "pipe");
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
  std::unique_ptr<LineStream> stream_;
};

TEST_F(LinesOfAPipe, ComeInOneBlockWithoutWaitingForMore) {
  write("a\nb\r\nhal");
  EXPECT_THAT(stream_->next_block(10), ElementsAre("a", "b"));
  std::thread later([&] { write("f\nc\nd\n"); });
  EXPECT_THAT(stream_->next_block(1), ElementsAre("half"));
  later.join();
  EXPECT_THAT(stream_->next_block(1), ElementsAre("c"));
  end();
  EXPECT_THAT(stream_->next_block(10), ElementsAre("d"));
  EXPECT_THAT(stream_->next_block(10), IsEmpty());
}

TEST_F(LinesOfAPipe, BeforeABadOneAreHandedOutFirst) {
  write("a\n\xff\n");
  EXPECT_THAT(stream_->next_block(10), ElementsAre("a"));
  EXPECT_THAT(message_of<BadLine>([&] { stream_->next_block(10); }),
              AllOf(HasSubstr("pipe:2: not valid UTF-8"), HasSubstr("iconv")));
}

TEST(StandardInput, IsReadByOneFlagAlone) {
  EXPECT_NO_THROW(check_standard_input_once({{"--a", "-"}, {"--b", "file"}, {"--c", ""}}));
  EXPECT_THAT(message_of<std::invalid_argument>([] {
                check_standard_input_once({{"--a", "-"}, {"--b", "file"}, {"--c", "-"}});
              }),
              HasSubstr("--a and --c both read standard input"));
}

}  // namespace
}  // namespace transmute

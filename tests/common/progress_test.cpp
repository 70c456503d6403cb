// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <transmute/common/progress.h>
#include <transmute/common/shell_word.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>

namespace transmute {
namespace {

using testing::read_text;
using testing::TemporaryFolder;

TEST(ShellWord, IsQuotedWhereAShellWouldReadItDifferently) {
  for (const char* word : {"runs/train.en-de/model", "a_b:c", "Übung"}) EXPECT_EQ(shell_word(word), word);
  EXPECT_EQ(shell_word("runs/Übung 1"), "'runs/Übung 1'");
  EXPECT_EQ(shell_word("it's"), R"('it'\''s')");
  EXPECT_EQ(shell_word("$HOME"), "'$HOME'");
  EXPECT_EQ(shell_word("~/run"), "'~/run'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(FormatDuration, ShowsMinutesAndHours) {
  EXPECT_EQ(format_duration(0), "0:00");
  EXPECT_EQ(format_duration(7), "0:07");
  EXPECT_EQ(format_duration(75), "1:15");
  EXPECT_EQ(format_duration(4000), "1:06:40");
  EXPECT_EQ(format_duration(360'000), "100:00:00");
}

TEST(FormatDuration, RoundsToWholeSeconds) {
  EXPECT_EQ(format_duration(59.4), "0:59");
  EXPECT_EQ(format_duration(59.6), "1:00");
  EXPECT_EQ(format_duration(3599.5), "1:00:00");
  EXPECT_EQ(format_duration(-3), "0:00");
}

TEST(FormatCount, GroupsDigitsByThousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1'234'567), "1,234,567");
  EXPECT_EQ(format_count(-999), "-999");
  EXPECT_EQ(format_count(-1000), "-1,000");
  EXPECT_EQ(format_count(-100'000), "-100,000");
  EXPECT_EQ(format_count(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(WithoutControl, NothingIsLeftThatATerminalObeys) {
  EXPECT_EQ(without_control("Übung 5 € 😀\u00A0x"), "Übung 5 € 😀\u00A0x");
  EXPECT_EQ(without_control("a\nb\x1b[1m\x7f"), R"(a\nb\x1b[1m\x7f)");
  EXPECT_EQ(without_control("a\u009bb"), R"(a\u009bb)");
  EXPECT_EQ(without_control("a\x9b"
                            "1m\xC3"),
            R"(a\x9b1m\xc3)")
      << "of eight bits, some terminals read the same characters as one byte";
}

// The output of `act` on standard error where that is the descriptor `replacement`.
template <class Act>
void with_standard_error(int replacement, const Act& act) {
  const int kept = ::dup(STDERR_FILENO);
  ASSERT_GE(kept, 0);
  ::dup2(replacement, STDERR_FILENO);
  act();
  std::fflush(stderr);
  ::dup2(kept, STDERR_FILENO);
  ::close(kept);
}

TEST(ProgressLine, IsSilentWhereThereIsNoTerminal) {
  const TemporaryFolder folder;
  const int file = ::open((folder / "stderr").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  with_standard_error(file, [] {
    ProgressLine line;
    EXPECT_FALSE(line.visible());
    EXPECT_FALSE(line.is_due());
    line.show(0.5, "half");
    line.clear();
  });
  ::close(file);
  EXPECT_EQ(read_text(folder / "stderr"), "");
}

TEST(ProgressLine, DrawsABarNoWiderThanTheTerminal) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) GTEST_SKIP() << "no terminals";
  const int inner = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  ASSERT_GE(inner, 0);
  winsize size{};
  size.ws_col = 40;
  size.ws_row = 10;
  ASSERT_EQ(::ioctl(terminal, TIOCSWINSZ, &size), 0);
  with_standard_error(inner, [] {
    ProgressLine line;
    EXPECT_TRUE(line.visible());
    EXPECT_TRUE(line.is_due());
    line.show(0.5, "half done");
    line.show(0.5, std::string(26, 'y'));
    line.show(7.0, std::string(100, 'x'));
    line.show(-1, "nobody knows how much is left");
  });
  // Closed, the terminal ends what can be read; until then, the kernel hands it over in parts.
  ::close(inner);
  std::string seen;
  char part[4096];
  for (ssize_t count = 0; (count = ::read(terminal, part, sizeof part)) > 0;)
    seen.append(part, static_cast<size_t>(count));
  ::close(terminal);
  const std::string start = "\r\033[K";
  EXPECT_EQ(seen, start + "[########--------] half done" +              //
                      start + "[#####-----] " + std::string(26, 'y') +  // the text is worth more than the bar
                      start + std::string(39, 'x') +                    // the last column stays free
                      start + "nobody knows how much is left" + start)
      << "the line is taken away at the end";
}

}  // namespace
}  // namespace transmute

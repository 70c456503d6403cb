// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <transmute/common/files.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/folder_fixture.h>
#include <transmute/tests/support/temporary_folder.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace transmute {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::names_in;
using testing::read_text;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::write_text;
using WriteFileAtomically = testing::InFolder;
using WriteFolderAtomically = testing::InFolder;
using AFolderWrittenAtomically = testing::InFolder;
using ReadFile = testing::InFolder;
using WrittenAtomically = testing::InFolder;

TEST_F(AFolderWrittenAtomically, ReplacesNoFile) {
  write_text(folder_ / "mine", "precious");
  EXPECT_THAT(message_of<std::runtime_error>([&] { write_folder_atomically(folder_ / "mine", [](const auto&) {}); }),
              HasSubstr("exists and is not a folder"));
  EXPECT_EQ(read_file(folder_ / "mine"), "precious");
}

TEST_F(AFolderWrittenAtomically, LeavesFoldersOfTheUsersBesideItAlone) {
  for (const char* mine : {"model.replaced", "model.partial"}) {
    ensure_writable_folder(folder_ / mine);
    write_text(path_in(folder_ / mine, "file"), "precious");
  }
  for (int i = 0; i < 2; ++i)
    write_folder_atomically(folder_ / "model", [](const std::string& partial) { write_text(partial + "/new", ""); });
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("model", "model.partial", "model.replaced"));
  EXPECT_EQ(read_file(folder_ / "model.replaced/file"), "precious");
  EXPECT_EQ(read_file(folder_ / "model.partial/file"), "precious");
}

TEST_F(AFolderWrittenAtomically, IsWhereItsLinkLeads) {
  ensure_writable_folder(folder_ / "elsewhere");
  fs::create_symlink("elsewhere", folder_ / "model");
  write_folder_atomically(folder_ / "model", [](const std::string& partial) { write_text(partial + "/new", ""); });
  EXPECT_TRUE(fs::is_symlink(folder_ / "model"));
  EXPECT_THAT(names_in(folder_ / "elsewhere"), ElementsAre("new"));
}

TEST_F(ReadFile, ReturnsEveryByte) {
  std::string content;
  for (int i = 0; i < 256 * 1024; ++i) content.push_back(static_cast<char>(i % 256));
  write_text(folder_ / "bytes", content);
  EXPECT_TRUE(read_file(folder_ / "bytes") == content);
  write_text(folder_ / "empty", "");
  EXPECT_EQ(read_file(folder_ / "empty"), "");
}

TEST_F(ReadFile, NamesWhatCannotBeRead) {
  EXPECT_THAT(message_of<std::runtime_error>([&] { read_file(folder_ / "absent"); }),
              AllOf(StartsWith(folder_ / "absent"), HasSubstr("No such file")));
  EXPECT_THAT(message_of<std::runtime_error>([&] { read_file(folder_.path()); }),
              AllOf(StartsWith(folder_.path()), HasSubstr("is a folder")));
}

TEST_F(ReadFile, DoesNotTakeAReadErrorForAnEnd) {
  const char* unreadable = "/proc/self/mem";  // opens, but address 0 cannot be read
  if (!fs::exists(unreadable)) GTEST_SKIP() << "needs Linux's /proc";
  EXPECT_THAT(message_of<std::runtime_error>([&] { read_file(unreadable); }), HasSubstr("cannot be read"));
}

TEST_F(ReadFile, WaitsForTheEndOfAPipe) {
  const std::string path = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { write_text(path, "through a pipe"); });
  EXPECT_EQ(read_file(path), "through a pipe");
  writer.join();
}

TEST(ReadRegularFile, ReturnsEveryByteOfAFileThatIsNotTooLong) {
  const TemporaryFolder folder;
  write_text(folder / "bytes", std::string("a\0b", 3));
  EXPECT_EQ(read_regular_file(folder / "bytes", 3), std::string("a\0b", 3));
  EXPECT_THAT(message_of<std::runtime_error>([&] { read_regular_file(folder / "bytes", 2); }),
              StartsWith((folder / "bytes") + ": has more than 2 bytes"));
}

// On a pipe that nobody writes to, it would wait for ever.
TEST(ReadRegularFile, RefusesAtOnceWhatIsNoFile) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", folder / "zero");
  fs::create_symlink("circle", folder / "circle");
  fs::create_directory(folder / "folder");
  for (const auto& [name, what] : {std::pair{"pipe", "is a pipe or a device"},
                                   {"zero", "is a pipe or a device"},
                                   {"circle", "cannot be opened"},
                                   {"folder", "is a folder"},
                                   {"absent", "No such file"}})
    EXPECT_THAT(message_of<std::runtime_error>([&] { read_regular_file(folder / name, 10); }),
                AllOf(StartsWith((folder / name) + ": "), HasSubstr(what)));
}

TEST_F(WriteFileAtomically, ReplacesTheContentAndLeavesNothingElse) {
  write_file_atomically(folder_ / "file", "first, and longer than what follows");
  write_file_atomically(folder_ / "file", std::string_view("sec\0nd", 6));
  EXPECT_EQ(read_text(folder_ / "file"), std::string("sec\0nd", 6));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("file"));
}

TEST_F(WriteFileAtomically, NamesAFileWhoseFolderIsMissing) {
  EXPECT_THAT(message_of<std::runtime_error>([&] { write_file_atomically(folder_ / "absent/file", "x"); }),
              AllOf(StartsWith(folder_ / "absent/file"), HasSubstr("No such file")));
}

TEST_F(WriteFileAtomically, LeavesAFolderOfThatNameAlone) {
  fs::create_directory(folder_ / "taken");
  write_text(folder_ / "taken/inside", "kept");
  EXPECT_THAT(message_of<std::runtime_error>([&] { write_file_atomically(folder_ / "taken", "x"); }),
              StartsWith(folder_ / "taken"));
  EXPECT_EQ(read_text(folder_ / "taken/inside"), "kept");
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("taken"));
}

TEST_F(WriteFileAtomically, LeavesTheOldContentWhenThereIsNoSpace) {
  write_text(folder_ / "file", "old");
  struct rlimit unlimited = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const auto signal_before = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit limited = {4096, unlimited.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limited), 0);
  const std::string message =
      message_of<std::runtime_error>([&] { write_file_atomically(folder_ / "file", std::string(10000, 'x')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  std::signal(SIGXFSZ, signal_before);
  EXPECT_THAT(message, AllOf(StartsWith(folder_ / "file"), HasSubstr("File too large")));
  EXPECT_EQ(read_text(folder_ / "file"), "old");
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("file"));
}

TEST_F(WriteFileAtomically, SaysThatTheDiskIsFull) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  fs::create_symlink("/dev/full", folder_ / "file");
  EXPECT_THAT(message_of<std::runtime_error>([&] { write_file_atomically(folder_ / "file", "new"); }),
              AllOf(StartsWith(folder_ / "file"), HasSubstr("No space left"), HasSubstr("free some space")));
  EXPECT_TRUE(fs::is_symlink(folder_ / "file"));
}

TEST_F(WriteFileAtomically, WritesToAPipe) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  const int reader = ::open((folder_ / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  write_file_atomically(folder_ / "pipe", "through");
  char text[16] = {};
  EXPECT_EQ(::read(reader, text, sizeof(text)), 7);
  ::close(reader);
  EXPECT_STREQ(text, "through");
  EXPECT_TRUE(fs::is_fifo(folder_ / "pipe"));
}

// The shell names the other end of >(command) so.
TEST_F(WriteFileAtomically, WritesToAPipeThatHasNoName) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string name = "/dev/fd/" + std::to_string(ends[1]);
  if (!fs::exists(name)) GTEST_SKIP() << "needs /dev/fd";
  write_file_atomically(name, "through");
  char text[16] = {};
  EXPECT_EQ(::read(ends[0], text, sizeof(text)), 7);
  EXPECT_STREQ(text, "through");
  for (const int end : ends) ::close(end);
}

// It happens with `program -o /dev/stderr 2>>log`: the log lost what it had.
TEST_F(WriteFileAtomically, AddsToAFileThatIsOpenAlready) {
  if (!fs::exists("/dev/fd")) GTEST_SKIP() << "needs /dev/fd";
  write_text(folder_ / "log", "old, ");
  const int log = ::open((folder_ / "log").c_str(), O_WRONLY | O_APPEND);
  const std::string name = "/dev/fd/" + std::to_string(log);
  fs::create_symlink(name, folder_ / "link");
  write_file_atomically(name, "new, ");
  write_file_atomically(folder_ / "link", "newer");
  ASSERT_EQ(::write(log, ".", 1), 1);
  ::close(log);
  EXPECT_EQ(read_text(folder_ / "log"), "old, new, newer.");
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("link", "log"));
  EXPECT_THAT(message_of<std::runtime_error>([&] { write_file_atomically(name, "x"); }), StartsWith(name));
}

TEST_F(WriteFileAtomically, FollowsLinks) {
  ensure_writable_folder(folder_ / "there");
  fs::create_symlink("there/file", folder_ / "link");
  for (const char* content : {"made", "replaced"}) {
    write_file_atomically(folder_ / "link", content);
    EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
    EXPECT_EQ(read_text(folder_ / "there/file"), content);
  }
  fs::create_symlink("loop", folder_ / "loop");
  EXPECT_THAT(message_of<std::runtime_error>([&] { write_file_atomically(folder_ / "loop", "x"); }),
              StartsWith(folder_ / "loop"));
}

TEST_F(WriteFileAtomically, KeepsTheMode) {
  write_text(folder_ / "secret", "old");
  fs::permissions(folder_ / "secret", fs::perms{0600});
  write_file_atomically(folder_ / "secret", "new");
  EXPECT_EQ(fs::status(folder_ / "secret").permissions(), fs::perms{0600});
}

TEST_F(WriteFileAtomically, NeitherFollowsNorDeletesWhatStandsBeside) {
  write_text(folder_ / "precious", "kept");
  fs::create_symlink("precious", folder_ / "file.partial");
  write_file_atomically(folder_ / "file", "new");
  EXPECT_EQ(read_text(folder_ / "precious"), "kept");
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("file", "file.partial", "precious"));
}

TEST(AtomicFile, AppearsOnlyWithItsCommit) {
  const TemporaryFolder folder;
  write_text(folder / "file", "old");
  {
    AtomicFile file(folder / "file");
    file.write("new ", 4);
    file.write("content", 7);
    EXPECT_EQ(read_text(folder / "file"), "old");
    file.commit();
    EXPECT_EQ(read_text(folder / "file"), "new content");
  }
  EXPECT_EQ(read_text(folder / "file"), "new content");
}

TEST(AtomicFile, LeavesNothingWithoutACommit) {
  const TemporaryFolder folder;
  write_text(folder / "file", "old");
  {
    AtomicFile file(folder / "file");
    file.write("new", 3);
  }
  EXPECT_EQ(read_text(folder / "file"), "old");
  EXPECT_THAT(names_in(folder.path()), ElementsAre("file"));
}

TEST_F(WriteFolderAtomically, ReplacesTheOldFolderAsAWhole) {
  fs::create_directories(folder_ / "model/old_part");
  write_text(folder_ / "model/old_part/file", "old");
  write_folder_atomically(folder_ / "model", [&](const std::string& partial) {
    EXPECT_TRUE(fs::is_empty(partial));
    EXPECT_EQ(read_text(folder_ / "model/old_part/file"), "old") << "still there while the new one is made";
    fs::create_directories(partial + "/part/inner");
    write_text(partial + "/part/inner/file", "new");
  });
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("model"));
  EXPECT_THAT(names_in(folder_ / "model"), ElementsAre("part"));
  EXPECT_EQ(read_text(folder_ / "model/part/inner/file"), "new");
}

TEST_F(WriteFolderAtomically, LeavesTheOldFolderWhenFillingFails) {
  fs::create_directory(folder_ / "model");
  write_text(folder_ / "model/file", "old");
  const std::string message = message_of<std::logic_error>([&] {
    write_folder_atomically(folder_ / "model", [](const std::string& partial) {
      write_text(partial + "/file", "half");
      throw std::logic_error("stop");
    });
  });
  EXPECT_EQ(message, "stop");
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("model"));
  EXPECT_EQ(read_text(folder_ / "model/file"), "old");
}

TEST_F(WriteFolderAtomically, TakesANameThatEndsInASlash) {
  for (const char* content : {"first", "second"}) {
    write_folder_atomically((folder_ / "model") + "/",
                            [&](const std::string& partial) { write_text(partial + "/file", content); });
    EXPECT_EQ(read_text(folder_ / "model/file"), content);
    EXPECT_THAT(names_in(folder_.path()), ElementsAre("model"));
    EXPECT_THAT(names_in(folder_ / "model"), ElementsAre("file"));
  }
}

TEST_F(WriteFolderAtomically, NamesAFolderThatCannotBeMade) {
  write_text(folder_ / "file", "kept");
  EXPECT_THAT(message_of<std::runtime_error>(
                  [&] { write_folder_atomically(folder_ / "file/model", [](const std::string&) { FAIL(); }); }),
              StartsWith(folder_ / "file/model"));
  EXPECT_EQ(read_text(folder_ / "file"), "kept");
}

// A process that ended at once leaves such files: nobody holds their lock.
TEST_F(WrittenAtomically, RemovesWhatACrashLeftOfItAndNothingElse) {
  write_text(folder_ / "file.partial-0123abcd", "half");
  fs::create_directories(folder_ / "model.partial-0123abcd/part");
  write_text(folder_ / "model.partial-0123abcd/part/file", "half");
  fs::create_symlink("mine", folder_ / "file.partial-89abcdef");
  const std::vector<std::string> kept{"file.partial-0123ABCD", "file.partial-0123abcd0", "mine",
                                      "other.partial-0123abcd"};
  for (const std::string& name : kept) write_text(folder_ / name, "");
  write_file_atomically(folder_ / "file", "new");
  write_folder_atomically(folder_ / "model", [](const std::string& partial) { write_text(partial + "/new", ""); });
  EXPECT_THAT(names_in(folder_.path()),
              ElementsAre("file", kept[0], kept[1], "file.partial-89abcdef", kept[2], "model", kept[3]));
}

TEST_F(WrittenAtomically, LeavesWhatOthersAreAtWorkOn) {
  AtomicFile slow(folder_ / "file");
  slow.write("slow", 4);
  write_file_atomically(folder_ / "file", "fast");
  slow.commit();
  EXPECT_EQ(read_text(folder_ / "file"), "slow");
  write_folder_atomically(folder_ / "model", [&](const std::string& partial) {
    write_text(partial + "/slow", "");
    write_folder_atomically(folder_ / "model", [](const std::string& fast) { write_text(fast + "/fast", ""); });
    EXPECT_THAT(names_in(folder_ / "model"), ElementsAre("fast"));
  });
  EXPECT_THAT(names_in(folder_ / "model"), ElementsAre("slow"));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("file", "model"));
}

TEST_F(WrittenAtomically, HasAnyNameThatTheFileSystemTakes) {
  std::string umlauts = "x";
  while (umlauts.size() < NAME_MAX) umlauts += "\u00FC";
  for (const std::string& name : {std::string(NAME_MAX - 16, 'n'), std::string(NAME_MAX, 'n'), umlauts}) {
    write_file_atomically(folder_ / name, "new");
    EXPECT_EQ(read_text(folder_ / name), "new");
    for (int i = 0; i < 2; ++i)
      write_folder_atomically(folder_ / ("folders/" + name), [](const std::string& partial) {
        EXPECT_EQ(fs::path(partial).filename().string().find("\xC3."), std::string::npos) << "half a character";
        write_text(partial + "/new", "");
      });
  }
}

// Somebody who looks while it is removed finds all of it, or nothing under its name.
TEST(RemoveFolderAtomically, LeavesNoHalf) {
  const TemporaryFolder folder;
  const std::string path = folder / "model";
  fs::create_directories(path + "/part");
  constexpr int kFiles = 500;
  for (int i = 0; i < kFiles; ++i) write_text(path + "/part/" + std::to_string(i), "");
  std::atomic<bool> found_half{false}, removed{false};
  std::thread other([&] {
    while (!removed)
      for (int i = 0; i < kFiles; ++i)
        if (!fs::exists(path + "/part/" + std::to_string(i)) && fs::exists(path)) found_half = true;
  });
  remove_folder_atomically(path);
  removed = true;
  other.join();
  EXPECT_FALSE(found_half);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(AllowOpenFiles, RaisesTheLimitThatTheProcessBeganWithAsFarAsTheSystemAllows) {
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const struct rlimit low = {16, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(allow_open_files(17), 17U);
  EXPECT_EQ(allow_open_files(16), 17U) << "the limit is never lowered";
  constexpr size_t kMany = size_t{1} << 40;
  EXPECT_EQ(allow_open_files(kMany), std::min<rlim_t>(before.rlim_max, kMany));
  struct rlimit now = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, std::min<rlim_t>(before.rlim_max, kMany));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(EnsureWritableFolder, MakesParentsAndAcceptsWhatExists) {
  const TemporaryFolder folder;
  ensure_writable_folder(folder / "a/b/c");
  EXPECT_TRUE(fs::is_directory(folder / "a/b/c"));
  EXPECT_NO_THROW(ensure_writable_folder(folder / "a/b/c"));
}

TEST(EnsureWritableFolder, RefusesAFileInItsWay) {
  const TemporaryFolder folder;
  write_text(folder / "file", "");
  for (const char* name : {"file", "file/below"})
    EXPECT_THAT(message_of<std::runtime_error>([&] { ensure_writable_folder(folder / name); }),
                StartsWith(folder / name));
}

TEST(InputFile, ReadsPartsAndSaysWhereItEnds) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  write_text(path, "0123456789");
  const InputFile file(path);
  EXPECT_EQ(file.size(), 10U);
  char part[8] = {};
  EXPECT_EQ(file.read(3, part, 4), 4U);
  EXPECT_EQ(std::string(part, 4), "3456");
  EXPECT_EQ(file.read(7, part, 8), 3U);
  EXPECT_EQ(std::string(part, 3), "789");
  EXPECT_EQ(file.read(10, part, 1), 0U);
  EXPECT_THAT(message_of<std::runtime_error>([&] { InputFile(folder / "absent"); }),
              AllOf(StartsWith(folder / "absent"), HasSubstr("No such file")));
  EXPECT_THAT(message_of<std::runtime_error>([&] { InputFile{folder.path()}; }),
              StartsWith(folder.path() + ": is a folder"));
}

}  // namespace
}  // namespace transmute

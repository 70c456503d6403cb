#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <transmute/common/aligned_buffer.h>
#include <transmute/common/checksum.h>
#include <transmute/common/files.h>
#include <transmute/common/hash.h>
#include <transmute/common/mapped_file.h>
#include <transmute/common/memory.h>
#include <transmute/common/progress.h>
#include <transmute/common/random.h>
#include <transmute/common/text_file.h>
#include <transmute/common/threads.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>

namespace transmute {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using testing::names_in;
using testing::read_text;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::write_text;
using Lines = std::vector<std::string>;

constexpr size_t kReaderBuffer = 1 << 18;  // of LineReader; lengths around it are where mistakes would be

std::string gzipped(const std::string& content) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2");
  std::string packed(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// The lines of a plain and of a gzipped file with this content, which must be the same.
Lines lines_of(const std::string& content) {
  const TemporaryFolder folder;
  write_text(folder / "plain", content);
  write_text(folder / "packed", gzipped(content));
  const Lines plain = read_lines(folder / "plain");
  EXPECT_EQ(read_lines(folder / "packed"), plain);
  return plain;
}

TEST(LineReader, TakesLineEndsOfUnixAndOfWindows) {
  EXPECT_THAT(lines_of("one\ntwo\r\nthree\n"), ElementsAre("one", "two", "three"));
}

TEST(LineReader, CountsALastLineWithoutEnd) {
  EXPECT_THAT(lines_of("one\ntwo"), ElementsAre("one", "two"));
  EXPECT_THAT(lines_of("one\ntwo\n"), ElementsAre("one", "two"));
  EXPECT_THAT(lines_of("one\r"), ElementsAre("one"));
}

TEST(LineReader, KeepsEmptyLines) {
  EXPECT_THAT(lines_of("\n\nmiddle\n\r\n\n"), ElementsAre("", "", "middle", "", ""));
}

TEST(LineReader, FindsNoLineInAnEmptyFile) {
  EXPECT_THAT(lines_of(""), IsEmpty());
}

TEST(LineReader, EndsLinesOnlyAtLineFeeds) {
  // Carriage return, form feed, line separator, NUL.
  const std::string line = "a\rb\fc\u2028d" + std::string(1, '\0') + "e";
  EXPECT_THAT(lines_of(line + "\n" + line), ElementsAre(line, line));
}

TEST(LineReader, NumbersLinesFromOne) {
  const TemporaryFolder folder;
  write_text(folder / "text", "a\n\nb");
  LineReader reader(folder / "text");
  std::vector<int64_t> numbers{reader.line_number()};
  for (std::string line; reader.next(line);) numbers.push_back(reader.line_number());
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2, 3));
  std::string line;
  EXPECT_FALSE(reader.next(line)) << "the end stays the end";
  EXPECT_EQ(reader.line_number(), 3);
}

TEST(LineReader, ReadsLinesLongerThanItsBuffer) {
  for (const int64_t offset : {-2, -1, 0, 1, 2}) {
    const size_t length = kReaderBuffer + static_cast<size_t>(offset);
    const Lines lines{std::string(length, 'x'), "short", std::string(3 * length + 17, 'y'), "", "end"};
    for (const char* end : {"\n", "\r\n"}) {
      std::string content;
      for (const auto& line : lines) content += line + end;
      EXPECT_TRUE(lines_of(content) == lines) << "length " << length;  // too long to print
    }
  }
}

TEST(LineReader, ReadsCharactersThatStraddleItsBuffer) {
  for (size_t shift = 0; shift < 4; ++shift) {
    std::string line(shift, 'x');
    while (line.size() < kReaderBuffer + 8) line += "\U0001F682";
    EXPECT_TRUE(lines_of(line + "\n" + line) == Lines({line, line})) << "shift " << shift;
  }
}

TEST(AFolderWrittenAtomically, ReplacesNoFile) {
  const TemporaryFolder folder;
  write_text(folder / "mine", "precious");
  EXPECT_THAT(message_of<std::runtime_error>([&] { write_folder_atomically(folder / "mine", [](const auto&) {}); }),
              HasSubstr("exists and is not a folder"));
  EXPECT_EQ(read_file(folder / "mine"), "precious");
}

TEST(AFolderWrittenAtomically, ComesBackWhereACrashLeftItAside) {
  const TemporaryFolder folder;
  ensure_writable_folder(folder / "model.replaced");
  write_text(folder / "model.replaced/weights", "old");
  EXPECT_THROW(
      write_folder_atomically(folder / "model", [](const auto&) { throw std::runtime_error("the disk is full"); }),
      std::runtime_error);
  EXPECT_EQ(read_file(folder / "model/weights"), "old");
}

TEST(LineReader, ReadsGzipMembersOneAfterTheOther) {
  const TemporaryFolder folder;
  write_text(folder / "text.gz", gzipped("one\ntw") + gzipped("o\nthree\n"));
  EXPECT_THAT(read_lines(folder / "text.gz"), ElementsAre("one", "two", "three"));
}

TEST(LineReader, RefusesTruncatedGzip) {
  const TemporaryFolder folder;
  std::string content;
  for (int i = 0; i < 200; ++i) content += "line " + std::to_string(i * i) + "\n";
  const std::string packed = gzipped(content);
  const std::string path = folder / "text.gz";
  for (size_t size = 2; size < packed.size(); ++size) {
    write_text(path, packed.substr(0, size));
    EXPECT_THAT(message_of<std::runtime_error>([&] { read_lines(path); }), StartsWith(path + ": cannot be read"))
        << "cut to " << size << " of " << packed.size() << " bytes";
  }
}

TEST(LineReader, RefusesDamagedGzip) {
  const TemporaryFolder folder;
  std::string packed = gzipped("some text that is long enough\nto be packed\n");
  packed[packed.size() - 6] = static_cast<char>(packed[packed.size() - 6] ^ 0x10);  // in its CRC-32
  write_text(folder / "text.gz", packed);
  EXPECT_THAT(message_of<std::runtime_error>([&] { read_lines(folder / "text.gz"); }), HasSubstr(folder / "text.gz"));
}

TEST(LineReader, NamesAFileThatIsMissing) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<std::runtime_error>([&] { LineReader(folder / "absent.txt"); }),
              AllOf(StartsWith(folder / "absent.txt"), HasSubstr("No such file")));
}

TEST(LineReader, RefusesAFolder) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<std::runtime_error>([&] { LineReader reader(folder.path()); }),
              AllOf(StartsWith(folder.path()), HasSubstr("is a folder")));
}

TEST(LineReader, NamesFileAndLineOfInvalidUtf8) {
  const TemporaryFolder folder;
  write_text(folder / "latin1.txt", "fine\n\ngr\xfcn\nfine\n");
  LineReader reader(folder / "latin1.txt");
  std::string line;
  EXPECT_TRUE(reader.next(line));
  EXPECT_TRUE(reader.next(line));
  EXPECT_THAT(
      message_of<std::runtime_error>([&] { reader.next(line); }),
      AllOf(StartsWith((folder / "latin1.txt") + ":3:"), HasSubstr("byte 3"), HasSubstr("0xfc"), HasSubstr("iconv")));
}

TEST(Utf8, AcceptsEveryWellFormedLength) {
  for (const char* text : {"", "ascii", "\u0080", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff", "\U00010000",
                           "\U0010ffff", "gr\u00fcn \u6c49 \U0001F682"})
    EXPECT_EQ(find_invalid_utf8(text), std::string::npos) << text;
  EXPECT_EQ(find_invalid_utf8(std::string_view("a\0b", 3)), std::string::npos);
}

TEST(Utf8, RefusesOverlongSurrogateAndBrokenEncodings) {
  const std::map<std::string, const char*> broken{
      {"\xc0\xaf", "overlong slash, two bytes"},
      {"\xc1\xbf", "overlong, two bytes"},
      {"\xe0\x80\xaf", "overlong, three bytes"},
      {"\xe0\x9f\xbf", "overlong, three bytes"},
      {"\xf0\x80\x80\xaf", "overlong, four bytes"},
      {"\xf0\x8f\xbf\xbf", "overlong, four bytes"},
      {"\xed\xa0\x80", "first surrogate"},
      {"\xed\xbf\xbf", "last surrogate"},
      {"\xf4\x90\x80\x80", "beyond U+10FFFF"},
      {"\xf8\x88\x80\x80\x80", "five bytes"},
      {"\x80", "continuation without a start"},
      {"\xff", "never a byte of UTF-8"},
      {"\xe6\xb1", "cut short"},
      {"\xe6\x61", "continuation missing"},
  };
  for (const auto& [bytes, what] : broken) {
    EXPECT_EQ(find_invalid_utf8(bytes), 0u) << what;
    EXPECT_EQ(find_invalid_utf8("gr\u00fcn " + bytes + " tail"), 6u) << what;
  }
}

TEST(ReadFile, ReturnsEveryByte) {
  const TemporaryFolder folder;
  std::string content;
  for (int i = 0; i < 256 * 1024; ++i) content.push_back(static_cast<char>(i % 256));
  write_text(folder / "bytes", content);
  EXPECT_TRUE(read_file(folder / "bytes") == content);
  write_text(folder / "empty", "");
  EXPECT_EQ(read_file(folder / "empty"), "");
}

TEST(ReadFile, NamesWhatCannotBeRead) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<std::runtime_error>([&] { read_file(folder / "absent"); }),
              AllOf(StartsWith(folder / "absent"), HasSubstr("No such file")));
  EXPECT_THAT(message_of<std::runtime_error>([&] { read_file(folder.path()); }),
              AllOf(StartsWith(folder.path()), HasSubstr("is a folder")));
}

TEST(ReadFile, DoesNotTakeAReadErrorForAnEnd) {
  const char* unreadable = "/proc/self/mem";  // opens, but address 0 cannot be read
  if (!fs::exists(unreadable)) GTEST_SKIP() << "needs Linux's /proc";
  EXPECT_THAT(message_of<std::runtime_error>([&] { read_file(unreadable); }), HasSubstr("cannot be read"));
}

TEST(WriteFileAtomically, ReplacesTheContentAndLeavesNothingElse) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "first, and longer than what follows");
  write_file_atomically(folder / "file", std::string_view("sec\0nd", 6));
  EXPECT_EQ(read_text(folder / "file"), std::string("sec\0nd", 6));
  EXPECT_THAT(names_in(folder.path()), ElementsAre("file"));
}

TEST(WriteFileAtomically, NamesAFileWhoseFolderIsMissing) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of<std::runtime_error>([&] { write_file_atomically(folder / "absent/file", "x"); }),
              AllOf(StartsWith(folder / "absent/file"), HasSubstr("No such file")));
}

TEST(WriteFileAtomically, LeavesAFolderOfThatNameAlone) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "taken");
  write_text(folder / "taken/inside", "kept");
  EXPECT_THAT(message_of<std::runtime_error>([&] { write_file_atomically(folder / "taken", "x"); }),
              StartsWith(folder / "taken"));
  EXPECT_EQ(read_text(folder / "taken/inside"), "kept");
  EXPECT_THAT(names_in(folder.path()), ElementsAre("taken"));
}

TEST(WriteFileAtomically, LeavesTheOldContentWhenTheDiskIsFull) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  const TemporaryFolder folder;
  write_text(folder / "file", "old");
  fs::create_symlink("/dev/full", folder / "file.partial");
  EXPECT_THAT(message_of<std::runtime_error>([&] { write_file_atomically(folder / "file", "new"); }),
              AllOf(StartsWith(folder / "file"), HasSubstr("No space left"), HasSubstr("free some space")));
  EXPECT_EQ(read_text(folder / "file"), "old");
  EXPECT_THAT(names_in(folder.path()), ElementsAre("file"));
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

TEST(WriteFolderAtomically, ReplacesTheOldFolderAsAWhole) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "model/old_part");
  write_text(folder / "model/old_part/file", "old");
  write_folder_atomically(folder / "model", [&](const std::string& partial) {
    EXPECT_TRUE(fs::is_empty(partial));
    EXPECT_EQ(read_text(folder / "model/old_part/file"), "old") << "still there while the new one is made";
    fs::create_directories(partial + "/part/inner");
    write_text(partial + "/part/inner/file", "new");
  });
  EXPECT_THAT(names_in(folder.path()), ElementsAre("model"));
  EXPECT_THAT(names_in(folder / "model"), ElementsAre("part"));
  EXPECT_EQ(read_text(folder / "model/part/inner/file"), "new");
}

TEST(WriteFolderAtomically, LeavesTheOldFolderWhenFillingFails) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "model");
  write_text(folder / "model/file", "old");
  const std::string message = message_of<std::logic_error>([&] {
    write_folder_atomically(folder / "model", [](const std::string& partial) {
      write_text(partial + "/file", "half");
      throw std::logic_error("stop");
    });
  });
  EXPECT_EQ(message, "stop");
  EXPECT_THAT(names_in(folder.path()), ElementsAre("model"));
  EXPECT_EQ(read_text(folder / "model/file"), "old");
}

TEST(WriteFolderAtomically, StartsCleanAfterACrash) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "model.partial");
  write_text(folder / "model.partial/half", "rest of a crash");
  write_folder_atomically(folder / "model", [](const std::string& partial) { write_text(partial + "/file", "new"); });
  EXPECT_THAT(names_in(folder.path()), ElementsAre("model"));
  EXPECT_THAT(names_in(folder / "model"), ElementsAre("file"));
}

TEST(WriteFolderAtomically, TakesANameThatEndsInASlash) {
  const TemporaryFolder folder;
  for (const char* content : {"first", "second"}) {
    write_folder_atomically((folder / "model") + "/",
                            [&](const std::string& partial) { write_text(partial + "/file", content); });
    EXPECT_EQ(read_text(folder / "model/file"), content);
    EXPECT_THAT(names_in(folder.path()), ElementsAre("model"));
    EXPECT_THAT(names_in(folder / "model"), ElementsAre("file"));
  }
}

TEST(WriteFolderAtomically, NamesAFolderThatCannotBeMade) {
  const TemporaryFolder folder;
  write_text(folder / "file", "kept");
  EXPECT_THAT(message_of<std::runtime_error>(
                  [&] { write_folder_atomically(folder / "file/model", [](const std::string&) { FAIL(); }); }),
              StartsWith(folder / "file/model"));
  EXPECT_EQ(read_text(folder / "file"), "kept");
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

// Values that the publications of XXH64 and its bindings give.
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
  EXPECT_THAT(message_of<std::runtime_error>([&] { InputFile(folder.path()).read(0, part, 1); }),
              StartsWith(folder.path() + ": cannot be read"));
}

TEST(MapMemory, GivesZerosThatMayBeWritten) {
  const size_t bytes = 3 * kLargeBlock + 1;
  auto* block = static_cast<char*>(map_memory(bytes));
  EXPECT_TRUE(std::all_of(block, block + bytes, [](char c) { return c == 0; }));
  std::fill_n(block, bytes, 'x');
  unmap_memory(block, bytes);
  EXPECT_THROW(map_memory(std::numeric_limits<size_t>::max() / 2), std::bad_alloc);
}

TEST(AlignedBuffer, IsMappedWhereItIsLarge) {
  AlignedBuffer<int32_t> buffer;
  for (const int64_t count : {int64_t{7}, int64_t{1} << 17, int64_t{3}}) {
    int32_t* numbers = buffer.mapped(count);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(numbers) % 64, 0U);
    std::fill_n(numbers, count, 5);
    EXPECT_EQ(buffer.at_least(1), numbers) << "there is room";
  }
  AlignedBuffer<int32_t> other = std::move(buffer);
  int32_t* numbers = other.at_least(int64_t{1} << 18);
  std::fill_n(numbers, int64_t{1} << 18, 6);
  EXPECT_EQ(other.size(), int64_t{1} << 18);
}

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

TEST(MixBits, IsSplitMix64) {
  // The first three outputs for seed 0 in the authors' reference implementation.
  constexpr uint64_t kGamma = 0x9e3779b97f4a7c15ULL;
  EXPECT_EQ(mix_bits(0), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(mix_bits(kGamma), 0x6e789e6aa1b965f4ULL);
  EXPECT_EQ(mix_bits(2 * kGamma), 0x06c45d188009454fULL);
}

TEST(CombineKeys, GivesEachCombinationItsOwnKey) {
  std::set<uint64_t> keys;
  for (uint64_t a = 0; a < 20; ++a)
    for (uint64_t b = 0; b < 20; ++b)
      for (uint64_t c = 0; c < 20; ++c) keys.insert(combine_keys(a, b, c));
  EXPECT_EQ(keys.size(), 20u * 20u * 20u);
}

std::vector<int> shuffled(int count, uint64_t key) {
  std::vector<int> items(static_cast<size_t>(count));
  std::iota(items.begin(), items.end(), 0);
  shuffle(items, key);
  return items;
}

TEST(Shuffle, IsAPermutation) {
  for (const int count : {0, 1, 2, 3, 17, 1000})
    for (uint64_t key = 0; key < 20; ++key) {
      std::vector<int> items = shuffled(count, key);
      std::sort(items.begin(), items.end());
      for (int i = 0; i < count; ++i) ASSERT_EQ(items[static_cast<size_t>(i)], i);
    }
}

TEST(Shuffle, IsAFunctionOfItsKey) {
  EXPECT_EQ(shuffled(1000, 7), shuffled(1000, 7));
  std::set<std::vector<int>> orders;
  for (uint64_t key = 0; key < 100; ++key) orders.insert(shuffled(20, key));
  EXPECT_EQ(orders.size(), 100u);
}

// Runs resume in the order in which they began: these orders are a format. Worked out with a second
// implementation, in Python.
TEST(Shuffle, KeepsItsOrders) {
  EXPECT_THAT(shuffled(10, 1), ElementsAre(2, 4, 7, 5, 1, 6, 3, 9, 8, 0));
  EXPECT_THAT(shuffled(10, 2), ElementsAre(2, 7, 4, 9, 6, 5, 0, 8, 1, 3));
  EXPECT_THAT(shuffled(8, combine_keys(1, 2, 3)), ElementsAre(5, 3, 7, 0, 6, 1, 4, 2));
}

TEST(Shuffle, GivesEveryOrderTheSameChance) {
  std::map<std::vector<int>, int> counts;
  for (uint64_t key = 0; key < 24'000; ++key) ++counts[shuffled(4, key)];
  EXPECT_EQ(counts.size(), 24u);
  // 1000 expected of each; six standard deviations are 186.
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 186);
}

TEST(AvailableCores, CountsThoseThatTheThreadMayRunOn) {
  EXPECT_GE(available_cores(), 1);
  EXPECT_LE(available_cores(), sysconf(_SC_NPROCESSORS_CONF));
  int cores_of_one = 0;
  std::thread([&] {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &mine);
    ASSERT_EQ(sched_setaffinity(0, sizeof(mine), &mine), 0);
    cores_of_one = available_cores();
  }).join();
  EXPECT_EQ(cores_of_one, 1);
}

TEST(WorkerCrew, NeedsAWorker) {
  for (const int size : {0, -1}) EXPECT_THROW(WorkerCrew crew(size), std::invalid_argument);
}

// Each worker waits for all others: a crew that ran them one after the other would not get past this.
TEST(WorkerCrew, RunsAllWorkersAtTheSameTime) {
  for (const int size : {1, 2, 5}) {
    WorkerCrew crew(size);
    EXPECT_EQ(crew.size(), size);
    std::mutex mutex;
    std::condition_variable everyone;
    std::vector<int> arrived;
    std::atomic<int> met{0};
    crew.run([&](int worker) {
      std::unique_lock<std::mutex> lock(mutex);
      arrived.push_back(worker);
      everyone.notify_all();
      if (everyone.wait_for(lock, std::chrono::seconds(20), [&] { return static_cast<int>(arrived.size()) == size; }))
        ++met;
    });
    EXPECT_EQ(met, size);
    std::sort(arrived.begin(), arrived.end());
    for (int worker = 0; worker < size; ++worker) EXPECT_EQ(arrived[static_cast<size_t>(worker)], worker);
  }
}

TEST(WorkerCrew, RunsItsFirstWorkerOnTheCallersThread) {
  std::atomic<int> started{0};
  WorkerCrew crew(3, [&] { ++started; });
  std::array<std::thread::id, 3> threads;
  crew.run([&](int worker) { threads[static_cast<size_t>(worker)] = std::this_thread::get_id(); });
  EXPECT_EQ(threads[0], std::this_thread::get_id());
  EXPECT_EQ(std::set<std::thread::id>(threads.begin(), threads.end()).size(), 3u);
  crew.run([](int) {});
  EXPECT_EQ(started, 2) << "once on each of the crew's own threads";
}

TEST(WorkerCrew, RethrowsTheFirstWorkersExceptionAndGoesOn) {
  WorkerCrew crew(4);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> ended{0};
    const std::string message = message_of<std::runtime_error>([&] {
      crew.run([&](int worker) {
        ++ended;
        if (worker == 1 || worker == 3) throw std::runtime_error("worker " + std::to_string(worker));
      });
    });
    EXPECT_EQ(message, "worker 1");
    EXPECT_EQ(ended, 4) << "the others run to their end";
    EXPECT_NO_THROW(crew.run([](int) {})) << "an exception is reported once";
  }
  EXPECT_EQ(message_of<std::runtime_error>([&] {
              crew.run([](int worker) {
                if (worker == 0) throw std::runtime_error("the caller's own");
              });
            }),
            "the caller's own");
}

TEST(WorkerCrew, CoversEachElementExactlyOnce) {
  WorkerCrew crew(3);
  for (const size_t count : {0, 1, 2, 63, 64, 65, 1000})
    for (const size_t grain : {1, 3, 64, 5000}) {
      std::vector<std::atomic<int>> visits(count);
      std::atomic<bool> sound{true};
      crew.for_each_piece(count, grain, [&](size_t begin, size_t end, int worker) {
        if (begin >= end || end - begin > grain || worker < 0 || worker >= 3) sound = false;
        for (size_t i = begin; i < end; ++i) ++visits[i];
      });
      EXPECT_TRUE(sound);
      for (const auto& times : visits) ASSERT_EQ(times, 1) << count << " elements in pieces of " << grain;
    }
}

TEST(WorkerCrew, ServesManyRounds) {
  WorkerCrew crew(3);
  std::array<int, 3> rounds{};  // each worker's own: no two write to the same
  for (int round = 0; round < 5000; ++round) crew.run([&](int worker) { ++rounds[static_cast<size_t>(worker)]; });
  EXPECT_THAT(rounds, ElementsAre(5000, 5000, 5000));
}

TEST(ThreadPool, NeedsAThread) {
  EXPECT_THROW(ThreadPool pool(0), std::invalid_argument);
}

TEST(ThreadPool, DoesEachPieceOnceOnThreadsOfItsOwn) {
  std::atomic<int> started{0};
  ThreadPool pool(3, [&] { ++started; });
  std::vector<std::atomic<int>> done(1000);
  std::atomic<bool> on_caller{false};
  const auto caller = std::this_thread::get_id();
  pool.for_each(done.size(), [&](size_t piece) {
    ++done[piece];
    if (std::this_thread::get_id() == caller) on_caller = true;
  });
  for (const auto& count : done) ASSERT_EQ(count, 1);
  EXPECT_FALSE(on_caller);
  EXPECT_LE(started, 3);
  EXPECT_GE(started, 1);
  pool.for_each(0, [](size_t) { FAIL() << "there is no piece"; });
}

TEST(ThreadPool, ServesManyCallersAtOnce) {
  ThreadPool pool(2);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([&, caller] {
      for (int round = 0; round < 50; ++round) {
        std::atomic<size_t> sum{0};
        const auto count = static_cast<size_t>(caller * 7 + round % 5);
        pool.for_each(count, [&](size_t piece) { sum += piece + 1; });
        if (sum != count * (count + 1) / 2) ++wrong;
      }
    });
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, DoesNotLetAShortCallWaitForALongOne) {
  ThreadPool pool(1);
  std::mutex mutex;
  std::condition_variable changed;
  bool begun = false, short_waits = false;
  std::atomic<size_t> pieces_of_long{0};
  std::thread long_caller([&] {
    pool.for_each(1000, [&](size_t piece) {
      ++pieces_of_long;
      if (piece != 0) return;
      std::unique_lock<std::mutex> lock(mutex);
      begun = true;
      changed.notify_all();
      changed.wait(lock, [&] { return short_waits; });
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the short call gets in line meanwhile
    });
  });
  size_t seen = 0;
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return begun; });
    short_waits = true;
  }
  changed.notify_all();
  pool.for_each(1, [&](size_t) { seen = pieces_of_long; });
  long_caller.join();
  EXPECT_LT(seen, 1000U);
}

TEST(ThreadPool, RethrowsAndBeginsNothingMoreOfThatCall) {
  ThreadPool pool(1);
  std::atomic<int> begun{0};
  EXPECT_EQ(message_of<std::runtime_error>([&] {
              pool.for_each(100, [&](size_t piece) {
                ++begun;
                if (piece == 3) throw std::runtime_error("piece 3");
              });
            }),
            "piece 3");
  EXPECT_EQ(begun, 4);
  size_t after = 0;
  pool.for_each(1, [&](size_t) { ++after; });
  EXPECT_EQ(after, 1U);
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

// What `act` writes to standard error where that is the descriptor `replacement`.
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
    line.show(0.5, "half done");
    line.show(0.5, std::string(26, 'y'));
    line.show(7.0, std::string(100, 'x'));
    line.show(-1, "nobody knows how much is left");
  });
  std::string seen(4096, '\0');
  const ssize_t count = ::read(terminal, seen.data(), seen.size());
  ::close(inner);
  ::close(terminal);
  ASSERT_GT(count, 0);
  seen.resize(static_cast<size_t>(count));
  const std::string start = "\r\033[K";
  EXPECT_EQ(seen, start + "[########--------] half done" +              //
                      start + "[#####-----] " + std::string(26, 'y') +  // the text is worth more than the bar
                      start + std::string(39, 'x') +                    // the last column stays free
                      start + "nobody knows how much is left" + start)
      << "the line is taken away at the end";
}

int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST(ReturnFreedMemory, GivesBackWhatLiesBetweenBlocksInUse) {
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "needs glibc's malloc";
#endif
  constexpr size_t kBlocks = 4000, kBlock = 20'000;
  std::vector<std::unique_ptr<std::string>> blocks;
  for (size_t i = 0; i < kBlocks; ++i) blocks.push_back(std::make_unique<std::string>(kBlock, 'x'));
  for (size_t i = 0; i + 1 < kBlocks; ++i) blocks[i].reset();  // the last keeps the heap from shrinking
  const int64_t freed = resident_bytes();
  if (freed == 0) GTEST_SKIP() << "needs Linux's /proc";
  return_freed_memory();
  EXPECT_LT(resident_bytes(), freed - static_cast<int64_t>(kBlocks * kBlock) / 2);
  EXPECT_EQ(*blocks.back(), std::string(kBlock, 'x'));
}

TEST(Memory, HugePagesBackALargeBlockThatAsksForThem) {
#ifndef __linux__
  GTEST_SKIP() << "needs Linux";
#endif
  std::string policy;
  std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled") >> std::ws, policy);
  if (policy.empty() || policy.find("[never]") != std::string::npos) GTEST_SKIP() << "the system has no huge pages";
  constexpr size_t kBytes = size_t{32} << 20;
  const std::unique_ptr<char, decltype(&std::free)> block(static_cast<char*>(std::aligned_alloc(64, kBytes)),
                                                          std::free);
  prefer_huge_pages(block.get(), kBytes);
  std::fill_n(block.get(), kBytes, 'x');
  // "7f12…-7f34… rw-p …", then the mapping's facts, a line each; "hg": it has asked for huge pages.
  const auto address = reinterpret_cast<uintptr_t>(block.get() + kBytes / 2);
  bool is_here = false, has_asked = false;
  std::ifstream mappings("/proc/self/smaps");
  for (std::string line; std::getline(mappings, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) is_here = begin <= address && address < end;
    if (is_here && line.rfind("VmFlags:", 0) == 0) has_asked = line.find(" hg") != std::string::npos;
  }
  EXPECT_TRUE(has_asked);
  char small = 'x';
  prefer_huge_pages(&small, 1);  // nothing to be had, and no harm
  EXPECT_EQ(small, 'x');
}

}  // namespace
}  // namespace transmute

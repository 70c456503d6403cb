// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/text_file.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/folder_fixture.h>
#include <transmute/tests/support/temporary_folder.h>
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::write_text;
using Lines = std::vector<std::string>;
using ALineReader = testing::InFolder;

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

Lines read_lines(const std::string& path) {
  LineReader reader(path);
  Lines lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
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

TEST(TextFileEnding, IsTheOneBeforeThatOfAPacker) {
  EXPECT_EQ(text_file_ending("data.v2/a.en"), "en");
  EXPECT_EQ(text_file_ending("data.v2/a.en.gz"), "en");
  EXPECT_EQ(text_file_ending("data.v2/a.en.zst"), "en");
  EXPECT_EQ(text_file_ending("data.v2/a"), "");
  EXPECT_EQ(text_file_ending("data.v2/a.gz"), "");
  EXPECT_EQ(without_packer_ending("data.v2/a.en.bz2"), "data.v2/a.en");
  EXPECT_EQ(without_packer_ending("data.xz/a.en"), "data.xz/a.en");
}

TEST_F(ALineReader, TakesLineEndsOfUnixAndOfWindows) {
  EXPECT_THAT(lines_of("one\ntwo\r\nthree\n"), ElementsAre("one", "two", "three"));
}

TEST_F(ALineReader, CountsALastLineWithoutEnd) {
  EXPECT_THAT(lines_of("one\ntwo"), ElementsAre("one", "two"));
  EXPECT_THAT(lines_of("one\ntwo\n"), ElementsAre("one", "two"));
  EXPECT_THAT(lines_of("one\r"), ElementsAre("one"));
}

TEST_F(ALineReader, KeepsEmptyLines) {
  EXPECT_THAT(lines_of("\n\nmiddle\n\r\n\n"), ElementsAre("", "", "middle", "", ""));
}

TEST_F(ALineReader, FindsNoLineInAnEmptyFile) {
  EXPECT_THAT(lines_of(""), IsEmpty());
}

TEST_F(ALineReader, EndsLinesOnlyAtLineFeeds) {
  // Carriage return, form feed, line separator, NUL.
  const std::string line = "a\rb\fc\u2028d" + std::string(1, '\0') + "e";
  EXPECT_THAT(lines_of(line + "\n" + line), ElementsAre(line, line));
}

TEST_F(ALineReader, NumbersLinesFromOne) {
  write_text(folder_ / "text", "a\n\nb");
  LineReader reader(folder_ / "text");
  std::vector<int64_t> numbers{reader.line_number()};
  for (std::string line; reader.next(line);) numbers.push_back(reader.line_number());
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2, 3));
  std::string line;
  EXPECT_FALSE(reader.next(line)) << "the end stays the end";
  EXPECT_EQ(reader.line_number(), 3);
}

TEST_F(ALineReader, ReadsLinesLongerThanItsBuffer) {
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

TEST_F(ALineReader, ReadsCharactersThatStraddleItsBuffer) {
  for (size_t shift = 0; shift < 4; ++shift) {
    std::string line(shift, 'x');
    while (line.size() < kReaderBuffer + 8) line += "\U0001F682";
    EXPECT_TRUE(lines_of(line + "\n" + line) == Lines({line, line})) << "shift " << shift;
  }
}

TEST_F(ALineReader, ReadsGzipMembersOneAfterTheOther) {
  write_text(folder_ / "text.gz", gzipped("one\ntw") + gzipped("o\nthree\n"));
  EXPECT_THAT(read_lines(folder_ / "text.gz"), ElementsAre("one", "two", "three"));
}

TEST_F(ALineReader, RefusesTruncatedGzip) {
  std::string content;
  for (int i = 0; i < 200; ++i) content += "line " + std::to_string(i * i) + "\n";
  const std::string packed = gzipped(content);
  const std::string path = folder_ / "text.gz";
  for (size_t size = 2; size < packed.size(); ++size) {
    write_text(path, packed.substr(0, size));
    EXPECT_THAT(message_of<std::runtime_error>([&] { read_lines(path); }),
                AllOf(StartsWith(path + ": cannot be read"), EndsWith(": the gzipped text is cut off")))
        << "cut to " << size << " of " << packed.size() << " bytes";
  }
}

TEST_F(ALineReader, ReadsTheLinesBeforeAGzippedFileEndsEarly) {
  std::string content;
  for (int i = 0; i < 9000; ++i) content += "line " + std::to_string(i) + "\n";
  const std::string packed = gzipped(content);
  write_text(folder_ / "text.gz", packed.substr(0, packed.size() - 20));
  LineReader reader(folder_ / "text.gz");
  std::string line;
  const auto read_all = [&] {
    while (reader.next(line)) EXPECT_EQ(line, "line " + std::to_string(reader.line_number() - 1));
  };
  EXPECT_THAT(message_of<std::runtime_error>(read_all), HasSubstr("cannot be read after line"));
  EXPECT_GT(reader.line_number(), 8000);
}

TEST_F(ALineReader, RefusesDamagedGzip) {
  std::string packed = gzipped("some text that is long enough\nto be packed\n");
  packed[packed.size() - 6] = static_cast<char>(packed[packed.size() - 6] ^ 0x10);  // in its CRC-32
  write_text(folder_ / "text.gz", packed);
  EXPECT_THAT(message_of<std::runtime_error>([&] { read_lines(folder_ / "text.gz"); }),
              EndsWith("text.gz: cannot be read: the gzipped text is damaged"));
}

TEST_F(ALineReader, NamesAFileThatIsMissing) {
  EXPECT_THAT(message_of<std::runtime_error>([&] { LineReader(folder_ / "absent.txt"); }),
              AllOf(StartsWith(folder_ / "absent.txt"), HasSubstr("No such file")));
}

TEST_F(ALineReader, RefusesAFolder) {
  EXPECT_THAT(message_of<std::runtime_error>([&] { LineReader reader(folder_.path()); }),
              AllOf(StartsWith(folder_.path()), HasSubstr("is a folder")));
}

TEST_F(ALineReader, NamesFileAndLineOfInvalidUtf8) {
  write_text(folder_ / "latin1.txt", "fine\n\ngr\xfcn\nfine\n");
  LineReader reader(folder_ / "latin1.txt");
  std::string line;
  EXPECT_TRUE(reader.next(line));
  EXPECT_TRUE(reader.next(line));
  EXPECT_THAT(
      message_of<std::runtime_error>([&] { reader.next(line); }),
      AllOf(StartsWith((folder_ / "latin1.txt") + ":3:"), HasSubstr("byte 3"), HasSubstr("0xfc"), HasSubstr("iconv")));
}

TEST_F(ALineReader, KnowsUtf16ByItsMark) {
  write_text(folder_ / "utf16.txt", std::string("\xff\xfe"
                                                "a\0\n\0",
                                                6));
  LineReader reader(folder_ / "utf16.txt");
  std::string line;
  EXPECT_THAT(message_of<std::runtime_error>([&] { reader.next(line); }), HasSubstr("iconv -f utf-16 -t utf-8"));
}

// Packs `content` with a program of the system; false where it is not installed.
bool is_packed_by(const std::string& packer, const std::string& content, const std::string& path) {
  write_text(path + ".plain", content);
  return std::system((packer + " -c < '" + path + ".plain' > '" + path + "' 2> /dev/null").c_str()) == 0;
}

TEST_F(ALineReader, UnpacksXzZstdAndBzip2ByContent) {
  std::string content;
  for (int i = 0; i < 100000; ++i) content += "line " + std::to_string(i) + "\n";
  for (const char* packer : {"xz", "zstd", "bzip2"}) {
    if (!is_packed_by(packer, content, folder_ / "text")) continue;
    const Lines lines = read_lines(folder_ / "text");
    ASSERT_EQ(lines.size(), 100000) << packer;
    EXPECT_EQ(lines.back(), "line 99999") << packer;
    LineReader first_line_only(folder_ / "text");  // the program is not left waiting
    std::string line;
    EXPECT_TRUE(first_line_only.next(line));
  }
}

TEST_F(ALineReader, SaysThatAPackedFileIsDamaged) {
  for (const char* packer : {"xz", "zstd", "bzip2"}) {
    if (!is_packed_by(packer, std::string(1000, 'a') + "\n", folder_ / "text")) continue;
    const std::string whole = testing::read_text(folder_ / "text");
    write_text(folder_ / "text", whole.substr(0, whole.size() - 6));
    EXPECT_THAT(message_of<std::runtime_error>([&] { read_lines(folder_ / "text"); }),
                AllOf(StartsWith((folder_ / "text") + ": cannot be read"), HasSubstr(packer), HasSubstr("damaged")));
  }
}

TEST_F(ALineReader, NamesThePackerOfAFileThatIsNotText) {
  write_text(folder_ / "packed", "7z\xbc\xaf\x27\x1c\n");
  EXPECT_EQ(message_of<std::runtime_error>([&] { read_lines(folder_ / "packed"); }),
            (folder_ / "packed") + ": is not plain or gzipped text: 7-Zip has packed it; unpack the file first");
  EXPECT_THAT(lines_of("BZh9\nPK\n7z\n"), ElementsAre("BZh9", "PK", "7z"));
}

// Packs files of a folder with Python's zipfile, an independent writer; false where there is no Python.
bool is_zipped(const TemporaryFolder& folder, const std::string& files, const std::string& archive) {
  const std::string command = "cd '" + folder.path() + "' && python3 -m zipfile -c '" + archive + "' " + files;
  return std::system((command + " 2> /dev/null").c_str()) == 0;
}

TEST_F(ALineReader, ReadsTheFilesOfAZipArchive) {
  std::string content;
  for (int i = 0; i < 100000; ++i) content += "line " + std::to_string(i) + "\n";
  write_text(folder_ / "a.en", content);
  write_text(folder_ / "a.de", "eins\nzwei\n");
  if (!is_zipped(folder_, "a.en", "one.zip") || !is_zipped(folder_, "a.en a.de", "two.zip"))
    GTEST_SKIP() << "no Python";
  for (const char* path : {"one.zip", "one.zip/a.en", "two.zip/a.en"}) {
    const Lines lines = read_lines(folder_ / path);
    ASSERT_EQ(lines.size(), 100000) << path;
    EXPECT_EQ(lines.back(), "line 99999") << path;
  }
  EXPECT_THAT(read_lines(folder_ / "two.zip/a.de"), ElementsAre("eins", "zwei"));
  const auto failure_of = [&](const std::string& path) {
    return message_of<std::runtime_error>([&] { read_lines(folder_ / path); });
  };
  EXPECT_EQ(failure_of("two.zip"),
            (folder_ / "two.zip") + " contains a.en, a.de; name one of them, as in " + (folder_ / "two.zip") + "/a.en");
  EXPECT_EQ(failure_of("two.zip/b.en"), (folder_ / "two.zip") + " contains a.en, a.de, not b.en");
  EXPECT_THAT(failure_of("a.en/b"), HasSubstr("a.en: no zip archive"));
}

TEST_F(ALineReader, RefusesDamagedZipArchives) {
  std::string content;
  for (int i = 0; i < 1000; ++i) content += "line " + std::to_string(i * i) + "\n";
  write_text(folder_ / "a.en", content);
  if (!is_zipped(folder_, "a.en", "a.zip")) GTEST_SKIP() << "no Python";
  const std::string whole = testing::read_text(folder_ / "a.zip");
  for (size_t at = 0; at < whole.size(); at += 7) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x11);
    write_text(folder_ / "a.zip", damaged);
    try {  // some bytes, such as those of the time, do not matter
      EXPECT_EQ(read_lines(folder_ / "a.zip").size(), 1000) << at;
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr("a.zip")) << at;
    }
    write_text(folder_ / "a.zip", whole.substr(0, at));
    if (at < 4) continue;  // what is left may be text
    EXPECT_THROW(read_lines(folder_ / "a.zip"), std::runtime_error) << at;
  }
}

TEST_F(ALineReader, TellsUtf16WithoutAMarkFromOtherFilesWithZeroBytes) {
  const auto advice_for = [&](const std::string& content) {
    write_text(folder_ / "text", content);
    return message_of<std::runtime_error>([&] { read_lines(folder_ / "text"); });
  };
  using namespace std::string_literals;
  EXPECT_THAT(advice_for("g\0r\0\xfc\0n\0\n\0"s), HasSubstr("iconv -f utf-16le -t utf-8"));
  EXPECT_THAT(advice_for("\0g\0r\0\xfc\0n\0\n"s), HasSubstr("iconv -f utf-16be -t utf-8"));
  EXPECT_THAT(advice_for("a\0\n\0g\0r\0\xfc\0n\0\n\0"s), HasSubstr("iconv -f utf-16le -t utf-8"));
  EXPECT_THAT(advice_for("g\0r\0e\0y\0\r\0\n\0"s), HasSubstr(":1: is UTF-16, not UTF-8; convert the text"));
  EXPECT_THAT(advice_for("\0g\0r\0e\0y\0\n"s), HasSubstr("iconv -f utf-16be -t utf-8"));
  EXPECT_THAT(advice_for("\n\n\0g\0r\0e\0y\0\n"s), HasSubstr(":3: is UTF-16"));
  for (const std::string& text : {"one\0zero byte\n"s, "\0\n"s, "\0\0\0\0\n"s, "a\0b\n"s})
    EXPECT_EQ(lines_of(text).size(), 1U) << "a text with zero bytes is not refused";
  for (const std::string& binary : {"\x7f"s + "ELF\2\1\1\0\0\0\0\0\xff"s, "name.txt\0\0\0\0\0\0\0\0\xff"s})
    EXPECT_THAT(advice_for(binary),
                AllOf(HasSubstr("remove the zero bytes, or unpack the file"), ::testing::Not(HasSubstr("iconv"))));
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

TEST_F(ALineReader, RefusesALineWithoutEndAndSaysWhich) {
  const std::string plain = folder_ / "plain.txt", packed = folder_ / "bomb.gz";
  const std::string fits(100'000, 'a');
  write_text(plain, "first\n" + fits + "\n" + fits + "b\n");
  LineReader reader(plain, {InvalidUtf8::fail, fits.size()});
  std::string line;
  EXPECT_TRUE(reader.next(line) && reader.next(line));
  EXPECT_EQ(line, fits);
  EXPECT_THAT(message_of<std::runtime_error>([&] { reader.next(line); }),
              AllOf(StartsWith(plain + ":3: "), HasSubstr("more than 100000 bytes")));
  const std::string zeros = gzipped(std::string(64 << 20, '\0'));
  ASSERT_LT(zeros.size(), 100'000U);
  write_text(packed, zeros);
  EXPECT_THAT(message_of<std::runtime_error>([&] { read_lines(packed); }), StartsWith(packed + ":1: "));
}

TEST_F(ALineReader, PassesOverAByteOrderMarkAtTheBeginningOnly) {
  const std::string mark = "\xef\xbb\xbf";
  write_text(folder_ / "marked.txt", mark + "one\n" + mark + "two\n");
  EXPECT_THAT(read_lines(folder_ / "marked.txt"), ElementsAre("one", mark + "two"));
  write_text(folder_ / "alone.txt", mark);
  EXPECT_THAT(read_lines(folder_ / "alone.txt"), ElementsAre(""));
}

}  // namespace
}  // namespace transmute

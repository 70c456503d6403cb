// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/formats/tensor_file.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/module_weights.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace transmute {
namespace {

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

std::string little_endian(uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

uint64_t from_little_endian(const std::string& bytes) {
  uint64_t value = 0;
  for (size_t i = 8; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes.at(i));
  return value;
}

// A safetensors file, put together by hand.
std::string file_of(const std::string& header, const std::string& data) {
  return little_endian(header.size()) + header + data;
}

std::string file_of_one(const std::string& dtype, const std::string& shape, const std::string& offsets,
                        size_t data_bytes) {
  return file_of(R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}",
                 std::string(data_bytes, '\1'));
}

// A header of `count` tensors without numbers.
std::string many_tensors(int count) {
  std::string header = "{";
  for (int i = 0; i < count; ++i)
    header += (i > 0 ? ",\"" : "\"") + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  return header + "}";
}

// Memory that the process has ever asked for, in bytes.
int64_t peak_address_space() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmPeak:") {
      int64_t kilobytes = 0;
      status >> kilobytes;
      return kilobytes * 1024;
    }
  return 0;
}

class TensorFile : public ::testing::Test {
 protected:
  // The message with which reading this content as a file fails, after the file's name.
  std::string refusal_of(const std::string& content) {
    write_text(path, content);
    const std::string message = message_of<std::runtime_error>([&] { read_tensor_file(path); });
    EXPECT_THAT(message, StartsWith(path + ": "));
    return message.substr(std::min(message.size(), path.size()));
  }

  const TemporaryFolder folder;
  const std::string path = folder / "w.safetensors";
};

NamedTensors a_few_tensors() {
  torch::manual_seed(1);
  return {{"first", torch::randn({3, 5})}, {"second", torch::arange(7)}, {"third", torch::randn({2, 1, 4})}};
}

void expect_equal(const NamedTensors& read, const NamedTensors& tensors) {
  ASSERT_EQ(read.size(), tensors.size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].first, tensors[i].first);
    EXPECT_EQ(read[i].second.scalar_type(), tensors[i].second.scalar_type());
    EXPECT_EQ(read[i].second.sizes(), tensors[i].second.sizes());
    EXPECT_TRUE(torch::equal(read[i].second, tensors[i].second)) << tensors[i].first;
  }
}

TEST_F(TensorFile, ReadsBackEveryType) {
  NamedTensors tensors;
  for (const auto dtype : {torch::kFloat, torch::kDouble, torch::kHalf, torch::kBFloat16, torch::kLong, torch::kInt,
                           torch::kShort, torch::kChar, torch::kByte, torch::kBool}) {
    const std::string name = torch::toString(dtype);
    tensors.emplace_back(name + ".matrix", torch::arange(-6, 6).reshape({3, 4}).to(dtype));
    tensors.emplace_back(name + ".empty", torch::empty({0, 3}, dtype));
    tensors.emplace_back(name + ".scalar", torch::ones({}, dtype));
    tensors.emplace_back(name + ".odd", torch::ones({3}, dtype));
  }
  write_tensor_file(path, to_arrays(tensors));
  expect_equal(to_tensors(read_tensor_file(path)), tensors);
  EXPECT_THAT(names_in(folder.path()), ElementsAre("w.safetensors"));
}

// The arrays have more chunks than one, whole and broken ones, read on as many threads as there are and on one.
TEST_F(TensorFile, IsReadInChunks) {
  torch::manual_seed(2);
  const NamedTensors tensors{{"small", torch::randn({7})},
                             {"chunks", torch::randint(256, {9'000'001}, torch::kByte)},
                             {"whole", torch::randint(256, {2, 4 << 20}, torch::kByte)},
                             {"none", torch::empty({0})},
                             {"last", torch::randn({300'000})}};
  write_tensor_file(path, to_arrays(tensors));
  ThreadPool threads(3);
  for (const ParallelFor& parallel_for : {threads.parallel_for(), ParallelFor(one_by_one)})
    for (const WeightMemory memory :
         {WeightMemory::own, WeightMemory::mapped}) {  // "last" is no multiple of 4 bytes from the begin
      expect_equal(to_tensors(read_tensor_file(path, parallel_for, {{}, false, memory})), tensors);
    }
  // A single bit, wherever it is.
  const std::string file = read_text(path);
  for (const size_t from_end :
       {size_t{1}, size_t{1'200'000}, size_t{1'200'001}, size_t{9'000'000}, size_t{18'000'000}}) {
    std::string damaged = file;
    damaged[file.size() - from_end] ^= 0x10;
    write_text(path, damaged);
    for (const WeightMemory memory : {WeightMemory::own, WeightMemory::mapped})
      EXPECT_THAT(message_of<std::runtime_error>([&] {
                    read_tensor_file(path, threads.parallel_for(), {{}, false, memory});
                  }),
                  HasSubstr("its checksum does not match its content; if you changed that, leave crc32 out"))
          << from_end;
  }
}

TEST_F(TensorFile, KeepsEveryBit) {
  const float values[] = {
      0.0f, -0.0f, std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::infinity(), std::nanf("123"),
      1.1f};
  const torch::Tensor tensor = torch::tensor(at::ArrayRef<float>(values));
  write_tensor_file(path, {{"w", to_array(tensor)}});
  const Array read = read_tensor_file(path).at(0).second;
  EXPECT_EQ(std::memcmp(read.data(), tensor.data_ptr(), sizeof(values)), 0);
}

TEST_F(TensorFile, TakesAnyNameAndAnyLayout) {
  const torch::Tensor base = torch::arange(24, torch::kFloat).reshape({4, 6});
  const NamedTensors tensors{{"größe.汉字 \U0001F682", base.t()},
                             {"with \"quotes\" and \\", base.slice(1, 1, 6, 2)},
                             {"", torch::ones({2}, torch::requires_grad())},
                             {"line\nbreak", base[2]}};
  write_tensor_file(path, to_arrays(tensors));
  expect_equal(to_tensors(read_tensor_file(path)), tensors);
}

TEST_F(TensorFile, MayHoldNothing) {
  write_tensor_file(path, {});
  EXPECT_THAT(read_tensor_file(path), IsEmpty());
}

// The file by the words of the safetensors format: 8 bytes of header length, JSON, then the data without gaps.
TEST_F(TensorFile, FollowsTheSafetensorsFormat) {
  write_tensor_file(path, to_arrays({{"a", torch::tensor({1.5f, -2.0f})},
                                     {"b", torch::tensor({int64_t{258}})},
                                     {"flag", torch::tensor({true, false, true})}}));
  const std::string file = read_text(path);
  const uint64_t header_bytes = from_little_endian(file);
  ASSERT_LE(8 + header_bytes, file.size());
  const std::string text = file.substr(8, header_bytes);
  EXPECT_EQ(text.front(), '{');
  EXPECT_EQ((8 + header_bytes) % 8, 0u) << "the data are aligned";
  const Json header = parse_json(text);
  EXPECT_EQ(header["a"], parse_json(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})"));
  EXPECT_EQ(header["b"], parse_json(R"({"dtype":"I64","shape":[1],"data_offsets":[8,16]})"));
  EXPECT_EQ(header["flag"], parse_json(R"({"dtype":"BOOL","shape":[3],"data_offsets":[16,19]})"));
  for (const auto& [key, value] : header["__metadata__"].items())
    EXPECT_TRUE(value.is_string()) << key << ": metadata are a map from text to text";
  EXPECT_EQ(file.substr(8 + header_bytes), std::string("\x00\x00\xc0\x3f\x00\x00\x00\xc0"
                                                       "\x02\x01\0\0\0\0\0\0"
                                                       "\x01\x00\x01",
                                                       19));
}

TEST_F(TensorFile, ReadsFilesOfOtherPrograms) {
  // No checksum, no padding, entries in another order than the data, metadata of its own.
  const std::string header = R"({"z":{"dtype":"I32","shape":[1],"data_offsets":[4,8]},"__metadata__":{"who":"else"},)"
                             R"("a":{"dtype":"U8","shape":[2,2],"data_offsets":[0,4]}})";
  write_text(path, file_of(header, std::string("\1\2\3\4\5\0\0\0", 8)));
  const NamedTensors read = to_tensors(read_tensor_file(path));
  ASSERT_EQ(read.size(), 2u);
  std::map<std::string, torch::Tensor> by_name(read.begin(), read.end());
  EXPECT_TRUE(torch::equal(by_name.at("a"), torch::tensor({1, 2, 3, 4}, torch::kByte).reshape({2, 2})));
  EXPECT_TRUE(torch::equal(by_name.at("z"), torch::tensor({5}, torch::kInt)));
}

TEST_F(TensorFile, NamesAFileThatIsMissing) {
  EXPECT_THAT(message_of<std::runtime_error>([&] { read_tensor_file(folder / "absent"); }),
              AllOf(StartsWith(folder / "absent"), HasSubstr("No such file")));
  EXPECT_THAT(message_of<std::runtime_error>([&] { read_tensor_file(folder.path()); }), StartsWith(folder.path()));
  EXPECT_THAT(message_of<std::runtime_error>([&] { write_tensor_file(folder / "absent/w", {}); }),
              StartsWith(folder / "absent/w"));
}

TEST_F(TensorFile, RefusesATypeThatTheFormatLacks) {
  EXPECT_THROW(to_array(torch::zeros({2}, torch::kComplexFloat)), std::invalid_argument);
}

TEST_F(TensorFile, NoticesEveryTruncation) {
  write_tensor_file(path, to_arrays(a_few_tensors()));
  const std::string whole = read_text(path);
  for (size_t size = 0; size < whole.size(); ++size) refusal_of(whole.substr(0, size));
  EXPECT_THAT(refusal_of(whole + '\0'), HasSubstr("damaged")) << "nor may anything follow";
}

TEST_F(TensorFile, NoticesAChangeOfAnyByteOfTheData) {
  NamedTensors tensors = a_few_tensors();
  tensors.emplace_back("empty", torch::empty({0}));
  tensors.emplace_back("last", torch::ones({2}));
  write_tensor_file(path, to_arrays(tensors));
  const std::string whole = read_text(path);
  for (size_t i = 8 + from_little_endian(whole); i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x20);
    EXPECT_THAT(refusal_of(changed), HasSubstr("checksum")) << "byte " << i;
  }
}

TEST_F(TensorFile, NeverReadsAChangedHeaderWrongly) {
  write_tensor_file(path, to_arrays(a_few_tensors()));
  const std::string whole = read_text(path);
  const size_t data_begin = 8 + from_little_endian(whole);
  for (size_t i = 0; i < data_begin; ++i)
    for (const int flip : {0x01, 0x20, 0x80}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      write_text(path, changed);
      // Names, spaces and the like may change unnoticed; the data of a tensor must not, nor may it crash.
      try {
        for (const auto& [name, array] : read_tensor_file(path)) EXPECT_LE(array.bytes(), whole.size());
      } catch (const std::runtime_error& error) {
        EXPECT_THAT(error.what(), StartsWith(path + ": ")) << "byte " << i;
      }
    }
}

TEST_F(TensorFile, RefusesImpossibleHeaders) {
  const std::pair<std::string, const char*> cases[] = {
      {std::string(), "empty file"},
      {little_endian(2), "header that is not there"},
      {little_endian(0), "header of no bytes"},
      {little_endian(std::numeric_limits<uint64_t>::max()) + "{}", "length of 2^64 - 1"},
      {little_endian(uint64_t{1} << 40) + "{}", "length of a terabyte"},
      {little_endian(90'000'000) + "{}", "length of 90 MB"},
      {file_of("not json", ""), "not JSON"},
      {file_of("{\"w\":", ""), "half JSON"},
      {file_of("[1,2]", ""), "a list"},
      {file_of("5", ""), "a number"},
      {file_of(std::string(100'000, '['), ""), "deep nesting"},
      {file_of(R"({"w":)" + std::string(30'000'000, '['), ""), "deep nesting in a long header"},
      {file_of(many_tensors(300'000), ""), "300,000 tensors"},
      {file_of("{}" + std::string(40'000'000, ' '), ""), "header of 40 MB"},
      {file_of(R"({"w":5})", ""), "an entry that is a number"},
      {file_of(R"({"w":{}})", ""), "an entry without anything"},
      {file_of(R"({"w":{"dtype":"F32","shape":[1]}})", "1234"), "no offsets"},
      {file_of(R"({"w":{"dtype":5,"shape":[1],"data_offsets":[0,4]}})", "1234"), "type that is a number"},
      {file_of_one("F32", "[1]", "[0]", 4), "one offset"},
      {file_of_one("F32", "\"1\"", "[0,4]", 4), "shape that is a text"},
      {file_of_one("F32", "[\"1\"]", "[0,4]", 4), "size that is a text"},
      {file_of_one("F32", "[1]", "[\"0\",\"4\"]", 4), "offsets that are texts"},
      {file_of_one("F32", "[1.5]", "[0,4]", 4), "size that is not a whole number"},
      {file_of_one("F32", "[1]", "[0.0,4.0]", 4), "offsets that are no whole numbers"},
      {file_of_one("F32", "[1]", "[0,4,8]", 4), "three offsets"},
      {file_of_one("F32", "[0,4611686018427387904,4611686018427387904]", "[0,0]", 0), "strides beyond 64 bits"},
      {file_of_one("F32", "{\"0\":1}", "[0,4]", 4), "shape that is a map"},
      {file_of("  {}", ""), "blanks before the header"},
      {file_of("{} {}", ""), "a second header"},
      {file_of(R"({"__metadata__":5})", ""), "metadata that are a number"},
      {file_of(R"({"__metadata__":{"version":5}})", ""), "metadata that hold a number"},
  };
  for (const auto& [content, what] : cases) EXPECT_THAT(refusal_of(content), HasSubstr("damaged")) << what;
}

TEST_F(TensorFile, RefusesANameThatStandsTwice) {
  const std::string entry = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_THAT(refusal_of(file_of(R"({"w":)" + entry + R"(,"v":)" + entry + R"(,"w":)" + entry + "}", "")),
              HasSubstr("'w' occurs twice"));
  EXPECT_THAT(refusal_of(file_of(R"({"w":{"dtype":"U8","dtype":"I8","shape":[0],"data_offsets":[0,0]}})", "")),
              HasSubstr("'dtype' occurs twice"));
}

TEST_F(TensorFile, RefusesNamesThatAreNoUtf8) {
  for (const char* name : {"\xff", "\xc3", "\xed\xa0\x80", "\xf8\x88\x80\x80\x80", "\xc0\xaf"})
    EXPECT_THAT(
        refusal_of(file_of(R"({")" + std::string(name) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", "")),
        HasSubstr("damaged"));
}

TEST_F(TensorFile, RefusesAnUnknownType) {
  EXPECT_THAT(refusal_of(file_of_one("F8_E4M3", "[4]", "[0,4]", 4)), HasSubstr("unknown type 'F8_E4M3'"));
}

TEST_F(TensorFile, RefusesShapesThatCannotBe) {
  for (const char* shape : {
           "[-1]", "[-1,-1]", "[2]", "[0]",
           "[4611686018427387904]",               // 2^62 elements
           "[4294967296,4294967296]",             // 2^64: overflows to 0
           "[4294967296,4294967296,0]",           //
           "[1152921504606846977,4]",             // 4 bytes x 4 x (2^60 + 1): overflows to 16
           "[9223372036854775807]",               //
           "[18446744073709551615]",              // -1 as unsigned
           "[99999999999999999999999]",           // a number beyond 64 bits
           "[9223372036854775808,2]",             //
           "[3037000500,3037000500,3037000500]",  //
           "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"  // 17 dimensions
       })
    EXPECT_THAT(refusal_of(file_of_one("F32", shape, "[0,4]", 4)), HasSubstr("damaged")) << shape;
}

TEST_F(TensorFile, RefusesOffsetsThatDoNotTileTheData) {
  const auto two = [](const char* first, const char* second) {
    return file_of(std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + first +
                       R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}",
                   "12345678");
  };
  write_text(path, two("[0,4]", "[4,8]"));
  EXPECT_NO_THROW(read_tensor_file(path)) << "the sound case";
  EXPECT_THAT(refusal_of(two("[0,4]", "[0,4]")), HasSubstr("overlap"));
  EXPECT_THAT(refusal_of(two("[0,4]", "[2,6]")), HasSubstr("overlap"));
  EXPECT_THAT(refusal_of(two("[0,4]", "[6,10]")), HasSubstr("damaged"));
  EXPECT_THAT(refusal_of(two("[1,5]", "[5,9]")), HasSubstr("damaged"));
  EXPECT_THAT(refusal_of(two("[4,0]", "[4,8]")), HasSubstr("damaged"));
  EXPECT_THAT(refusal_of(two("[-4,0]", "[0,4]")), HasSubstr("damaged"));
  EXPECT_THAT(refusal_of(two("[0,4]", "[18446744073709551612,18446744073709551616]")), HasSubstr("damaged"));
  EXPECT_THAT(refusal_of(file_of_one("U8", "[4]", "[0,4]", 3)), HasSubstr("damaged"));
  EXPECT_THAT(refusal_of(file_of_one("U8", "[4]", "[0,4]", 5)), HasSubstr("damaged"));
}

TEST_F(TensorFile, TakesNoMemoryForWhatIsNotThere) {
  const std::string lies[] = {
      little_endian(99'999'999) + "{}",
      file_of_one("F32", "[1000000000]", "[0,4000000000]", 4),
      file_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
              R"("b":{"dtype":"F64","shape":[1000000000],"data_offsets":[4,8000000004]}})",
              "1234"),
      file_of(R"({"w":)" + std::string(30'000'000, '['), ""),
  };
  refusal_of(file_of("not json", ""));  // what the first use of anything takes
  const int64_t before = peak_address_space();
  if (before == 0) GTEST_SKIP() << "needs Linux's /proc";
  for (const auto& lie : lies) refusal_of(lie);
  EXPECT_LT(peak_address_space() - before, 16'000'000 + 31'000'000);  // and the header itself
}

// Each number takes eight times its text.
TEST_F(TensorFile, TakesNoMemoryForAListWithoutEnd) {
  std::string ones = "[1";
  for (int i = 0; i < 15'000'000; ++i) ones += ",1";
  refusal_of(file_of("not json", ""));
  const int64_t before = peak_address_space();
  if (before == 0) GTEST_SKIP() << "needs Linux's /proc";
  EXPECT_THAT(refusal_of(file_of_one("F32", ones + "]", "[0,4]", 4)), HasSubstr("values"));
  EXPECT_LT(peak_address_space() - before, 3 * 31'000'000 + 100'000'000);  // the text in its copies, and a few values
}

}  // namespace
}  // namespace transmute

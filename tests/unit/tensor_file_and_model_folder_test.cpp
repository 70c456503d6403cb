#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/model/libtorch.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/translation/model_folder.h>
#include <transmute/translation/tensor_file.h>

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
using testing::tiny_config;
using testing::tiny_tokenizer;
using testing::tiny_tokenizer_options;
using testing::tiny_transformer;
using testing::tiny_transformer_options;
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
  // What reading this content as a file fails with, after the file's name.
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

TEST_F(TensorFile, ReadsBackEveryType) {
  NamedTensors tensors;
  for (const auto dtype : {torch::kFloat, torch::kDouble, torch::kHalf, torch::kBFloat16, torch::kLong, torch::kInt,
                           torch::kChar, torch::kByte, torch::kBool}) {
    const std::string name = torch::toString(dtype);
    tensors.emplace_back(name + ".matrix", torch::arange(-6, 6).reshape({3, 4}).to(dtype));
    tensors.emplace_back(name + ".empty", torch::empty({0, 3}, dtype));
    tensors.emplace_back(name + ".scalar", torch::ones({}, dtype));
    tensors.emplace_back(name + ".odd", torch::ones({3}, dtype));
  }
  write_tensor_file(path, tensors);
  const NamedTensors read = read_tensor_file(path);
  ASSERT_EQ(read.size(), tensors.size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].first, tensors[i].first);
    EXPECT_EQ(read[i].second.scalar_type(), tensors[i].second.scalar_type());
    EXPECT_EQ(read[i].second.sizes(), tensors[i].second.sizes());
    EXPECT_TRUE(torch::equal(read[i].second, tensors[i].second)) << tensors[i].first;
  }
  EXPECT_THAT(names_in(folder.path()), ElementsAre("w.safetensors"));
}

// Of more pieces than one, whole and broken ones, on as many threads as there are and on one.
TEST_F(TensorFile, IsReadInPieces) {
  torch::manual_seed(2);
  const NamedTensors tensors{{"small", torch::randn({7})},
                             {"pieces", torch::randint(256, {9'000'001}, torch::kByte)},
                             {"whole", torch::randint(256, {2, 4 << 20}, torch::kByte)},
                             {"none", torch::empty({0})},
                             {"last", torch::randn({300'000})}};
  write_tensor_file(path, tensors);
  ThreadPool threads(3);
  for (const ParallelFor& parallel_for : {threads.parallel_for(), ParallelFor(one_by_one)}) {
    const NamedTensors read = read_tensor_file(path, parallel_for);
    ASSERT_EQ(read.size(), tensors.size());
    for (size_t i = 0; i < read.size(); ++i)
      EXPECT_TRUE(torch::equal(read[i].second, tensors[i].second)) << tensors[i].first;
  }
  // A single bit, wherever it is.
  const std::string file = read_text(path);
  for (const size_t from_end :
       {size_t{1}, size_t{1'200'000}, size_t{1'200'001}, size_t{9'000'000}, size_t{18'000'000}}) {
    std::string damaged = file;
    damaged[file.size() - from_end] ^= 0x10;
    write_text(path, damaged);
    EXPECT_THAT(message_of<std::runtime_error>([&] { read_tensor_file(path, threads.parallel_for()); }),
                HasSubstr("its checksum does not match its content"))
        << from_end;
  }
}

TEST_F(TensorFile, KeepsEveryBit) {
  const float values[] = {
      0.0f, -0.0f, std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::infinity(), std::nanf("123"),
      1.1f};
  const torch::Tensor tensor = torch::tensor(at::ArrayRef<float>(values));
  write_tensor_file(path, {{"w", tensor}});
  const torch::Tensor read = read_tensor_file(path).at(0).second;
  EXPECT_EQ(std::memcmp(read.data_ptr(), tensor.data_ptr(), sizeof(values)), 0);
}

TEST_F(TensorFile, TakesAnyNameAndAnyLayout) {
  const torch::Tensor base = torch::arange(24, torch::kFloat).reshape({4, 6});
  const NamedTensors tensors{{"größe.汉字 \U0001F682", base.t()},
                             {"with \"quotes\" and \\", base.slice(1, 1, 6, 2)},
                             {"", torch::ones({2}, torch::requires_grad())},
                             {"line\nbreak", base[2]}};
  write_tensor_file(path, tensors);
  const NamedTensors read = read_tensor_file(path);
  ASSERT_EQ(read.size(), tensors.size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].first, tensors[i].first);
    EXPECT_TRUE(torch::equal(read[i].second, tensors[i].second)) << tensors[i].first;
  }
}

TEST_F(TensorFile, MayHoldNothing) {
  write_tensor_file(path, {});
  EXPECT_THAT(read_tensor_file(path), IsEmpty());
}

// The file by the words of the safetensors format: 8 bytes of header length, JSON, then the data without gaps.
TEST_F(TensorFile, FollowsTheSafetensorsFormat) {
  write_tensor_file(path, {{"a", torch::tensor({1.5f, -2.0f})},
                           {"b", torch::tensor({int64_t{258}})},
                           {"flag", torch::tensor({true, false, true})}});
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
  const NamedTensors read = read_tensor_file(path);
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
  EXPECT_THROW(write_tensor_file(path, {{"w", torch::zeros({2}, torch::kComplexFloat)}}), std::invalid_argument);
  EXPECT_THAT(names_in(folder.path()), IsEmpty());
}

TEST_F(TensorFile, NoticesEveryTruncation) {
  write_tensor_file(path, a_few_tensors());
  const std::string whole = read_text(path);
  for (size_t size = 0; size < whole.size(); ++size) refusal_of(whole.substr(0, size));
  EXPECT_THAT(refusal_of(whole + '\0'), HasSubstr("damaged")) << "nor may anything follow";
}

TEST_F(TensorFile, NoticesAChangeOfAnyByteOfTheData) {
  NamedTensors tensors = a_few_tensors();
  tensors.emplace_back("empty", torch::empty({0}));
  tensors.emplace_back("last", torch::ones({2}));
  write_tensor_file(path, tensors);
  const std::string whole = read_text(path);
  for (size_t i = 8 + from_little_endian(whole); i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x20);
    EXPECT_THAT(refusal_of(changed), HasSubstr("checksum")) << "byte " << i;
  }
}

TEST_F(TensorFile, NeverReadsAChangedHeaderWrongly) {
  write_tensor_file(path, a_few_tensors());
  const std::string whole = read_text(path);
  const size_t data_begin = 8 + from_little_endian(whole);
  for (size_t i = 0; i < data_begin; ++i)
    for (const int flip : {0x01, 0x20, 0x80}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      write_text(path, changed);
      // Names, spaces and the like may change unnoticed; the data of a tensor must not, nor may it crash.
      try {
        for (const auto& [name, tensor] : read_tensor_file(path)) EXPECT_LE(tensor.nbytes(), whole.size());
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
      {file_of(R"({"w":5})", ""), "an entry that is a number"},
      {file_of(R"({"w":{}})", ""), "an entry without anything"},
      {file_of(R"({"w":{"dtype":"F32","shape":[1]}})", "1234"), "no offsets"},
      {file_of(R"({"w":{"dtype":5,"shape":[1],"data_offsets":[0,4]}})", "1234"), "type that is a number"},
      {file_of_one("F32", "[1]", "[0]", 4), "one offset"},
      {file_of_one("F32", "\"1\"", "[0,4]", 4), "shape that is a text"},
      {file_of_one("F32", "[\"1\"]", "[0,4]", 4), "size that is a text"},
      {file_of_one("F32", "[1]", "[\"0\",\"4\"]", 4), "offsets that are texts"},
      {file_of_one("F32", "[1.5]", "[0,4]", 4), "size that is no whole number"},
      {file_of_one("F32", "[1]", "[0.0,4.0]", 4), "offsets that are no whole numbers"},
      {file_of_one("F32", "[1]", "[0,4,8]", 4), "three offsets"},
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
              HasSubstr("'w' stands twice"));
  EXPECT_THAT(refusal_of(file_of(R"({"w":{"dtype":"U8","dtype":"I8","shape":[0],"data_offsets":[0,0]}})", "")),
              HasSubstr("'dtype' stands twice"));
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
           "[4611686018427387904]",              // 2^62 elements
           "[4294967296,4294967296]",            // 2^64: overflows to 0
           "[4294967296,4294967296,0]",          //
           "[1152921504606846977,4]",            // 4 bytes x 4 x (2^60 + 1): overflows to 16
           "[9223372036854775807]",              //
           "[18446744073709551615]",             // -1 as unsigned
           "[99999999999999999999999]",          // a number beyond 64 bits
           "[9223372036854775808,2]",            //
           "[3037000500,3037000500,3037000500]"  //
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
  };
  refusal_of(file_of("not json", ""));  // what the first use of anything takes
  const int64_t before = peak_address_space();
  if (before == 0) GTEST_SKIP() << "needs Linux's /proc";
  for (const auto& lie : lies) refusal_of(lie);
  EXPECT_LT(peak_address_space() - before, 16'000'000);
}

// A model folder of a tiny model, and what differs from it.
class ModelFolder : public ::testing::Test {
 protected:
  ModelFolder() {
    fs::create_directory(path);
    save_model_folder(path, tiny_config(), tokenizer, transformer);
  }

  std::string refusal() {
    return message_of<std::runtime_error>([&] { load_model_folder(path, torch::kCPU); });
  }

  // Writes the weights anew, changed.
  template <class Change>
  void change_weights(const Change& change) {
    NamedTensors weights = read_tensor_file(weights_path);
    change(weights);
    write_tensor_file(weights_path, weights);
  }

  const TemporaryFolder folder;
  const std::string path = folder / "model";
  const std::string weights_path = path + "/weights.safetensors";
  const std::string config_path = path + "/config.yaml";
  const Tokenizer tokenizer = tiny_tokenizer();
  Transformer transformer = tiny_transformer(tokenizer, 1);
};

TEST_F(ModelFolder, HoldsConfigTokenizerAndWeights) {
  EXPECT_THAT(names_in(path), ElementsAre("config.yaml", "tokenizer.model", "weights.safetensors"));
}

TEST_F(ModelFolder, GivesTheSameLogitsBitForBit) {
  LoadedModel loaded = load_model_folder(path, torch::kCPU);
  const torch::Tensor source = torch::tensor({{5, 6, 7, 3}, {8, 9, 3, 0}});
  const torch::Tensor target = torch::tensor({{2, 10, 11}, {2, 12, 13}});
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(torch::equal(loaded.transformer->forward(source, target), transformer->forward(source, target)));
  EXPECT_FALSE(loaded.transformer->is_training());
  for (const auto& parameter : loaded.transformer->parameters()) EXPECT_FALSE(parameter.requires_grad());
  EXPECT_EQ(loaded.tokenizer.source().encode("the red house"), tokenizer.source().encode("the red house"));
}

TEST_F(ModelFolder, StoresTheMatricesOfProductsInFewerBits) {
  const auto whole_size = fs::file_size(weights_path);
  for (const auto& [stored, steps, most_bytes] : {std::tuple(InferencePrecision::bfloat16, 256.0, 2.0),
                                                  {InferencePrecision::half, 2048.0, 2.0},
                                                  {InferencePrecision::int8, 127.0, 1.2}}) {
    fs::remove_all(path);
    fs::create_directory(path);
    save_model_folder(path, tiny_config(), tokenizer, transformer, kWeightsFile, stored);
    int64_t matrix_bytes = 0, matrix_numbers = 0;
    for (const auto& [name, value] : read_tensor_file(weights_path)) {
      const bool is_of_a_layer = name.find("layers") != std::string::npos;
      const bool is_scale = name.size() > 6 && name.substr(name.size() - 6) == "_scale";
      if (is_of_a_layer && (value.dim() == 2 || is_scale)) {
        matrix_bytes += static_cast<int64_t>(value.nbytes());
        matrix_numbers += is_scale ? 0 : value.numel();
      } else {
        EXPECT_EQ(value.scalar_type(), torch::kFloat) << name;
      }
    }
    EXPECT_LE(static_cast<double>(matrix_bytes), most_bytes * static_cast<double>(matrix_numbers) * 1.2);
    EXPECT_LT(fs::file_size(weights_path), whole_size);

    LoadedModel loaded = load_model_folder(path, torch::kCPU);
    Transformer assigned = tiny_transformer(tokenizer, 2);
    assign_parameters(assigned, read_tensor_file(weights_path), weights_path);
    for (const auto& [name, value] : parameters_of(transformer)) {
      const torch::Tensor found = loaded.transformer->named_parameters()[name];
      EXPECT_EQ(found.scalar_type(), torch::kFloat);
      EXPECT_LE((found - value).abs().max().item<double>(), value.abs().max().item<double>() / steps) << name;
      if (name.find("layers") == std::string::npos || value.dim() == 1) {
        EXPECT_TRUE(torch::equal(found, value)) << name;
      }
      EXPECT_TRUE(torch::equal(assigned->named_parameters()[name], found)) << name;
    }
  }
}

TEST_F(ModelFolder, NamesInt8WeightsWithoutTheirScales) {
  save_model_folder(path, tiny_config(), tokenizer, transformer, kWeightsFile, InferencePrecision::int8);
  const std::string scale = "encoder.layers.0.self_attention.query.weight_scale";
  const auto change_scale = [&](const torch::Tensor& value) {
    change_weights([&](NamedTensors& weights) {
      const auto found = std::find_if(weights.begin(), weights.end(), [&](const auto& w) { return w.first == scale; });
      ASSERT_NE(found, weights.end());
      if (value.defined()) {
        found->second = value;
      } else {
        weights.erase(found);
      }
    });
  };
  change_scale(torch::ones({3}));
  EXPECT_THAT(refusal(), AllOf(StartsWith(weights_path + ": \"" + scale + "\""), HasSubstr("shape [3]")));
  change_scale({});
  EXPECT_THAT(refusal(), AllOf(StartsWith(weights_path), HasSubstr("has no \"" + scale + "\"")));
}

TEST_F(ModelFolder, BringsEveryOptionOfTheModel) {
  TokenizerOptions separate = tiny_tokenizer_options();
  separate.vocabulary = VocabularySharing::separate;
  separate.vocab_size = 50;
  const Tokenizer two = tiny_tokenizer(separate);
  TransformerOptions options = tiny_transformer_options();
  options.d_k = 6;
  options.d_v = 10;
  options.score_function = ScoreFunction::additive;
  options.norm_position = NormPosition::pre;
  options.positional_encoding = PositionalEncodingKind::learned;
  options.max_positions = 12;
  options.embedding_tying = EmbeddingTying::none;
  options.norm_epsilon = 1e-3;
  Transformer odd = tiny_transformer(two, 3, options);
  fs::remove_all(path);
  fs::create_directory(path);
  save_model_folder(path, tiny_config(options), two, odd);
  LoadedModel loaded = load_model_folder(path, torch::kCPU);
  const torch::Tensor source = torch::tensor({{5, 6, 7, 3}});
  const torch::Tensor target = torch::tensor({{2, 10, 11}});
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(torch::equal(loaded.transformer->forward(source, target), odd->forward(source, target)));
  EXPECT_FALSE(loaded.tokenizer.shared());
}

TEST_F(ModelFolder, AcceptsTheConfigOfATraining) {
  write_text(config_path, tiny_config() + "data:\n  folder: x\ntraining:\n  seed: 1\nvalidation:\n  every: 5\n");
  EXPECT_NO_THROW(load_model_folder(path, torch::kCPU));
}

TEST_F(ModelFolder, OfATimeBeforeThereWereLanguageModelsIsATranslator) {
  std::string config = tiny_config();
  const std::string line = "  architecture: encoder_decoder\n";
  ASSERT_NE(config.find(line), std::string::npos) << config;
  write_text(config_path, config.erase(config.find(line), line.size()));
  const LoadedModel loaded = load_model_folder(path, torch::kCPU);
  EXPECT_EQ(loaded.transformer->options.architecture, Architecture::encoder_decoder);
  EXPECT_TRUE(loaded.transformer->encoder);
}

TEST_F(ModelFolder, NamesATensorOfAnotherShape) {
  std::string name;
  change_weights([&](NamedTensors& weights) {
    name = weights.back().first;
    weights.back().second = torch::zeros({2, 3});
  });
  EXPECT_THAT(refusal(), AllOf(StartsWith(weights_path + ": \"" + name + "\""), HasSubstr("shape [2,3]")));
}

TEST_F(ModelFolder, NamesATensorThatIsMissing) {
  std::string name;
  change_weights([&](NamedTensors& weights) {
    name = weights[1].first;
    weights.erase(weights.begin() + 1);
  });
  EXPECT_THAT(refusal(), AllOf(StartsWith(weights_path), HasSubstr("has no \"" + name + "\"")));
}

TEST_F(ModelFolder, NamesATensorThatIsTooMany) {
  change_weights([](NamedTensors& weights) { weights.emplace_back("surplus.weight", torch::zeros({2})); });
  EXPECT_THAT(refusal(), AllOf(StartsWith(weights_path), HasSubstr("holds \"surplus.weight\"")));
}

TEST_F(ModelFolder, NamesBothVersionsWhereTheyDiffer) {
  for (const char* keys : {"", "model:\n  key_of_version_2: 1\n"}) {
    write_text(config_path, std::string("format_version: 2\n") + keys);
    EXPECT_THAT(refusal(), AllOf(StartsWith(config_path), HasSubstr("format version 2"), HasSubstr("reads version 1")));
  }
}

TEST_F(ModelFolder, NamesTheLineOfADamagedConfig) {
  for (const char* damage : {"model:\n  d_modle: 5\n", "model:\n  d_model: many\n", "model:\n  d_model: [\n"}) {
    write_text(config_path, tiny_config() + damage);
    EXPECT_THAT(refusal(), StartsWith(config_path + ":")) << damage;
    write_text(config_path, std::string("format_version: 1\n") + damage);
    EXPECT_THAT(refusal(), StartsWith(config_path + ":")) << damage;
  }
}

TEST_F(ModelFolder, NamesAMissingFolder) {
  EXPECT_THAT(message_of<std::runtime_error>([&] { load_model_folder(folder / "absent", torch::kCPU); }),
              AllOf(StartsWith(folder / "absent"), HasSubstr("no such model folder")));
}

TEST_F(ModelFolder, PointsFromTheRunFolderToItsModel) {
  EXPECT_THAT(message_of<std::runtime_error>([&] { load_model_folder(folder.path(), torch::kCPU); }),
              AllOf(StartsWith(folder.path() + ": "), HasSubstr(folder.path() + "/model")));
}

TEST_F(ModelFolder, NamesAFolderOfOtherThings) {
  fs::create_directory(folder / "other");
  EXPECT_THAT(message_of<std::runtime_error>([&] { load_model_folder(folder / "other", torch::kCPU); }),
              AllOf(StartsWith(folder / "other"), HasSubstr("weights.safetensors")));
}

TEST_F(ModelFolder, NamesEachFileThatIsMissing) {
  for (const std::string& file : {config_path, path + "/tokenizer.model"}) {
    const std::string content = read_text(file);
    fs::remove(file);
    EXPECT_THAT(refusal(), HasSubstr(file));
    write_text(file, content);
  }
  EXPECT_NO_THROW(load_model_folder(path, torch::kCPU));
}

TEST_F(ModelFolder, NamesDamagedWeights) {
  std::string content = read_text(weights_path);
  content.back() = static_cast<char>(content.back() ^ 1);
  write_text(weights_path, content);
  EXPECT_THAT(refusal(), AllOf(StartsWith(weights_path), HasSubstr("damaged")));
}

TEST_F(ModelFolder, MayBeSharedByThreads) {
  LoadedModel loaded = load_model_folder(path, torch::kCPU);
  const torch::Tensor source = torch::tensor({{5, 6, 7, 3}, {8, 9, 3, 0}});
  const torch::Tensor target = torch::tensor({{2, 10, 11}, {2, 12, 13}});
  const torch::Tensor expected = loaded.transformer->forward(source, target);
  std::vector<std::thread> threads;
  std::vector<char> equal(4, 0);
  for (size_t t = 0; t < equal.size(); ++t)
    threads.emplace_back([&, t] {
      const torch::NoGradGuard no_grad;
      bool all = true;
      for (int i = 0; i < 20; ++i) all = all && torch::equal(loaded.transformer->forward(source, target), expected);
      equal[t] = all;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(equal, ::testing::Each(1));
}

}  // namespace
}  // namespace transmute

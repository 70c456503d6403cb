// SPDX-License-Identifier: Apache-2.0
// Damaged and hostile files of other programs: each is refused with a message that names the file and what is wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/model/libtorch.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/translation/files/load_model.h>

#include <cstdint>
#include <exception>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

// A copy of a model in tests/data/formats whose files may be changed.
class CopiedModel {
 public:
  explicit CopiedModel(const std::string& name) : folder_(temporary_ / name) {
    fs::copy(std::string(TRANSMUTE_TEST_DATA "/formats/") + name, folder_, fs::copy_options::recursive);
  }

  std::string path(const std::string& file) const { return (fs::path(folder_) / file).string(); }

  // Replaces one text of a file by another.
  void change(const std::string& file, const std::string& from, const std::string& to) const {
    std::string content = read_text(path(file));
    const size_t at = content.find(from);
    ASSERT_NE(at, std::string::npos) << file << " has no " << from;
    write_text(path(file), content.replace(at, from.size(), to));
  }

  std::string refusal() const {
    return message_of<std::runtime_error>([&] { load_model(folder_, torch::kCPU); });
  }

 private:
  TemporaryFolder temporary_;
  std::string folder_;
};

std::string little_endian(uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i));
  return text;
}

uint32_t crc32_of(const std::string& bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (0xedb88320U & (~(crc & 1) + 1));
  }
  return ~crc;
}

// A zip archive of uncompressed records, as torch.save and numpy.savez make them.
void write_zip(const std::string& path, const std::vector<std::pair<std::string, std::string>>& records) {
  std::string archive, directory;
  for (const auto& [name, content] : records) {
    const std::string sizes = little_endian(crc32_of(content), 4) + little_endian(content.size(), 4) +
                              little_endian(content.size(), 4) + little_endian(name.size(), 2);
    const std::string flags = little_endian(20, 2) + little_endian(0, 8);
    directory += "PK\x01\x02" + little_endian(20, 2) + flags + sizes + little_endian(0, 12) +
                 little_endian(archive.size(), 4) + name;
    archive += "PK\x03\x04" + flags + sizes + little_endian(0, 2) + name + content;
  }
  const std::string count = little_endian(records.size(), 2);
  write_text(path, archive + directory + "PK\x05\x06" + little_endian(0, 4) + count + count +
                       little_endian(directory.size(), 4) + little_endian(archive.size(), 4) + little_endian(0, 2));
}

TEST(DamagedHuggingFaceModel, NamesTheKeyOfItsConfiguration) {
  for (const auto& [from, to, what] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"\"d_model\": 8", "\"d_mode1\": 8", "\"d_model\" is missing"},
           {"\"d_model\": 8", "\"d_model\": \"8\"", "\"d_model\" is not a whole number"},
           {"\"d_model\": 8", "\"d_model\": -8", "configuration needs [43,-8]"},
           {"\"d_model\": 8", "\"d_model\": 1099511627776", "has shape"},
           {"\"encoder_layers\": 1", "\"encoder_layers\": 1000000000000", "encoder.layers.1."},
           {"\"vocab_size\": 43", "\"vocab_size\": 4300000000000", "vocabulary of 4300000000000 pieces"},
           {"\"swish\"", "\"geglu\"", "activation_function \"geglu\""},
           {"\"encoder_ffn_dim\": 12", "\"encoder_ffn_dim\": 13", "encoder_ffn_dim and decoder_ffn_dim differ"},
           {"\"marian\"", "\"nllb-moe\"", "mixture of experts"}}) {
    const CopiedModel model("marian");
    model.change("config.json", from, to);
    EXPECT_THAT(model.refusal(), HasSubstr(what)) << to;
  }
}

TEST(DamagedHuggingFaceModel, NamesTheTensor) {
  const std::string name = "model.decoder.layers.1.fc1.weight", other = "model.decoder.layers.1.fc9.weight";
  const CopiedModel missing("marian");
  missing.change("model.safetensors", name, other);
  EXPECT_THAT(missing.refusal(), HasSubstr("\"" + name + "\""));

  const CopiedModel truncated("marian");
  fs::resize_file(truncated.path("model.safetensors"), fs::file_size(truncated.path("model.safetensors")) - 20);
  EXPECT_THAT(truncated.refusal(), HasSubstr("model.safetensors"));

  const CopiedModel integers("marian");
  integers.change("model.safetensors", "\"dtype\":\"F32\"", "\"dtype\":\"I32\"");
  EXPECT_THAT(integers.refusal(), HasSubstr("\"final_logits_bias\" has the type Int"));

  const CopiedModel overlong("marian");
  std::string content = read_text(overlong.path("model.safetensors"));
  write_text(overlong.path("model.safetensors"), content.replace(0, 8, little_endian(uint64_t{1} << 60, 8)));
  EXPECT_THAT(overlong.refusal(), HasSubstr("model.safetensors"));
}

TEST(DamagedHuggingFaceModel, RunsNothingOfAPickle) {
  const std::string command = "touch must-not-be-there";
  const std::string call =
      "\x80\x02"
      "cposix\nsystem\n(X" +
      little_endian(command.size(), 4) + command + "tR.";
  const std::string object =
      "\x80\x02"
      "csubprocess\nPopen\n)\x81}b.";
  for (const auto& [pickle, what] : {std::pair{call, "posix system"}, {object, "subprocess Popen"}}) {
    const CopiedModel model("marian");
    fs::remove(model.path("model.safetensors"));
    write_zip(model.path("pytorch_model.bin"), {{"archive/data.pkl", pickle}, {"archive/version", "3\n"}});
    EXPECT_THAT(model.refusal(), AllOf(HasSubstr("pytorch_model.bin"), HasSubstr(what)));
    EXPECT_FALSE(fs::exists("must-not-be-there"));
  }
}

TEST(DamagedHuggingFaceModel, ReadsNoShardOutsideItsFolder) {
  const CopiedModel model("marian");
  fs::rename(model.path("model.safetensors"), model.path("../outside.safetensors"));
  write_text(model.path("model.safetensors.index.json"),
             R"({"weight_map": {"model.shared.weight": "../outside.safetensors"}})");
  EXPECT_THAT(model.refusal(), HasSubstr("model.shared.weight"));
}

TEST(DamagedHuggingFaceModel, NamesTheVocabularyAndThePiece) {
  const CopiedModel beyond("marian");
  beyond.change("vocab.json", "\"<pad>\": 42", "\"<pad>\": 4200000000");
  EXPECT_THAT(beyond.refusal(), AllOf(HasSubstr("vocab.json"), HasSubstr("<pad>")));

  const CopiedModel damaged("nllb");
  write_text(damaged.path("sentencepiece.bpe.model"), "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
  EXPECT_THAT(damaged.refusal(), HasSubstr("sentencepiece.bpe.model"));

  const CopiedModel languageless("nllb");
  for (const char* file : {"added_tokens.json", "special_tokens_map.json", "tokenizer_config.json"})
    fs::remove(languageless.path(file));
  EXPECT_THAT(languageless.refusal(), HasSubstr("no file lists the model's languages"));
}

TEST(DamagedMarianModel, NamesTheArrayOrTheOption) {
  for (const auto& [from, to, what] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"type: transformer", "type: amun-______", "option type is \"amun-______\""},
           {"autoreg: self-attention", "autoreg: rnn-ssru------", "transformer-decoder-autoreg is \"rnn-ssru------\""},
           {"activation: relu", "activation: tanh", "transformer-ffn-activation is \"tanh\""},
           {"dim-emb: 8", "dim-emb: x", "option dim-emb"}}) {
    const CopiedModel model("npz");
    std::string content = read_text(model.path("model.npz"));
    // The archive's checksum would find the change first.
    const size_t yaml = content.find("special:model.yml.npy");
    ASSERT_NE(yaml, std::string::npos);
    std::vector<std::pair<std::string, std::string>> records;
    for (size_t at = 0; content.compare(at, 4, "PK\x03\x04") == 0;) {
      const auto number = [&](size_t offset, size_t bytes) {
        size_t value = 0;
        for (size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(content[at + offset + i]);
        return value;
      };
      const std::string name = content.substr(at + 30, number(26, 2));
      const size_t begin = at + 30 + number(26, 2) + number(28, 2);
      // NumPy writes the sizes behind the ZIP64 mark where it streams.
      size_t size = number(18, 4);
      if (size == 0xffffffff) size = number(30 + number(26, 2) + 4, 8);
      std::string record = content.substr(begin, size);
      if (const size_t place = record.find(from); place != std::string::npos) record.replace(place, from.size(), to);
      records.emplace_back(name, record);
      at = begin + size;
    }
    write_zip(model.path("model.npz"), records);
    EXPECT_THAT(model.refusal(), AllOf(HasSubstr("model.npz"), HasSubstr(what))) << to;

    records.erase(records.begin());
    std::string array = records.front().second;
    write_zip(model.path("model.npz"), records);
    EXPECT_THAT(model.refusal(), HasSubstr("model.npz"));
    records.front().second = array.replace(array.find("(") + 1, 1, "9");
    write_zip(model.path("model.npz"), records);
    EXPECT_THAT(model.refusal(), HasSubstr("'" + records.front().first.substr(0, records.front().first.size() - 4)));
  }
  const CopiedModel codes("npz");
  write_text(codes.path("opus.vocab.yml"), read_text(codes.path("opus.vocab.yml")) + "\"th@@\": 7\n");
  EXPECT_THAT(codes.refusal(), AllOf(HasSubstr("opus.vocab.yml"), HasSubstr("subword-nmt")));
  const CopiedModel numberless("npz");
  numberless.change("opus.vocab.yml", ": 7\n", ": seven\n");
  EXPECT_THAT(numberless.refusal(), HasSubstr("opus.vocab.yml:"));
}

TEST(DamagedCTranslate2Model, NamesTheVariable) {
  const std::string name = "decoder/layer_0/attention/linear_1/weight";
  const CopiedModel missing("marian_ctranslate2");
  missing.change("model.bin", name, "decoder/layer_0/attention/linear_1/weighs");
  EXPECT_THAT(missing.refusal(), AllOf(HasSubstr("model.bin"), HasSubstr("'" + name + "'")));

  // Behind a name and its zero: dimensions, their sizes, the type and the bytes.
  const auto with = [&](size_t behind, const std::string& bytes) {
    const CopiedModel model("marian_ctranslate2");
    std::string content = read_text(model.path("model.bin"));
    const size_t at = content.find(name) + name.size() + 1;
    write_text(model.path("model.bin"), content.replace(at + behind, bytes.size(), bytes));
    return model.refusal();
  };
  EXPECT_THAT(with(0, "\x7f"), AllOf(HasSubstr("model.bin"), HasSubstr(name), HasSubstr("127 dimensions")));
  EXPECT_THAT(with(1, "\xff\xff\xff\xff\xff\xff\xff\xff"), AllOf(HasSubstr("model.bin"), HasSubstr(name)));
  EXPECT_THAT(with(1, little_endian(1 << 28, 4)), AllOf(HasSubstr("model.bin"), HasSubstr(name)));
  EXPECT_THAT(with(9, "\x09"), AllOf(HasSubstr("model.bin"), HasSubstr(name), HasSubstr("unknown type")));
  EXPECT_THAT(with(9, "\x01"), AllOf(HasSubstr("model.bin"), HasSubstr(name)));
  EXPECT_THAT(with(10, "\xff\xff\xff\x7f"), AllOf(HasSubstr("model.bin"), HasSubstr(name)));

  const CopiedModel version("marian_ctranslate2");
  version.change("model.bin", read_text(version.path("model.bin")).substr(0, 4), little_endian(7, 4));
  EXPECT_THAT(version.refusal(), AllOf(HasSubstr("model.bin"), HasSubstr("binary version 7")));
}

TEST(DamagedCTranslate2Model, NamesWhatIsNotSupported) {
  for (const auto& [from, to, what] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"TransformerSpec", "WhisperSpec____", "WhisperSpec____, not a TransformerSpec"},
           {"encoder/layer_0/ffn/layer_norm/gamma", "encoder/layer_0/self_attention/rotary", ""}}) {
    const CopiedModel model("marian_ctranslate2");
    model.change("model.bin", from, to);
    EXPECT_THAT(model.refusal(), AllOf(HasSubstr("model.bin"), HasSubstr(what)));
  }
}

// Whatever a file has, a model of it is opened or refused.
class AnyDamage : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(AnyDamage, IsRefusedOrOfNoAccount) {
  const auto& [folder, file] = GetParam();
  const CopiedModel model(folder);
  const std::string whole = read_text(model.path(file));
  std::mt19937 random(7);
  const auto open = [&] {
    try {
      load_model(fs::path(model.path(file)).parent_path().string(), torch::kCPU);
    } catch (const std::exception& error) {
      EXPECT_STRNE(error.what(), "");
    }
  };
  for (int i = 0; i < 40; ++i) {
    write_text(model.path(file), whole.substr(0, random() % whole.size()));
    open();
  }
  for (int i = 0; i < 120; ++i) {
    std::string changed = whole;
    // Lengths, sizes and types stand near the beginning of most of them.
    const size_t range = i % 2 == 0 ? std::min<size_t>(whole.size(), 600) : whole.size();
    for (int bytes = 1 + static_cast<int>(random() % 4); bytes > 0; --bytes)
      changed[random() % range] = static_cast<char>(i % 3 == 0 ? 0xff : random());
    write_text(model.path(file), changed);
    open();
  }
}

INSTANTIATE_TEST_SUITE_P(Files, AnyDamage,
                         ::testing::Values(std::pair{"marian", "model.safetensors"}, std::pair{"marian", "config.json"},
                                           std::pair{"marian", "vocab.json"}, std::pair{"marian", "source.spm"},
                                           std::pair{"nllb", "tokenizer_config.json"},
                                           std::pair{"m2m", "sentencepiece.bpe.model"}, std::pair{"npz", "model.npz"},
                                           std::pair{"npz", "opus.vocab.yml"}, std::pair{"npz", "decoder.yml"},
                                           std::pair{"marian_ctranslate2", "model.bin"},
                                           std::pair{"marian_ctranslate2", "shared_vocabulary.json"}));

}  // namespace
}  // namespace transmute

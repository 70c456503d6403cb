// SPDX-License-Identifier: Apache-2.0
// Damaged and hostile files of other programs: each is refused with a message that names the file and what is wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/formats/foreign/network_builder.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/copied_model.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/subprocess.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/zip_files.h>

#include <cmath>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

namespace transmute {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using testing::CopiedModel;
using ::testing::HasSubstr;
using testing::little_endian;
using testing::message_of;
using ::testing::Not;
using testing::read_text;
using testing::read_zip;
using testing::refusal_with;
using testing::RefusedChanges;
using testing::shell_quoted;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::write_text;
using testing::write_zip;
using testing::ZipRecords;

TEST(DamagedHuggingFaceModel, NamesTheKeyOfItsConfiguration) {
  for (const auto& [from, to, what] : RefusedChanges{
           {"\"d_model\": 8", "\"d_mode1\": 8", "\"d_model\" is missing"},
           {"\"d_model\": 8", "\"d_model\": \"8\"", "\"d_model\" is not a whole number"},
           {"\"d_model\": 8", "\"d_model\": -8", "configuration needs [43,-8]"},
           {"\"d_model\": 8", "\"d_model\": 1099511627776", "has shape"},
           {"\"encoder_layers\": 1", "\"encoder_layers\": 1000000000000", "encoder.layers.1."},
           {"\"vocab_size\": 43", "\"vocab_size\": 4300000000000", "the weights have embeddings of 43 pieces"},
           {"\"vocab_size\": 43", "\"vocab_size\": 16777216", "the weights have embeddings of 43 pieces"},
           {"\"swish\"", "\"geglu\"", "activation_function is \"geglu\""},
           {"\"encoder_ffn_dim\": 12", "\"encoder_ffn_dim\": 13", "encoder_ffn_dim and decoder_ffn_dim differ"},
           {"\"marian\"", "\"nllb-moe\"", "mixture of experts"}})
    EXPECT_THAT(refusal_with("marian", "config.json", from, to), HasSubstr(what)) << to;
}

TEST(DamagedHuggingFaceModel, NamesItsFilesAndNoKeysOfOurs) {
  for (const auto& [from, to, what] : RefusedChanges{
           {"attention_heads\": 2", "attention_heads\": 3", "3 attention heads cannot share vectors of 8 numbers"},
           {"attention_heads\": 2", "attention_heads\": 0", "0 attention heads"},
           {"\"dropout\": ", "\"dropout\": 7", "a dropout rate of 7"}}) {
    const CopiedModel model("marian");
    model.change_all("config.json", from, to);
    EXPECT_THAT(model.refusal(), AllOf(StartsWith(model.folder() + ": "), HasSubstr(what), Not(HasSubstr("model."))))
        << to;
  }
}

// A number in a list takes 16 bytes of memory and 2 of the file.
TEST(DamagedHuggingFaceModel, HasNoSettingsWithoutEnd) {
  const CopiedModel model("marian");
  std::string list;
  for (int i = 0; i < 8'400'000; ++i) list += "1,";
  model.change("config.json", "\"d_model\": 8", "\"d_model\": 8, \"more\": [" + list + "1]");
  EXPECT_THAT(model.refusal(), AllOf(HasSubstr("config.json: more than "), HasSubstr("values")));
}

TEST(ForeignModels, AreNoPipesAndNoCircles) {
  for (const auto& [name, file] : {std::pair{"marian", "config.json"},
                                   {"marian", "vocab.json"},
                                   {"marian", "model.safetensors"},
                                   {"marian", "source.spm"},
                                   {"mbart", "sentencepiece.bpe.model"},
                                   {"npz", "model.npz"},
                                   {"npz", "decoder.yml"},
                                   {"marian_ctranslate2", "model.bin"},
                                   {"marian_ctranslate2", "shared_vocabulary.json"}}) {
    const CopiedModel model(name);
    fs::remove(model.path(file));
    ASSERT_EQ(::mkfifo(model.path(file).c_str(), 0600), 0);
    EXPECT_THAT(model.refusal(), AllOf(StartsWith(model.path(file) + ": "), HasSubstr("is a pipe or a device")));
    fs::remove(model.path(file));
    fs::create_symlink(file, model.path(file));
    EXPECT_THAT(model.refusal(),
                AllOf(StartsWith(model.path(file) + ": "), HasSubstr("Too many levels of symbolic links")));
  }
  const CopiedModel stray("npz");
  ASSERT_EQ(::mkfifo(stray.path("stray.npz").c_str(), 0600), 0);
  EXPECT_NO_THROW(load_model(stray.folder()));  // decoder.yml says which it is
  fs::remove(stray.path("decoder.yml"));
  EXPECT_THAT(stray.refusal(), HasSubstr("stray.npz: is a pipe or a device"));
}

TEST(DamagedHuggingFaceModel, NamesTheTensor) {
  const std::string name = "model.decoder.layers.1.fc1.weight", other = "model.decoder.layers.1.fc9.weight";
  EXPECT_THAT(refusal_with("marian", "model.safetensors", name, other), HasSubstr("\"" + name + "\""));

  const CopiedModel truncated("marian");
  fs::resize_file(truncated.path("model.safetensors"), fs::file_size(truncated.path("model.safetensors")) - 20);
  EXPECT_THAT(truncated.refusal(), HasSubstr("model.safetensors"));

  EXPECT_THAT(refusal_with("marian", "model.safetensors", "\"dtype\":\"F32\"", "\"dtype\":\"I32\""),
              HasSubstr("\"final_logits_bias\" has the type int32"));

  const CopiedModel overlong("marian");
  std::string content = read_text(overlong.path("model.safetensors"));
  write_text(overlong.path("model.safetensors"), content.replace(0, 8, little_endian(uint64_t{1} << 60, 8)));
  EXPECT_THAT(overlong.refusal(), HasSubstr("model.safetensors"));
}

TEST(DamagedHuggingFaceModel, HasNoInfiniteWeights) {
  const CopiedModel model("marian");
  std::string content = read_text(model.path("model.safetensors"));
  write_text(model.path("model.safetensors"), content.replace(content.size() - 4, 4, "\0\0\x80\x7f", 4));
  EXPECT_THAT(model.refusal(), HasSubstr("infinite"));
}

TEST(DamagedHuggingFaceModel, RunsNothingOfAPickle) {
  const TemporaryFolder folder;
  const std::string trace = folder / "must-not-be-there", command = "touch " + shell_quoted(trace);
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
    EXPECT_FALSE(fs::exists(trace));
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
  EXPECT_THAT(refusal_with("marian", "vocab.json", "\"<pad>\": 42", "\"<pad>\": 4200000000"),
              AllOf(HasSubstr("vocab.json"), HasSubstr("<pad>")));

  const CopiedModel damaged("nllb");
  write_text(damaged.path("sentencepiece.bpe.model"), "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
  EXPECT_THAT(damaged.refusal(), HasSubstr("sentencepiece.bpe.model"));

  const CopiedModel languageless("nllb");
  for (const char* file : {"added_tokens.json", "special_tokens_map.json", "tokenizer_config.json"})
    fs::remove(languageless.path(file));
  EXPECT_THAT(languageless.refusal(), HasSubstr("no file lists the model's languages"));

  EXPECT_THAT(refusal_with("mbart", "tokenizer_config.json", "MBart50Tokenizer", "MBartTokenizer"),
              HasSubstr("mBART-25"));
}

TEST(DamagedMarianModel, NamesTheArrayOrTheOption) {
  for (const auto& [from, to, what] : RefusedChanges{
           {"type: transformer", "type: amun-______", "option type is \"amun-______\""},
           {"autoreg: self-attention", "autoreg: rnn-ssru------", "transformer-decoder-autoreg is \"rnn-ssru------\""},
           {"activation: relu", "activation: tanh", "transformer-ffn-activation is \"tanh\""},
           {"dim-emb: 8", "dim-emb: x", "option dim-emb"}}) {
    const CopiedModel model("npz");
    ZipRecords records = read_zip(model.path("model.npz"));
    for (auto& [name, record] : records)
      if (const size_t place = record.find(from); place != std::string::npos) record.replace(place, from.size(), to);
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
  codes.change("opus.vocab.yml", "\"a\": 7\n", "\"th@@\": 7\n");
  EXPECT_NO_THROW(load_model(codes.folder())) << "beside a SentencePiece model, it is a piece like others";
  fs::remove(codes.path("source.spm"));
  fs::remove(codes.path("target.spm"));
  EXPECT_THAT(codes.refusal(), AllOf(HasSubstr("opus.vocab.yml"), HasSubstr("subword-nmt")));
  const CopiedModel device("npz");
  device.change("decoder.yml", "opus.vocab.yml", "/dev/null");
  EXPECT_THAT(device.refusal(), HasSubstr("/dev/null: is a pipe or a device"));
  EXPECT_THAT(refusal_with("npz", "opus.vocab.yml", ": 7\n", ": seven\n"), HasSubstr("opus.vocab.yml:"));
}

// Its model.bin, with what is to come after the header.
std::string marian_binary() {
  return little_endian(1, 8) + little_endian(40, 8) + std::string(1000, 'x');
}

TEST(MarianBinary, IsRecognizedUnderAnyName) {
  const auto says_so = [](const std::string& path) {
    return AllOf(StartsWith(path + ": no binary model of Marian, or damaged"), HasSubstr("item 0"));
  };
  const CopiedModel alone("marian_ctranslate2");
  write_text(alone.path("model.bin"), marian_binary());
  EXPECT_THAT(alone.refusal(), says_so(alone.path("model.bin")));
  EXPECT_THAT(message_of<std::runtime_error>([&] { load_model(alone.path("model.bin")); }),
              says_so(alone.path("model.bin")));

  const CopiedModel listed("npz");
  write_text(listed.path("model.intgemm.bin"), marian_binary());
  listed.change("decoder.yml", "model.npz", "model.intgemm.bin");
  EXPECT_THAT(listed.refusal(), says_so(listed.path("model.intgemm.bin")));

  const CopiedModel beside("npz");
  write_text(beside.path("model.bin"), marian_binary());
  EXPECT_NO_THROW(load_model(beside.folder()));
}

// Each of its numbers becomes a piece, which takes hundreds of bytes.
TEST(DamagedMarianModel, HasNoMorePiecesThanAnyVocabulary) {
  const CopiedModel model("npz");
  ZipRecords records = read_zip(model.path("model.npz"));
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3000000, 1), }";
  header += std::string(118 - header.size(), ' ');
  for (auto& [name, record] : records)
    if (name == "Wemb.npy")
      record = "\x93NUMPY" + little_endian(1, 2) + little_endian(header.size(), 2) + header +
               std::string(size_t{3'000'000} * 4, '\0');
  write_zip(model.path("model.npz"), records);
  EXPECT_THAT(model.refusal(), HasSubstr("the model has 3000000 pieces"));
}

TEST(DamagedMarianModel, HasNoShapeWithoutEnd) {
  const CopiedModel model("npz");
  ZipRecords records = read_zip(model.path("model.npz"));
  for (auto& [name, record] : records) {
    if (name != "Wemb.npy") continue;
    const size_t open = record.find('('), close = record.find(')');
    record.replace(open, close - open, "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1");
    record.replace(8, 2, little_endian(record.find('\n') + 1 - 10, 2));
  }
  write_zip(model.path("model.npz"), records);
  EXPECT_THAT(model.refusal(), HasSubstr("'Wemb': damaged (its shape is impossible)"));
}

TEST(DamagedCTranslate2Model, NamesTheVariable) {
  const std::string name = "decoder/layer_0/attention/linear_1/weight";
  EXPECT_THAT(refusal_with("marian_ctranslate2", "model.bin", name, "decoder/layer_0/attention/linear_1/weighs"),
              AllOf(HasSubstr("model.bin"), HasSubstr("'" + name + "'")));

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

TEST(DamagedCTranslate2Model, NamesItsFilesAndNoKeysOfOurs) {
  // Behind the name and its zero: no dimensions, the type, the bytes, and the number.
  const auto with_heads = [](float heads) {
    const CopiedModel model("marian_ctranslate2");
    std::string content = read_text(model.path("model.bin"));
    std::string number = little_endian(0, 2) + little_endian(sizeof heads, 4);
    number.append(reinterpret_cast<const char*>(&heads), sizeof heads);
    for (const std::string stack : {"encoder", "decoder"}) {
      const std::string name = stack + "/num_heads" + '\0';
      const size_t at = content.find(name) + name.size();
      const auto bytes = static_cast<size_t>(content.at(at + 2));  // of the number that is there
      content.replace(at, 6 + bytes, number);
    }
    write_text(model.path("model.bin"), content);
    const std::string refusal = model.refusal();
    EXPECT_THAT(refusal, AllOf(StartsWith(model.path("model.bin") + ": "), Not(HasSubstr("model.num_heads"))));
    return refusal;
  };
  EXPECT_THAT(with_heads(3), HasSubstr("3 attention heads cannot share vectors of 8 numbers"));
  EXPECT_THAT(with_heads(0), HasSubstr("0 attention heads"));
  EXPECT_THAT(with_heads(NAN), HasSubstr("'encoder/num_heads' is nan"));
  EXPECT_THAT(with_heads(2.5), HasSubstr("2.5 attention heads"));

  EXPECT_THAT(
      refusal_with("marian_ctranslate2", "config.json", "\"layer_norm_epsilon\": null", "\"layer_norm_epsilon\": 0"),
      HasSubstr("\"layer_norm_epsilon\" is 0"));

  const CopiedModel bias("marian_ctranslate2");
  std::string content = read_text(bias.path("model.bin"));
  const std::string name = std::string("decoder/projection/bias") + '\0';
  const size_t at = content.find(name) + name.size();
  ASSERT_EQ(content.at(at), 1);
  content.replace(at, 1, "\2" + little_endian(1, 4));  // [1,V] instead of [V]
  write_text(bias.path("model.bin"), content);
  EXPECT_THAT(bias.refusal(), AllOf(StartsWith(bias.path("model.bin") + ": "), HasSubstr("has the shape [1,")));
}

TEST(DamagedCTranslate2Model, HasNoMorePiecesThanRows) {
  const CopiedModel model("marian_ctranslate2");
  const std::string path = model.path("shared_vocabulary.json");
  std::string pieces = read_text(path);
  for (int i = 0; i < 100; ++i) pieces.insert(pieces.rfind(']'), ", \"more\"");
  write_text(path, pieces);
  EXPECT_THAT(model.refusal(), AllOf(HasSubstr("shared_vocabulary.json"), HasSubstr("has more than the 42 pieces")));
}

TEST(DamagedCTranslate2Model, NamesWhatIsNotSupported) {
  for (const auto& [from, to, what] :
       RefusedChanges{{"TransformerSpec", "WhisperSpec____", "WhisperSpec____, not a TransformerSpec"},
                      {"encoder/layer_0/ffn/layer_norm/gamma", "encoder/layer_0/self_attention/rotary", ""}}) {
    const CopiedModel model("marian_ctranslate2");
    model.change("model.bin", from, to);
    EXPECT_THAT(model.refusal(), AllOf(HasSubstr("model.bin"), HasSubstr(what)));
  }
  EXPECT_THAT(refusal_with("marian_ctranslate2", "config.json", "\"decoder_start_token\": \"</s>\"",
                           "\"decoder_start_token\": null"),
              HasSubstr("mBART-25"));
  const CopiedModel without_pieces("marian_ctranslate2");
  for (const char* file : {"source.spm", "target.spm"}) fs::remove(without_pieces.path(file));
  EXPECT_THAT(without_pieces.refusal(), HasSubstr("SentencePiece model, which is missing"));
}

TEST(ArgosPackage, IsRefusedWithATargetPrefix) {
  const CopiedModel model("marian_ctranslate2");
  write_text(model.path("../metadata.json"), R"({"from_code": "en", "target_prefix": ""})");
  EXPECT_NO_THROW(load_model(model.folder()));
  write_text(model.path("../metadata.json"), R"({"from_code": "en", "target_prefix": "__de__"})");
  for (const char* end : {"", "/", "/."})
    EXPECT_THAT(message_of<std::runtime_error>([&] { load_model(model.folder() + end); }),
                AllOf(HasSubstr("metadata.json"), HasSubstr("\"__de__\" (target_prefix)")))
        << end;
}

// A file may call one tensor by many names: each becomes a weight of its own in memory.
TEST(ForeignModel, TakesNoMoreMemoryThanItsFileCanMean) {
  formats::ForeignModel model;
  model.path = "model.bin";
  model.bound_by(1000);
  const Array megabyte = Array::zeros({1 << 18});
  for (int i = 0; i < 64; ++i) model.add("weight", megabyte);
  EXPECT_THAT(message_of<std::runtime_error>([&] { model.add("weight", megabyte); }),
              AllOf(HasSubstr("model.bin"), HasSubstr("far more than its file has")));
}

// CTranslate2 writes flags as 8-bit integers; a float is the scale itself, and 1 none.
TEST(CTranslate2Model, ScalesEmbeddingsByTheNumberThatItSays) {
  const CopiedModel model("marian_ctranslate2");
  EXPECT_TRUE(load_model(model.folder()).options.embedding_scale);
  const float root = std::sqrt(8.0F), one = 1;
  const auto number = [](float value) {
    std::string bytes(6, '\0');  // no dimensions, float
    bytes[2] = 4;
    return bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const std::string stack : {"encoder", "decoder"}) {
    const std::string name = stack + "/scale_embeddings" + '\0';
    model.change("model.bin", name + number(root), name + number(one));
  }
  EXPECT_FALSE(load_model(model.folder()).options.embedding_scale);
}

TEST(CTranslate2Model, TakesNoPlaceholdersForLanguages) {
  for (const auto& [one, other] : {std::pair{"__URL__", "MY_ID"}, {"__url__", "my_ID"}, {"__num__", "en_US"}}) {
    const CopiedModel model("marian_ctranslate2");
    EXPECT_EQ(load_model(model.folder()).tokenizer.source().languages(), LanguagePieces::tags);
    model.change("shared_vocabulary.json", ">>deu<<", one);
    model.change("shared_vocabulary.json", ">>nld<<", other);
    EXPECT_EQ(load_model(model.folder()).tokenizer.source().languages(), LanguagePieces::none) << one;
  }
}

// Whatever a file has, a model of it is opened or refused.
class AnyDamage : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(AnyDamage, IsRefusedOrOfNoAccount) {
  const char* const folder = GetParam().first;
  const char* const file = GetParam().second;
  const CopiedModel model(folder);
  const std::string whole = read_text(model.path(file));
  std::mt19937 random(7);
  const auto open = [&] {
    try {
      load_model(fs::path(model.path(file)).parent_path().string());
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
    // Lengths, sizes and types are near the beginning of most of them.
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

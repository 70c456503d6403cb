// SPDX-License-Identifier: Apache-2.0
// What the files of Hugging Face's models leave out, and files that a download left out.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/model/libtorch.h>
#include <transmute/tests/support/copied_model.h>
#include <transmute/tests/support/files.h>
#include <transmute/translation/files/load_model.h>
#include <transmute/translation/translator.h>

#include <filesystem>
#include <string>
#include <tuple>
#include <utility>

namespace transmute {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using testing::CopiedModel;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::write_text;

TEST(HuggingFaceModel, HasTheDefaultsOfItsType) {
  for (const auto& [name, activation, attention_dropout, embedding_scale] :
       {std::tuple{"marian", Activation::gelu, 0.0, false},
        {"m2m", Activation::relu, 0.1, true},
        {"nllb", Activation::relu, 0.1, true},
        {"mbart", Activation::gelu, 0.0, false}}) {
    SCOPED_TRACE(name);
    const CopiedModel model(name);
    for (const char* key : {"activation_function", "attention_dropout", "activation_dropout", "dropout",
                            "scale_embedding", "share_encoder_decoder_embeddings", "decoder_vocab_size"})
      if (testing::read_text(model.path("config.json")).find("\"" + std::string(key) + "\"") != std::string::npos)
        model.change("config.json", "\"" + std::string(key) + "\"", "\"no_" + std::string(key) + "\"");
    const TransformerOptions options = load_model(model.folder(), torch::kCPU).transformer->options;
    EXPECT_EQ(options.activation, activation);
    EXPECT_EQ(options.attention_dropout, attention_dropout);
    EXPECT_EQ(options.embedding_scale, embedding_scale);
    EXPECT_EQ(options.dropout, 0.1);
    EXPECT_EQ(options.activation_dropout, 0);
  }
}

TEST(HuggingFaceModel, MustHaveATokenizerWithAKnownOrderOfLanguages) {
  for (const char* name : {"M2M100Tokenizer", "M2M100TokenizerFast", "NllbTokenizerFast", "MBart50TokenizerFast"}) {
    const CopiedModel model("m2m");
    model.change("tokenizer_config.json", "\"M2M100Tokenizer\"", "\"" + std::string(name) + "\"");
    EXPECT_NO_THROW(load_model(model.folder(), torch::kCPU)) << name;
  }
  const CopiedModel unnamed("m2m");
  unnamed.change("tokenizer_config.json", "\"tokenizer_class\"", "\"no_class\"");
  EXPECT_NO_THROW(load_model(unnamed.folder(), torch::kCPU));
  unnamed.change("config.json", "\"model_type\"", "\"tokenizer_class\": \"SMALL100Tokenizer\", \"model_type\"");
  EXPECT_THAT(unnamed.refusal(), AllOf(StartsWith(unnamed.folder()), HasSubstr("\"SMALL100Tokenizer\"")));
  const CopiedModel other("nllb");
  other.change("tokenizer_config.json", "\"NllbTokenizer\"", "\"PreTrainedTokenizerFast\"");
  EXPECT_THAT(other.refusal(), HasSubstr("\"PreTrainedTokenizerFast\" is not supported"));
  const CopiedModel small("m2m");
  write_text(small.path("tokenization_small100.py"), "");
  EXPECT_THAT(small.refusal(), HasSubstr("SMaLL-100"));
}

TEST(HuggingFaceModel, SaysWhichFileToDownload) {
  for (const auto& [name, file] : {std::pair{"marian", "source.spm"},
                                   {"marian", "target.spm"},
                                   {"marian", "vocab.json"},
                                   {"marian_separate", "target_vocab.json"},
                                   {"m2m", "vocab.json"},
                                   {"m2m", "sentencepiece.bpe.model"},
                                   {"nllb", "sentencepiece.bpe.model"}}) {
    const CopiedModel model(name);
    fs::remove(model.path(file));
    EXPECT_THAT(model.refusal(), AllOf(StartsWith(model.path(file)), HasSubstr("no such file; download it")));
  }
  // Without the name of its tokenizer, an M2M-100 could be taken for an NLLB-200, which has no vocab.json.
  const CopiedModel unnamed("m2m");
  unnamed.change("tokenizer_config.json", "\"tokenizer_class\"", "\"no_class\"");
  unnamed.change("tokenizer_config.json", "\"additional_special_tokens\": []",
                 "\"additional_special_tokens\": [\"__en__\", \"__de__\"]");
  fs::remove(unnamed.path("vocab.json"));
  EXPECT_THAT(unnamed.refusal(), HasSubstr("vocab.json: no such file; download it"));
  const CopiedModel sharded("marian");
  fs::remove(sharded.path("model.safetensors"));
  write_text(sharded.path("pytorch_model.bin.index.json"), R"({"weight_map": {"model.shared.weight": "one.bin"}})");
  EXPECT_THAT(sharded.refusal(), AllOf(StartsWith(sharded.path("one.bin")), HasSubstr("no such file; download it")));
}

TEST(HuggingFaceModel, SaysWhereAPointerOfGitLfsStandsInPlaceOfAFile) {
  for (const char* file : {"model.safetensors", "pytorch_model.bin", "source.spm", "target.spm"}) {
    const CopiedModel model("marian");
    if (file == std::string("pytorch_model.bin")) fs::remove(model.path("model.safetensors"));
    write_text(model.path(file), "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 312087009\n");
    EXPECT_THAT(model.refusal(), AllOf(StartsWith(model.path(file)), HasSubstr("git lfs pull")));
  }
}

// Someone copied the original's configuration to the conversion.
TEST(HuggingFaceModel, IsCTranslate2sWhereItHasNoWeightsOfItsOwn) {
  const CopiedModel original("marian"), converted("marian_ctranslate2");
  const std::string text = "the old bridge is gone.";
  TranslationOptions options;
  options.search.min_length = 4;
  const std::string expected = Translator(converted.folder()).translate(text, options);
  EXPECT_NE(expected, "");
  fs::copy_file(original.path("config.json"), converted.path("config.json"), fs::copy_options::overwrite_existing);
  EXPECT_EQ(Translator(converted.folder()).translate(text, options), expected);
  fs::remove(converted.path("model.bin"));
  EXPECT_THAT(converted.refusal(), HasSubstr("has neither model.safetensors nor pytorch_model.bin"));
}

}  // namespace
}  // namespace transmute

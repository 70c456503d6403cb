// SPDX-License-Identifier: Apache-2.0
// What the files of Hugging Face's models leave out, and files that a download left out.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/formats/tensor_file.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/copied_model.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/loaded_modules.h>
#include <transmute/translation/translator.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace transmute {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using testing::CopiedModel;
using ::testing::HasSubstr;
using testing::modules_of;
using testing::refusal_with;
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
    const TransformerOptions options = load_model(model.folder()).options;
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
    EXPECT_NO_THROW(load_model(model.folder())) << name;
  }
  const CopiedModel unnamed("m2m");
  unnamed.change("tokenizer_config.json", "\"tokenizer_class\"", "\"no_class\"");
  EXPECT_NO_THROW(load_model(unnamed.folder()));
  unnamed.change("config.json", "\"model_type\"", "\"tokenizer_class\": \"SMALL100Tokenizer\", \"model_type\"");
  EXPECT_THAT(unnamed.refusal(), AllOf(StartsWith(unnamed.folder()), HasSubstr("\"SMALL100Tokenizer\"")));
  EXPECT_THAT(refusal_with("nllb", "tokenizer_config.json", "\"NllbTokenizer\"", "\"PreTrainedTokenizerFast\""),
              HasSubstr("\"PreTrainedTokenizerFast\" is not supported"));
  const CopiedModel small("m2m");
  write_text(small.path("tokenization_small100.py"), "");
  EXPECT_THAT(small.refusal(), HasSubstr("SMaLL-100"));
}

TEST(HuggingFaceModel, KeepsItsLanguagesBesideAddedPieces) {
  const std::string text = "the old bridge is gone.";
  TranslationOptions options;
  options.guard = Guard::off;
  options.source_language = "en";
  options.target_language = "de";
  options.search.min_length = 4;
  const CopiedModel m2m("m2m");
  const LoadedModel original = load_model(m2m.folder());
  const int64_t english = original.tokenizer.source().language("en");
  const auto names = original.tokenizer.source().language_names();
  const std::string expected = Translator(m2m.folder()).translate(text, options);
  // Transformers 4.49 numbers an added piece as the first language, older versions after all of them.
  for (const char* number : {"61", "161"}) {
    write_text(m2m.path("added_tokens.json"), std::string(R"({"<new>": )") + number + "}");
    const LoadedModel model = load_model(m2m.folder());
    EXPECT_EQ(model.tokenizer.source().language_names(), names) << number;
    EXPECT_EQ(model.tokenizer.source().language("en"), english) << number;
    EXPECT_EQ(Translator(m2m.folder()).translate(text, options), expected) << number;
  }
  std::string listed;
  for (const std::string& name : names) listed += "\"__" + name + "__\", ";
  m2m.change("tokenizer_config.json", "\"additional_special_tokens\": []",
             "\"additional_special_tokens\": [" + listed + "\"<new>\"]");
  EXPECT_EQ(load_model(m2m.folder()).tokenizer.source().language("en"), english);

  const CopiedModel nllb("nllb");
  write_text(nllb.path("tokenizer_config.json"), R"({"tokenizer_class": "NllbTokenizer"})");
  const int64_t latin = load_model(nllb.folder()).tokenizer.source().language("eng_Latn");
  write_text(nllb.path("special_tokens_map.json"), "{}");
  write_text(nllb.path("added_tokens.json"), R"({"<mask>": 61})");
  EXPECT_THAT(nllb.refusal(), HasSubstr("no file lists the model's languages"));
  write_text(nllb.path("special_tokens_map.json"),
             R"({"additional_special_tokens": ["<unused>", "eng_Latn", "deu_Latn", "nld_Latn"]})");
  EXPECT_EQ(load_model(nllb.folder()).tokenizer.source().language("eng_Latn"), latin);
}

TEST(HuggingFaceModel, OfM2m100MayHaveWmt21sLanguages) {
  const CopiedModel model("m2m");
  const int64_t first = load_model(model.folder()).tokenizer.source().language("af");
  model.change("tokenizer_config.json", "\"language_codes\": \"m2m100\"", "\"language_codes\": \"wmt21\"");
  const LoadedModel loaded = load_model(model.folder());
  const std::vector<std::string> expected = {"en", "ha", "is", "ja", "cs", "ru", "zh", "de"};
  EXPECT_EQ(loaded.tokenizer.source().language_names(), expected);
  EXPECT_EQ(loaded.tokenizer.source().language("en"), first);
  model.change("tokenizer_config.json", "\"language_codes\": \"wmt21\"", "\"language_codes\": \"wmt22\"");
  EXPECT_THAT(model.refusal(), AllOf(StartsWith(model.path("tokenizer_config.json")),
                                     HasSubstr("language_codes \"wmt22\" is not supported; m2m100 and wmt21 are")));
}

TEST(HuggingFaceModel, IsRefusedWithTheSourceLanguageBehindTheSource) {
  const CopiedModel model("nllb");
  model.change("tokenizer_config.json", "\"legacy_behaviour\": false", "\"legacy_behaviour\": true");
  EXPECT_THAT(model.refusal(), AllOf(StartsWith(model.path("tokenizer_config.json")), HasSubstr("legacy_behaviour")));
}

// Transformers 5 writes three tables, and earlier versions one.
TEST(HuggingFaceModel, HasEachSidesOwnEmbeddingsWhereNothingIsTied) {
  const CopiedModel model("m2m");
  model.change("config.json", "\"model_type\"", "\"tie_word_embeddings\": false, \"model_type\"");
  NamedTensors tensors = to_tensors(read_tensor_file(model.path("model.safetensors")));
  const auto shared = std::find_if(tensors.begin(), tensors.end(),
                                   [](const auto& tensor) { return tensor.first == "model.shared.weight"; });
  ASSERT_NE(shared, tensors.end());
  const torch::Tensor table = shared->second;
  const auto expect_filled = [&](double source, double target, double output) {
    write_tensor_file(model.path("model.safetensors"), to_arrays(tensors));
    const LoadedModel loaded = load_model(model.folder());
    const auto parameters = modules_of(loaded)->named_parameters();
    for (const auto& [name, number] :
         {std::pair{"source_embedding", source}, {"target_embedding", target}, {"output", output}})
      EXPECT_TRUE((parameters[std::string(name) + ".weight"] == number).all().item<bool>()) << name;
  };
  shared->second = torch::full_like(table, 1);
  tensors.emplace_back("lm_head.weight", torch::full_like(table, 2));
  expect_filled(1, 1, 2);
  tensors.emplace_back("model.encoder.embed_tokens.weight", torch::full_like(table, 3));
  tensors.emplace_back("model.decoder.embed_tokens.weight", torch::full_like(table, 4));
  expect_filled(3, 4, 2);
}

TEST(HuggingFaceModel, CountsPositionsFromThePaddingsNumber) {
  const CopiedModel model("m2m");
  EXPECT_EQ(load_model(model.folder()).options.sinusoids.first_position, 2);
  model.change("config.json", "\"pad_token_id\": 1", "\"pad_token_id\": 0");
  model.change("vocab.json", "\"<s>\": 0", "\"<s>\": 1");
  model.change("vocab.json", "\"<pad>\": 1", "\"<pad>\": 0");
  model.change("tokenizer_config.json", "\"0\": {\n      \"content\": \"<s>\"",
               "\"0\": {\n      \"content\": \"<pad>\"");
  model.change("tokenizer_config.json", "\"1\": {\n      \"content\": \"<pad>\"",
               "\"1\": {\n      \"content\": \"<s>\"");
  EXPECT_EQ(load_model(model.folder()).options.sinusoids.first_position, 1);
  model.change("config.json", "\"pad_token_id\": 0", "\"pad_token_id\": 2");
  EXPECT_THAT(model.refusal(), HasSubstr("pad_token_id and eos_token_id are both 2"));
}

// Its row would count twice in the softmax.
TEST(HuggingFaceModel, NeverPredictsPaddingThatHasAnotherPiecesNumber) {
  const auto bias_of = [](const char* padding) {
    const CopiedModel model("marian");
    model.change("config.json", "\"pad_token_id\": 42", "\"pad_token_id\": " + std::string(padding));
    return modules_of(load_model(model.folder()))->named_parameters()["output_bias"].detach().clone();
  };
  const torch::Tensor alone = bias_of("42");
  EXPECT_GT(alone[special_ids::kPad].item<double>(), -100);
  EXPECT_LT(alone[special_ids::kBegin].item<double>(), -1000) << "the padding's number";
  for (const char* shared : {"0", "1"}) {  // the end's, unknown's
    const torch::Tensor bias = bias_of(shared);
    EXPECT_LT(bias[special_ids::kPad].item<double>(), -1000);
    for (const int64_t id : {special_ids::kUnknown, special_ids::kEnd})
      EXPECT_EQ(bias[id].item<double>(), alone[id].item<double>());
    EXPECT_EQ(bias[special_ids::kBegin].item<double>(), alone[special_ids::kPad].item<double>()) << "alone now";
  }
}

TEST(HuggingFaceModel, SaysWhichTablesItsWeightsLack) {
  const CopiedModel model("marian");
  NamedTensors tensors = to_tensors(read_tensor_file(model.path("model.safetensors")));
  for (auto& tensor : tensors) tensor.first = "module." + tensor.first;
  write_tensor_file(model.path("model.safetensors"), to_arrays(tensors));
  EXPECT_THAT(model.refusal(), AllOf(StartsWith(model.folder()), HasSubstr("has no \"model.shared.weight\" or ")));
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
  options.guard = Guard::off;
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

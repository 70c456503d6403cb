// SPDX-License-Identifier: Apache-2.0
// How other programs' files say that their models are searched with.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/copied_model.h>
#include <transmute/tests/support/files.h>
#include <transmute/translation/translator.h>
#include <transmute/translation/transmute.h>

#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using testing::CopiedModel;
using ::testing::HasSubstr;
using testing::refusal_with;
using testing::write_text;

SearchOptions search_of(const std::string& folder) {
  return Translator(folder).default_search();
}

TEST(SearchDefaults, AreMariansDecoderYml) {
  const CopiedModel model("npz");
  const SearchOptions as_it_is = search_of(model.folder());
  EXPECT_EQ(as_it_is.beam_size, 6);
  EXPECT_EQ(as_it_is.length_penalty, LengthPenalty::paper) << "nothing is said of it";
  model.change("decoder.yml", "beam-size: 6", "beam-size: 8\nnormalize: 0.7\nmini-batch: 1");
  const SearchOptions normalized = search_of(model.folder());
  EXPECT_EQ(normalized.beam_size, 8);
  EXPECT_EQ(normalized.length_penalty, LengthPenalty::power);
  EXPECT_EQ(normalized.length_alpha, 0.7);
  // The file that training writes beside the model comes first.
  write_text(model.path("model.npz.decoder.yml"), "beam-size: 12\nnormalize: true\n");
  const SearchOptions trained = search_of(model.folder());
  EXPECT_EQ(trained.beam_size, 12);
  EXPECT_EQ(trained.length_alpha, 1);
}

TEST(SearchDefaults, AreHuggingFacesGenerationConfig) {
  const CopiedModel model("marian");
  EXPECT_EQ(search_of(model.folder()).beam_size, SearchOptions().beam_size) << "nothing is said of it";
  write_text(model.path("generation_config.json"),
             R"({"num_beams": 5, "no_repeat_ngram_size": 3, "repetition_penalty": 1.25, "max_length": 200})");
  const SearchOptions search = search_of(model.folder());
  EXPECT_EQ(search.beam_size, 5);
  EXPECT_EQ(search.length_penalty, LengthPenalty::power);
  EXPECT_EQ(search.length_alpha, 1);
  EXPECT_EQ(search.no_repeat_ngram, 3);
  EXPECT_EQ(search.repetition_penalty, 1.25);
  // Older models have them in their config.json.
  const CopiedModel older("marian");
  std::filesystem::remove(older.path("generation_config.json"));
  older.change("config.json", "\"model_type\"", "\"num_beams\": 7, \"length_penalty\": 0.5, \"model_type\"");
  EXPECT_EQ(search_of(older.folder()).beam_size, 7);
  EXPECT_EQ(search_of(older.folder()).length_alpha, 0.5);
}

// Transformers takes negative ones. There is none here: 0 prefers short translations, too.
TEST(SearchDefaults, HaveNoNegativeLengthPenalty) {
  const CopiedModel model("marian");
  write_text(model.path("generation_config.json"), R"({"num_beams": 5, "length_penalty": -1.5})");
  const SearchOptions search = search_of(model.folder());
  EXPECT_EQ(search.beam_size, 5);
  EXPECT_EQ(search.length_penalty, LengthPenalty::power);
  EXPECT_EQ(search.length_alpha, 0);
}

TEST(SearchDefaults, StayWithAModelThatIsConverted) {
  const CopiedModel model("npz");
  model.change("decoder.yml", "beam-size: 6", "beam-size: 8\nnormalize: 0.7");
  std::filesystem::create_directory(model.path("converted"));
  const LoadedModel loaded = load_model(model.folder());
  save_model_folder(model.path("converted"), loaded.config, loaded.tokenizer, loaded.weights);
  const SearchOptions search = search_of(model.path("converted"));
  EXPECT_EQ(search.beam_size, 8);
  EXPECT_EQ(search.length_penalty, LengthPenalty::power);
  EXPECT_EQ(search.length_alpha, 0.7);
}

TEST(SearchDefaults, AreRefusedWhereTheyAreNoNumbersOrAbsurd) {
  for (const auto& [line, what] : std::vector<std::tuple<std::string, std::string>>{
           {"beam-size: many", "beam-size is \"many\", not a number from 1 to 1000"},
           {"beam-size: 0", "beam-size is \"0\""},
           {"beam-size: 1000000000000", "beam-size is"},
           {"normalize: -1", "normalize is \"-1\", not a number from 0 to 10"},
           {"normalize: nan", "normalize is \"nan\""}}) {
    EXPECT_THAT(refusal_with("npz", "decoder.yml", "beam-size: 6", line),
                AllOf(HasSubstr("decoder.yml: "), HasSubstr(what)));
  }
  for (const char* text :
       {R"({"num_beams": 100000})", R"({"num_beams": "4"})", R"({"num_beams": 2, "length_penalty": 11})",
        R"({"no_repeat_ngram_size": -1})", R"({"repetition_penalty": 0})"}) {
    const CopiedModel model("marian");
    write_text(model.path("generation_config.json"), text);
    EXPECT_THAT(model.refusal(), HasSubstr("generation_config.json: ")) << text;
  }
}

TEST(SearchDefaults, AreInTheInterfaceInCToo) {
  const CopiedModel model("npz");
  model.change("decoder.yml", "beam-size: 6", "beam-size: 8\nnormalize: 0.7");
  transmute_translator* const translator = transmute_open(model.folder().c_str(), nullptr, nullptr);
  ASSERT_NE(translator, nullptr);
  transmute_translation_options options;
  transmute_translation_options_of(translator, &options, sizeof(options));
  EXPECT_EQ(options.beam_size, 8);
  EXPECT_EQ(options.length_alpha, 0.7);
  EXPECT_NE(options.power_length_penalty, 0);
  EXPECT_EQ(options.max_source_tokens, transmute_translation_options_default().max_source_tokens);
  transmute_translation_options_of(nullptr, &options, sizeof(options));
  EXPECT_EQ(options.beam_size, transmute_translation_options_default().beam_size);
  transmute_close(translator);
}

}  // namespace
}  // namespace transmute

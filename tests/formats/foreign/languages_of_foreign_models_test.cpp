// SPDX-License-Identifier: Apache-2.0
// The languages of models of other programs: named by options, by a tag in the text, and by a second model.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>
#include <transmute/common/json.h>
#include <transmute/examples/explorer/page.h>
#include <transmute/export/torchscript.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/loaded_modules.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/translation/text_encoder.h>
#include <transmute/translation/translator.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using testing::modules_of;
using testing::TemporaryFolder;

constexpr double kSumTolerance = 2e-4;  // of sums of a dozen log-probabilities in float32, added in another order

std::string data_folder(const std::string& name) {
  return std::string(TRANSMUTE_TEST_DATA "/formats/") + name;
}

TranslationOptions with_languages(const std::string& source, const std::string& target) {
  TranslationOptions options;
  options.guard = Guard::off;
  options.protect = Protection::none;
  options.source_language = source;
  options.target_language = target;
  options.search.max_extra_length = 6;
  return options;
}

TEST(ForeignModels, AreRerankedByModelsThatCallLanguagesByOtherNames) {
  TranslatorOptions open;
  open.reverse_model = data_folder("m2m");
  const Translator translator(data_folder("nllb"), open);
  TranslationOptions options = with_languages("eng_Latn", "deu_Latn");
  options.rerank.candidates = 4;
  EXPECT_THAT(message_of<std::invalid_argument>([&] { translator.translate_batch({}, options); }),
              AllOf(HasSubstr("the reverse model: the model has no language \"deu_Latn\"; it has "),
                    HasSubstr("--rerank-source-language")));
  options.rerank.source_language = "de";
  options.rerank.target_language = "en";
  const std::string text = "the old house is there.";
  const Hypothesis best = translator.translate_batch({text}, options).at(0).hypotheses.at(0);
  EXPECT_NEAR(
      best.reverse_log_probability.value(),
      Translator(data_folder("m2m")).score_batch({best.text}, {text}, with_languages("de", "en")).at(0).log_probability,
      kSumTolerance);
  TranslatorOptions of_two;
  of_two.reverse_model = data_folder("marian");
  const Translator with_tags(data_folder("nllb"), of_two);
  options.rerank = {4, 0.3, "", "deu"};
  EXPECT_NO_THROW(with_tags.translate_batch({text}, options));
  options.rerank.source_language = "eng";
  EXPECT_THAT(message_of<std::invalid_argument>([&] { with_tags.translate_batch({text}, options); }),
              HasSubstr("the reverse model: the model has languages for its target alone"));
}

TEST(ForeignModels, ToRerankMustBeToldTheirLanguagesWhereNothingElseNamesThem) {
  for (const auto& [reverse, missing] :
       {std::pair{"m2m", "its source language, the translation's (--rerank-source-language), and its target language"},
        {"marian", "its target language, the text's (--rerank-target-language)"}}) {
    TranslatorOptions open;
    open.reverse_model = data_folder(reverse);
    TranslationOptions options = with_languages("", "");
    options.rerank.candidates = 2;
    const Translator translator(data_folder("marian"), open);
    EXPECT_THAT(message_of<std::invalid_argument>([&] { translator.translate_batch({}, options); }),
                HasSubstr(std::string("the reverse model must be told ") + missing));
  }
}

// A tag that the user writes says what --target-language says, and is no part of the text.
TEST(ForeignModels, TakeATagInTheTextForTheLanguageItNames) {
  TranslatorOptions open;
  open.reverse_model = data_folder("m2m");
  const Translator translator(data_folder("marian"), open);
  const std::string text = "the old bridge is gone. the red house is here.";
  TranslationOptions named = with_languages("", "deu");
  named.rerank = {4, 0.3, "de", "en"};
  named.search.alignments = named.word_alignments = true;
  named.glossary = {{"deu", "alte"}};
  for (const int64_t most : {256, 8}) {
    named.max_source_tokens = most;
    TranslationOptions unnamed = named;
    unnamed.target_language.clear();
    const Translation expected = translator.translate_batch({text}, named).at(0);
    const Translation found = translator.translate_batch({">>deu<< " + text}, unnamed).at(0);
    EXPECT_EQ(found.parts, expected.parts);
    EXPECT_EQ(found.source_tokens, expected.source_tokens);
    const Hypothesis &best = found.hypotheses.at(0), &wanted = expected.hypotheses.at(0);
    EXPECT_EQ(best.text, wanted.text);
    EXPECT_EQ(best.score, wanted.score);
    EXPECT_EQ(best.reverse_log_probability, wanted.reverse_log_probability);
    EXPECT_EQ(best.alignment, wanted.alignment);
    auto links = wanted.word_alignment.value();
    for (auto& link : links) ++link.first;  // the tag is the first word of the line
    EXPECT_EQ(best.word_alignment, links);
    EXPECT_EQ(translator.score_batch({">>deu<< " + text}, {best.text}, unnamed).at(0).log_probability,
              translator.score_batch({text}, {best.text}, named).at(0).log_probability);
  }
  const std::string marked = "the <b>old bridge</b> is gone.";
  TranslationOptions german = with_languages("", "deu"), unnamed = with_languages("", "");
  german.inline_tags = unnamed.inline_tags = true;
  EXPECT_EQ(translator.translate(">>deu<< " + marked, unnamed), translator.translate(marked, german));
  EXPECT_EQ(translator.translate(">>deu<<", unnamed), "");
  EXPECT_EQ(translator.translate(" >>deu<< " + marked, unnamed), translator.translate(marked, german));
}

TEST(ForeignModels, RefuseATagOfALanguageThatTheyLack) {
  const Translator translator(data_folder("marian"));
  const std::string tagged = " >>por<< the old bridge is gone. <b>the red house is here.";
  const auto says_so = HasSubstr("text 2: its tag >>por<< names no language of the model, which has deu, nld");
  for (const Protection protect : {Protection::automatic, Protection::none})
    for (const char* language : {"", "deu"}) {
      TranslationOptions options = with_languages("", language);
      options.protect = protect;
      options.inline_tags = protect == Protection::none;
      EXPECT_THAT(message_of<BadText>([&] { translator.translate_batch({"a", tagged}, options); }), says_so);
      EXPECT_THAT(message_of<BadText>([&] { translator.score_batch({"a", tagged}, {"a", "b"}, options); }), says_so);
    }
  EXPECT_NO_THROW(translator.translate_batch({">>Titanic<< is gone", ">>ja<<, a"}, with_languages("", "deu")));
  EXPECT_THAT(message_of<BadText>([&] { TextEncoder(data_folder("marian")).encode({"a", tagged}); }), says_so);
  const LoadedModel model = load_model(data_folder("marian"));
  EXPECT_THAT(message_of<BadText>([&] { explorer_data(model, modules_of(model), {{"a"}, {tagged}}); }), says_so);
}

TEST(ForeignModels, AreToldTheLanguageWhereTextIsOnlyEncoded) {
  const std::string text = "the old house is there.";
  const LoadedModel nllb = load_model(data_folder("nllb"));
  const TextEncoder encoder(data_folder("nllb"));
  TextEncoderOptions options;
  EXPECT_THAT(message_of<std::invalid_argument>([&] { encoder.encode({}, options); }), HasSubstr("--source-language"));
  options.source_language = "eng_Latn";
  const TextVectors found = encoder.encode({text}, options).at(0);
  Ids ids = nllb.tokenizer.source().encode(text);
  const auto length = static_cast<int64_t>(ids.size());
  ids.insert(ids.begin(), nllb.tokenizer.source().language("eng_Latn"));
  ids.push_back(special_ids::kEnd);
  Transformer transformer = modules_of(nllb);
  const torch::NoGradGuard no_grad;
  const torch::Tensor memory = transformer->encode(torch::tensor(ids).unsqueeze(0)).memory[0];
  EXPECT_TRUE(
      torch::allclose(torch::tensor(found.vectors).view({length, -1}), memory.slice(0, 1, 1 + length), 1e-5, 1e-5));
  EXPECT_EQ(found.tokens, nllb.tokenizer.source().segment(text).pieces);
  options.target_language = "deu_Latn";
  EXPECT_THAT(message_of<std::invalid_argument>([&] { encoder.encode({text}, options); }),
              HasSubstr("name no target language"));

  const TextEncoder with_tags(data_folder("marian"));
  TextEncoderOptions german;
  german.target_language = "deu";
  const TextVectors named = with_tags.encode({text}, german).at(0);
  const TextVectors tagged = with_tags.encode({">>deu<< " + text}).at(0);
  EXPECT_EQ(tagged.tokens, named.tokens);
  EXPECT_EQ(tagged.vectors, named.vectors);
  EXPECT_NE(with_tags.encode({text}).at(0).vectors, named.vectors);
}

TEST(ForeignModels, ShowTheLanguagesThatTheyAttendTo) {
  const std::string text = "the old house is there.";
  const LoadedModel nllb = load_model(data_folder("nllb"));
  ExplorerOptions options;
  options.search.max_extra_length = 6;
  EXPECT_THAT(message_of<std::invalid_argument>([&] { explorer_data(nllb, modules_of(nllb), {{text}}, options); }),
              HasSubstr("--source-language"));
  options.source_language = "eng_Latn";
  options.target_language = "deu_Latn";
  const Json data = parse_json(explorer_data(nllb, modules_of(nllb), {{text}, {text, "das alte Haus"}}, options));
  const Json &own = data["sentences"][0], &given = data["sentences"][1];
  EXPECT_EQ(own["target_text"],
            Translator(data_folder("nllb")).translate(text, with_languages("eng_Latn", "deu_Latn")));
  for (const Json& sentence : {own, given}) {
    EXPECT_EQ(sentence["source"][0], "eng_Latn");
    EXPECT_EQ(sentence["source_ids"][0], nllb.tokenizer.source().language("eng_Latn"));
    EXPECT_EQ(sentence["source"].size(), sentence["source_ids"].size());
    EXPECT_EQ(sentence["target_out"][0], "deu_Latn");
    EXPECT_EQ(sentence["target_in_ids"][1], nllb.tokenizer.target().language("deu_Latn"));
    EXPECT_EQ(sentence["target_in"].size(), sentence["target_in_ids"].size());
  }
}

TEST(ForeignModels, RefuseAsTorchScriptToSearchWithoutTheTargetLanguage) {
  const TemporaryFolder folder;
  const auto search = [&](const std::string& name) {
    export_torchscript(data_folder(name), folder / "model.pt");
    torch::jit::Module module = torch::jit::load(folder / "model.pt");
    c10::List<c10::List<int64_t>> sources;
    sources.push_back(c10::List<int64_t>({4, 5}));
    const torch::NoGradGuard no_grad;
    module.get_method("greedy")({sources});
  };
  EXPECT_NO_THROW(search("marian"));
  std::string message;
  try {
    search("nllb");
  } catch (const std::exception& error) {  // LibTorch has more than one type for what a script raises
    message = error.what();
  }
  EXPECT_THAT(message, HasSubstr("must be told the target language"));
}

}  // namespace
}  // namespace transmute

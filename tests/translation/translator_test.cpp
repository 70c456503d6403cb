// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/kernels/simd/simd.h>
#include <transmute/tests/support/default_dtype.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/tests/translation/untrained_translator.h>
#include <transmute/translation/open_models.h>
#include <transmute/translation/translator.h>
#include <transmute/translation/transmute.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using testing::ATranslator;
using testing::few_tokens;
using ::testing::HasSubstr;
using testing::message_of;
using testing::TemporaryFolder;
using testing::tiny_english;

TEST_F(ATranslator, CanBeCalledFromItsCallbacks) {
  TranslatorOptions options;
  options.threads = 1;
  const Translator translator(model(), options);
  TranslationHooks hooks;
  std::string of_callback;
  hooks.on_progress = [&](size_t, size_t) { of_callback = translator.translate("the house", few_tokens()); };
  translator.translate_batch({"the red house"}, few_tokens(), hooks);
  EXPECT_EQ(of_callback, translator.translate("the house", few_tokens()));
}

// A forked process has none of the threads: it says so, and can open a model of its own before the old one is closed.
TEST_F(ATranslator, SaysInAForkedProcessThatItMustBeOpenedThere) {
  TranslatorOptions options;
  options.threads = 2;
  auto translator = std::make_unique<Translator>(model(), options);
  const std::string of_old = translator->translate("the house", few_tokens());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);
    int code = 1;
    try {
      translator->translate("the house");
    } catch (const std::runtime_error& error) {
      code = std::string(error.what()).find("forked") == std::string::npos ? 2 : 0;
    }
    const std::string of_new = [&] {
      const Translator opened(model(), options);
      translator.reset();
      return opened.translate("the house", few_tokens());
    }();
    ::_exit(of_new == of_old ? code : 3);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(ATranslator, ReadsNoOptionsThatAreNotThere) {
  transmute_translator_options_init(nullptr, sizeof(transmute_translator_options));
  transmute_translation_options_init(nullptr, sizeof(transmute_translation_options));
  transmute_generation_options_init(nullptr, sizeof(transmute_translation_options));
  for (size_t size = 0; size < sizeof(size_t); ++size) {
    std::vector<unsigned char> bytes(size + 16, 0xab);
    transmute_translation_options_init(reinterpret_cast<transmute_translation_options*>(bytes.data()), size);
    EXPECT_EQ(bytes, std::vector<unsigned char>(size + 16, 0xab)) << size;
  }
  transmute_translator* translator = transmute_open(model().c_str(), nullptr, nullptr);
  ASSERT_NE(translator, nullptr);
  transmute_translation_options options;
  transmute_translation_options_init(&options, sizeof(options));
  const char* const text = "the house";
  options.glossary = &text;
  options.glossary_size = (SIZE_MAX >> 1) + 1;  // twice of which is 0
  char* error = nullptr;
  EXPECT_EQ(transmute_translate(translator, &text, 1, &options, &error), nullptr);
  EXPECT_THAT(error, HasSubstr("glossary"));
  transmute_string_free(error);
  transmute_close(translator);
}

// How many sentences each thread translates; a long run under the thread sanitizer sets more.
size_t sentences_per_thread() {
  const char* given = std::getenv("TRANSMUTE_STRESS_SENTENCES");
  return given != nullptr ? std::strtoul(given, nullptr, 10) : 30;
}

TEST_F(ATranslator, ServesManyThreadsAtOnce) {
  TranslatorOptions options;
  options.threads = 3;
  const Translator translator(model(), options);
  const std::vector<std::string> texts = tiny_english();
  std::vector<std::string> expected;
  for (const auto& text : texts) expected.push_back(translator.translate(text, few_tokens()));

  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      for (size_t i = 0; i < sentences_per_thread(); i += 3) {
        const size_t first = (i * 7 + thread * 13) % (texts.size() - 2);
        if (translator.translate(texts[first], few_tokens()) != expected[first]) ++wrong;
        const auto two = translator.translate_batch({texts[first + 1], texts[first + 2]}, few_tokens());
        for (size_t k : {1, 2})
          if (two[k - 1].hypotheses[0].text != expected[first + k]) ++wrong;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ATranslator, LeavesTheThreadsOfTheApplicationAlone) {
  torch::set_num_threads(3);
  TranslatorOptions options;
  options.threads = 2;
  const Translator translator(model(), options);
  translator.translate("the red house is near.", few_tokens());
  EXPECT_EQ(torch::get_num_threads(), 3);
  int of_a_new_thread = 0;
  std::thread([&] { of_a_new_thread = torch::get_num_threads(); }).join();
  EXPECT_EQ(of_a_new_thread, 3);
}

TEST_F(ATranslator, IsUsableAfterACallThatFailedOrWasCancelled) {
  const Translator translator(model());
  TranslationHooks stop;
  stop.should_stop = [] { return true; };
  EXPECT_THROW(translator.translate_batch(tiny_english(), few_tokens(), stop), Cancelled);
  TranslationHooks broken;
  broken.on_progress = [](size_t, size_t) { throw std::logic_error("the caller's own"); };
  EXPECT_EQ(message_of<std::logic_error>([&] { translator.translate_batch({"the"}, few_tokens(), broken); }),
            "the caller's own");
  EXPECT_EQ(translator.translate_batch({"the", "house"}, few_tokens()).size(), 2U);
}

Precision precision_of_opened(const std::string& model, std::optional<Precision> wanted) {
  TranslatorOptions options;
  options.precision = wanted;
  return open_models({model, model}, Device(), Architecture::encoder_decoder, options).precision;
}

TEST_F(ATranslator, MultipliesInWhatTheModelIsStoredInUnlessToldOtherwise) {
  using Precision = Precision;
  const Tokenizer tokenizer = testing::tiny_tokenizer();
  TransformerOptions additive = testing::tiny_transformer_options();
  additive.score_function = ScoreFunction::additive;  // LibTorch's operations, which know float32 alone on the CPU
  const std::string text = "the red house is near.";
  for (const auto& [stored, own] :
       {std::pair(Precision::float32, Precision::float32), std::pair(Precision::int8, Precision::int8),
        std::pair(Precision::bfloat16,
                  kernels::multiplies_bfloat16(kernels::best_simd()) ? Precision::bfloat16 : Precision::float32),
        std::pair(Precision::half, Precision::float32)}) {
    const TemporaryFolder dot_product, other;
    save_model_folder(dot_product.path(), testing::tiny_config(), tokenizer,
                      weights_of(testing::tiny_transformer(tokenizer, 5)).stored_as(stored));
    save_model_folder(other.path(), testing::tiny_config(additive), tokenizer,
                      weights_of(testing::tiny_transformer(tokenizer, 5, additive)).stored_as(stored));
    EXPECT_EQ(precision_of_opened(dot_product.path(), {}), own);
    EXPECT_EQ(precision_of_opened(dot_product.path(), Precision::float32), Precision::float32);
    EXPECT_EQ(precision_of_opened(other.path(), {}), Precision::float32);

    TranslatorOptions told;
    told.precision = own;
    EXPECT_EQ(Translator(dot_product.path()).translate(text, few_tokens()),
              Translator(dot_product.path(), told).translate(text, few_tokens()));
    EXPECT_EQ(Translator(other.path()).translate_batch({text}, few_tokens()).size(), 1U);
  }
}

TEST_F(ATranslator, KnowsThreePrecisions) {
  transmute_translator_options c_options = transmute_translator_options_default();
  EXPECT_EQ(c_options.precision, nullptr);
  for (const auto precision : {Precision::float32, Precision::bfloat16, Precision::int8}) {
    TranslatorOptions options;
    options.precision = precision;
    const Translator translator(model(), options);
    EXPECT_EQ(translator.slow_reason(), "");
    const std::string expected = translator.translate("the red house is near.", few_tokens());

    const std::string name = precision_name(precision);
    c_options.precision = name.c_str();
    transmute_translator* in_c = transmute_open(model().c_str(), &c_options, nullptr);
    ASSERT_NE(in_c, nullptr);
    transmute_translation_options c_few = transmute_translation_options_default();
    c_few.max_extra_length = few_tokens().search.max_extra_length;
    c_few.guard = "off";
    const char* text = "the red house is near.";
    transmute_result* result = transmute_translate(in_c, &text, 1, &c_few, nullptr);
    EXPECT_STREQ(transmute_result_text(result, 0, 0), expected.c_str()) << name;
    transmute_result_free(result);
    text = "the %s house";
    result = transmute_translate(in_c, &text, 1, &c_few, nullptr);
    EXPECT_THAT(transmute_result_text(result, 0, 0), HasSubstr("%s"));
    transmute_result_free(result);
    c_few.protect = "none";
    result = transmute_translate(in_c, &text, 1, &c_few, nullptr);
    EXPECT_THAT(transmute_result_text(result, 0, 0), ::testing::Not(HasSubstr("%s")));
    transmute_result_free(result);
    c_few.protect = "some";
    char* refusal = nullptr;
    EXPECT_EQ(transmute_translate(in_c, &text, 1, &c_few, &refusal), nullptr);
    EXPECT_THAT(refusal, HasSubstr("protect must be \"auto\", \"all\" or \"none\""));
    transmute_string_free(refusal);
    transmute_close(in_c);
  }
  c_options.precision = "int4";
  char* error = nullptr;
  EXPECT_EQ(transmute_open(model().c_str(), &c_options, &error), nullptr);
  EXPECT_THAT(error, HasSubstr("not one of float32, bfloat16, int8 and half"));
  transmute_string_free(error);
}

TEST_F(ATranslator, ComputesTheSameWhateverTheApplicationsDefaultTypeIs) {
  const auto probability = [&](Precision precision) {
    TranslatorOptions options;
    options.threads = 1;
    options.precision = precision;
    return Translator(model(), options)
        .translate_batch({"the red house is near."}, few_tokens())[0]
        .hypotheses[0]
        .log_probability;
  };
  for (const Precision precision : {Precision::float32, Precision::int8}) {
    const double expected = probability(precision);
    for (const torch::Dtype dtype : testing::kDefaultDtypes) {
      const testing::DefaultDtype of_the_application(dtype);
      EXPECT_EQ(probability(precision), expected) << dtype;
    }
  }
}

TEST_F(ATranslator, AveragesTheModelsOfAnEnsemble) {
  TranslatorOptions options;
  options.ensemble = {model()};
  const Translator alone(model()), with_itself(model(), options);
  const auto expected = alone.score_batch({"the red house is near."}, {"das Haus"}).at(0);
  const auto found = with_itself.score_batch({"the red house is near."}, {"das Haus"}).at(0);
  EXPECT_NEAR(found.log_probability, expected.log_probability, 1e-4);
  EXPECT_EQ(with_itself.translate("the old train", few_tokens()), alone.translate("the old train", few_tokens()));

  const TemporaryFolder other;
  TokenizerOptions smaller = testing::tiny_tokenizer_options();
  smaller.vocab_size = 70;
  const Tokenizer tokenizer = testing::tiny_tokenizer(smaller);
  save_model_folder(other.path(), testing::tiny_config(), tokenizer,
                    weights_of(testing::tiny_transformer(tokenizer, 5)));
  options.ensemble = {other.path()};
  EXPECT_THAT(message_of<std::invalid_argument>([&] { Translator(model(), options); }),
              HasSubstr("has another tokenizer"));
}

}  // namespace
}  // namespace transmute

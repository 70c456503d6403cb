// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/kernels/simd/simd.h>
#include <transmute/tests/support/default_dtype.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/translation/open_models.h>
#include <transmute/translation/translator.h>
#include <transmute/translation/transmute.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::TemporaryFolder;
using testing::tiny_english;

// An untrained model in a folder.
class ATranslator : public ::testing::Test {
 protected:
  ATranslator() {
    const Tokenizer tokenizer = testing::tiny_tokenizer();
    save_model_folder(model(), testing::tiny_config(), tokenizer, weights_of(testing::tiny_transformer(tokenizer, 5)));
  }
  std::string model() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

TranslationOptions few_tokens() {
  TranslationOptions options;
  options.guard = Guard::off;          // what an untrained model says looks wrong
  options.protect = Protection::none;  // its vocabulary lacks many characters
  options.search.max_extra_length = 5;
  return options;
}

// It would wait for the thread that it runs on.
TEST_F(ATranslator, RefusesToBeCalledFromItsCallbacks) {
  TranslatorOptions options;
  options.threads = 2;
  const Translator translator(model(), options), other(model(), options);
  TranslationHooks hooks;
  std::string message, of_other;
  hooks.on_progress = [&](size_t, size_t) {
    message = message_of<std::invalid_argument>([&] { translator.translate("the house", few_tokens()); });
    of_other = other.translate("the house", few_tokens());
  };
  translator.translate_batch({"the red house"}, few_tokens(), hooks);
  EXPECT_THAT(message, HasSubstr("callback"));
  EXPECT_EQ(of_other, other.translate("the house", few_tokens()));
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

TEST_F(ATranslator, IsTheSameThroughTheCInterface) {
  const Translator translator(model());
  TranslationOptions options = few_tokens();
  options.search.num_hypotheses = 2;
  options.search.alignments = true;
  const auto expected = translator.translate_batch({"the red house is near.", ""}, options);

  char* error = nullptr;
  transmute_translator* in_c = transmute_open(model().c_str(), nullptr, &error);
  ASSERT_NE(in_c, nullptr) << error;
  transmute_translation_options c_options = transmute_translation_options_default();
  EXPECT_EQ(c_options.beam_size, options.search.beam_size);
  EXPECT_EQ(c_options.max_source_tokens, options.max_source_tokens);
  c_options.max_extra_length = 5;
  c_options.num_hypotheses = 2;
  c_options.alignments = 1;
  struct Seen {
    std::string text;
    size_t done = 0;
  } seen;
  c_options.user = &seen;
  c_options.on_text = [](void* user, size_t text, const char* so_far) {
    if (text == 0) static_cast<Seen*>(user)->text = so_far;
  };
  c_options.on_progress = [](void* user, size_t done, size_t) { static_cast<Seen*>(user)->done = done; };
  const char* texts[] = {"the red house is near.", ""};
  transmute_result* result = transmute_translate(in_c, texts, 2, &c_options, &error);
  ASSERT_NE(result, nullptr) << error;

  ASSERT_EQ(transmute_result_count(result), 2U);
  for (size_t t = 0; t < 2; ++t) {
    ASSERT_EQ(transmute_result_hypotheses(result, t), expected[t].hypotheses.size());
    ASSERT_EQ(transmute_result_source_length(result, t), expected[t].source_tokens.size());
    for (size_t h = 0; h < expected[t].hypotheses.size(); ++h) {
      const Hypothesis& hypothesis = expected[t].hypotheses[h];
      EXPECT_EQ(transmute_result_text(result, t, h), hypothesis.text);
      EXPECT_EQ(transmute_result_score(result, t, h), hypothesis.score);
      EXPECT_EQ(transmute_result_log_probability(result, t, h), hypothesis.log_probability);
      ASSERT_EQ(transmute_result_length(result, t, h), hypothesis.tokens.size());
      for (size_t i = 0; i < hypothesis.tokens.size(); ++i) {
        EXPECT_EQ(transmute_result_token(result, t, h, i), hypothesis.tokens[i]);
        EXPECT_EQ(transmute_result_token_score(result, t, h, i), hypothesis.token_scores[i]);
        for (size_t s = 0; s < expected[t].source_tokens.size(); ++s)
          EXPECT_EQ(transmute_result_alignment(result, t, h, i)[s], hypothesis.alignment[i][s]);
      }
    }
  }
  EXPECT_EQ(seen.text, expected[0].hypotheses[0].text);
  EXPECT_EQ(seen.done, 2U);
  EXPECT_EQ(transmute_result_text(result, 2, 0), nullptr);
  EXPECT_EQ(transmute_result_text(result, 0, 2), nullptr);
  EXPECT_EQ(transmute_result_token(result, 1, 0, 0), nullptr);
  EXPECT_EQ(transmute_result_alignment(result, 1, 0, 0), nullptr);
  transmute_result_free(result);

  c_options.should_stop = [](void*) { return 1; };
  EXPECT_EQ(transmute_translate(in_c, texts, 2, &c_options, &error), nullptr);
  EXPECT_STREQ(error, "cancelled");
  transmute_string_free(error);
  transmute_close(in_c);
}

TEST_F(ATranslator, HasItsOptionsInTheCInterfaceToo) {
  TranslatorOptions opening;
  opening.ensemble = {model()};
  opening.reverse_model = model();
  const Translator translator(model(), opening);
  const std::string first = model();
  const char* others[] = {first.c_str()};
  transmute_translator_options c_opening = transmute_translator_options_default();
  c_opening.ensemble = others;
  c_opening.ensemble_size = 1;
  c_opening.reverse_model = first.c_str();
  transmute_translator* in_c = transmute_open(first.c_str(), &c_opening, nullptr);
  ASSERT_NE(in_c, nullptr);
  const char* texts[] = {"the <b>red house</b> is near.", "the old train"};
  const std::vector<std::string> strings(texts, texts + 2);

  const auto expect_same = [&](const TranslationOptions& options, const transmute_translation_options& c_options) {
    const auto expected = translator.translate_batch(strings, options);
    EXPECT_NE(expected[0].hypotheses[0].text, translator.translate(strings[0], few_tokens()))
        << "an option without effect";
    char* error = nullptr;
    transmute_result* result = transmute_translate(in_c, texts, 2, &c_options, &error);
    ASSERT_NE(result, nullptr) << error;
    for (size_t t = 0; t < 2; ++t) {
      ASSERT_EQ(transmute_result_hypotheses(result, t), expected[t].hypotheses.size());
      for (size_t h = 0; h < expected[t].hypotheses.size(); ++h) {
        EXPECT_EQ(transmute_result_text(result, t, h), expected[t].hypotheses[h].text);
        EXPECT_EQ(transmute_result_score(result, t, h), expected[t].hypotheses[h].score);
        EXPECT_EQ(transmute_result_reverse_log_probability(result, t, h),
                  expected[t].hypotheses[h].reverse_log_probability.value_or(0));
      }
    }
    transmute_result_free(result);
  };
  transmute_translation_options plain = transmute_translation_options_default();
  plain.max_extra_length = 5;
  plain.guard = "off";
  plain.protect = "none";

  TranslationOptions options = few_tokens();
  transmute_translation_options c_options = plain;
  options.search.sampling = SamplingOptions{2, 30, 0.9, 7};
  options.search.num_hypotheses = c_options.num_hypotheses = 3;
  c_options.sample = 1;
  c_options.temperature = 2;
  c_options.top_k = 30;
  c_options.top_p = 0.9;
  c_options.seed = 7;
  expect_same(options, c_options);

  options = few_tokens();
  c_options = plain;
  const char* prefixes[] = {"das rote", ""};
  options.target_prefixes = {"das rote", ""};
  c_options.target_prefixes = prefixes;
  options.search.alternatives = true;
  c_options.alternatives = 1;
  expect_same(options, c_options);

  options = few_tokens();
  c_options = plain;
  const char* glossary[] = {"house", "Brücke"};
  options.glossary = {{"house", "Brücke"}};
  c_options.glossary = glossary;
  c_options.glossary_size = 1;
  options.inline_tags = true;
  c_options.inline_tags = 1;
  expect_same(options, c_options);

  options = few_tokens();
  c_options = plain;
  EXPECT_EQ(c_options.rerank_weight, options.rerank.weight);
  options.rerank = {8, 3};
  c_options.rerank_candidates = 8;
  c_options.rerank_weight = 3;
  expect_same(options, c_options);

  options = few_tokens();
  c_options = plain;
  options.search.coverage_beta = c_options.coverage_beta = 2;
  options.search.min_length = c_options.min_length = 8;
  options.search.no_repeat_ngram = c_options.no_repeat_ngram = 1;
  options.search.length_penalty = LengthPenalty::power;
  c_options.power_length_penalty = 1;
  expect_same(options, c_options);

  const char* targets[] = {"das Haus", "der Zug"};
  transmute_result* scored = transmute_score(in_c, texts, targets, 2, nullptr, nullptr);
  ASSERT_NE(scored, nullptr);
  const auto expected = translator.score_batch(strings, {targets[0], targets[1]});
  for (size_t t = 0; t < 2; ++t) {
    EXPECT_EQ(transmute_result_log_probability(scored, t, 0), expected[t].log_probability);
    const std::vector<std::string> pieces = translator.translate_batch({strings[t]}, few_tokens())[0].source_tokens;
    ASSERT_EQ(transmute_result_source_length(scored, t), pieces.size()) << "what an alignment has for each token";
    for (size_t i = 0; i < pieces.size(); ++i) EXPECT_EQ(transmute_result_source_token(scored, t, i), pieces[i]);
  }
  transmute_result_free(scored);
  char* error = nullptr;
  EXPECT_EQ(transmute_score(in_c, texts, nullptr, 2, nullptr, &error), nullptr);
  EXPECT_THAT(std::string(error), HasSubstr("target"));
  transmute_string_free(error);
  transmute_close(in_c);
}

TEST_F(ATranslator, TellsMistakesThroughTheCInterface) {
  char* error = nullptr;
  const auto told = [&](const void* result) {
    EXPECT_EQ(result, nullptr);
    const std::string message = error != nullptr ? error : "";
    transmute_string_free(error);
    return message;
  };
  EXPECT_THAT(told(transmute_open(nullptr, nullptr, &error)), HasSubstr("NULL"));
  EXPECT_THAT(told(transmute_open("/nowhere", nullptr, &error)), HasSubstr("/nowhere"));
  EXPECT_THAT(told(transmute_open("/no\x1b[2J\u009b\nwhere", nullptr, &error)),
              HasSubstr("/no\\x1b[2J\\u009b\\nwhere"));
  EXPECT_EQ(transmute_open("/nowhere", nullptr, nullptr), nullptr) << "nobody asked for the message";

  transmute_translator_options options = transmute_translator_options_default();
  options.device = "toaster";
  EXPECT_THAT(told(transmute_open(model().c_str(), &options, &error)), HasSubstr("toaster"));
  options = transmute_translator_options_default();
  options.struct_size = sizeof(options) + 8;
  EXPECT_THAT(told(transmute_open(model().c_str(), &options, &error)), HasSubstr("newer version"));

  // An older caller's struct ends earlier.
  options.struct_size = offsetof(transmute_translator_options, threads);
  options.threads = -1;
  transmute_translator* translator = transmute_open(model().c_str(), &options, &error);
  ASSERT_NE(translator, nullptr) << error;

  const char* texts[] = {"gr\xfcn", nullptr};
  EXPECT_THAT(told(transmute_translate(translator, texts, 1, nullptr, &error)), HasSubstr("UTF-8"));
  EXPECT_THAT(told(transmute_translate(translator, texts, 2, nullptr, &error)), HasSubstr("text 1 is NULL"));
  EXPECT_THAT(told(transmute_translate(nullptr, texts, 1, nullptr, &error)), HasSubstr("NULL"));
  transmute_translation_options translation = transmute_translation_options_default();
  const char* fine[] = {"the"};
  for (const int64_t size :
       {int64_t{0}, std::numeric_limits<int64_t>::min() / 2, std::numeric_limits<int64_t>::max()}) {
    translation.beam_size = size;
    EXPECT_THAT(told(transmute_translate(translator, fine, 1, &translation, &error)), HasSubstr("beam_size")) << size;
  }
  transmute_result* none = transmute_translate(translator, nullptr, 0, nullptr, &error);
  ASSERT_NE(none, nullptr);
  EXPECT_EQ(transmute_result_count(none), 0U);
  transmute_result_free(none);
  transmute_result_free(nullptr);
  transmute_close(translator);
  transmute_close(nullptr);
}

}  // namespace
}  // namespace transmute

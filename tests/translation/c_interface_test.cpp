// SPDX-License-Identifier: Apache-2.0
// The functions of transmute.h beside translating, which translator_test.cpp and language_model_test.cpp call: each
// gives what the library in C++ does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/metrics/bleu.h>
#include <transmute/metrics/chrf.h>
#include <transmute/metrics/ter.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tokenizer/tokenizer.h>
#include <transmute/translation/text_encoder.h>
#include <transmute/translation/translator.h>
#include <transmute/translation/transmute.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kSmallModel = TRANSMUTE_TEST_DATA "/formats/marian_ctranslate2";
constexpr const char* kMultilingualModel = TRANSMUTE_TEST_DATA "/formats/nllb";
constexpr const char* kSentences = "the blue train is near. two dogs play.";

template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

std::vector<transmute_segment> all_of(const Owned<transmute_segments>& segments) {
  std::vector<transmute_segment> all;
  for (size_t i = 0; i < transmute_segments_count(segments.get()); ++i)
    all.push_back(transmute_segments_get(segments.get(), i));
  return all;
}

std::vector<std::string> texts_of(const Owned<transmute_segments>& segments) {
  std::vector<std::string> texts;
  for (const transmute_segment& segment : all_of(segments)) texts.emplace_back(segment.text);
  return texts;
}

class TheCInterface : public ::testing::Test {
 protected:
  Owned<transmute_translator> open(const char* model = kSmallModel) {
    return {transmute_open(model, nullptr, &error), transmute_close};
  }
  Owned<transmute_tokenizer> open_tokenizer(const char* model = kSmallModel) {
    return {transmute_open_tokenizer(model, &error), transmute_close_tokenizer};
  }
  Owned<transmute_segments> owned(transmute_segments* segments) { return {segments, transmute_segments_free}; }

  // The fault that a function reports.
  std::string take_error() {
    const std::string message = error == nullptr ? "" : error;
    transmute_string_free(error);
    error = nullptr;
    return message;
  }

  char* error = nullptr;
};

TEST_F(TheCInterface, TokenizesAsTheModelDoes) {
  const auto translator = open();
  const Tokenizer expected = Translator(kSmallModel).tokenizer();
  for (const auto& tokenizer : {open_tokenizer().release(), transmute_tokenizer_of(translator.get(), nullptr)}) {
    const Owned<transmute_tokenizer> owner{tokenizer, transmute_close_tokenizer};
    for (const int side : {TRANSMUTE_SOURCE, TRANSMUTE_TARGET}) {
      const SubwordModel& model = side == TRANSMUTE_SOURCE ? expected.source() : expected.target();
      const SegmentedText segmented = model.segment(kSentences);
      const auto tokens = all_of(owned(transmute_tokenize(tokenizer, side, kSentences, &error)));
      ASSERT_EQ(tokens.size(), segmented.ids.size());
      for (size_t i = 0; i < tokens.size(); ++i) {
        EXPECT_EQ(tokens[i].id, segmented.ids[i]);
        EXPECT_EQ(tokens[i].begin, segmented.spans[i].first);
        EXPECT_EQ(tokens[i].end, segmented.spans[i].second);
      }
      EXPECT_EQ(texts_of(owned(transmute_tokenize(tokenizer, side, kSentences, &error))), segmented.pieces);
      char* const text = transmute_detokenize(tokenizer, side, segmented.ids.data(), segmented.ids.size(), &error);
      EXPECT_EQ(text, model.decode(segmented.ids));
      transmute_string_free(text);
      const auto vocabulary = texts_of(owned(transmute_vocabulary(tokenizer, side, &error)));
      ASSERT_EQ(static_cast<int64_t>(vocabulary.size()), model.size());
      for (int64_t id = 0; id < model.size(); ++id) EXPECT_EQ(vocabulary[static_cast<size_t>(id)], model.piece(id));
    }
  }
}

TEST_F(TheCInterface, SearchesAsTheModelRecommendsWhereThereAreNoOptions) {
  const TemporaryFolder folder;
  std::filesystem::copy(TRANSMUTE_TEST_DATA "/formats/npz", folder.path());
  std::ofstream(folder / "decoder.yml", std::ios::app) << "normalize: 1\n";
  const Translator translator(folder.path());
  TranslationOptions options;
  options.search = translator.default_search();
  ASSERT_NE(options.search.length_alpha, SearchOptions().length_alpha);
  const auto score_of = [](const std::vector<Translation>& found) { return found.front().hypotheses.front().score; };
  const double expected = score_of(translator.translate_batch({kSentences}, options));
  ASSERT_NE(score_of(translator.translate_batch({kSentences}, TranslationOptions())), expected);
  EXPECT_EQ(score_of(translator.translate_batch({kSentences})), expected);
  EXPECT_EQ(translator.translate(kSentences), translator.translate(kSentences, options));
  const auto in_c = open(folder.path().c_str());
  const Owned<transmute_result> result{transmute_translate(in_c.get(), &kSentences, 1, nullptr, &error),
                                       transmute_result_free};
  ASSERT_NE(result, nullptr) << take_error();
  EXPECT_EQ(transmute_result_score(result.get(), 0, 0), expected);
}

TEST_F(TheCInterface, KnowsTheLanguagesOfAModel) {
  EXPECT_THAT(texts_of(owned(transmute_languages(open_tokenizer().get(), &error))), ElementsAre("deu", "nld"));
  EXPECT_EQ(texts_of(owned(transmute_languages(open_tokenizer(kMultilingualModel).get(), &error))),
            Translator(kMultilingualModel).tokenizer().source().language_names());
}

TEST_F(TheCInterface, FindsSentences) {
  const auto translator = open();
  const transmute_translator* const cuttings[] = {nullptr, translator.get()};
  for (const transmute_translator* const cutting : cuttings) {
    const auto sentences = owned(transmute_sentences(cutting, kSentences, "en", &error));
    EXPECT_THAT(texts_of(sentences), ElementsAre("the blue train is near.", "two dogs play."));
    EXPECT_EQ(all_of(sentences)[1].begin, 24U);
    EXPECT_EQ(all_of(sentences)[1].end, 38U);
    EXPECT_EQ(all_of(sentences)[1].id, 1);
  }
}

TEST_F(TheCInterface, GivesNothingBeyondTheEnd) {
  const auto sentences = owned(transmute_sentences(nullptr, kSentences, nullptr, &error));
  const transmute_segment none = transmute_segments_get(sentences.get(), 2);
  EXPECT_EQ(none.text, nullptr);
  EXPECT_EQ(none.end, 0U);
  EXPECT_EQ(transmute_segments_count(nullptr), 0U);
  EXPECT_EQ(transmute_encoder_width(nullptr), 0U);
  EXPECT_EQ(transmute_vectors_mean(nullptr, 0), nullptr);
  EXPECT_EQ(transmute_vectors_length(nullptr, 0), 0U);
  EXPECT_EQ(transmute_vectors_token(nullptr, 0, 0), nullptr);
  EXPECT_EQ(transmute_vectors_tokens(nullptr, 0), nullptr);
  transmute_segments_free(nullptr);
  transmute_vectors_free(nullptr);
  transmute_close_encoder(nullptr);
  transmute_close_tokenizer(nullptr);
}

TEST_F(TheCInterface, EncodesAsTheTextEncoderDoes) {
  const TextEncoder expected(kSmallModel);
  const Owned<transmute_encoder> encoder{transmute_open_encoder(kSmallModel, nullptr, &error), transmute_close_encoder};
  ASSERT_NE(encoder, nullptr) << take_error();
  const auto width = static_cast<size_t>(expected.d_model());
  EXPECT_EQ(transmute_encoder_width(encoder.get()), width);
  const char* texts[] = {"the blue train is near.", "", "two dogs play."};
  TextEncoderOptions options;
  transmute_translation_options c_options = transmute_translation_options_default();
  options.max_source_tokens = c_options.max_source_tokens = 3;  // the texts are encoded in parts
  for (const bool token_vectors : {true, false}) {
    options.token_vectors = token_vectors;
    const auto all = expected.encode({texts, texts + 3}, options);
    const Owned<transmute_vectors> vectors{
        transmute_encode(encoder.get(), texts, 3, &c_options, token_vectors ? 1 : 0, &error), transmute_vectors_free};
    ASSERT_NE(vectors, nullptr) << take_error();
    for (size_t text = 0; text < 3; ++text) {
      const float* const mean = transmute_vectors_mean(vectors.get(), text);
      EXPECT_EQ(std::vector<float>(mean, mean + width), all[text].mean);
      const size_t length = transmute_vectors_length(vectors.get(), text);
      ASSERT_EQ(length, all[text].tokens.size());
      for (size_t i = 0; i < length; ++i)
        EXPECT_EQ(transmute_vectors_token(vectors.get(), text, i), all[text].tokens[i]);
      EXPECT_EQ(transmute_vectors_token(vectors.get(), text, length), nullptr);
      const float* const rows = transmute_vectors_tokens(vectors.get(), text);
      ASSERT_EQ(rows == nullptr, all[text].vectors.empty());
      if (rows != nullptr) {
        EXPECT_EQ(std::vector<float>(rows, rows + length * width), all[text].vectors);
      }
    }
    EXPECT_EQ(transmute_vectors_mean(vectors.get(), 3), nullptr);
  }
}

TEST_F(TheCInterface, EvaluatesAsTheMetricsDo) {
  const std::vector<std::string> hypotheses{"the cat sat on a mat", "two dogs"};
  const std::vector<std::vector<std::string>> references{{"the cat sat on the mat", "two big dogs"},
                                                         {"a cat is on the mat", "Two dogs"}};
  const char* given[] = {hypotheses[0].c_str(), hypotheses[1].c_str()};
  const char* of_all[] = {references[0][0].c_str(), references[0][1].c_str(), references[1][0].c_str(),
                          references[1][1].c_str()};
  transmute_metric_options options;
  transmute_metric_options_init(&options, sizeof(options));
  const auto evaluate = [&](const char* metric) {
    double score = -1;
    char* const signature = transmute_evaluate(metric, given, 2, of_all, 2, &options, &score, &error);
    const std::string text = signature == nullptr ? take_error() : signature;
    transmute_string_free(signature);
    return std::make_pair(score, text);
  };
  BleuOptions bleu;
  EXPECT_EQ(evaluate("bleu"),
            std::make_pair(corpus_bleu(hypotheses, references, bleu).score, "BLEU|" + bleu_signature(bleu, 2)));
  options.smooth = "floor";
  options.smooth_value = 0.2;
  options.lowercase = 1;
  bleu.smoothing = BleuSmoothing::floor;
  bleu.smoothing_value = 0.2;
  bleu.letter_case = BleuCase::lower;
  EXPECT_EQ(evaluate("bleu"),
            std::make_pair(corpus_bleu(hypotheses, references, bleu).score, "BLEU|" + bleu_signature(bleu, 2)));
  ChrfOptions chrf;
  chrf.lowercase = true;
  chrf.word_order = 2;
  EXPECT_EQ(evaluate("chrf++").first, corpus_chrf(hypotheses, references, chrf));
  EXPECT_THAT(evaluate("chrf++").second, HasSubstr("|" + chrf_signature(chrf, 2)));
  options.case_sensitive = 1;
  TerOptions ter;
  ter.case_sensitive = true;
  EXPECT_EQ(evaluate("ter"), std::make_pair(corpus_ter(hypotheses, references, ter), "TER|" + ter_signature(ter, 2)));
  EXPECT_THAT(evaluate("rouge").second, HasSubstr("metric must be"));
}

// A flag for should_stop, of which any value but 0 ends a call.
TEST_F(TheCInterface, StopsScoringAndEncodingAsItStopsTranslating) {
  const auto translator = open();
  const Owned<transmute_encoder> encoder{transmute_open_encoder(kSmallModel, nullptr, &error), transmute_close_encoder};
  const char* texts[] = {"the blue train is near.", "two dogs play."};
  transmute_translation_options options = transmute_translation_options_default();
  int stop = 0;
  options.should_stop = transmute_is_set;
  options.user = &stop;
  const std::function<bool()> calls[] = {
      [&] {
        const Owned<transmute_result> result{transmute_score(&*translator, texts, texts, 2, &options, &error),
                                             transmute_result_free};
        return result != nullptr;
      },
      [&] {
        const Owned<transmute_vectors> result{transmute_encode(&*encoder, texts, 2, &options, 0, &error),
                                              transmute_vectors_free};
        return result != nullptr;
      }};
  for (const auto& call : calls) {
    stop = 0;
    EXPECT_TRUE(call()) << take_error();
    stop = 1;
    EXPECT_FALSE(call());
    EXPECT_EQ(transmute_error_kind(), TRANSMUTE_ERROR_CANCELLED);
    EXPECT_EQ(take_error(), "cancelled");
  }
}

TEST_F(TheCInterface, AsksForEachTextAndEachBatchWhetherToStop) {
  const auto translator = open();
  const Owned<transmute_encoder> encoder{transmute_open_encoder(kSmallModel, nullptr, &error), transmute_close_encoder};
  const std::vector<const char*> texts(100, "the blue train is near.");
  transmute_translation_options options = transmute_translation_options_default();
  options.batch_size = 1;
  struct Asked {
    std::atomic<int> times{0};
    int most = 0;
  } asked;
  options.user = &asked;
  options.should_stop = [](void* user) {
    auto& all = *static_cast<Asked*>(user);
    return ++all.times > all.most ? 1 : 0;
  };
  for (const int most : {10, 110}) {  // while texts are tokenized, and while batches are computed
    asked.times = 0;
    asked.most = most;
    EXPECT_EQ(transmute_encode(&*encoder, texts.data(), texts.size(), &options, 0, &error), nullptr);
    EXPECT_EQ(take_error(), "cancelled");
    EXPECT_EQ(asked.times, most + 1);
    asked.times = 0;
    EXPECT_EQ(transmute_score(&*translator, texts.data(), texts.data(), texts.size(), &options, &error), nullptr);
    EXPECT_EQ(take_error(), "cancelled");
    EXPECT_EQ(asked.times, most + 1);
  }
}

TEST_F(TheCInterface, TakesListsOfPiecesForTexts) {
  const Translator plain(kSmallModel);
  TranslatorOptions as_pieces;
  as_pieces.listed_pieces = true;
  const Translator listed(kSmallModel, as_pieces);
  const SubwordModel& source = plain.tokenizer().source();
  TranslationOptions options;
  options.guard = Guard::off;
  options.protect = Protection::none;
  options.letter_case = LetterCase::kept;
  options.split_sentences = SentenceSplitting::never;
  options.search.num_hypotheses = 2;
  options.search.alignments = true;
  const auto expected = plain.translate_batch({kSentences}, options).front();
  std::string pieces;
  for (const std::string& piece : source.segment(kSentences).pieces) pieces += (pieces.empty() ? "" : " ") + piece;
  // The options for plain text are off by themselves.
  TranslationOptions defaults;
  defaults.search = options.search;
  const auto found = listed.translate_batch({pieces}, defaults).front();
  EXPECT_EQ(found.source_tokens, expected.source_tokens);
  for (size_t h = 0; h < 2; ++h) {
    EXPECT_EQ(found.hypotheses[h].tokens, expected.hypotheses[h].tokens);
    EXPECT_EQ(found.hypotheses[h].log_probability, expected.hypotheses[h].log_probability);
    EXPECT_EQ(found.hypotheses[h].alignment, expected.hypotheses[h].alignment);
    std::string text;
    for (const std::string& piece : found.hypotheses[h].tokens) text += (text.empty() ? "" : " ") + piece;
    EXPECT_EQ(found.hypotheses[h].text, text);
  }
  EXPECT_EQ(listed.score_batch({pieces}, {found.hypotheses[0].text}).front().log_probability,
            found.hypotheses[0].log_probability);
}

TEST_F(TheCInterface, NamesMistakes) {
  const auto tokenizer = open_tokenizer();
  const int64_t beyond = 1000000;
  EXPECT_EQ(transmute_detokenize(tokenizer.get(), TRANSMUTE_SOURCE, &beyond, 1, &error), nullptr);
  EXPECT_EQ(transmute_error_kind(), TRANSMUTE_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(take_error(), HasSubstr("not 1000000"));
  EXPECT_EQ(transmute_tokenize(tokenizer.get(), 2, "a", &error), nullptr);
  EXPECT_THAT(take_error(), HasSubstr("side must be"));
  EXPECT_EQ(transmute_tokenize(nullptr, 0, "a", &error), nullptr);
  EXPECT_THAT(take_error(), HasSubstr("the tokenizer is NULL"));
  EXPECT_EQ(transmute_sentences(nullptr, nullptr, "en", &error), nullptr);
  EXPECT_THAT(take_error(), HasSubstr("text 1 is NULL"));
  EXPECT_EQ(transmute_open_tokenizer("/nowhere", &error), nullptr);
  EXPECT_EQ(transmute_error_kind(), TRANSMUTE_ERROR_OTHER);
  EXPECT_THAT(take_error(), HasSubstr("/nowhere"));
  EXPECT_EQ(transmute_encode(nullptr, nullptr, 0, nullptr, 0, &error), nullptr);
  EXPECT_THAT(take_error(), HasSubstr("the encoder is NULL"));
}

}  // namespace
}  // namespace transmute::testing

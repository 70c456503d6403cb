// SPDX-License-Identifier: Apache-2.0
// From prompts to texts and from texts to probabilities, with a small random network.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/tests/support/translation_engine.h>
#include <transmute/translation/language_model.h>
#include <transmute/translation/transmute.h>

#include <cmath>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::StartsWith;
using testing::TemporaryFolder;

TransformerOptions tiny_language_model_options() {
  TransformerOptions options = testing::tiny_transformer_options();
  options.architecture = Architecture::decoder_only;
  return options;
}

class TinyLanguageModel : public ::testing::Test {
 protected:
  // Its logits are large enough for probabilities that differ.
  std::string saved(const TransformerOptions& options, const std::string& name = "model") {
    transformer = testing::tiny_transformer(tokenizer, 1, options);
    const torch::NoGradGuard no_grad;
    for (auto& parameter : transformer->parameters())
      if (parameter.dim() > 1) parameter.mul_(2.0);
    const std::string path = folder / name;
    std::filesystem::create_directory(path);
    save_model_folder(path, testing::tiny_config(options), tokenizer, weights_of(transformer));
    return path;
  }

  // Log-probabilities [T+1,V] of what follows the beginning and each token of a text, by the module itself.
  torch::Tensor next_tokens(const Ids& text) {
    const torch::NoGradGuard no_grad;
    Ids ids = text;
    ids.insert(ids.begin(), special_ids::kBegin);
    const torch::Tensor input = torch::tensor(ids, torch::kLong).unsqueeze(0);
    return torch::log_softmax(transformer(torch::empty({1, 0}, torch::kLong), input)[0].to(torch::kDouble), -1);
  }

  const TemporaryFolder folder;
  const Tokenizer tokenizer = testing::tiny_tokenizer();
  Transformer transformer{nullptr};
  const std::vector<std::string> prompts = {"the red", "", "the old train is", "the", "the green bridge is near."};
};

std::vector<std::string> texts_of(const std::vector<Translation>& found) {
  std::vector<std::string> texts;
  for (const auto& prompt : found)
    for (const auto& hypothesis : prompt.hypotheses) texts.push_back(hypothesis.text);
  return texts;
}

TEST_F(TinyLanguageModel, DrawsTheSameTextsByTheSameSeedWhateverIsDrawnBesideThem) {
  const LanguageModel model(saved(tiny_language_model_options()), {"cpu", 2});
  GenerationOptions options;
  options.search.num_hypotheses = 3;
  options.search.max_extra_length = 12;
  const auto together = texts_of(model.generate_batch(prompts, options));
  options.batch_size = 2;
  EXPECT_EQ(texts_of(model.generate_batch(prompts, options)), together);
  std::vector<std::string> apart;
  for (const auto& prompt : prompts)
    for (auto& text : texts_of(model.generate_batch({prompt}, options))) apart.push_back(text);
  EXPECT_EQ(apart, together);
  options.search.sampling->seed = 2;
  EXPECT_NE(texts_of(model.generate_batch(prompts, options)), together);
}

TEST_F(TinyLanguageModel, GivesDrawsInTheOrderOfTheirProbability) {
  const LanguageModel model(saved(tiny_language_model_options()), {"cpu", 1});
  GenerationOptions options;
  options.search.num_hypotheses = 12;
  options.search.max_extra_length = 12;
  const std::vector<Hypothesis> found = model.generate_batch({"the red"}, options).front().hypotheses;
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].score, found[i].log_probability);
    EXPECT_LE(found[i].log_probability, found[i > 0 ? i - 1 : 0].log_probability);
  }
}

TEST_F(TinyLanguageModel, BeginsEachTextWithItsPromptAsGiven) {
  const LanguageModel model(saved(tiny_language_model_options()), {"cpu", 1});
  GenerationOptions options;
  options.search.max_extra_length = 4;
  for (const std::string prompt : {"the red", " the  old", "the ☃ train", "the (blue", ""})
    EXPECT_THAT(model.generate(prompt, options), StartsWith(prompt));
  EXPECT_THAT(model.generate("the red \t", options), StartsWith("the red"));
  options.search.max_extra_length = 0;
  EXPECT_EQ(model.generate(" the  ☃ red ", options), " the  ☃ red");
  options.search.max_extra_length = kMaxWholeTokens;
  EXPECT_THROW(model.generate("the red", options), std::invalid_argument);
  options.search.max_extra_length = 0;
  const Translation found = model.generate_batch({"the red"}, options).front();
  EXPECT_EQ(found.source_tokens, tokenizer.target().segment("the red").pieces);
  EXPECT_EQ(found.hypotheses.front().tokens, found.source_tokens);
}

TEST_F(TinyLanguageModel, TellsATextAsItGrowsAndStopsWhereAsked) {
  const LanguageModel model(saved(tiny_language_model_options()), {"cpu", 1});
  GenerationOptions options;
  options.search.max_extra_length = 6;
  options.search.min_length = 5;
  std::vector<std::string> so_far;
  size_t done = 0;
  TranslationHooks hooks;
  hooks.on_text = [&](size_t, const std::string& text) { so_far.push_back(text); };
  hooks.on_progress = [&](size_t texts, size_t) { done = texts; };
  const std::string whole = texts_of(model.generate_batch({"the red"}, options, hooks)).front();
  ASSERT_GT(so_far.size(), 2U);
  for (size_t i = 1; i < so_far.size(); ++i) EXPECT_GE(so_far[i].size(), so_far[i - 1].size());
  EXPECT_EQ(so_far.back(), whole);
  EXPECT_EQ(done, 1U);
  hooks.should_stop = [] { return true; };
  EXPECT_THROW(model.generate_batch({"the red"}, options, hooks), Cancelled);
}

TEST_F(TinyLanguageModel, ScoresTextsAsTheModuleDoes) {
  struct Kind {
    NormPosition norm;
    EmbeddingTying tying;
    PositionalEncodingKind positions;
  };
  for (const Kind& kind : {Kind{NormPosition::post, EmbeddingTying::all, PositionalEncodingKind::sinusoidal},
                           {NormPosition::pre, EmbeddingTying::none, PositionalEncodingKind::learned},
                           {NormPosition::deep, EmbeddingTying::target_output, PositionalEncodingKind::learned}}) {
    TransformerOptions network = tiny_language_model_options();
    network.norm_position = kind.norm;
    network.embedding_tying = kind.tying;
    network.positional_encoding = kind.positions;
    const LanguageModel model(saved(network, std::to_string(static_cast<int>(kind.norm))), {"cpu", 2});
    const std::vector<std::string> texts = {"the red house is near.", "", "the old", "river", "the ☃ train"};
    const std::vector<Hypothesis> scored = model.score_batch(texts);
    ASSERT_EQ(scored.size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(scored[i].text, texts[i]);
      const Ids ids = tokenizer.target().encode(texts[i]);
      ASSERT_EQ(scored[i].tokens.size(), ids.size());
      if (ids.empty()) {
        EXPECT_EQ(scored[i].log_probability, 0);
        continue;
      }
      const torch::Tensor expected = next_tokens(ids);
      double sum = 0;
      for (size_t t = 0; t <= ids.size(); ++t) {
        const int64_t id = t < ids.size() ? ids[t] : special_ids::kEnd;
        const double log_probability = expected[static_cast<int64_t>(t)][id].item<double>();
        sum += log_probability;
        if (t == ids.size()) continue;  // the end's is what is left
        EXPECT_NEAR(scored[i].token_scores[t], log_probability, 1e-4);
      }
      EXPECT_NEAR(scored[i].log_probability, sum, 1e-4 * static_cast<double>(ids.size()));
    }
  }
}

TEST_F(TinyLanguageModel, AveragesTheProbabilitiesOfSeveral) {
  TransformerOptions options = tiny_language_model_options();
  const std::string first = saved(options, "first");
  const Transformer one = transformer;
  options.norm_position = NormPosition::pre;
  const std::string second = saved(options, "second");
  const Transformer other = transformer;
  TranslatorOptions both{"cpu", 1};
  both.ensemble = {second};
  const LanguageModel model(first, both);
  const std::string text = "the red house";
  const Ids ids = tokenizer.target().encode(text);
  transformer = one;
  const torch::Tensor by_one = next_tokens(ids);
  transformer = other;
  const torch::Tensor mean = torch::logsumexp(torch::stack({by_one, next_tokens(ids)}), 0) - std::log(2.0);
  const Hypothesis scored = model.score_batch({text}).front();
  for (size_t t = 0; t < ids.size(); ++t)
    EXPECT_NEAR(scored.token_scores[t], mean[static_cast<int64_t>(t)][ids[t]].item<double>(), 1e-4);
  EXPECT_NE(LanguageModel(first).generate(text), model.generate(text));
  EXPECT_EQ(LanguageModel(first, both).generate(text), model.generate(text));
}

TEST_F(TinyLanguageModel, TakesTheMostProbableTokensWithoutSampling) {
  const LanguageModel model(saved(tiny_language_model_options()), {"cpu", 1});
  GenerationOptions options;
  options.search.sampling.reset();
  options.search.beam_size = 1;
  options.search.max_extra_length = 10;
  for (const auto& prompt : prompts) {
    Ids ids = tokenizer.target().encode(prompt);
    const size_t most = ids.size() + 10;
    while (ids.size() < most) {
      torch::Tensor next = next_tokens(ids)[-1];
      next.slice(0, 0, special_ids::kEnd).fill_(-INFINITY);  // padding, unknown and begin are never chosen
      const auto best = next.argmax().item<int64_t>();
      if (best == special_ids::kEnd) break;
      ids.push_back(best);
    }
    const Translation found = model.generate_batch({prompt}, options).front();
    std::vector<std::string> pieces;
    for (const int64_t id : ids) pieces.push_back(tokenizer.target().piece(id));
    EXPECT_EQ(found.hypotheses.front().tokens, pieces) << prompt;
  }
}

TEST_F(TinyLanguageModel, IsTheSameThroughTheCInterface) {
  const std::string path = saved(tiny_language_model_options());
  const LanguageModel model(path, {"cpu", 1});
  char* error = nullptr;
  transmute_language_model* in_c = transmute_open_language_model(path.c_str(), nullptr, &error);
  ASSERT_NE(in_c, nullptr) << error;
  const std::vector<std::string> some = {"the red", "the old train is"};
  const char* texts[] = {some[0].c_str(), some[1].c_str()};
  const auto expect_same = [&](const std::vector<Translation>& expected, transmute_result* result) {
    ASSERT_NE(result, nullptr) << error;
    ASSERT_EQ(transmute_result_count(result), 2U);
    for (size_t t = 0; t < 2; ++t) {
      ASSERT_EQ(transmute_result_hypotheses(result, t), expected[t].hypotheses.size());
      for (size_t h = 0; h < expected[t].hypotheses.size(); ++h) {
        EXPECT_EQ(transmute_result_text(result, t, h), expected[t].hypotheses[h].text);
        EXPECT_EQ(transmute_result_log_probability(result, t, h), expected[t].hypotheses[h].log_probability);
      }
    }
    transmute_result_free(result);
  };
  expect_same(model.generate_batch(some), transmute_generate(in_c, texts, 2, nullptr, &error));

  GenerationOptions options;
  options.search.num_hypotheses = 2;
  options.search.max_extra_length = 7;
  options.search.sampling->seed = 3;
  transmute_translation_options c_options = transmute_generation_options_default();
  c_options.num_hypotheses = 2;
  c_options.max_extra_length = 7;
  c_options.seed = 3;
  c_options.on_progress = [](void* user, size_t done, size_t) { *static_cast<size_t*>(user) = done; };
  size_t done = 0;
  c_options.user = &done;
  expect_same(model.generate_batch(some, options), transmute_generate(in_c, texts, 2, &c_options, &error));
  EXPECT_EQ(done, 2U);
  options.search.sampling.reset();
  c_options.sample = 0;
  expect_same(model.generate_batch(some, options), transmute_generate(in_c, texts, 2, &c_options, &error));

  const auto scored = model.score_batch(some);
  transmute_result* scores = transmute_score_texts(in_c, texts, 2, nullptr, &error);
  ASSERT_NE(scores, nullptr) << error;
  for (size_t t = 0; t < 2; ++t) {
    EXPECT_EQ(transmute_result_log_probability(scores, t, 0), scored[t].log_probability);
    EXPECT_EQ(transmute_result_length(scores, t, 0), scored[t].tokens.size());
  }
  transmute_result_free(scores);

  const auto told = [&](const void* result) {
    EXPECT_EQ(result, nullptr);
    const std::string message = error == nullptr ? "" : error;
    transmute_string_free(error);
    error = nullptr;
    return message;
  };
  c_options.inline_tags = 1;
  EXPECT_THAT(told(transmute_generate(in_c, texts, 2, &c_options, &error)), HasSubstr("for translators"));
  c_options = transmute_generation_options_default();
  c_options.text_language = "de";
  EXPECT_THAT(told(transmute_generate(in_c, texts, 2, &c_options, &error)), HasSubstr(" text_language,"));
  c_options = transmute_generation_options_default();
  c_options.alignments = 1;
  EXPECT_THAT(told(transmute_generate(in_c, texts, 2, &c_options, &error)), HasSubstr("no source to attend to"));
  c_options = transmute_generation_options_default();
  int stop = 1;
  c_options.should_stop = transmute_is_set;
  c_options.user = &stop;
  EXPECT_EQ(told(transmute_score_texts(in_c, texts, 2, &c_options, &error)), "cancelled");
  EXPECT_THAT(told(transmute_generate(nullptr, texts, 2, nullptr, &error)), HasSubstr("NULL"));
  EXPECT_THAT(told(transmute_score_texts(in_c, nullptr, 2, nullptr, &error)), HasSubstr("NULL"));
  EXPECT_THAT(told(transmute_open(path.c_str(), nullptr, &error)), HasSubstr("is a language model"));
  EXPECT_THAT(told(transmute_open_language_model(nullptr, nullptr, &error)), HasSubstr("NULL"));
  EXPECT_THAT(told(transmute_open_language_model("/nowhere", nullptr, &error)), HasSubstr("/nowhere"));
  transmute_close_language_model(in_c);
  transmute_close_language_model(nullptr);
}

TEST_F(TinyLanguageModel, NamesWhatItCannotDo) {
  const LanguageModel model(saved(tiny_language_model_options()), {"cpu", 1});
  const auto refusal = [&](const std::string& prompt, const std::function<void(GenerationOptions&)>& spoil) {
    GenerationOptions options;
    spoil(options);
    return message_of<std::invalid_argument>([&] { model.generate_batch({prompt}, options); });
  };
  EXPECT_THAT(refusal("the", [](auto& o) { o.search.alignments = true; }), HasSubstr("no source to attend to"));
  EXPECT_THAT(refusal("the", [](auto& o) { o.search.sampling->top_p = 0; }), HasSubstr("top_p"));
  EXPECT_THAT(refusal("the", [](auto& o) { o.batch_size = 0; }), HasSubstr("batch_size"));
  EXPECT_THAT(refusal("caf\xe9", [](auto&) {}), HasSubstr("not valid UTF-8 (byte 4)"));
  TranslatorOptions with_shortlist;
  with_shortlist.shortlist.table = "table.tsv";
  EXPECT_THAT(message_of<std::invalid_argument>([&] { LanguageModel(folder / "model", with_shortlist); }),
              HasSubstr("shortlists are for translation models"));
  TranslatorOptions with_reverse;
  with_reverse.reverse_model = folder / "model";
  EXPECT_THAT(message_of<std::invalid_argument>([&] { LanguageModel(folder / "model", with_reverse); }),
              HasSubstr("reranking is for translation models"));

  TransformerOptions learned = tiny_language_model_options();
  learned.positional_encoding = PositionalEncodingKind::learned;
  learned.max_positions = 12;
  const LanguageModel limited(saved(learned, "limited"), {"cpu", 1});
  EXPECT_THAT(message_of<std::invalid_argument>([&] { limited.generate_batch({}); }),
              AllOf(HasSubstr("cannot get 50 more tokens"), HasSubstr("positions for 11")));
  EXPECT_THAT(message_of<BadText>([&] {
                limited.score_batch({"the", "the red house is near. the red house"});
              }),
              AllOf(HasSubstr("text 2: it has"), HasSubstr("positions for 11"), HasSubstr("model.max_positions")));
  GenerationOptions fitting;
  fitting.search.max_extra_length = 11;
  EXPECT_THAT(message_of<BadText>([&] {
                limited.generate_batch({"", "the"}, fitting);
              }),
              AllOf(HasSubstr("text 2: it has"), HasSubstr("is to get 11 more")));
  fitting.search.max_extra_length = 11 - static_cast<int64_t>(tokenizer.target().encode("the").size());
  fitting.search.min_length = 11;
  EXPECT_NO_THROW(limited.generate("the", fitting));
}

TEST_F(TinyLanguageModel, IsNoTranslatorNorATranslatorALanguageModel) {
  const std::string language_model = saved(tiny_language_model_options());
  const std::string translator = saved(testing::tiny_transformer_options(), "translator");
  EXPECT_THAT(message_of<std::invalid_argument>([&] { Translator{language_model}; }),
              AllOf(StartsWith(language_model), HasSubstr("is a language model"), HasSubstr("generate")));
  EXPECT_THAT(message_of<std::invalid_argument>([&] { LanguageModel{translator}; }),
              AllOf(StartsWith(translator), HasSubstr("is a translation model"), HasSubstr("translate")));
}

TEST_F(TinyLanguageModel, DoesNotTranslateInTheEngine) {
  saved(tiny_language_model_options());
  EXPECT_THAT(message_of<std::invalid_argument>([&] { testing::engine_of(transformer, tokenizer).translate({}, {}); }),
              HasSubstr("no source to translate"));
}

}  // namespace
}  // namespace transmute

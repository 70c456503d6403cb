// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/threads.h>
#include <transmute/search/next_token_constraint.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/tests/support/translation_engine.h>
#include <transmute/tests/translation/engine_fixture.h>
#include <transmute/text/minimum_risk.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

using testing::Engine;
using testing::expect_same;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::tiny_english;

TEST_F(Engine, ChoosesTheTranslationOfLeastRiskAmongTheBestOrAmongSamples) {
  const std::vector<std::string> texts{"the red house is near.", "the old train is closed.", "", "house"};
  for (const bool samples : {false, true})
    for (const MbrUtility utility : {MbrUtility::chrf, MbrUtility::bleu}) {
      options = few_tokens();
      if (samples) options.search.sampling = SamplingOptions();
      options.search.num_hypotheses = options.search.beam_size = 8;
      auto expected = translate(texts, options);
      for (Translation& translation : expected) choose_by_risk(translation.hypotheses, utility, samples, 2);
      options.search.num_hypotheses = 2;
      options.search.beam_size = 4;
      options.mbr = {8, utility};
      expect_same(translate(texts, options), expected);
    }
}

TEST_F(Engine, RefusesMinimumRiskWhereTheChoiceHasNoMeaning) {
  options.mbr.candidates = 4;
  TranslationHooks hooks;
  hooks.on_text = [](size_t, const std::string&) {};
  EXPECT_THAT(refusal({"the"}, options, hooks), HasSubstr("on_text"));
  options.search.alternatives = true;
  EXPECT_THAT(refusal({"the"}, options), HasSubstr("alternatives"));
  options.mbr.candidates = -1;
  EXPECT_THAT(refusal({}, options), HasSubstr("mbr.candidates"));
}

TEST_F(Engine, RanksTheBestOrSamplesByTheirWayBackToTheSource) {
  TranslationEngine engine = testing::engine_of(transformer, tokenizer);
  engine.rerank_with(testing::reverse_engine(tokenizer));
  const auto reverse = testing::reverse_engine(tokenizer);
  const std::vector<std::string> texts{"the red house is near.", "the old train is closed.", "", "house"};
  for (const bool samples : {false, true}) {
    options = few_tokens();
    options.search.length_penalty = LengthPenalty::power;
    if (samples) options.search.sampling = SamplingOptions();
    options.search.num_hypotheses = options.search.beam_size = 8;
    const auto plain = engine.translate(texts, options);
    auto expected = plain;
    TranslationOptions alone;
    alone.search.length_penalty = LengthPenalty::power;
    for (size_t i = 0; i < texts.size(); ++i) {
      auto& hypotheses = expected[i].hypotheses;
      if (texts[i].empty()) continue;
      for (Hypothesis& hypothesis : hypotheses)
        hypothesis.score += 20 * reverse->score({hypothesis.text}, {texts[i]}, alone).at(0).score;
      std::stable_sort(hypotheses.begin(), hypotheses.end(), [](auto& a, auto& b) { return a.score > b.score; });
      hypotheses.resize(2);
    }
    EXPECT_NE(expected[0].hypotheses[0].text, plain[0].hypotheses[0].text) << "or nothing is shown";
    options.search.num_hypotheses = 2;
    options.search.beam_size = 4;
    options.rerank = {8, 20};
    const auto found = engine.translate(texts, options);
    expect_same(found, expected);
    for (const Hypothesis& hypothesis : found[0].hypotheses)
      EXPECT_EQ(hypothesis.reverse_log_probability,
                reverse->score({hypothesis.text}, {texts[0]}, alone).at(0).log_probability);
    EXPECT_EQ(plain[0].hypotheses[0].reverse_log_probability, std::nullopt);
  }
}

TEST_F(Engine, RanksTheSentencesOfATextEachByItself) {
  TranslationEngine engine = testing::engine_of(transformer, tokenizer);
  engine.rerank_with(testing::reverse_engine(tokenizer));
  options.rerank = {6, 2};
  const auto first = engine.translate({"the red house is near."}, options)[0].hypotheses[0];
  const auto second = engine.translate({"The old train is closed."}, options)[0].hypotheses[0];
  options.split_sentences = SentenceSplitting::always;
  const Translation both = engine.translate({"the red house is near. The old train is closed."}, options)[0];
  ASSERT_EQ(both.parts, 2);
  EXPECT_EQ(both.hypotheses[0].text, first.text + " " + second.text);
  EXPECT_EQ(both.hypotheses[0].reverse_log_probability,
            *first.reverse_log_probability + *second.reverse_log_probability);
}

TEST_F(Engine, RefusesToRerankWhereTheChoiceHasNoMeaning) {
  TranslationEngine engine = testing::engine_of(transformer, tokenizer);
  options.rerank.candidates = 4;
  const auto reason = [&](const TranslationHooks& hooks = {}) { return refusal(engine, {"the"}, options, hooks); };
  EXPECT_THAT(reason(), HasSubstr("reverse_model"));
  engine.rerank_with(std::make_unique<TranslationEngine>(testing::engine_of(transformer, tokenizer)));
  TranslationHooks hooks;
  hooks.on_text = [](size_t, const std::string&) {};
  EXPECT_THAT(reason(hooks), HasSubstr("rerank cannot be combined with on_text"));
  options.mbr.candidates = 4;
  EXPECT_THAT(reason(), HasSubstr("mbr cannot be combined with rerank"));
  options.mbr.candidates = 0;
  options.search.alternatives = true;
  EXPECT_THAT(reason(), HasSubstr("rerank cannot be combined with alternatives"));
  options.search.alternatives = false;
  options.rerank.candidates = 1001;
  EXPECT_THAT(reason(), HasSubstr("rerank.candidates must be from 0 to 1000"));
  options.rerank = {4, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THAT(reason(), HasSubstr("rerank.weight"));
}

TEST_F(Engine, RefusesNumbersOfHypothesesThatMoreCandidatesWouldHide) {
  TranslationOptions mbr = few_tokens(), rerank = few_tokens();
  mbr.mbr.candidates = 4;
  rerank.rerank.candidates = 4;
  for (TranslationOptions options : {mbr, rerank}) {
    options.search.num_hypotheses = 0;
    EXPECT_THAT(refusal({"the"}, options), HasSubstr("num_hypotheses must lie between 1 and 10000, not 0"));
    options.search.num_hypotheses = 1;
    options.search.beam_size = -1;
    EXPECT_THAT(refusal({"the"}, options), HasSubstr("beam_size must lie between 1 and 10000, not -1"));
  }
}

// One that is refused before it is asked.
class AnyConstraint : public NextTokenConstraint {
 public:
  std::shared_ptr<const State> begin(const Ids&, const std::string&) const override {
    throw std::logic_error("was not refused");
  }
};

// Allows nothing but the end, and keeps what it was told of.
class EndsAtOnce : public NextTokenConstraint {
 public:
  class Over : public State {
   public:
    Ids allowed() const override { return {special_ids::kEnd}; }
    std::shared_ptr<const State> after(int64_t) const override { throw std::logic_error("goes on"); }
  };

  std::shared_ptr<const State> begin(const Ids& source, const std::string& text) const override {
    sources[text] = source;
    return std::make_shared<Over>();
  }
  mutable std::map<std::string, Ids> sources;
};

TEST_F(Engine, TellsAConstraintWhichTextsTheTokensAreOf) {
  const auto constraint = std::make_shared<EndsAtOnce>();
  options.search.constraint = constraint;
  const std::vector<std::string> texts{"the  house don´t", "the river is near."};
  translate(texts, options);
  EXPECT_THAT(constraint->sources, SizeIs(2));
  for (const std::string& text : texts) EXPECT_EQ(constraint->sources.at(text), tokenizer.source().encode(text));
}

TEST_F(Engine, RefusesAConstraintWithWhatWouldCutItsOutputOrVocabulary) {
  options.search.constraint = std::make_shared<AnyConstraint>();
  options.inline_tags = true;
  EXPECT_THAT(refusal({"the <b>house</b>"}, options), HasSubstr("inline_tags cannot be combined with a constraint"));
  options.inline_tags = false;
  const testing::TemporaryFolder folder;
  ShortlistOptions shortlist;
  shortlist.table = folder / "table";
  testing::write_text(shortlist.table, tokenizer.target().piece(10) + " " + tokenizer.source().piece(10) + " 0.5\n");
  TranslationEngine engine = testing::engine_of(transformer, tokenizer);
  engine.use(std::make_shared<Shortlist>(shortlist, tokenizer));
  for (const std::vector<std::string>& texts : {std::vector<std::string>{}, std::vector<std::string>{"the house"}})
    EXPECT_THAT(refusal(engine, texts, options), HasSubstr("a shortlist cannot be combined with a constraint"));
}

TEST_F(Engine, ReturnsAsManyHypothesesAsAskedFor) {
  options.search.num_hypotheses = 3;
  const auto found = translate({"the red house", "the"}, options);
  for (const auto& translation : found) {
    ASSERT_THAT(translation.hypotheses, SizeIs(3));
    EXPECT_GE(translation.hypotheses[0].score, translation.hypotheses[1].score);
    EXPECT_GE(translation.hypotheses[1].score, translation.hypotheses[2].score);
  }
}

// log P of a given translation, the end included, by the modules themselves: one sentence, no cache, no padding.
double log_probability_by_modules(Transformer transformer, const Ids& source, Ids target) {
  const torch::NoGradGuard no_grad;
  Ids source_ids = source, target_in = target, target_out = target;
  source_ids.push_back(special_ids::kEnd);
  target_in.insert(target_in.begin(), special_ids::kBegin);
  target_out.push_back(special_ids::kEnd);
  const torch::Tensor logits =
      transformer(torch::tensor(source_ids).unsqueeze(0), torch::tensor(target_in).unsqueeze(0));
  const torch::Tensor log_probs = torch::log_softmax(logits.to(torch::kDouble), -1).squeeze(0);
  return log_probs.gather(1, torch::tensor(target_out).unsqueeze(1)).sum().item<double>();
}

TEST_F(Engine, ScoresGivenTranslationsAsThePlainModulesDo) {
  ThreadPool pool(2);
  const auto parallel_for = [&](size_t count, const auto& task) { pool.for_each(count, task); };
  std::vector<std::string> sources = tiny_english(), targets = testing::tiny_german();
  std::rotate(targets.begin(), targets.begin() + 7, targets.end());
  sources.insert(sources.end(), {"the red house", "", "the"});
  targets.insert(targets.end(),
                 {"", "das Haus", "das alte Haus ist weg. das alte Haus ist weg. das alte Haus ist weg."});
  options = {};
  options.batch_size = 10;
  options.search.alignments = true;
  const auto scored = testing::engine_of(transformer, tokenizer, parallel_for).score(sources, targets, options);
  ASSERT_EQ(scored.size(), sources.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    const Ids source = tokenizer.source().encode(sources[i]), target = tokenizer.target().encode(targets[i]);
    EXPECT_NEAR(scored[i].log_probability, log_probability_by_modules(transformer, source, target), 2e-4)
        << "float32 sums of " << target.size() << " tokens";
    EXPECT_EQ(scored[i].text, targets[i]);
    EXPECT_EQ(scored[i].tokens, tokenizer.target().segment(targets[i]).pieces);
    EXPECT_EQ(scored[i].token_scores.size(), target.size());
    EXPECT_EQ(scored[i].alignment.size(), target.size());
  }
}

// The weights make the confidence of a translation depend on the mean log-probability of its tokens and end, and that
// of a word on its own log-probability.
TEST_F(Engine, HasConfidenceIfTheModelIsCalibrated) {
  TranslationEngine engine = testing::engine_of(transformer, tokenizer);
  const std::vector<std::string> texts{"the red house is near.", "The old train is far."};
  EXPECT_FALSE(engine.translate(texts, options).at(0).hypotheses.at(0).confidence) << "nothing is known";
  TranslationProfile profile;
  profile.set(ConfidenceCurve{{0.5, 2, 0, 0, 0, 0, 0}, {1, 3, 0, 0}});
  engine.use(profile);
  const auto logistic_of = [](double x) { return 1 / (1 + std::exp(-x)); };
  const auto apart = engine.translate(texts, options);
  for (const Translation& translation : apart) {
    const Hypothesis& best = translation.hypotheses.at(0);
    const double mean = best.log_probability / static_cast<double>(best.tokens.size() + 1);
    ASSERT_TRUE(best.confidence);
    EXPECT_NEAR(*best.confidence, logistic_of(0.5 + 2 * mean), 1e-6);
    double all = 0;
    for (const double score : best.token_scores) all += score;
    double of_words = 0, end_before = 0;
    for (const WordConfidence& word : best.words) {
      of_words += (std::log(word.confidence / (1 - word.confidence)) - 1) / 3;
      EXPECT_GE(word.place.first, end_before);
      end_before = static_cast<double>(word.place.second);
    }
    EXPECT_NEAR(of_words, all, 1e-6) << "every token is in one word";
    EXPECT_LE(end_before, best.text.size());
  }
  // A protected span may be put beside a mark within a word.
  TranslationOptions with_marks = few_tokens();
  with_marks.target_prefixes = {"das.rote.Haus.ist.nah"};
  const std::string& text = texts[0];
  for (size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at + 1)) {
    const std::string with_span = text.substr(0, at) + " 😀" + text.substr(at);
    const Hypothesis best = engine.translate({with_span}, with_marks).at(0).hypotheses.at(0);
    for (const auto& [place, confidence] : best.words) {
      const std::string word = best.text.substr(place.first, place.second - place.first);
      EXPECT_FALSE(word.empty());
      EXPECT_EQ(word.find(' '), std::string::npos) << word;
    }
  }
  TranslationOptions with_tags = few_tokens();
  with_tags.inline_tags = true;
  for (const char* tagged :
       {"<b>the</b> red house is near.", "the <b>red</b> house is near.", "the red😀 house is near."}) {
    const Hypothesis best = engine.translate({tagged}, with_tags).at(0).hypotheses.at(0);
    EXPECT_EQ(best.words.size(), apart[0].hypotheses[0].words.size()) << best.text;
    for (const auto& [place, confidence] : best.words)
      EXPECT_EQ(best.text.substr(place.first, place.second - place.first).find_first_of("<> "), std::string::npos)
          << best.text;
  }
  const Hypothesis both = engine.translate({texts[0] + "  " + texts[1]}, options).at(0).hypotheses.at(0);
  const Hypothesis &first = apart[0].hypotheses[0], &second = apart[1].hypotheses[0];
  const auto first_size = static_cast<double>(first.text.size()), second_size = static_cast<double>(second.text.size());
  ASSERT_TRUE(both.confidence);
  EXPECT_NEAR(*both.confidence,
              (*first.confidence * first_size + *second.confidence * second_size) / (first_size + second_size), 1e-9);
  ASSERT_EQ(both.words.size(), first.words.size() + second.words.size());
  const auto text_at = [](const Hypothesis& of, size_t i) {
    const auto [begin, end] = of.words[i].place;
    return of.text.substr(begin, end - begin);
  };
  for (size_t i = 0; i < second.words.size(); ++i) EXPECT_EQ(text_at(both, first.words.size() + i), text_at(second, i));
}

}  // namespace
}  // namespace transmute

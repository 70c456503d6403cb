// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/search/search.h>
#include <transmute/tests/support/table_model.h>
#include <transmute/tests/support/watched_model.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using testing::all_hypotheses;
using testing::Distribution;
using ::testing::ElementsAre;
using testing::expect_equal;
using ::testing::IsEmpty;
using testing::kA;
using testing::kB;
using testing::kC;
using testing::kD;
using testing::kE;
using testing::kEnd;
using testing::kTolerance;
using testing::log_probability;
using testing::options_of;
using testing::random_table;
using testing::search_one;
using ::testing::SizeIs;
using testing::Table;
using testing::TableModel;
using testing::WatchedModel;
using testing::whole_space;
using testing::written;

TEST(CoveragePenalty, PrefersWhatAttendedToTheWholeSource) {
  // `a` ends after two steps that looked at the first source token alone; `b c` goes on to look at the second.
  const Table table = written({{{}, {{kA, 0.6}, {kB, 0.4}}}, {{kB}, {{kC, 1.0}}}});
  const std::vector<std::vector<float>> attention{{0.9F, 0.1F, 0.0F}, {0.5F, 0.2F, 0.3F}, {0.1F, 0.6F, 0.3F}};
  const TableModel without(table);
  const WatchedModel model(without, [&](NextToken& next, const WatchedModel::Step& step) {
    EXPECT_TRUE(step.attention.wanted);
    const std::vector<float>& weights = attention.at(static_cast<size_t>(step.length));
    next.source_width = static_cast<int64_t>(weights.size());
    for (size_t row = 0; row < step.ids.size(); ++row)
      next.attention.insert(next.attention.end(), weights.begin(), weights.end());
  });
  SearchOptions options = options_of(4, 0, 2);
  options.coverage_beta = 0.5;
  const auto found = beam_search(model, {{kA, kB}}, options).at(0);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(found[0].ids, ElementsAre(kB, kC));
  EXPECT_NEAR(found[0].score, std::log(0.4) + 0.5 * std::log(0.9), kTolerance);
  EXPECT_THAT(found[1].ids, ElementsAre(kA));
  EXPECT_NEAR(found[1].score, std::log(0.6) + 0.5 * std::log(0.3), kTolerance);
  EXPECT_THAT(found[0].alignment, IsEmpty()) << "not asked for";
}

bool contains(const Ids& ids, const Ids& part) {
  return std::search(ids.begin(), ids.end(), part.begin(), part.end()) != ids.end();
}

bool repeats_a_pair(const Ids& ids) {
  std::set<std::pair<int64_t, int64_t>> seen;
  for (size_t i = 1; i < ids.size(); ++i)
    if (!seen.insert({ids[i - 1], ids[i]}).second) return true;
  return false;
}

// The best of all sequences of three words and at most four tokens that `allowed` lets pass.
IdHypothesis best_of_all(const Table& table, const Ids& source, double alpha,
                         const std::function<bool(const Ids&)>& allowed) {
  for (auto& hypothesis : all_hypotheses(table, source, 3, source.size() + 2, alpha))
    if (allowed(hypothesis.ids)) return hypothesis;
  return {};
}

TEST(MinLength, GivesTheBestOfThoseThatAreLongEnough) {
  int changed = 0;
  for (uint64_t key = 0; key < 30; ++key) {
    const Table table = random_table(4000 + key, 3);
    SearchOptions options = whole_space(0.6);
    const Ids without = beam_search(TableModel(table, 3), {{kA, kB}}, options).at(0).at(0).ids;
    options.min_length = 3;
    const auto found = beam_search(TableModel(table, 3), {{kA, kB}}, options).at(0).at(0);
    expect_equal(found, best_of_all(table, {kA, kB}, 0.6, [](const Ids& ids) { return ids.size() >= 3; }));
    changed += found.ids != without ? 1 : 0;
  }
  EXPECT_GT(changed, 5) << "or this tests nothing";
}

TEST(NoRepeatNgram, GivesTheBestOfThoseWithoutRepetition) {
  int changed = 0;
  for (uint64_t key = 0; key < 60; ++key) {
    const Table table = random_table(5000 + key, 3);
    SearchOptions options = whole_space(2);  // longer ones win
    const Ids without = beam_search(TableModel(table, 3), {{kA, kB}}, options).at(0).at(0).ids;
    options.no_repeat_ngram = static_cast<int64_t>(1 + key % 2);
    const auto found = beam_search(TableModel(table, 3), {{kA, kB}}, options).at(0).at(0);
    expect_equal(found, best_of_all(table, {kA, kB}, 2, [&](const Ids& ids) {
                   return key % 2 == 0 ? std::set<int64_t>(ids.begin(), ids.end()).size() == ids.size()
                                       : !repeats_a_pair(ids);
                 }));
    changed += found.ids != without ? 1 : 0;
  }
  EXPECT_GT(changed, 3) << "or this tests nothing";
}

TEST(NoRepeatNgram, BreaksALoop) {
  const Table loop = [](const Ids&, const Ids& prefix) {
    return Distribution{{prefix.size() % 2 == 0 ? kA : kB, 0.9}, {kC, 0.05}, {kEnd, 0.05}};
  };
  SearchOptions options = options_of(1);
  options.max_extra_length = 9;
  EXPECT_THAT(search_one(loop, {kA}, options).at(0).ids, SizeIs(10));
  options.no_repeat_ngram = 2;
  const Ids ids = search_one(loop, {kA}, options).at(0).ids;
  EXPECT_FALSE(repeats_a_pair(ids));
  EXPECT_THAT(std::vector<int64_t>(ids.begin(), ids.begin() + 3), ElementsAre(kA, kB, kA));
}

// The table's distributions as the penalty makes them of the logits that TableModel gives. The first `given` tokens of
// a prefix are part of the request.
Table penalized(const Table& table, double penalty, int64_t given = 0) {
  return [=](const Ids& source, const Ids& prefix) {
    Ids with_begin{special_ids::kBegin};
    with_begin.insert(with_begin.end(), prefix.begin(), prefix.end());
    Distribution changed = table(source, prefix);
    double sum = 0;
    for (auto& [token, probability] : changed) {
      double logit = std::log(probability) + testing::offset_of(with_begin);
      if (std::count(prefix.begin() + given, prefix.end(), token) > 0)
        logit = logit < 0 ? logit * penalty : logit / penalty;
      sum += probability = std::exp(logit);
    }
    for (auto& entry : changed) entry.second /= sum;
    return changed;
  };
}

TEST(RepetitionPenalty, GivesTheBestByPenalizedLogits) {
  int changed = 0;
  for (uint64_t key = 0; key < 40; ++key) {
    const Table table = random_table(5200 + key, 3);
    SearchOptions options = whole_space(2);  // longer ones win
    const Ids without = beam_search(TableModel(table, 3), {{kA, kB}}, options).at(0).at(0).ids;
    options.repetition_penalty = key % 4 == 0 ? 0.5 : 1.7;
    const auto found = beam_search(TableModel(table, 3), {{kA, kB}}, options).at(0).at(0);
    expect_equal(
        found, best_of_all(penalized(table, options.repetition_penalty), {kA, kB}, 2, [](const Ids&) { return true; }));
    changed += found.ids != without ? 1 : 0;
  }
  EXPECT_GT(changed, 5) << "or this tests nothing";
}

TEST(RepetitionPenalty, IsForWhatAPrefixHasButNotForTheLanguage) {
  const Table table = random_table(61, 3);
  SearchRequest request{{kA}, {kB, kC}};
  request.prefix_is_complete = request.prefix_is_certain = true;
  SearchOptions options = options_of(1);
  options.repetition_penalty = 3;
  for (const int64_t given : {0, 1}) {
    request.forced_tokens = given;
    const auto found = beam_search(TableModel(table, 3), {request}, options).at(0).at(0);
    const Distribution last = penalized(table, 3, given)(request.source, request.prefix);
    EXPECT_NEAR(found.token_scores.back(), std::log(last.at(kEnd)), kTolerance) << given;
  }
}

TEST(SuppressedSequences, AreInNoTranslationAndLeaveTheirProbabilityToOthers) {
  const std::vector<Ids> suppressed{{kB}, {kA, kC, kA}, {kC, kC}};
  int changed = 0;
  for (uint64_t key = 0; key < 40; ++key) {
    const Table table = random_table(5300 + key, 3);
    const Table without_them = [&](const Ids& source, const Ids& prefix) {
      Distribution distribution = table(source, prefix);
      for (const Ids& sequence : suppressed)
        if (sequence.size() <= prefix.size() + 1 &&
            std::equal(sequence.begin(), sequence.end() - 1,
                       prefix.end() - (static_cast<int64_t>(sequence.size()) - 1)))
          distribution.erase(sequence.back());
      double sum = 0;
      for (const auto& entry : distribution) sum += entry.second;
      for (auto& entry : distribution) entry.second /= sum;
      return distribution;
    };
    const SearchOptions options = whole_space(2);
    const Ids usual = beam_search(TableModel(table, 3), {{kA, kB}}, options).at(0).at(0).ids;
    SearchContext context;
    context.suppressed = suppressed;
    const auto found = beam_search(TableModel(table, 3), {SearchRequest{{kA, kB}}}, options, {}, context).at(0).at(0);
    expect_equal(found, best_of_all(without_them, {kA, kB}, 2, [](const Ids&) { return true; }));
    changed += found.ids != usual ? 1 : 0;
    // They may be in a prefix.
    const Ids prefix{kC, kC, kB};
    const auto continued =
        beam_search(TableModel(table, 3), {SearchRequest{{kA, kB}, prefix}}, options, {}, context).at(0).at(0);
    EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), continued.ids.begin()));
  }
  EXPECT_GT(changed, 10) << "or this tests nothing";
}

TEST(TargetPrefix, IsWhatTheTranslationBeginsWithAndItsProbabilityCounts) {
  for (uint64_t key = 0; key < 20; ++key) {
    const Table table = random_table(6000 + key, 3);
    const Ids prefix{kC, kA};
    const auto found =
        beam_search(TableModel(table, 3), {SearchRequest{{kA, kB}, prefix}}, whole_space(0.6)).at(0).at(0);
    expect_equal(found, best_of_all(table, {kA, kB}, 0.6, [&](const Ids& ids) {
                   return ids.size() >= 2 && Ids(ids.begin(), ids.begin() + 2) == prefix;
                 }));
  }
}

TEST(TargetPrefix, MayBeTheWholeTranslationWhoseProbabilityIsThenKnown) {
  const Table table = random_table(7, 5);
  const std::vector<Ids> sources{{kA}, {kA, kB, kC}, {}}, targets{{kB, kC, kD, kE, kA, kA}, {}, {kA}};
  std::vector<SearchRequest> requests;
  for (size_t i = 0; i < sources.size(); ++i) {
    requests.push_back({sources[i], targets[i]});
    requests.back().prefix_is_complete = true;
  }
  const auto found = beam_search(TableModel(table, 5), requests, options_of(1));
  for (size_t i = 0; i < sources.size(); ++i) {
    EXPECT_EQ(found.at(i).at(0).ids, targets[i]);
    EXPECT_NEAR(found[i][0].log_probability, log_probability(table, sources[i], targets[i]), kTolerance);
  }
}

// The best of all where the terms have `term_tokens`: the length penalty rewards no more tokens than they and the
// source have.
IdHypothesis best_with_terms(const Table& table, const Ids& source, double alpha, size_t term_tokens,
                             const std::function<bool(const Ids&)>& allowed) {
  IdHypothesis best;
  for (auto& hypothesis : all_hypotheses(table, source, 3, source.size() + 2, alpha)) {
    const auto length = std::min(hypothesis.ids.size() + 1, source.size() + term_tokens);
    hypothesis.score =
        hypothesis.log_probability / length_penalty(static_cast<int64_t>(length), alpha, LengthPenalty::paper);
    if (allowed(hypothesis.ids) && (best.ids.empty() || hypothesis.score > best.score)) best = hypothesis;
  }
  return best;
}

TEST(Terms, AreInTheBestTranslationThatHasThem) {
  const std::vector<Ids> terms{{kB, kC}, {kA}};
  int changed = 0;
  for (uint64_t key = 0; key < 40; ++key) {
    const Table table = random_table(8000 + key, 3);
    const Ids without = beam_search(TableModel(table, 3), {{kA, kB}}, whole_space(0.6)).at(0).at(0).ids;
    const SearchRequest request{{kA, kB}, {}, 0, terms};
    const auto found = beam_search(TableModel(table, 3), {request}, whole_space(0.6)).at(0).at(0);
    expect_equal(found, best_with_terms(table, {kA, kB}, 0.6, 3, [&](const Ids& ids) {
                   return contains(ids, terms[0]) && contains(ids, terms[1]);
                 }));
    changed += found.ids != without ? 1 : 0;
  }
  EXPECT_GT(changed, 5) << "or this tests nothing";
}

// kC continues the word before it.
bool is_word_of(const Ids& ids, const Ids& term) {
  for (auto at = ids.begin(); at != ids.end(); ++at) {
    at = std::search(at, ids.end(), term.begin(), term.end());
    if (at == ids.end()) return false;
    const auto after = at + static_cast<int64_t>(term.size());
    if ((at == ids.begin() || *at != kC) && (after == ids.end() || *after != kC)) return true;
  }
  return false;
}

TEST(Terms, AreWholeWordsInTheBestTranslationThatHasThem) {
  const std::vector<Ids> terms{{kB}, {kA}};
  int changed = 0;
  for (uint64_t key = 0; key < 60; ++key) {
    const Table table = random_table(8500 + key, 3);
    const SearchRequest request{{kA, kB}, {}, 0, terms};
    const auto part = beam_search(TableModel(table, 3), {request}, whole_space(0.6)).at(0).at(0);
    SearchContext context;
    context.is_inside_word = [](int64_t, int64_t after) { return after == kC; };
    const auto found = beam_search(TableModel(table, 3), {request}, whole_space(0.6), {}, context).at(0).at(0);
    expect_equal(found, best_with_terms(table, {kA, kB}, 0.6, 2, [&](const Ids& ids) {
                   return is_word_of(ids, terms[0]) && is_word_of(ids, terms[1]);
                 }));
    changed += found.ids != part.ids ? 1 : 0;
  }
  EXPECT_GT(changed, 5) << "or this tests nothing";
}

TEST(Terms, AreWholeWordsThoughTheModelWouldRatherContinueThem) {
  // After b, c is nearly certain, whatever came before; c d and e follow it.
  const Table table = [](const Ids&, const Ids& prefix) {
    if (prefix.empty() || prefix.back() == kA) return Distribution{{kA, 0.9}, {kD, 0.05}, {kE, 0.05}};
    if (prefix.back() == kB) return Distribution{{kC, 0.9998}, {kA, 0.0001}, {kEnd, 0.0001}};
    return Distribution{{kD, 0.5}, {kE, 0.4}, {kB, 0.01}, {kEnd, 0.09}};
  };
  for (int64_t beam = 1; beam <= 4; ++beam) {
    SearchOptions options = options_of(beam, 0.6);
    options.max_extra_length = 6;
    const SearchRequest request{{kA, kB}, {}, 0, {{kD, kB}}};
    SearchContext context;
    context.is_inside_word = [](int64_t, int64_t after) { return after == kC; };
    const Ids ids = beam_search(TableModel(table), {request}, options, {}, context).at(0).at(0).ids;
    EXPECT_TRUE(is_word_of(ids, {kD, kB})) << ::testing::PrintToString(ids);
  }
}

TEST(Terms, AreNotMadeProbableByMoreTokens) {
  const Table table =
      written({{{}, {{kA, 0.9999}, {kB, 1e-4}}}, {{kA}, {{kEnd, 0.99}, {kC, 0.01}}}, {{kB}, {{kEnd, 1.0}}}});
  const Table with_loop = [&](const Ids& source, const Ids& prefix) -> Distribution {
    if (!prefix.empty() && prefix.back() == kC) return {{kC, 0.9}, {kB, 1e-4}, {kEnd, 0.0999}};
    return !prefix.empty() && prefix.back() == kB ? Distribution{{kEnd, 1.0}} : table(source, prefix);
  };
  SearchOptions options = options_of(4, 1);
  options.length_penalty = LengthPenalty::power;
  options.max_extra_length = 50;
  const auto found = beam_search(TableModel(with_loop), {SearchRequest{{kA}, {}, 0, {{kB}}}}, options).at(0).at(0);
  EXPECT_THAT(found.ids, ElementsAre(kB)) << "the mean of the tokens of a long loop would be higher";
  EXPECT_NEAR(found.score, std::log(1e-4) / 2, kTolerance);
}

TEST(Terms, AreMetWithNarrowBeamsAndWithoutAnEffectOnOtherSentences) {
  const std::vector<Ids> sources{{kA, kB}, {kB, kB, kC}, {kC}};
  for (uint64_t key = 0; key < 40; ++key) {
    const TableModel model(random_table(9000 + key, 5), 5);
    SearchOptions options = options_of(static_cast<int64_t>(1 + key % 4), 0.6);
    options.max_extra_length = 8;
    const auto free = beam_search(model, sources, options);
    const std::vector<Ids> terms{{kE, kD, kE}, {kA, kB}};
    const auto bound = beam_search(model, {{sources[0]}, {sources[1], {}, 0, terms}, {sources[2]}}, options);
    EXPECT_EQ(bound[0][0].ids, free[0][0].ids);
    EXPECT_EQ(bound[2][0].ids, free[2][0].ids);
    EXPECT_EQ(bound[2][0].log_probability, free[2][0].log_probability);
    EXPECT_TRUE(contains(bound[1][0].ids, terms[0]));
    EXPECT_TRUE(contains(bound[1][0].ids, terms[1]));
    EXPECT_NEAR(bound[1][0].log_probability, log_probability(random_table(9000 + key, 5), sources[1], bound[1][0].ids),
                kTolerance);
  }
}

}  // namespace
}  // namespace transmute

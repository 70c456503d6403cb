// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/random.h>
#include <transmute/search/search.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/table_model.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

using testing::all_hypotheses;
using ::testing::AllOf;
using testing::Distribution;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::expect_equal;
using testing::expected_score;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kA;
using testing::kB;
using testing::kC;
using testing::kD;
using testing::kE;
using testing::kEnd;
using testing::kTolerance;
using testing::log_probability;
using testing::message_of;
using testing::options_of;
using testing::probability_of;
using testing::random_table;
using testing::sampling_of;
using testing::search_one;
using ::testing::SizeIs;
using testing::Table;
using testing::TableModel;
using testing::whole_space;
using testing::written;

TEST(LengthPenalty, IsTheFormulaOfWuAndOthers) {
  EXPECT_DOUBLE_EQ(length_penalty(1, 0.6, LengthPenalty::paper), 1.0);
  EXPECT_DOUBLE_EQ(length_penalty(7, 1.0, LengthPenalty::paper), 2.0);
  EXPECT_DOUBLE_EQ(length_penalty(19, 0.5, LengthPenalty::paper), 2.0);
  EXPECT_DOUBLE_EQ(length_penalty(19, 0.0, LengthPenalty::paper), 1.0);
}

TEST(LengthPenalty, MayBeAPowerOfTheLength) {
  EXPECT_DOUBLE_EQ(length_penalty(1, 0.6, LengthPenalty::power), 1.0);
  EXPECT_DOUBLE_EQ(length_penalty(7, 1.0, LengthPenalty::power), 7.0);
  EXPECT_DOUBLE_EQ(length_penalty(16, 0.5, LengthPenalty::power), 4.0);
  SearchOptions options;
  options.length_alpha = 1;
  options.length_penalty = LengthPenalty::power;
  const auto best = search_one(random_table(3, 5), {kA, kB}, options).at(0);
  EXPECT_NEAR(best.score, best.log_probability / (static_cast<double>(best.ids.size()) + 1), kTolerance);
}

// Greedy takes `a` (0.6) and is left with 0.6 x 0.35 = 0.21; `b` leads to 0.4 x 0.9 = 0.36.
const std::map<Ids, Distribution> kGarden{
    {{}, {{kA, 0.6}, {kB, 0.4}}},
    {{kA}, {{kEnd, 0.35}, {kC, 0.33}, {kD, 0.32}}},
    {{kB}, {{kEnd, 0.9}, {kC, 0.1}}},
};

TEST(BeamSearch, GreedySearchTakesTheBestTokenEachTime) {
  const auto found = search_one(written(kGarden), {kA}, options_of(1));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].ids, ElementsAre(kA));
  EXPECT_NEAR(found[0].log_probability, std::log(0.21), kTolerance);
  EXPECT_NEAR(found[0].score, std::log(0.21), kTolerance);
}

TEST(BeamSearch, FindsWhatGreedySearchMisses) {
  const auto found = search_one(written(kGarden), {kA}, options_of(2, 0, 2));
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(found[0].ids, ElementsAre(kB));
  EXPECT_NEAR(found[0].log_probability, std::log(0.36), kTolerance);
  EXPECT_THAT(found[1].ids, ElementsAre(kA));
  EXPECT_NEAR(found[1].log_probability, std::log(0.21), kTolerance);
}

// `a` has 0.4 at length 2, `b c d` 0.35 at length 4. With penalties (7/6)^alpha and (9/6)^alpha the long one
// wins from alpha = ln(ln 0.35 / ln 0.4) / ln(9/7) = 0.541 on.
const std::map<Ids, Distribution> kShortOrLong{
    {{}, {{kA, 0.4}, {kB, 0.35}, {kE, 0.25}}},
    {{kB}, {{kC, 1.0}}},
    {{kB, kC}, {{kD, 1.0}}},
};

TEST(BeamSearch, LengthPenaltyDecidesBetweenShortAndLong) {
  for (const double alpha : {0.0, 0.3, 0.53}) {
    const auto found = search_one(written(kShortOrLong), {kA}, options_of(3, alpha));
    EXPECT_THAT(found.at(0).ids, ElementsAre(kA)) << "alpha " << alpha;
    EXPECT_NEAR(found[0].score, std::log(0.4) / std::pow(7.0 / 6.0, alpha), kTolerance);
  }
  for (const double alpha : {0.55, 0.6, 1.0, 2.0}) {
    const auto found = search_one(written(kShortOrLong), {kA}, options_of(3, alpha));
    EXPECT_THAT(found.at(0).ids, ElementsAre(kB, kC, kD)) << "alpha " << alpha;
    EXPECT_NEAR(found[0].log_probability, std::log(0.35), kTolerance);
    EXPECT_NEAR(found[0].score, std::log(0.35) / std::pow(9.0 / 6.0, alpha), kTolerance);
  }
}

TEST(BeamSearch, AnEndInTheBeamDoesNotStopTheOthers) {
  const auto found = search_one(written(kShortOrLong), {kA}, options_of(3, 0.6, 3));
  ASSERT_THAT(found, SizeIs(3));
  EXPECT_THAT(found[0].ids, ElementsAre(kB, kC, kD));
  EXPECT_THAT(found[1].ids, ElementsAre(kA));
  EXPECT_THAT(found[2].ids, ElementsAre(kE));
  EXPECT_NEAR(found[2].log_probability, std::log(0.25), kTolerance);
}

TEST(BeamSearch, AnImmediateEndGivesAnEmptyHypothesis) {
  const auto found = search_one(written({{{}, {{kEnd, 0.7}, {kA, 0.3}}}}), {kA, kB}, options_of(1, 0.6));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].ids, IsEmpty());
  EXPECT_NEAR(found[0].log_probability, std::log(0.7), kTolerance);
  EXPECT_NEAR(found[0].score, std::log(0.7), kTolerance) << "the penalty of length 1 is 1";
}

// An end whose rank is below the beam is no better than a word of that rank, which would be dropped. Here: a-end
// 0.30, a-c 0.18, then b-end 0.16 in third place; of what continues, b-c gives 0.14 and a-c no more than 0.09.
TEST(BeamSearch, AnEndBelowTheBeamIsDropped) {
  const Table table = written({{{}, {{kA, 0.6}, {kB, 0.4}}},
                               {{kA}, {{kEnd, 0.5}, {kC, 0.3}, {kD, 0.2}}},
                               {{kB}, {{kEnd, 0.4}, {kC, 0.35}, {kD, 0.25}}},
                               {{kA, kC}, {{kEnd, 0.5}, {kD, 0.5}}}});
  const auto found = search_one(table, {kA}, options_of(2, 0, 2));
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(found[0].ids, ElementsAre(kA));
  EXPECT_NEAR(found[0].log_probability, std::log(0.30), kTolerance);
  EXPECT_THAT(found[1].ids, ElementsAre(kB, kC));
  EXPECT_NEAR(found[1].log_probability, std::log(0.14), kTolerance);
}

// Where an end ranks first, the beam still continues with two words.
TEST(BeamSearch, AnEndTakesNoWordsPlace) {
  const Table table = written({{{}, {{kEnd, 0.5}, {kA, 0.3}, {kB, 0.2}}}, {{kA}, {{kC, 0.5}, {kD, 0.5}}}});
  const auto found = search_one(table, {kA}, options_of(2, 0, 2));
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(found[0].ids, IsEmpty());
  EXPECT_THAT(found[1].ids, ElementsAre(kB));
  EXPECT_NEAR(found[1].log_probability, std::log(0.2), kTolerance);
}

TEST(BeamSearch, ForcesTheEndAtTheSourcesLengthAndSomeMore) {
  // The end is never among the best two.
  const Table never_ends = [](const Ids&, const Ids&) { return Distribution{{kA, 0.5}, {kB, 0.4}, {kEnd, 0.1}}; };
  for (const int64_t beam_size : {1, 2})
    for (const size_t source_length : {0, 1, 4})
      for (const int64_t extra : {0, 3}) {
        SearchOptions options = options_of(beam_size, 0.6);
        options.max_extra_length = extra;
        const auto found = search_one(never_ends, Ids(source_length, kB), options);
        const size_t length = source_length + static_cast<size_t>(extra);
        ASSERT_THAT(found, SizeIs(1));
        EXPECT_EQ(found[0].ids, Ids(length, kA));
        EXPECT_NEAR(found[0].log_probability, static_cast<double>(length) * std::log(0.5) + std::log(0.1), kTolerance);
      }
}

TEST(BeamSearch, KeepsTheHypothesesThatCanEndAtTheLimit) {
  // The better one of the two has no way to end.
  const Table table = written({{{}, {{kA, 0.8}, {kB, 0.2}}}, {{kA}, {{kC, 1.0}}}, {{kB}, {{kEnd, 0.5}, {kC, 0.5}}}});
  SearchOptions options = options_of(2, 0);
  options.max_extra_length = 0;
  const auto found = search_one(table, {kA}, options);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].ids, ElementsAre(kB));
  EXPECT_NEAR(found[0].log_probability, std::log(0.1), kTolerance);
}

TEST(BeamSearch, RanksForcedEndsByScore) {
  // At the limit the order of the live ones turns round: 0.6 x 0.1 against 0.4 x 0.9.
  const Table table =
      written({{{}, {{kA, 0.6}, {kB, 0.4}}}, {{kA}, {{kC, 0.9}, {kEnd, 0.1}}}, {{kB}, {{kC, 0.1}, {kEnd, 0.9}}}});
  SearchOptions options = options_of(2, 0, 2);
  options.max_extra_length = 0;
  const auto found = search_one(table, {kA}, options);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(found[0].ids, ElementsAre(kB));
  EXPECT_NEAR(found[0].log_probability, std::log(0.36), kTolerance);
  EXPECT_THAT(found[1].ids, ElementsAre(kA));
  EXPECT_NEAR(found[1].log_probability, std::log(0.06), kTolerance);
}

TEST(BeamSearch, NeverChoosesReservedTokens) {
  const Table table = [](const Ids&, const Ids& prefix) {
    Distribution next{{special_ids::kPad, 0.4}, {special_ids::kUnknown, 0.3}, {special_ids::kBegin, 0.2}};
    next[prefix.size() < 3 ? static_cast<int64_t>(kA) : kEnd] = 0.1;
    return next;
  };
  for (const int64_t beam_size : {1, 3}) {
    const auto found = search_one(table, {kA}, options_of(beam_size));
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(found[0].ids, ElementsAre(kA, kA, kA));
    EXPECT_NEAR(found[0].log_probability, 4 * std::log(0.1), kTolerance);
  }
}

// With a beam that holds everything, nothing is cut off and search must agree with enumeration: order, ids and
// probabilities of all of the space.
TEST(BeamSearch, EqualsEnumerationWhereTheBeamHoldsTheWholeSpace) {
  constexpr int64_t kWords = 3;
  constexpr size_t kLimit = 3;  // 1 + 3 + 9 + 27 sequences
  for (uint64_t key = 0; key < 8; ++key)
    for (const double alpha : {0.0, 0.6, 1.5}) {
      const Table table = random_table(key, kWords);
      const Ids source{kA};
      const auto expected = all_hypotheses(table, source, kWords, kLimit, alpha);
      ASSERT_THAT(expected, SizeIs(40));
      for (const int64_t num_hypotheses : {1, 5, 40}) {
        SearchOptions options = options_of(128, alpha, num_hypotheses);
        options.max_extra_length = kLimit - 1;
        const auto results = beam_search(TableModel(table, kWords), {source}, options);
        ASSERT_EQ(static_cast<int64_t>(results[0].size()), num_hypotheses);
        for (size_t i = 0; i < results[0].size(); ++i) {
          EXPECT_EQ(results[0][i].ids, expected[i].ids) << "table " << key << ", place " << i;
          EXPECT_NEAR(results[0][i].log_probability, expected[i].log_probability, kTolerance);
          EXPECT_NEAR(results[0][i].score, expected[i].score, kTolerance);
        }
      }
    }
}

// The probability that search adds up along its beams is that of the ids it returns: a wrong parent or a mixed-up
// row would show.
TEST(BeamSearch, ReturnsSortedDistinctHypothesesWithTheirOwnProbabilities) {
  constexpr int64_t kWords = 5;
  for (uint64_t key = 0; key < 60; ++key) {
    const Table table = random_table(1000 + key, kWords);
    const auto beam_size = static_cast<int64_t>(1 + key % 6);
    const double alpha = 0.3 * static_cast<double>(key % 4);
    SearchOptions options = options_of(beam_size, alpha, beam_size);
    options.max_extra_length = 6;
    const std::vector<Ids> sources{{kA}, {kB, kC}, {kC, kD, kE, kA}};
    const auto results = beam_search(TableModel(table, kWords), sources, options);
    ASSERT_EQ(results.size(), sources.size());
    for (size_t s = 0; s < sources.size(); ++s) {
      EXPECT_EQ(static_cast<int64_t>(results[s].size()), beam_size);
      std::set<Ids> distinct;
      for (size_t i = 0; i < results[s].size(); ++i) {
        const IdHypothesis& hypothesis = results[s][i];
        EXPECT_THAT(hypothesis.ids, Each(Ge(static_cast<int64_t>(kA))));
        EXPECT_LE(hypothesis.ids.size(), sources[s].size() + 6);
        const double log_p = log_probability(table, sources[s], hypothesis.ids);
        EXPECT_NEAR(hypothesis.log_probability, log_p, kTolerance);
        EXPECT_NEAR(hypothesis.score, expected_score(log_p, hypothesis.ids, alpha), kTolerance);
        EXPECT_TRUE(i == 0 || results[s][i - 1].score >= hypothesis.score);
        EXPECT_TRUE(distinct.insert(hypothesis.ids).second) << "twice the same";
      }
    }
  }
}

// Keeps the `beam_size` best prefixes of each length and nothing else: textbook beam search for num_hypotheses 1,
// written without batches, rows or early ends.
IdHypothesis plain_beam_search(const Table& table, const Ids& source, int64_t words, const SearchOptions& options) {
  struct Prefix {
    Ids ids;
    double log_p;
  };
  const auto beam_size = static_cast<size_t>(options.beam_size);
  const size_t limit = source.size() + static_cast<size_t>(options.max_extra_length);
  std::vector<Prefix> live{{{}, 0.0}};
  std::vector<IdHypothesis> ended;
  const auto greedy_has_ended = [&] { return beam_size == 1 && !ended.empty(); };
  for (size_t length = 0; !live.empty() && !greedy_has_ended(); ++length) {
    std::vector<Prefix> next;
    for (const Prefix& prefix : live) {
      const Distribution distribution = table(source, prefix.ids);
      for (int64_t token = kEnd; token <= kEnd + words; ++token) {
        if (length == limit && token != kEnd) continue;
        next.push_back({prefix.ids, prefix.log_p + std::log(probability_of(distribution, token))});
        next.back().ids.push_back(token);
      }
    }
    std::sort(next.begin(), next.end(), [](const Prefix& a, const Prefix& b) { return a.log_p > b.log_p; });
    live.clear();
    for (size_t rank = 0; rank < next.size() && live.size() < beam_size; ++rank) {
      if (next[rank].ids.back() != kEnd) {
        live.push_back(next[rank]);
      } else if (rank < beam_size) {
        next[rank].ids.pop_back();
        ended.push_back(
            {next[rank].ids, next[rank].log_p, expected_score(next[rank].log_p, next[rank].ids, options.length_alpha)});
      }
    }
  }
  return *std::max_element(ended.begin(), ended.end(), [](const auto& a, const auto& b) { return a.score < b.score; });
}

TEST(BeamSearch, EqualsATextbookSearchWithSmallBeams) {
  constexpr int64_t kWords = 5;
  for (uint64_t key = 0; key < 200; ++key) {
    const Table table = random_table(3000 + key, kWords);
    SearchOptions options = options_of(static_cast<int64_t>(1 + key % 5), 0.4 * static_cast<double>(key % 3));
    options.max_extra_length = static_cast<int64_t>(key % 7);
    const Ids source(1 + key % 4, kB);
    const IdHypothesis expected = plain_beam_search(table, source, kWords, options);
    const auto found = search_one(table, source, options);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].ids, expected.ids) << "table " << key;
    EXPECT_NEAR(found[0].log_probability, expected.log_probability, kTolerance);
  }
}

TEST(BeamSearch, ASentencesResultDoesNotDependOnItsBatch) {
  constexpr int64_t kWords = 5;
  const Table table = random_table(42, kWords);
  std::vector<Ids> sources;
  for (uint64_t i = 0; i < 12; ++i) {
    Ids source;
    for (uint64_t k = 0; k < i % 6; ++k) source.push_back(kA + static_cast<int64_t>(mix_bits(100 * i + k) % kWords));
    sources.push_back(source);
  }
  for (const int64_t beam_size : {1, 2, 5}) {
    SearchOptions options = options_of(beam_size, 0.6, beam_size);
    options.max_extra_length = 5;
    const TableModel model(table, kWords);
    const auto together = beam_search(model, sources, options);
    ASSERT_EQ(together.size(), sources.size());
    std::set<size_t> lengths;
    for (size_t s = 0; s < sources.size(); ++s) {
      const auto alone = beam_search(model, {sources[s]}, options).at(0);
      ASSERT_EQ(together[s].size(), alone.size());
      for (size_t i = 0; i < alone.size(); ++i) {
        EXPECT_EQ(together[s][i].ids, alone[i].ids);
        EXPECT_EQ(together[s][i].log_probability, alone[i].log_probability);
        EXPECT_EQ(together[s][i].score, alone[i].score);
      }
      lengths.insert(alone[0].ids.size());
    }
    EXPECT_GT(lengths.size(), 2u) << "sentences should leave the batch at different steps";
  }
}

TEST(BeamSearch, ABeamMayBeWiderThanTheVocabulary) {
  const Table table = written({{{}, {{kA, 0.6}, {kEnd, 0.4}}}});
  const auto found = beam_search(TableModel(table, 1), {Ids{kA}}, options_of(10, 0, 10)).at(0);
  ASSERT_THAT(found, SizeIs(2)) << "there are only two";
  EXPECT_THAT(found[0].ids, ElementsAre(kA));
  EXPECT_THAT(found[1].ids, IsEmpty());
}

TEST(BeamSearch, DoesNotCountTheGivenLanguageInTheLeastLength) {
  const Table table = written({{{}, {{kD, 1.0}}}, {{kD}, {{kEnd, 0.9}, {kA, 0.1}}}});
  SearchOptions options = options_of(1);
  options.min_length = 1;
  SearchRequest request{{kA, kB}, {kD}, 1};
  EXPECT_THAT(beam_search(TableModel(table), {request}, options).at(0).at(0).ids, ElementsAre(kD, kA));
  request.forced_tokens = 0;
  EXPECT_THAT(beam_search(TableModel(table), {request}, options).at(0).at(0).ids, ElementsAre(kD));
}

TEST(BeamSearch, CountsACertainPrefixInTheLeastLengthButNotInTheProbability) {
  const Table table = written({{{}, {{kD, 0.3}, {kA, 0.7}}}, {{kD}, {{kEnd, 0.9}, {kA, 0.1}}}});
  SearchOptions options = options_of(1);
  options.min_length = 1;
  SearchRequest request{{kA, kB}, {kD}};
  request.prefix_is_certain = true;
  const IdHypothesis found = beam_search(TableModel(table), {request}, options).at(0).at(0);
  EXPECT_THAT(found.ids, ElementsAre(kD));
  EXPECT_NEAR(found.log_probability, std::log(0.9), kTolerance);
}

TEST(BeamSearch, OfNoSentenceIsNothing) {
  EXPECT_THAT(beam_search(TableModel(written({})), std::vector<Ids>(), SearchOptions()), IsEmpty());
}

TEST(BeamSearch, RefusesOptionsOutOfRange) {
  const auto refusal = [](const std::function<void(SearchOptions&)>& change) {
    SearchOptions options;
    change(options);
    return message_of<std::invalid_argument>([&] { beam_search(TableModel(written({})), {Ids{kA}}, options); });
  };
  EXPECT_THAT(refusal([](auto& o) { o.beam_size = 0; }), HasSubstr("beam_size must lie between 1 and 10000, not 0"));
  EXPECT_THAT(refusal([](auto& o) { o.num_hypotheses = 0; }), HasSubstr("num_hypotheses"));
  EXPECT_THAT(refusal([](auto& o) { o.num_hypotheses = 5; }),
              AllOf(HasSubstr("num_hypotheses"), HasSubstr("beam_size (4), not 5")));
  for (const double beyond : {-0.1, 1e30, std::nan("")}) {
    EXPECT_THAT(refusal([=](auto& o) { o.length_alpha = beyond; }),
                HasSubstr("length_alpha must lie between 0 and 10"));
    EXPECT_THAT(refusal([=](auto& o) { o.coverage_beta = beyond; }), HasSubstr("coverage_beta must lie between 0"));
  }
  EXPECT_THAT(refusal([](auto& o) { o.max_extra_length = -1; }), HasSubstr("max_extra_length"));
  EXPECT_THAT(refusal([](auto& o) { o.min_length = -1; }), HasSubstr("min_length"));
  EXPECT_THAT(refusal([](auto& o) { o.no_repeat_ngram = -1; }), HasSubstr("no_repeat_ngram"));
  for (const double penalty : {0.0, 1e-300, 1e300, std::nan("")})
    EXPECT_THAT(refusal([=](auto& o) { o.repetition_penalty = penalty; }),
                HasSubstr("repetition_penalty must lie between 0.01 and 1000"));
  const auto refused_sampling = [&](double SamplingOptions::*member, double value) {
    return refusal([&](auto& o) { o.sampling.emplace().*member = value; });
  };
  EXPECT_THAT(refused_sampling(&SamplingOptions::temperature, -1), HasSubstr("temperature"));
  EXPECT_THAT(refused_sampling(&SamplingOptions::temperature, INFINITY), HasSubstr("temperature"));
  EXPECT_THAT(refused_sampling(&SamplingOptions::top_p, 0), HasSubstr("top_p"));
  EXPECT_THAT(refused_sampling(&SamplingOptions::top_p, 1.5), HasSubstr("top_p"));
  EXPECT_THAT(refusal([](auto& o) { o.sampling.emplace().top_k = -1; }), HasSubstr("top_k"));
  EXPECT_THAT(refusal([](auto& o) {
                o.sampling.emplace();
                o.alternatives = true;
              }),
              HasSubstr("exclude each other"));
  const auto refused_term = [](const Ids& term, const SearchOptions& options = {}) {
    const SearchRequest request{{kA}, {}, 0, {term}};
    return message_of<std::invalid_argument>([&] { beam_search(TableModel(written({})), {request}, options); });
  };
  EXPECT_THAT(refused_term({}), HasSubstr("no tokens"));
  EXPECT_THAT(refused_term({kA}, sampling_of({})), HasSubstr("sampling"));
}

TEST(SearchOptions, AreThePapersByDefault) {
  const SearchOptions options;
  EXPECT_EQ(options.beam_size, 4);
  EXPECT_EQ(options.length_alpha, 0.6);
  EXPECT_EQ(options.max_extra_length, 50);
}

TEST(SearchHooks, TellTokensOnlyWhenNoRivalCanChangeThem) {
  // kA starts better; what follows decides for kB.
  const Table table = written(
      {{{}, {{kA, 0.55}, {kB, 0.45}}}, {{kA}, {{kC, 0.4}, {kD, 0.6}}}, {{kB}, {{kC, 1.0}}}, {{kB, kC}, {{kD, 1.0}}}});
  SearchHooks hooks;
  std::vector<Ids> told;
  std::vector<bool> is_whole;
  hooks.on_tokens = [&](size_t sentence, const Ids& certain, bool is_last) {
    EXPECT_EQ(sentence, 0U);
    told.push_back(certain);
    is_whole.push_back(is_last);
  };
  beam_search(TableModel(table), {{kA, kA}}, options_of(1), hooks);
  EXPECT_THAT(told, ElementsAre(Ids{kA}, Ids{kA, kD}, Ids{kA, kD}));
  EXPECT_THAT(is_whole, ElementsAre(false, false, true));
  told.clear();
  const auto best = beam_search(TableModel(table), {{kA, kA}}, options_of(2), hooks).at(0).at(0);
  EXPECT_EQ(best.ids, (Ids{kB, kC, kD}));
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back(), best.ids);
  EXPECT_EQ(told.front().front(), kB) << "not before the first choice is decided";
}

TEST(BeamSearch, KeepsTheBestOfHypothesesWithTheSameText) {
  // kB and kC are written alike.
  SearchContext context;
  context.text_of = [](const Ids& ids) {
    std::string text;
    for (const int64_t id : ids) text += id == kC ? 'b' : static_cast<char>('a' + id - kA);
    return text;
  };
  int fewer = 0;
  for (uint64_t key = 0; key < 30; ++key) {
    const Table table = random_table(9500 + key, 3);
    SearchOptions options = whole_space(0.6);
    options.num_hypotheses = 12;
    std::vector<IdHypothesis> wanted;
    std::set<std::string> texts;
    int skipped = 0;
    for (const auto& hypothesis : all_hypotheses(table, {kA, kB}, 3, 4, 0.6)) {
      if (wanted.size() == 12) break;
      if (texts.insert(context.text_of(hypothesis.ids)).second) {
        wanted.push_back(hypothesis);
      } else {
        ++skipped;
      }
    }
    const auto found = beam_search(TableModel(table, 3), {SearchRequest{{kA, kB}}}, options, {}, context).at(0);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) expect_equal(found[i], wanted[i]);
    fewer += skipped > 0 ? 1 : 0;
  }
  EXPECT_GT(fewer, 10) << "or this tests nothing";
}

TEST(SearchHooks, EndTheSearch) {
  SearchHooks hooks;
  int asked = 0;
  hooks.should_stop = [&] { return ++asked == 2; };
  const Table endless = [](const Ids&, const Ids&) { return Distribution{{kA, 1.0}}; };
  EXPECT_THROW(beam_search(TableModel(endless), {Ids{kA}}, options_of(2), hooks), Cancelled);
  EXPECT_EQ(asked, 2);
}

TEST(TokenNode, IsFreedWithAMillionBeforeItButNotWithThoseThatAreShared) {
  constexpr int64_t kTokens = 1'000'000, kShared = 1000;
  std::shared_ptr<const search::TokenNode> last, shared;
  for (int64_t i = 1; i <= kTokens; ++i) {
    last = std::make_shared<search::TokenNode>(i, 0.0, std::vector<float>(), last);
    if (i == kShared) shared = last;
  }
  last.reset();
  EXPECT_EQ(shared.use_count(), 1) << "the others are freed";
  EXPECT_THAT(search::ids_of(shared.get()), SizeIs(kShared));
}

TEST(TokenScores, SumToTheLogProbability) {
  const Table table = written({{{}, {{kA, 0.25}, {kB, 0.75}}}, {{kB}, {{kC, 0.5}, {kEnd, 0.5}}}});
  const auto found = beam_search(TableModel(table), {Ids{kA}}, options_of(4, 0, 4)).at(0);
  for (const auto& hypothesis : found) {
    ASSERT_EQ(hypothesis.token_scores.size(), hypothesis.ids.size() + 1);
    double sum = 0;
    for (const double score : hypothesis.token_scores) sum += score;
    EXPECT_NEAR(sum, hypothesis.log_probability, kTolerance);
    EXPECT_NEAR(hypothesis.token_scores.front(), std::log(hypothesis.ids.front() == kA ? 0.25 : 0.75), kTolerance);
  }
}

}  // namespace
}  // namespace transmute

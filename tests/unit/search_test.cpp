#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/model/libtorch.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include <transmute/common/random.h>
#include <transmute/tests/support/errors.h>
#include <transmute/translation/ensemble.h>
#include <transmute/translation/search.h>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using ::testing::SizeIs;

// The words of these tests, after the four reserved ids.
enum Word : int64_t { kA = special_ids::kCount, kB, kC, kD, kE };
constexpr int64_t kEnd = special_ids::kEnd;

// Probabilities of the next token; what is not named has none.
using Distribution = std::map<int64_t, double>;

// The distribution after `prefix` (without begin) for a source. A function of nothing else, which a test can
// evaluate without any search.
using Table = std::function<Distribution(const Ids& source, const Ids& prefix)>;

// log-probabilities are float32 and sums of a few of them: some units of 6e-8 times their size.
constexpr double kTolerance = 1e-5;

// Logits are log-probabilities up to a constant, another one for each prefix.
double offset_of(const Ids& prefix) {
  return static_cast<double>((prefix.back() + static_cast<int64_t>(prefix.size())) % 5 - 2);
}

class TableBatch : public DecodingBatch {
 public:
  TableBatch(const Table& table, int64_t vocabulary, std::vector<Ids> sources, std::vector<Ids> shortlists)
      : table_(table),
        vocabulary_(vocabulary),
        sources_(std::move(sources)),
        shortlists_(std::move(shortlists)),
        prefixes_(sources_.size()) {}

  NextToken step(const torch::Tensor& ids) override {
    EXPECT_EQ(ids.scalar_type(), torch::kLong);
    const auto beam = static_cast<int64_t>(prefixes_.size() / sources_.size());
    if (ids.sizes() != torch::IntArrayRef({static_cast<int64_t>(sources_.size()), beam}))
      throw std::logic_error("step: ids are not [B,N]");
    torch::Tensor logits = torch::full({static_cast<int64_t>(sources_.size()), beam, vocabulary_},
                                       -std::numeric_limits<float>::infinity());
    for (size_t row = 0; row < prefixes_.size(); ++row) {
      const auto b = static_cast<int64_t>(row) / beam;
      const auto n = static_cast<int64_t>(row) % beam;
      prefixes_[row].push_back(ids[b][n].item<int64_t>());
      if (prefixes_[row].front() != special_ids::kBegin) throw std::logic_error("the first token is not begin");
      const Ids after_begin(prefixes_[row].begin() + 1, prefixes_[row].end());
      for (const auto& [token, probability] : table_(sources_[static_cast<size_t>(b)], after_begin))
        logits[b][n][token] = static_cast<float>(std::log(probability) + offset_of(prefixes_[row]));
    }
    return {shortlists_.empty() ? logits : on_lists(logits), {}};
  }

  void select(const torch::Tensor& sentences, const torch::Tensor& parents) override {
    const auto old_beam = static_cast<int64_t>(prefixes_.size() / sources_.size());
    if (parents.size(0) % sentences.size(0) != 0) throw std::logic_error("select: beams of unequal size");
    const int64_t beam = parents.size(0) / sentences.size(0);
    std::vector<Ids> sources, prefixes, shortlists;
    for (int64_t i = 0; i < sentences.size(0); ++i) {
      const auto kept = static_cast<size_t>(sentences[i].item<int64_t>());
      sources.push_back(sources_.at(kept));
      if (!shortlists_.empty()) shortlists.push_back(shortlists_.at(kept));
    }
    for (int64_t i = 0; i < parents.size(0); ++i) {
      const auto parent = parents[i].item<int64_t>();
      if (parent / old_beam != sentences[i / beam].item<int64_t>())
        throw std::logic_error("select: a parent of another sentence");
      prefixes.push_back(prefixes_.at(static_cast<size_t>(parent)));
    }
    sources_ = std::move(sources);
    shortlists_ = std::move(shortlists);
    prefixes_ = std::move(prefixes);
  }

 private:
  torch::Tensor on_lists(const torch::Tensor& logits) const {
    size_t longest = 0;
    for (const Ids& list : shortlists_) longest = std::max(longest, list.size());
    torch::Tensor own = torch::full({logits.size(0), logits.size(1), static_cast<int64_t>(longest)},
                                    -std::numeric_limits<float>::infinity());
    for (size_t b = 0; b < shortlists_.size(); ++b)
      for (size_t c = 0; c < shortlists_[b].size(); ++c)
        own[static_cast<int64_t>(b)].select(1, static_cast<int64_t>(c)) =
            logits[static_cast<int64_t>(b)].select(1, shortlists_[b][c]);
    return own;
  }

  Table table_;
  int64_t vocabulary_;
  std::vector<Ids> sources_;
  std::vector<Ids> shortlists_;
  std::vector<Ids> prefixes_;  // begin included
};

class TableModel : public StepModel {
 public:
  explicit TableModel(Table table, int64_t words = 5)
      : table_(std::move(table)), vocabulary_(special_ids::kCount + words) {}
  std::unique_ptr<DecodingBatch> start(const std::vector<Ids>& sources, AttentionChoice,
                                       const std::vector<Ids>& shortlists) const override {
    return std::make_unique<TableBatch>(table_, vocabulary_, sources, shortlists);
  }

 private:
  Table table_;
  int64_t vocabulary_;
};

// A table of few prefixes; any other prefix ends.
Table written(const std::map<Ids, Distribution>& rows) {
  return [rows](const Ids&, const Ids& prefix) {
    const auto row = rows.find(prefix);
    return row == rows.end() ? Distribution{{kEnd, 1.0}} : row->second;
  };
}

// Random probabilities for every prefix, different for each source and key.
Table random_table(uint64_t key, int64_t words) {
  return [key, words](const Ids& source, const Ids& prefix) {
    uint64_t state = mix_bits(key);
    for (const int64_t id : source) state = combine_keys(state, id);
    state = combine_keys(state, 1'000'003);
    for (const int64_t id : prefix) state = combine_keys(state, id);
    Distribution distribution;
    double sum = 0;
    for (int64_t token = kEnd; token <= kEnd + words; ++token) {
      state = mix_bits(state);
      const double uniform = static_cast<double>(state >> 11) * 0x1p-53;
      sum += distribution[token] = std::exp(4 * uniform);
    }
    for (auto& entry : distribution) entry.second /= sum;
    return distribution;
  };
}

double probability_of(const Distribution& distribution, int64_t token) {
  const auto found = distribution.find(token);
  return found == distribution.end() ? 0.0 : found->second;
}

// log P of a whole hypothesis, its end included, straight from the table.
double log_probability(const Table& table, const Ids& source, const Ids& ids) {
  double sum = 0;
  Ids prefix;
  for (const int64_t id : ids) {
    sum += std::log(probability_of(table(source, prefix), id));
    prefix.push_back(id);
  }
  return sum + std::log(probability_of(table(source, prefix), kEnd));
}

// The paper's penalty, Wu et al. (2016), Eq. 14; the length counts the end.
double expected_score(double log_p, const Ids& ids, double alpha) {
  return log_p / (std::pow(5.0 + static_cast<double>(ids.size()) + 1.0, alpha) / std::pow(6.0, alpha));
}

// Every sequence of at most `limit` words with its probability, best score first.
std::vector<IdHypothesis> all_hypotheses(const Table& table, const Ids& source, int64_t words, size_t limit,
                                         double alpha) {
  std::vector<IdHypothesis> found;
  std::vector<Ids> sequences{{}};
  for (size_t i = 0; i < sequences.size(); ++i) {
    const Ids ids = sequences[i];
    const double log_p = log_probability(table, source, ids);
    found.push_back({ids, log_p, expected_score(log_p, ids, alpha)});
    if (ids.size() == limit) continue;
    for (int64_t word = kA; word < kA + words; ++word) {
      sequences.push_back(ids);
      sequences.back().push_back(word);
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
  return found;
}

SearchOptions options_of(int64_t beam_size, double alpha = 0, int64_t num_hypotheses = 1) {
  SearchOptions options;
  options.beam_size = beam_size;
  options.length_alpha = alpha;
  options.num_hypotheses = num_hypotheses;
  return options;
}

SearchOptions sampling_of(const SamplingOptions& sampling, int64_t draws = 1) {
  SearchOptions options;
  options.num_hypotheses = draws;
  options.sampling = sampling;
  return options;
}

std::vector<IdHypothesis> search_one(const Table& table, const Ids& source, const SearchOptions& options) {
  auto results = beam_search(TableModel(table), {source}, options);
  EXPECT_EQ(results.size(), 1u);
  return results.at(0);
}

TEST(LengthPenalty, IsTheFormulaOfWuAndOthers) {
  EXPECT_DOUBLE_EQ(length_penalty(1, 0.6), 1.0);
  EXPECT_DOUBLE_EQ(length_penalty(7, 1.0), 2.0);
  EXPECT_DOUBLE_EQ(length_penalty(19, 0.5), 2.0);
  EXPECT_DOUBLE_EQ(length_penalty(19, 0.0), 1.0);
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
// 0.30, a-c 0.18, then b-end 0.16 in third place; of what goes on, b-c gives 0.14 and a-c no more than 0.09.
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

// Where an end ranks first, the beam still goes on with two words.
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

TEST(BeamSearch, GreedySearchFollowsTheTable) {
  for (uint64_t key = 0; key < 40; ++key) {
    const Table table = random_table(2000 + key, 5);
    const Ids source{kA, kB};
    Ids expected;  // the most probable token, over and over
    while (expected.size() < source.size() + 4) {
      const Distribution next = table(source, expected);
      const auto best =
          std::max_element(next.begin(), next.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
      if (best->first == kEnd) break;
      expected.push_back(best->first);
    }
    SearchOptions options = options_of(1, 0.6);
    options.max_extra_length = 4;
    EXPECT_EQ(search_one(table, source, options).at(0).ids, expected) << "table " << key;
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
  const auto found = beam_search(TableModel(table, 1), {{kA}}, options_of(10, 0, 10)).at(0);
  ASSERT_THAT(found, SizeIs(2)) << "there are only two";
  EXPECT_THAT(found[0].ids, ElementsAre(kA));
  EXPECT_THAT(found[1].ids, IsEmpty());
}

TEST(BeamSearch, OfNoSentenceIsNothing) {
  EXPECT_THAT(beam_search(TableModel(written({})), {}, SearchOptions()), IsEmpty());
}

TEST(BeamSearch, RefusesOptionsOutOfRange) {
  const auto refusal = [](const std::function<void(SearchOptions&)>& change) {
    SearchOptions options;
    change(options);
    return message_of<std::invalid_argument>([&] { beam_search(TableModel(written({})), {{kA}}, options); });
  };
  EXPECT_THAT(refusal([](auto& o) { o.beam_size = 0; }), HasSubstr("beam_size must be at least 1, not 0"));
  EXPECT_THAT(refusal([](auto& o) { o.num_hypotheses = 0; }), HasSubstr("num_hypotheses"));
  EXPECT_THAT(refusal([](auto& o) { o.num_hypotheses = 5; }),
              AllOf(HasSubstr("num_hypotheses"), HasSubstr("beam_size (4), not 5")));
  EXPECT_THAT(refusal([](auto& o) { o.length_alpha = -0.1; }), HasSubstr("length_alpha"));
  EXPECT_THAT(refusal([](auto& o) { o.length_alpha = std::nan(""); }), HasSubstr("length_alpha"));
  EXPECT_THAT(refusal([](auto& o) { o.max_extra_length = -1; }), HasSubstr("max_extra_length"));
  EXPECT_THAT(refusal([](auto& o) { o.coverage_beta = -1; }), HasSubstr("coverage_beta"));
  EXPECT_THAT(refusal([](auto& o) { o.min_length = -1; }), HasSubstr("min_length"));
  EXPECT_THAT(refusal([](auto& o) { o.no_repeat_ngram = -1; }), HasSubstr("no_repeat_ngram"));
  const auto refused_sampling = [&](double SamplingOptions::*member, double value) {
    return refusal([&](auto& o) { o.sampling.emplace().*member = value; });
  };
  EXPECT_THAT(refused_sampling(&SamplingOptions::temperature, -1), HasSubstr("temperature"));
  EXPECT_THAT(refused_sampling(&SamplingOptions::top_p, 0), HasSubstr("top_p"));
  EXPECT_THAT(refused_sampling(&SamplingOptions::top_p, 1.5), HasSubstr("top_p"));
  EXPECT_THAT(refusal([](auto& o) { o.sampling.emplace().top_k = -1; }), HasSubstr("top_k"));
  EXPECT_THAT(refusal([](auto& o) {
                o.sampling.emplace();
                o.alternatives = true;
              }),
              HasSubstr("exclude each other"));
  const auto refused_demands = [](const TargetDemands& demands, const SearchOptions& options = {}) {
    return message_of<std::invalid_argument>(
        [&] { beam_search(TableModel(written({})), {{kA}}, options, {}, demands); });
  };
  EXPECT_THAT(refused_demands({{{kA}, {kA}}}), HasSubstr("2 prefixes were given for 1 sentence"));
  EXPECT_THAT(refused_demands({{}, {{{}}}}), HasSubstr("no tokens"));
  EXPECT_THAT(refused_demands({{}, {{{kA}}}}, sampling_of({})), HasSubstr("sampling"));
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
  hooks.on_tokens = [&](size_t sentence, const Ids& certain) {
    EXPECT_EQ(sentence, 0U);
    told.push_back(certain);
  };
  beam_search(TableModel(table), {{kA, kA}}, options_of(1), hooks);
  EXPECT_THAT(told, ElementsAre(Ids{kA}, Ids{kA, kD}));
  told.clear();
  const auto best = beam_search(TableModel(table), {{kA, kA}}, options_of(2), hooks).at(0).at(0);
  EXPECT_EQ(best.ids, (Ids{kB, kC, kD}));
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back(), best.ids);
  EXPECT_EQ(told.front().front(), kB) << "not before the first choice is decided";
}

TEST(SearchHooks, EndTheSearch) {
  SearchHooks hooks;
  int asked = 0;
  hooks.should_stop = [&] { return ++asked == 2; };
  const Table endless = [](const Ids&, const Ids&) { return Distribution{{kA, 1.0}}; };
  EXPECT_THROW(beam_search(TableModel(endless), {{kA}}, options_of(2), hooks), Cancelled);
  EXPECT_EQ(asked, 2);
}

TEST(TokenScores, SumToTheLogProbability) {
  const Table table = written({{{}, {{kA, 0.25}, {kB, 0.75}}}, {{kB}, {{kC, 0.5}, {kEnd, 0.5}}}});
  const auto found = beam_search(TableModel(table), {{kA}}, options_of(4, 0, 4)).at(0);
  for (const auto& hypothesis : found) {
    ASSERT_EQ(hypothesis.token_scores.size(), hypothesis.ids.size() + 1);
    double sum = 0;
    for (const double score : hypothesis.token_scores) sum += score;
    EXPECT_NEAR(sum, hypothesis.log_probability, kTolerance);
    EXPECT_NEAR(hypothesis.token_scores.front(), std::log(hypothesis.ids.front() == kA ? 0.25 : 0.75), kTolerance);
  }
}

// The table without what is not on the list, as shares of what is.
Table restricted(const Table& table, const Ids& list) {
  return [table, list](const Ids& source, const Ids& prefix) {
    Distribution kept;
    double sum = 0;
    for (const auto& [token, probability] : table(source, prefix))
      if (token == kEnd || std::find(list.begin(), list.end(), token) != list.end()) sum += kept[token] = probability;
    for (auto& entry : kept) entry.second /= sum;
    return kept;
  };
}

TEST(Shortlists, AreLikeAModelThatHasNoOtherTokens) {
  const Table table = random_table(7, 12);
  const std::vector<Ids> sources{{kA}, {kB, kB, kB}, {kC, kA}};
  TargetDemands demands;
  demands.shortlists = {{kA, kA + 3, kA + 11}, {kB}, {kA + 9, kC, kA + 5, kA + 4, kA + 5}};
  std::vector<std::pair<std::string, SearchOptions>> ways{{"beam", options_of(4, 0.6)},
                                                          {"greedy", options_of(1, 0.6)},
                                                          {"sampling", options_of(1)},
                                                          {"alternatives", options_of(1)},
                                                          {"no repetition", options_of(3, 0.6)}};
  ways[0].second.num_hypotheses = 3;
  ways[2].second.sampling = SamplingOptions();
  ways[2].second.num_hypotheses = 4;
  ways[3].second.alternatives = true;
  ways[3].second.num_hypotheses = 3;
  ways[4].second.no_repeat_ngram = 1;
  ways[4].second.min_length = 2;
  for (const auto& [name, options] : ways) {
    const auto found = beam_search(TableModel(table, 12), sources, options, {}, demands);
    for (size_t i = 0; i < sources.size(); ++i) {
      const TableModel alone(restricted(table, demands.shortlists[i]), 12);
      const auto expected = beam_search(alone, {sources[i]}, options).at(0);
      ASSERT_EQ(found[i].size(), expected.size()) << name;
      for (size_t k = 0; k < expected.size(); ++k) {
        EXPECT_EQ(found[i][k].ids, expected[k].ids) << name << ", sentence " << i;
        EXPECT_NEAR(found[i][k].log_probability, expected[k].log_probability, kTolerance) << name;
      }
    }
  }
}

TEST(Shortlists, TakeInPrefixesAndTerms) {
  const Table table = random_table(8, 12);
  TargetDemands demands;
  demands.shortlists = {{kA}};
  demands.prefixes = {{kA + 7, kA + 2}};
  demands.terms = {{{kA + 9, kA + 10}}};
  const auto found = beam_search(TableModel(table, 12), {{kA, kA, kA}}, options_of(4, 0.6), {}, demands).at(0).at(0);
  EXPECT_EQ(Ids(found.ids.begin(), found.ids.begin() + 2), demands.prefixes[0]);
  const Ids& term = demands.terms[0][0];
  EXPECT_NE(std::search(found.ids.begin(), found.ids.end(), term.begin(), term.end()), found.ids.end());
}

TEST(Shortlists, EndATranslationThatMayHaveNothingElse) {
  TargetDemands demands;
  demands.shortlists = {{}};
  SearchOptions options = options_of(4, 0.6);
  options.min_length = 3;
  const auto end_alone = [&] {
    return beam_search(TableModel(random_table(9, 5)), {{kA}}, options, {}, demands).at(0);
  };
  ASSERT_EQ(end_alone().size(), 1U);
  EXPECT_EQ(end_alone()[0].ids, Ids());
  options.sampling = SamplingOptions();
  EXPECT_EQ(end_alone().at(0).ids, Ids());
  demands.shortlists.push_back({});
  EXPECT_THAT(message_of<std::invalid_argument>(end_alone), HasSubstr("2 shortlists were given for 1 sentence"));
}

// The same numbers as double, which search reads as it reads a GPU's.
class DoubleModel : public StepModel {
 public:
  explicit DoubleModel(const StepModel& inner) : inner_(inner) {}
  std::unique_ptr<DecodingBatch> start(const std::vector<Ids>& sources, AttentionChoice choice,
                                       const std::vector<Ids>& shortlists) const override {
    return std::make_unique<Batch>(inner_.start(sources, choice, shortlists));
  }

 private:
  class Batch : public DecodingBatch {
   public:
    explicit Batch(std::unique_ptr<DecodingBatch> inner) : inner_(std::move(inner)) {}
    NextToken step(const torch::Tensor& ids) override {
      NextToken next = inner_->step(ids);
      next.logits = next.logits.to(torch::kDouble);
      return next;
    }
    void select(const torch::Tensor& sentences, const torch::Tensor& parents) override {
      inner_->select(sentences, parents);
    }

   private:
    std::unique_ptr<DecodingBatch> inner_;
  };

  const StepModel& inner_;
};

TEST(OtherNumbers, LeadToTheSameHypotheses) {
  constexpr int64_t kWords = 7;
  const std::vector<Ids> sources{{kA}, {kB, kB, kB}, {kC, kA}, {}};
  std::vector<std::pair<std::string, SearchOptions>> ways{{"beam", options_of(4, 0.6, 3)},
                                                          {"greedy", options_of(1)},
                                                          {"wide", options_of(20, 0.6, 20)},
                                                          {"no repetition", options_of(3, 0.6)},
                                                          {"sampling", sampling_of(SamplingOptions(), 4)},
                                                          {"alternatives", options_of(1)}};
  ways[3].second.no_repeat_ngram = 1;
  ways[3].second.min_length = 2;
  ways[5].second.alternatives = true;
  ways[5].second.num_hypotheses = 3;
  TargetDemands none, prefixes, terms, lists, complete;
  prefixes.prefixes = {{kB}, {}, {kC, kA}, {kE}};
  terms.terms = {{{kB, kC}}, {}, {{kA}, {kD}}, {{kE}}};
  lists.shortlists = {{kA, kA + 6}, {kB}, {kC, kD, kE}, {kA + 5}};
  complete.prefixes = {{kB, kC}, {kD}, {}, {kA, kA, kA}};
  complete.prefixes_are_complete = true;
  for (uint64_t key = 0; key < 5; ++key)
    for (auto [name, options] : ways)
      for (const TargetDemands* demands : {&none, &prefixes, &terms, &lists, &complete}) {
        if (demands == &terms && (options.sampling || options.alternatives)) continue;  // nothing to search with
        options.max_extra_length = 3;
        const TableModel model(random_table(11000 + key, kWords), kWords);
        const auto expected = beam_search(model, sources, options, {}, *demands);
        const auto found = beam_search(DoubleModel(model), sources, options, {}, *demands);
        for (size_t i = 0; i < sources.size(); ++i) {
          ASSERT_EQ(found[i].size(), expected[i].size()) << name;
          for (size_t k = 0; k < expected[i].size(); ++k) {
            EXPECT_EQ(found[i][k].ids, expected[i][k].ids) << name << ", sentence " << i << ", key " << key;
            EXPECT_NEAR(found[i][k].log_probability, expected[i][k].log_probability, kTolerance) << name;
          }
        }
      }
}

// A table that counts how often it is asked.
class CountingModel : public StepModel {
 public:
  explicit CountingModel(Table table) : inner_(std::move(table)) {}
  std::unique_ptr<DecodingBatch> start(const std::vector<Ids>& sources, AttentionChoice choice,
                                       const std::vector<Ids>& shortlists) const override {
    return std::make_unique<Batch>(inner_.start(sources, choice, shortlists), *this);
  }

  mutable std::vector<int64_t> extensions;  // their tokens
  mutable int steps = 0;

 private:
  class Batch : public DecodingBatch {
   public:
    Batch(std::unique_ptr<DecodingBatch> inner, const CountingModel& model) : inner_(std::move(inner)), model_(model) {}
    NextToken step(const torch::Tensor& ids) override {
      ++model_.steps;
      return inner_->step(ids);
    }
    NextToken extend(const torch::Tensor& ids) override {
      model_.extensions.push_back(ids.size(1));
      return inner_->extend(ids);
    }
    void select(const torch::Tensor& sentences, const torch::Tensor& parents) override {
      inner_->select(sentences, parents);
    }

   private:
    std::unique_ptr<DecodingBatch> inner_;
    const CountingModel& model_;
  };
  TableModel inner_;
};

TEST(KnownTokens, GoThroughTheModelTogether) {
  const Table table = random_table(9, 5);
  const std::vector<Ids> sources = {{kA}, {kB, kC}, {kD}};
  TargetDemands demands;
  demands.prefixes = {{kA, kB, kC}, {kC, kC, kA, kB, kD}, {kB, kA, kA}};
  SearchOptions options = options_of(3, 0.6, 3);
  options.max_extra_length = 6;

  CountingModel begun(table);
  const auto together = beam_search(begun, sources, options, {}, demands);
  EXPECT_THAT(begun.extensions, ElementsAre(3)) << "the tokens of the shortest prefix";
  EXPECT_GT(begun.steps, 0);
  for (size_t i = 0; i < sources.size(); ++i) {
    TargetDemands own;
    own.prefixes = {demands.prefixes[i]};
    const auto alone = beam_search(TableModel(table), {sources[i]}, options, {}, own).at(0);
    ASSERT_EQ(together[i].size(), alone.size());
    for (size_t n = 0; n < alone.size(); ++n) {
      EXPECT_EQ(together[i][n].ids, alone[n].ids);
      EXPECT_EQ(together[i][n].token_scores, alone[n].token_scores);
      EXPECT_NEAR(together[i][n].log_probability, log_probability(table, sources[i], alone[n].ids), kTolerance);
    }
  }

  demands.prefixes_are_complete = true;
  demands.prefixes[1].resize(100, kA);
  demands.prefixes[2].clear();
  CountingModel scored(table);
  const auto scores = beam_search(scored, sources, options_of(1), {}, demands);
  // 21 steps of three, then the rest of the one that is left.
  EXPECT_THAT(scored.extensions, ElementsAre(21, 64, 16));
  EXPECT_EQ(scored.steps, 0);
  for (size_t i = 0; i < sources.size(); ++i) {
    EXPECT_EQ(scores[i].at(0).ids, demands.prefixes[i]);
    EXPECT_NEAR(scores[i][0].log_probability, log_probability(table, sources[i], demands.prefixes[i]), 1e-3);
  }
}

TEST(KnownTokens, LeaveNothingWhereTheyAreImpossible) {
  TargetDemands demands;
  demands.prefixes = {Ids(100, kA), Ids(90, kA)};  // the second `a` already
  const auto found = beam_search(TableModel(written({{{}, {{kA, 1.0}}}})), {{kA}, {kB}}, options_of(2), {}, demands);
  EXPECT_THAT(found, ElementsAre(IsEmpty(), IsEmpty()));
}

TEST(KnownTokens, CanBeStoppedAmongThem) {
  TargetDemands demands;
  demands.prefixes = {Ids(50, kA)};
  SearchHooks hooks;
  int asked = 0;
  hooks.should_stop = [&] { return ++asked == 20; };
  const auto search = [&] { beam_search(TableModel(random_table(9, 5)), {{kA}}, options_of(1), hooks, demands); };
  EXPECT_THROW(search(), Cancelled);
}

// A table whose attention at step t is given.
class AttendingModel : public StepModel {
 public:
  AttendingModel(Table table, std::vector<std::vector<float>> attention)
      : inner_(std::move(table)), attention_(std::move(attention)) {}
  std::unique_ptr<DecodingBatch> start(const std::vector<Ids>& sources, AttentionChoice choice,
                                       const std::vector<Ids>& shortlists) const override {
    EXPECT_TRUE(choice.wanted);
    return std::make_unique<Batch>(inner_.start(sources, choice, shortlists), attention_);
  }

 private:
  class Batch : public DecodingBatch {
   public:
    Batch(std::unique_ptr<DecodingBatch> inner, const std::vector<std::vector<float>>& attention)
        : inner_(std::move(inner)), attention_(attention) {}
    NextToken step(const torch::Tensor& ids) override {
      NextToken next = inner_->step(ids);
      next.attention = torch::tensor(attention_.at(step_++)).expand({ids.size(0), ids.size(1), -1}).contiguous();
      return next;
    }
    void select(const torch::Tensor& sentences, const torch::Tensor& parents) override {
      inner_->select(sentences, parents);
    }

   private:
    std::unique_ptr<DecodingBatch> inner_;
    std::vector<std::vector<float>> attention_;
    size_t step_ = 0;
  };
  TableModel inner_;
  std::vector<std::vector<float>> attention_;
};

TEST(CoveragePenalty, PrefersWhatAttendedToTheWholeSource) {
  // `a` ends after two steps that looked at the first source token alone; `b c` goes on to look at the second.
  const Table table = written({{{}, {{kA, 0.6}, {kB, 0.4}}}, {{kB}, {{kC, 1.0}}}});
  const AttendingModel model(table, {{0.9F, 0.1F, 0.0F}, {0.5F, 0.2F, 0.3F}, {0.1F, 0.6F, 0.3F}});
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

// Wide enough for every sequence of three words and four tokens.
SearchOptions whole_space(double alpha) {
  SearchOptions options = options_of(200, alpha);
  options.max_extra_length = 2;
  return options;
}

void expect_equal(const IdHypothesis& found, const IdHypothesis& expected) {
  EXPECT_EQ(found.ids, expected.ids);
  EXPECT_NEAR(found.log_probability, expected.log_probability, kTolerance);
  EXPECT_NEAR(found.score, expected.score, kTolerance);
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

TEST(TargetPrefix, IsWhatTheTranslationBeginsWithAndItsProbabilityCounts) {
  for (uint64_t key = 0; key < 20; ++key) {
    const Table table = random_table(6000 + key, 3);
    const Ids prefix{kC, kA};
    const auto found = beam_search(TableModel(table, 3), {{kA, kB}}, whole_space(0.6), {}, {{prefix}}).at(0).at(0);
    expect_equal(found, best_of_all(table, {kA, kB}, 0.6, [&](const Ids& ids) {
                   return ids.size() >= 2 && Ids(ids.begin(), ids.begin() + 2) == prefix;
                 }));
  }
}

TEST(TargetPrefix, MayBeTheWholeTranslationWhoseProbabilityIsThenKnown) {
  const Table table = random_table(7, 5);
  const std::vector<Ids> sources{{kA}, {kA, kB, kC}, {}}, targets{{kB, kC, kD, kE, kA, kA}, {}, {kA}};
  TargetDemands demands;
  demands.prefixes = targets;
  demands.prefixes_are_complete = true;
  const auto found = beam_search(TableModel(table, 5), sources, options_of(1), {}, demands);
  for (size_t i = 0; i < sources.size(); ++i) {
    EXPECT_EQ(found.at(i).at(0).ids, targets[i]);
    EXPECT_NEAR(found[i][0].log_probability, log_probability(table, sources[i], targets[i]), kTolerance);
  }
}

TEST(Terms, AreInTheBestTranslationThatHasThem) {
  const std::vector<Ids> terms{{kB, kC}, {kA}};
  int changed = 0;
  for (uint64_t key = 0; key < 40; ++key) {
    const Table table = random_table(8000 + key, 3);
    const Ids without = beam_search(TableModel(table, 3), {{kA, kB}}, whole_space(0.6)).at(0).at(0).ids;
    TargetDemands demands;
    demands.terms = {terms};
    const auto found = beam_search(TableModel(table, 3), {{kA, kB}}, whole_space(0.6), {}, demands).at(0).at(0);
    expect_equal(found, best_of_all(table, {kA, kB}, 0.6, [&](const Ids& ids) {
                   return contains(ids, terms[0]) && contains(ids, terms[1]);
                 }));
    changed += found.ids != without ? 1 : 0;
  }
  EXPECT_GT(changed, 5) << "or this tests nothing";
}

TEST(Terms, AreMetWithNarrowBeamsAndWithoutAnEffectOnOtherSentences) {
  const std::vector<Ids> sources{{kA, kB}, {kB, kB, kC}, {kC}};
  for (uint64_t key = 0; key < 40; ++key) {
    const TableModel model(random_table(9000 + key, 5), 5);
    SearchOptions options = options_of(static_cast<int64_t>(1 + key % 4), 0.6);
    options.max_extra_length = 8;
    const auto free = beam_search(model, sources, options);
    TargetDemands demands;
    demands.terms = {{}, {{kE, kD, kE}, {kA, kB}}, {}};
    const auto bound = beam_search(model, sources, options, {}, demands);
    EXPECT_EQ(bound[0][0].ids, free[0][0].ids);
    EXPECT_EQ(bound[2][0].ids, free[2][0].ids);
    EXPECT_EQ(bound[2][0].log_probability, free[2][0].log_probability);
    EXPECT_TRUE(contains(bound[1][0].ids, demands.terms[1][0]));
    EXPECT_TRUE(contains(bound[1][0].ids, demands.terms[1][1]));
    EXPECT_NEAR(bound[1][0].log_probability, log_probability(random_table(9000 + key, 5), sources[1], bound[1][0].ids),
                kTolerance);
  }
}

// How often each first token comes in draws for `count` different sources, which the table does not look at.
std::map<int64_t, double> first_tokens(const Distribution& distribution, const SamplingOptions& sampling, int count) {
  const Table table = [=](const Ids&, const Ids& prefix) {
    return prefix.empty() ? distribution : Distribution{{kEnd, 1.0}};
  };
  std::map<int64_t, double> frequency;
  std::vector<Ids> sources;
  for (int i = 0; i < count; ++i) sources.push_back({i});
  for (const auto& found : beam_search(TableModel(table, 5), sources, sampling_of(sampling)))
    frequency[found.at(0).ids.empty() ? kEnd : found[0].ids[0]] += 1.0 / count;
  return frequency;
}

TEST(Sampling, DrawsFromTheDistribution) {
  const Distribution distribution{{kEnd, 0.1}, {kA, 0.2}, {kB, 0.3}, {kC, 0.4}};
  constexpr int kDraws = 4000;
  const auto expect_near = [](const std::map<int64_t, double>& found, const Distribution& expected) {
    constexpr double kRounding = 1e-9;
    for (const auto& [token, frequency] : found) EXPECT_GT(probability_of(expected, token), 0) << token;
    for (const auto& [token, probability] : expected)  // four standard deviations
      EXPECT_NEAR(probability_of(found, token), probability,
                  kRounding + 4 * std::sqrt(probability * (1 - probability) / kDraws));
  };
  SamplingOptions sampling;
  expect_near(first_tokens(distribution, sampling, kDraws), distribution);
  sampling.seed = 2;
  expect_near(first_tokens(distribution, sampling, kDraws), distribution);
  sampling.top_k = 2;
  expect_near(first_tokens(distribution, sampling, kDraws), {{kB, 3.0 / 7}, {kC, 4.0 / 7}});
  sampling.top_k = 0;
  sampling.top_p = 0.75;  // 0.4 + 0.3 is too little
  expect_near(first_tokens(distribution, sampling, kDraws), {{kA, 2.0 / 9}, {kB, 3.0 / 9}, {kC, 4.0 / 9}});
  sampling.top_p = 1;
  sampling.temperature = 0.5;  // squares
  expect_near(first_tokens(distribution, sampling, kDraws),
              {{kEnd, 0.01 / 0.3}, {kA, 0.04 / 0.3}, {kB, 0.09 / 0.3}, {kC, 0.16 / 0.3}});
  sampling.temperature = 0;
  expect_near(first_tokens(distribution, sampling, kDraws), {{kC, 1.0}});
}

TEST(Sampling, DependsOnTheSeedAndTheSentenceAndNothingElse) {
  const Table table = random_table(11, 5);
  const TableModel model(table, 5);
  const std::vector<Ids> sources{{kA}, {kB, kC}, {kD, kA, kA}, {kE}};
  const SearchOptions options = sampling_of({}, 3);
  const auto together = beam_search(model, sources, options);
  bool differs = false;
  for (size_t i = 0; i < sources.size(); ++i) {
    const auto alone = beam_search(model, {sources[i]}, options).at(0);
    ASSERT_THAT(alone, SizeIs(3));
    for (size_t n = 0; n < 3; ++n) {
      EXPECT_EQ(alone[n].ids, together[i][n].ids);
      EXPECT_NEAR(alone[n].log_probability, log_probability(table, sources[i], alone[n].ids), kTolerance);
      EXPECT_GE(alone[0].score, alone[n].score);
    }
    SamplingOptions other;
    other.seed = 2;
    differs = differs || beam_search(model, {sources[i]}, sampling_of(other, 3)).at(0)[0].ids != alone[0].ids;
  }
  EXPECT_TRUE(differs);
}

TEST(Alternatives, GoOnFromThePrefixInDifferentWays) {
  const Table table = random_table(31, 5);
  const Ids source{kA, kB}, prefix{kC};
  SearchOptions options;
  options.alternatives = true;
  options.num_hypotheses = 3;
  options.max_extra_length = 4;
  const auto found = beam_search(TableModel(table, 5), {source, {kD}}, options, {}, {{prefix, {}}}).at(0);
  ASSERT_THAT(found, SizeIs(3));
  std::vector<std::pair<double, int64_t>> next;  // after the prefix, by hand
  for (const auto& [token, probability] : table(source, prefix)) next.emplace_back(-probability, token);
  std::sort(next.begin(), next.end());
  std::set<Ids> expected;
  for (size_t n = 0; n < 3; ++n) {
    Ids ids = prefix;
    for (int64_t token = next[n].second; token != kEnd;) {
      ids.push_back(token);
      if (ids.size() == source.size() + 4) break;
      const Distribution after = table(source, ids);
      token = std::max_element(after.begin(), after.end(), [](auto& a, auto& b) { return a.second < b.second; })->first;
    }
    expected.insert(ids);
  }
  std::set<Ids> ids;
  for (const auto& hypothesis : found) {
    ids.insert(hypothesis.ids);
    EXPECT_NEAR(hypothesis.log_probability, log_probability(table, source, hypothesis.ids), kTolerance);
  }
  EXPECT_EQ(ids, expected);
  EXPECT_GE(found[0].score, found[1].score);
}

TEST(Ensemble, AveragesTheProbabilitiesOfItsModels) {
  const Table first = random_table(21, 3), second = random_table(22, 3);
  const Table average = [=](const Ids& source, const Ids& prefix) {
    Distribution mean = first(source, prefix);
    for (const auto& [token, probability] : second(source, prefix)) mean[token] += probability;
    for (auto& entry : mean) entry.second /= 2;
    return mean;
  };
  const EnsembleStepModel both({std::make_shared<TableModel>(first, 3), std::make_shared<TableModel>(second, 3)});
  SearchOptions options = whole_space(0.6);
  options.num_hypotheses = 5;
  const auto found = beam_search(both, {{kA, kB}, {kC}}, options);
  const auto expected = beam_search(TableModel(average, 3), {{kA, kB}, {kC}}, options);
  for (size_t b = 0; b < 2; ++b)
    for (size_t n = 0; n < 5; ++n) expect_equal(found[b].at(n), expected[b].at(n));
  EXPECT_THROW(EnsembleStepModel({}), std::invalid_argument);
}

}  // namespace
}  // namespace transmute

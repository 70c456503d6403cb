// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/search/next_token_constraint.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/table_model.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kA;
using testing::kB;
using testing::kC;
using testing::kEnd;
using testing::message_of;
using testing::TableModel;

constexpr int64_t kWords = 4;

// No word twice in a row, and as many words as the source has at least.
class NoStutter : public NextTokenConstraint {
 public:
  class Said : public State {
   public:
    Said(int64_t last, size_t missing) : last_(last), missing_(missing) {}
    Ids allowed() const override {
      Ids tokens;
      for (int64_t word = kA; word < kA + kWords; ++word)
        if (word != last_) tokens.push_back(word);
      if (missing_ == 0) tokens.push_back(kEnd);
      return tokens;
    }
    std::shared_ptr<const State> after(int64_t token) const override {
      return std::make_shared<Said>(token, missing_ - std::min<size_t>(missing_, 1));
    }

   private:
    int64_t last_;
    size_t missing_;
  };

  std::shared_ptr<const State> begin(const Ids& source, const std::string&) const override {
    return std::make_shared<Said>(special_ids::kBegin, source.size());
  }
  static bool allows(const Ids& ids, const Ids& source) {
    return ids.size() >= source.size() && std::adjacent_find(ids.begin(), ids.end()) == ids.end();
  }
};

// With a beam that holds everything, what is found is what is allowed of all there is, in order.
TEST(NextTokenConstraint, LeavesWhatItAllowsOfTheWholeSpace) {
  constexpr size_t kLimit = 4;
  for (uint64_t key = 0; key < 8; ++key)
    for (const Ids& source : {Ids{kA}, Ids{kB, kC}}) {
      const testing::Table table = testing::random_table(key, kWords);
      auto expected = testing::all_hypotheses(table, source, kWords, kLimit, 0.6);
      // At the limit a translation ends, so that everything is long enough there.
      expected.erase(std::remove_if(expected.begin(), expected.end(),
                                    [&](const IdHypothesis& all) { return !NoStutter::allows(all.ids, source); }),
                     expected.end());
      SearchOptions options = testing::options_of(512, 0.6, static_cast<int64_t>(expected.size()));
      options.max_extra_length = static_cast<int64_t>(kLimit - source.size());
      options.constraint = std::make_shared<NoStutter>();
      const auto found = beam_search(TableModel(table, kWords), {source}, options).at(0);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].ids, expected[i].ids) << "table " << key << ", place " << i;
        EXPECT_NEAR(found[i].log_probability, expected[i].log_probability, testing::kTolerance);
      }
    }
}

TEST(NextTokenConstraint, HoldsForSmallBeamsBatchesAndSamples) {
  const std::vector<Ids> sources{{kA}, {kB, kC}, {kC, kA, kB}};
  for (uint64_t key = 0; key < 10; ++key)
    for (const bool samples : {false, true}) {
      const testing::Table table = testing::random_table(100 + key, kWords);
      SearchOptions options = testing::options_of(1 + static_cast<int64_t>(key % 4), 0.6, 1);
      options.max_extra_length = 5;
      options.constraint = std::make_shared<NoStutter>();
      if (samples) options.sampling = SamplingOptions{1, 0, 1, key};
      const auto found = beam_search(TableModel(table, kWords), sources, options);
      for (size_t s = 0; s < sources.size(); ++s) {
        ASSERT_FALSE(found[s].empty());
        EXPECT_TRUE(NoStutter::allows(found[s][0].ids, sources[s])) << ::testing::PrintToString(found[s][0].ids);
        const auto alone = beam_search(TableModel(table, kWords), {sources[s]}, options).at(0);
        EXPECT_EQ(alone[0].ids, found[s][0].ids) << "as in a batch";
      }
    }
}

TEST(NextTokenConstraint, GoesOnFromAPrefixThatItAllows) {
  const testing::Table table = testing::random_table(5, kWords);
  SearchOptions options = testing::options_of(4);
  options.constraint = std::make_shared<NoStutter>();
  const SearchRequest request{{kA, kB, kC}, {kB, kA}};
  const auto found = beam_search(TableModel(table, kWords), {request}, options).at(0);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(Ids(found[0].ids.begin(), found[0].ids.begin() + 2), (Ids{kB, kA}));
  EXPECT_TRUE(NoStutter::allows(found[0].ids, {kA, kB, kC}));
  const SearchRequest stutter{{kA}, {kB, kB}};
  EXPECT_THAT(message_of<std::invalid_argument>([&] { beam_search(TableModel(table, kWords), {stutter}, options); }),
              HasSubstr("does not allow the given beginning"));
}

// A prefix may have tokens with which a hypothesis may not go on of its own accord.
TEST(NextTokenConstraint, AllowsAPrefixWhateverElseIsInTheBatch) {
  const testing::Table table = testing::random_table(5, kWords);
  SearchOptions options = testing::options_of(4);
  options.constraint = std::make_shared<NoStutter>();
  options.no_repeat_ngram = 1;
  const SearchRequest request{{kA, kB, kC}, {kB, kA, kB}}, other{{kA}};
  const auto alone = beam_search(TableModel(table, kWords), {request}, options).at(0);
  const auto found = beam_search(TableModel(table, kWords), {request, other}, options).at(0);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].ids, alone.at(0).ids);
}

// These words and no others.
class Spells : public NextTokenConstraint {
 public:
  explicit Spells(Ids words) : words_(std::move(words)) {}
  std::shared_ptr<const State> begin(const Ids&, const std::string&) const override {
    return std::make_shared<Rest>(words_);
  }

 private:
  struct Rest : State {
    explicit Rest(Ids rest) : words(std::move(rest)) {}
    Ids allowed() const override { return {words.empty() ? kEnd : words.front()}; }
    std::shared_ptr<const State> after(int64_t) const override {
      return std::make_shared<Rest>(Ids(words.begin() + 1, words.end()));
    }
    Ids words;
  };
  Ids words_;
};

TEST(NextTokenConstraint, DoesNotSeeTheGivenLanguage) {
  SearchOptions options = testing::options_of(3);
  options.constraint = std::make_shared<Spells>(Ids{kA, kB});
  for (const Ids& prefix : {Ids{testing::kD}, Ids{testing::kD, kA}}) {
    const SearchRequest request{{kA}, prefix, 1};
    const auto found = beam_search(TableModel(testing::random_table(6, kWords), kWords), {request}, options).at(0);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0].ids, (Ids{testing::kD, kA, kB}));
  }
}

// A constraint that leads nowhere.
class DeadEnd : public NextTokenConstraint {
 public:
  class Nothing : public State {
   public:
    Ids allowed() const override { return {}; }
    std::shared_ptr<const State> after(int64_t) const override { throw std::logic_error("nothing was allowed"); }
  };
  std::shared_ptr<const State> begin(const Ids&, const std::string&) const override {
    return std::make_shared<Nothing>();
  }
};

TEST(NextTokenConstraint, EndsWhereNothingIsAllowed) {
  SearchOptions options = testing::options_of(3);
  options.constraint = std::make_shared<DeadEnd>();
  const auto found = beam_search(TableModel(testing::random_table(1, kWords), kWords), {Ids{kA}}, options).at(0);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].ids, IsEmpty());
}

TEST(NextTokenConstraint, DoesNotGoWithTermsShortlistsOrAlternatives) {
  const testing::Table table = testing::random_table(1, kWords);
  SearchOptions options = testing::options_of(3);
  options.constraint = std::make_shared<NoStutter>();
  SearchRequest request{{kA}, {}, 0, {{kA}}};
  EXPECT_THAT(message_of<std::invalid_argument>([&] { beam_search(TableModel(table, kWords), {request}, options); }),
              HasSubstr("terms that a translation must contain cannot be combined with a constraint"));
  request = {{kA}, {}, 0, {}, Ids{kA}};
  EXPECT_THAT(message_of<std::invalid_argument>([&] { beam_search(TableModel(table, kWords), {request}, options); }),
              HasSubstr("a shortlist cannot be combined with a constraint"));
  options.alternatives = true;
  EXPECT_THAT(message_of<std::invalid_argument>([&] { beam_search(TableModel(table, kWords), {Ids{kA}}, options); }),
              HasSubstr("alternatives cannot be combined with a constraint"));
}

// A constraint that takes another vocabulary's ids must not be believed.
class AllowsOne : public NextTokenConstraint {
 public:
  explicit AllowsOne(int64_t token) : token_(token) {}
  std::shared_ptr<const State> begin(const Ids&, const std::string&) const override {
    return std::make_shared<Always>(token_);
  }

 private:
  struct Always : State {
    explicit Always(int64_t token) : token(token) {}
    std::vector<int64_t> allowed() const override { return {token}; }
    std::shared_ptr<const State> after(int64_t) const override { return std::make_shared<Always>(token); }
    int64_t token;
  };
  int64_t token_;
};

TEST(NextTokenConstraint, MayAllowNoTokenThatTheModelDoesNotHave) {
  for (const int64_t token : {int64_t{-1}, int64_t{1'000'000}})
    for (const bool samples : {false, true}) {
      SearchOptions options = testing::options_of(2);
      options.constraint = std::make_shared<AllowsOne>(token);
      if (samples) options.sampling = SamplingOptions();
      EXPECT_THROW(testing::search_one(testing::random_table(1, 4), {kA}, options), std::invalid_argument) << token;
    }
}

}  // namespace
}  // namespace transmute

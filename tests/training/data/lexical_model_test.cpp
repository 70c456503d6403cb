// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/training/data/lexical_model.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace transmute {
namespace {

// Pairs of sentences of the words 10 … 39, in which word w stands for 100 + w, in another order, and some are left out.
ParallelText made_up_text(size_t pairs, uint32_t seed) {
  std::mt19937 engine(seed);
  ParallelText text;
  for (size_t i = 0; i < pairs; ++i) {
    Ids source, target;
    for (size_t k = 0; k < 2 + engine() % 6; ++k) source.push_back(10 + static_cast<int64_t>(engine() % 30));
    for (const int64_t word : source)
      if (engine() % 8 != 0) target.push_back(100 + word);
    std::shuffle(target.begin(), target.end(), engine);
    target.push_back(200);  // what goes with nothing
    text.source.add(source);
    text.target.add(target);
  }
  return text;
}

// Model 1 with maps, in double: Brown et al. (1993), Eqs. 17 and 18. t[source][target].
std::map<int64_t, std::map<int64_t, double>> plain_model_1(const ParallelText& text, int iterations) {
  std::map<int64_t, std::map<int64_t, double>> t;
  for (int i = 0; i < iterations; ++i) {
    std::map<int64_t, std::map<int64_t, double>> counts;
    for (size_t pair = 0; pair < text.size(); ++pair) {
      std::vector<int64_t> sources(text.source.data(pair), text.source.data(pair) + text.source.length(pair));
      sources.push_back(special_ids::kEnd);
      for (size_t k = 0; k < text.target.length(pair); ++k) {
        const int64_t target = text.target.data(pair)[k];
        double sum = 0;
        for (const int64_t source : sources) sum += i == 0 ? 1.0 : t[source][target];
        for (const int64_t source : sources) counts[source][target] += (i == 0 ? 1.0 : t[source][target]) / sum;
      }
    }
    t = counts;
    for (auto& [source, row] : t) {
      double total = 0;
      for (const auto& [target, count] : row) total += count;
      for (auto& [target, count] : row) count /= total;
    }
  }
  return t;
}

// The slope of the logarithm of the gamma function.
double plain_digamma(double x) {
  constexpr double kStep = 1e-5;
  return (std::lgamma(x + kStep) - std::lgamma(x - kStep)) / (2 * kStep);
}

TEST(LexicalModel, IsImprovedByVariationalBayes) {
  const ParallelText text = made_up_text(300, 3);
  constexpr double kPrior = 0.05;
  LexicalModel model(text, 1);
  std::map<int64_t, std::map<int64_t, double>> counts;
  size_t pair = 0;
  const auto links = [&](size_t targets, size_t sources, std::vector<double>& values) {
    ASSERT_EQ(targets, text.target.length(pair));
    ASSERT_EQ(sources, text.source.length(pair));
    for (size_t t = 0; t < targets; ++t)
      for (size_t s = 0; s <= sources; ++s) {
        double& value = values[t * (sources + 1) + s];
        value *= static_cast<double>(1 + (s + t) % 3);  // any expectation
        const int64_t source = s < sources ? text.source.data(pair)[s] : special_ids::kEnd;
        counts[source][text.target.data(pair)[t]] += value;
      }
    ++pair;
  };
  model.improve(text, links, kPrior);
  EXPECT_EQ(pair, text.size());
  for (const auto& [source, row] : counts) {
    double total = kPrior * static_cast<double>(row.size());
    for (const auto& [target, count] : row) total += count;
    for (const auto& [target, probability] : model.best(source, 1000, 0.0))
      EXPECT_NEAR(probability, std::exp(plain_digamma(row.at(target) + kPrior) - plain_digamma(total)), 1e-6);
  }
}

TEST(LexicalModel, IsModel1InPlainLoops) {
  const ParallelText text = made_up_text(300, 1);
  const LexicalModel model(text, 4);
  const auto expected = plain_model_1(text, 4);
  for (const auto& [source, row] : expected) {
    const auto found = model.best(source, 1000, 0.0);
    ASSERT_EQ(found.size(), row.size());
    double sum = 0;
    for (const auto& [target, probability] : found) {
      sum += probability;
      EXPECT_NEAR(probability, row.at(target), 1e-5) << source << " to " << target;
    }
    EXPECT_NEAR(sum, 1.0, 1e-4);
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end(),
                               [](const auto& a, const auto& b) { return a.probability > b.probability; }));
  }
}

TEST(LexicalModel, FindsTheDictionaryThatATextWasMadeWith) {
  const LexicalModel model(made_up_text(2000, 2), 5);
  for (int64_t word = 10; word < 40; ++word) EXPECT_EQ(model.best(word, 1, 0.0).front().target, 100 + word);
  EXPECT_EQ(model.best(special_ids::kEnd, 1, 0.0).front().target, 200) << "the empty word's";
  EXPECT_TRUE(model.best(9, 5, 0.0).empty()) << "not in the text";
}

TEST(LexicalModel, KeepsToTheNumberAndTheProbabilityGiven) {
  const LexicalModel model(made_up_text(200, 3), 3);
  EXPECT_EQ(model.best(12, 4, 0.0).size(), 4U);
  const auto all = model.best(12, 1000, 0.0);
  const double least = all[2].probability;
  EXPECT_EQ(model.best(12, 1000, least).size(), 3U);
}

}  // namespace
}  // namespace transmute

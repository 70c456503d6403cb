// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/programs/demo_corpus/demo_corpus.h>
#include <transmute/programs/demo_corpus/expression_writer.h>

#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

constexpr size_t kCardinal = 0;

DemoCorpusOptions small_corpus() {
  DemoCorpusOptions options;
  options.train_pairs = 800;
  options.valid_pairs = 100;
  options.test_pairs = 100;
  return options;
}

std::vector<DemoPair> all_pairs(const DemoCorpus& corpus) {
  std::vector<DemoPair> pairs = corpus.train;
  pairs.insert(pairs.end(), corpus.valid.begin(), corpus.valid.end());
  pairs.insert(pairs.end(), corpus.test.begin(), corpus.test.end());
  return pairs;
}

std::string joined_lines(const DemoCorpus& corpus) {
  std::string text;
  for (const DemoPair& pair : all_pairs(corpus)) text += pair.source + '\t' + pair.target + '\n';
  return text;
}

TEST(DemoCorpus, HasTheSizesAskedFor) {
  const DemoCorpus corpus = make_demo_corpus(small_corpus());
  EXPECT_EQ(corpus.train.size(), 800u);
  EXPECT_EQ(corpus.valid.size(), 100u);
  EXPECT_EQ(corpus.test.size(), 100u);
}

TEST(DemoCorpus, NoSourceOccursTwiceAcrossTheParts) {
  std::set<std::string> sources;
  for (const DemoPair& pair : all_pairs(make_demo_corpus(small_corpus()))) {
    EXPECT_TRUE(sources.insert(pair.source).second) << pair.source;
  }
}

TEST(DemoCorpus, ASourceHasOneTargetWhateverTheSeed) {
  // Spanish says years like numbers, which English does not.
  for (const std::string source_locale : {"en", "es"}) {
    std::map<std::string, std::string> targets;
    DemoCorpusOptions options = small_corpus();
    options.source_locale = source_locale;
    options.target_locale = source_locale == "en" ? "de" : "en";
    for (options.seed = 1; options.seed <= 20; ++options.seed) {
      for (const DemoPair& pair : all_pairs(make_demo_corpus(options))) {
        EXPECT_EQ(targets.emplace(pair.source, pair.target).first->second, pair.target) << pair.source;
      }
    }
  }
}

TEST(DemoCorpus, PairsAreWhatTheWritersSay) {
  const ExpressionWriter english("en");
  const ExpressionWriter german("de");
  for (const DemoPair& pair : make_demo_corpus(small_corpus()).test) {
    EXPECT_EQ(pair.source, english.write(pair.expression));
    EXPECT_EQ(pair.target, german.write(pair.expression));
  }
}

TEST(DemoCorpus, EveryKindOccursInTraining) {
  std::set<size_t> kinds;
  for (const DemoPair& pair : make_demo_corpus(small_corpus()).train) kinds.insert(pair.expression.kind);
  EXPECT_EQ(kinds.size(), std::size(kExpressionKinds));
}

TEST(DemoCorpus, KindsThatOneLanguageLacksAreLeftOut) {
  DemoCorpusOptions options = small_corpus();
  options.target_locale = "eu";
  for (const DemoPair& pair : all_pairs(make_demo_corpus(options))) {
    EXPECT_NE(pair.expression.kind, kCardinal);
  }
}

TEST(DemoCorpus, NumbersStayBelowTheMaximum) {
  DemoCorpusOptions options = small_corpus();
  options.max_number = 250;
  for (const DemoPair& pair : all_pairs(make_demo_corpus(options))) {
    if (pair.expression.kind != kCardinal) continue;
    EXPECT_GE(pair.expression.value, 1);
    EXPECT_LE(pair.expression.value, 250);
  }
}

TEST(DemoCorpus, OneSeedGivesOneCorpusAndAnotherGivesAnother) {
  DemoCorpusOptions options = small_corpus();
  const std::string first = joined_lines(make_demo_corpus(options));
  EXPECT_EQ(joined_lines(make_demo_corpus(options)), first);
  options.seed = 2;
  EXPECT_NE(joined_lines(make_demo_corpus(options)), first);
}

TEST(DemoCorpus, AskingForMoreThanThereIsSaysHowManyThereAre) {
  DemoCorpusOptions options;
  options.max_number = 9;
  options.train_pairs = 60'000;
  try {
    make_demo_corpus(options);
    FAIL() << "expected std::invalid_argument";
  } catch (const std::invalid_argument& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("of the 61000 asked for"), std::string::npos) << message;
  }
}

TEST(DemoCorpus, OptionsOutOfRangeAreErrors) {
  DemoCorpusOptions options = small_corpus();
  options.max_number = 0;
  EXPECT_THROW(make_demo_corpus(options), std::invalid_argument);
  options = small_corpus();
  options.test_pairs = -1;
  EXPECT_THROW(make_demo_corpus(options), std::invalid_argument);
  options = small_corpus();
  options.target_locale = options.source_locale;
  EXPECT_THROW(make_demo_corpus(options), std::invalid_argument);
}

TEST(DemoCorpus, FilesAreCalledAfterTheLanguagesOrElseTheLocales) {
  DemoCorpusOptions options;
  EXPECT_EQ(demo_corpus_suffixes(options), std::make_pair(std::string("en"), std::string("de")));
  options.source_locale = "en_US";
  options.target_locale = "en_GB";
  EXPECT_EQ(demo_corpus_suffixes(options), std::make_pair(std::string("en_US"), std::string("en_GB")));
}

}  // namespace
}  // namespace transmute

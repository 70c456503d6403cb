// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/random.h>
#include <transmute/preparation/preparation.h>
#include <transmute/preparation/report.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/folder_fixture.h>
#include <transmute/tests/support/temporary_folder.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::TemporaryFolder;
using testing::write_text;
using APreparation = testing::InFolder;

struct Prepared {
  std::vector<std::string> kept;     // source|target
  std::vector<std::string> dropped;  // rule: source|target
  std::string page;
};

Prepared prepare_pairs(const PreparationOptions& options, int workers = 2) {
  Prepared prepared;
  WorkerCrew crew(workers);
  Preparation preparation(options, crew, [](int64_t, int64_t) {});
  const PreparationOutcome outcome = preparation.run(
      [&](const TextPair& pair, const WordLinks&) { prepared.kept.push_back(pair.source + "|" + pair.target); },
      [&](Rule rule, const DroppedPair& pair) {
        prepared.dropped.push_back(std::string(text_of(rule).name) + ": " + pair.pair.source + "|" + pair.pair.target);
      });
  EXPECT_EQ(outcome.kept, static_cast<int64_t>(prepared.kept.size()));
  EXPECT_EQ(outcome.read, static_cast<int64_t>(prepared.kept.size() + prepared.dropped.size()));
  prepared.page = preparation_page(preparation, outcome, 1);
  return prepared;
}

// Pairs in a language of numbers: word n of the source is word n of the target. No real language is in it.
TextPair numbered_pair(uint64_t seed, size_t words) {
  TextPair pair;
  for (size_t i = 0; i < words; ++i) {
    const uint64_t word = combine_keys(seed, i) % 200;
    std::string letters;
    for (uint64_t rest = word + 1; rest > 0; rest /= 14) letters += static_cast<char>('a' + rest % 14);
    pair.source += (i > 0 ? " k" : "k") + letters;
    pair.target += (i > 0 ? " z" : "z") + letters;
  }
  return pair;
}

PreparationOptions options_for(const TemporaryFolder& folder, const std::vector<TextPair>& pairs) {
  std::string lines;
  for (const TextPair& pair : pairs) lines += pair.source + "\t" + pair.target + "\n";
  write_text(folder / "pairs.tsv", lines);
  PreparationOptions options;
  options.inputs = {{folder / "pairs.tsv", ""}};
  return options;
}

TEST_F(APreparation, LeavesOutDuplicatesAndKeepsTheOrder) {
  const PreparationOptions options = options_for(folder_, {{"A dog runs.", "Ein Hund rennt."},
                                                           {"A cat sits.", "Eine Katze sitzt."},
                                                           {"A dog runs.", "Ein Hund rennt."},
                                                           {"a dog runs", "ein Hund rennt!"},
                                                           {"A dog runs.", "Ein Hund läuft."}});
  const Prepared prepared = prepare_pairs(options);
  EXPECT_THAT(prepared.kept, ElementsAre("A dog runs.|Ein Hund rennt.", "A cat sits.|Eine Katze sitzt.",
                                         "A dog runs.|Ein Hund läuft."));  // another translation stays
  EXPECT_THAT(prepared.dropped,
              ElementsAre("duplicate: A dog runs.|Ein Hund rennt.", "near_duplicate: a dog runs|ein Hund rennt!"));
  EXPECT_THAT(prepared.page, HasSubstr("ein Hund rennt!"));
}

TEST_F(APreparation, LeavesOutLinesOfTestSets) {
  PreparationOptions options = options_for(folder_, {{"A dog runs.", "Ein Hund rennt."}, {"A cat.", "Eine Katze."}});
  write_text(folder_ / "test.de", "eine KATZE\n\n");
  options.exclude = {folder_ / "test.de"};
  const Prepared prepared = prepare_pairs(options);
  EXPECT_THAT(prepared.kept, ElementsAre("A dog runs.|Ein Hund rennt."));
  EXPECT_THAT(prepared.dropped, ElementsAre("exclude: A cat.|Eine Katze."));
}

TEST_F(APreparation, LeavesOutTheTextOfOneColumnOfATestSet) {
  PreparationOptions options = options_for(folder_, {{"A dog runs.", "Ein Hund rennt."}, {"A cat.", "Eine Katze."}});
  write_text(folder_ / "test.tsv", "A dog runs.\tEine Katze.\n");
  options.exclude = {TextFile(folder_ / "test.tsv", 1)};
  EXPECT_THAT(prepare_pairs(options).dropped, ElementsAre("exclude: A cat.|Eine Katze."));
}

TEST_F(APreparation, RefusesTestSetsThatAreNotUtf8) {
  PreparationOptions options = options_for(folder_, {{"A cat.", "Eine Katze."}});
  write_text(folder_ / "test.de", "Eine Katze.\nM\xe4nner\n");
  options.exclude = {folder_ / "test.de"};
  EXPECT_THAT(message_of<std::runtime_error>([&] { prepare_pairs(options); }), HasSubstr("test.de:2: not valid UTF-8"));
}

TEST_F(APreparation, WritesMendedText) {
  const Prepared prepared = prepare_pairs(options_for(folder_, {{"for men", "fÃ¼r MÃ¤nner"}}));
  EXPECT_THAT(prepared.kept, ElementsAre("for men|für Männer"));
}

TEST_F(APreparation, DecodesReferencesThatAreLeftOverOnOneSide) {
  const Prepared prepared = prepare_pairs(options_for(folder_, {{"stone &amp; tile", "Stein &quot;und&quot; Fliesen"},
                                                                {"big stone &amp; tile", "Stein und Fliesen"},
                                                                {"write &uuml; here", "schreibe das hier"}}));
  EXPECT_THAT(prepared.kept, ElementsAre("big stone & tile|Stein und Fliesen"));
  EXPECT_THAT(prepared.dropped, ElementsAre("markup: stone &amp; tile|Stein &quot;und&quot; Fliesen",
                                            "markup: write &uuml; here|schreibe das hier"));
}

TEST_F(APreparation, FindsWrongPairsByTheirWords) {
  std::vector<TextPair> pairs;
  for (uint64_t i = 0; i < 6000; ++i) pairs.push_back(numbered_pair(i, 5 + i % 4));
  std::set<std::string> wrong;
  for (size_t i = 0; i + 20 < pairs.size(); i += 20) {  // a tenth: their targets change places
    std::swap(pairs[i].target, pairs[i + 4].target);
    for (const size_t k : {i, i + 4}) wrong.insert("alignment: " + pairs[k].source + "|" + pairs[k].target);
  }
  const Prepared prepared = prepare_pairs(options_for(folder_, pairs));
  size_t found = 0;
  for (const std::string& pair : prepared.dropped) found += wrong.count(pair);
  EXPECT_GE(found, 0.97 * static_cast<double>(wrong.size()));
  EXPECT_LE(prepared.dropped.size(), found + 60);  // 1% of the right ones
}

// Each word of the target that is not its source's costs a nat, so that a right pair costs nothing but some noise.
std::vector<double> costs_of_numbered(const std::vector<TextPair>& pairs) {
  std::vector<double> costs;
  for (const TextPair& pair : pairs) {
    double cost = static_cast<double>(std::hash<std::string>()(pair.source) % 100) / 100;
    for (size_t i = 1; i < std::min(pair.source.size(), pair.target.size()); ++i)
      if (pair.source[i - 1] == 'k' && pair.source[i] != pair.target[i]) ++cost;
    costs.push_back(cost);
  }
  return costs;
}

TEST_F(APreparation, FindsPairsThatModelsDoNotExpect) {
  std::vector<TextPair> pairs;
  for (uint64_t i = 0; i < 6000; ++i) pairs.push_back(numbered_pair(i, 5 + i % 4));
  std::set<std::string> wrong;
  for (size_t i = 0; i + 20 < pairs.size(); i += 20) {
    std::swap(pairs[i].target, pairs[i + 4].target);
    for (const size_t k : {i, i + 4}) wrong.insert("cross_entropy: " + pairs[k].source + "|" + pairs[k].target);
  }
  PreparationOptions options = options_for(folder_, pairs);
  options.rules.off[static_cast<size_t>(Rule::alignment)] = true;
  EXPECT_EQ(prepare_pairs(options).kept.size(), pairs.size()) << "without models";
  options.cross_entropy = costs_of_numbered;
  const Prepared prepared = prepare_pairs(options);
  size_t found = 0;
  for (const std::string& pair : prepared.dropped) found += wrong.count(pair);
  EXPECT_GE(found, 0.97 * static_cast<double>(wrong.size()));
  EXPECT_LE(prepared.dropped.size(), found + 60);
  EXPECT_THAT(prepared.page, HasSubstr("models of both directions"));
  options.max_cross_entropy = 100;
  EXPECT_EQ(prepare_pairs(options).kept.size(), pairs.size());
  options.max_cross_entropy = 1e-9;
  EXPECT_LE(prepare_pairs(options).kept.size(), 120) << "those whose noise is none";
  options.cross_entropy = [](const std::vector<TextPair>& asked) { return std::vector<double>(asked.size(), NAN); };
  EXPECT_EQ(prepare_pairs(options).kept.size(), pairs.size()) << "pairs without a cost stay";
}

TEST_F(APreparation, LeavesRightPairsAlone) {
  std::vector<TextPair> pairs;
  for (uint64_t i = 0; i < 6000; ++i) pairs.push_back(numbered_pair(i, 5 + i % 4));
  const Prepared prepared = prepare_pairs(options_for(folder_, pairs));
  EXPECT_LE(prepared.dropped.size(), 6);
}

TEST_F(APreparation, DoesNotDependOnTheNumberOfThreads) {
  std::vector<TextPair> pairs;
  for (uint64_t i = 0; i < 3000; ++i) pairs.push_back(numbered_pair(i % 2500, 3 + i % 6));
  const PreparationOptions options = options_for(folder_, pairs);
  const Prepared one = prepare_pairs(options, 1), three = prepare_pairs(options, 3);
  EXPECT_EQ(one.kept, three.kept);
  EXPECT_EQ(one.dropped, three.dropped);
  EXPECT_EQ(one.page, three.page);
}

TEST_F(APreparation, EscapesTextInItsPage) {
  const Prepared prepared = prepare_pairs(options_for(folder_, {{"a <script>x</script> b", "c"}, {"d", "e"}}));
  EXPECT_THAT(prepared.page, HasSubstr("&lt;script&gt;"));
  EXPECT_EQ(prepared.page.find("<script>"), std::string::npos);
}

TEST(HashSet, HoldsWhatWasInserted) {
  HashSet set;
  for (uint64_t i = 1; i <= 100000; ++i) EXPECT_TRUE(set.insert(mix_bits(i)));
  for (uint64_t i = 1; i <= 100000; ++i) EXPECT_FALSE(set.insert(mix_bits(i)));
  EXPECT_FALSE(set.contains(mix_bits(100001)));
  EXPECT_EQ(set.size(), 100000);
}

}  // namespace
}  // namespace transmute

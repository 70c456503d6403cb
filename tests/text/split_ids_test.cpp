// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/text/split_ids.h>

#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;

// The parts of a text given by its pieces ('_' begins a word), as the numbers of their pieces.
std::vector<Ids> parts_of(std::vector<std::string> pieces, int64_t limit, const std::vector<bool>& is_inside = {}) {
  Ids ids;
  for (auto& piece : pieces) {
    if (piece.front() == '_') piece.replace(0, 1, "\u2581");
    ids.push_back(static_cast<int64_t>(ids.size()));
  }
  return split_ids(ids, pieces, limit, is_inside);
}

TEST(SplitIds, LeavesShortTextWhole) {
  EXPECT_THAT(parts_of({"_a", "_b", "_c"}, 3), ElementsAre(Ids{0, 1, 2}));
}

TEST(SplitIds, PrefersTheEndOfASentence) {
  EXPECT_THAT(parts_of({"_a", ".", "_b", ",", "_c", "_d", "_e"}, 6), ElementsAre(Ids{0, 1}, Ids{2, 3, 4, 5, 6}));
  EXPECT_THAT(parts_of({"_a", "!", "_b", "?", "_c", "_d", "_e"}, 6), ElementsAre(Ids{0, 1, 2, 3}, Ids{4, 5, 6}))
      << "the last one that fits";
}

TEST(SplitIds, TakesTheEndOfAClauseWhereNoSentenceEnds) {
  EXPECT_THAT(parts_of({"_a", ",", "_b", ";", "_c", "_d", "_e"}, 6), ElementsAre(Ids{0, 1, 2, 3}, Ids{4, 5, 6}));
}

TEST(SplitIds, TakesTheEndOfAWordWhereNoClauseEnds) {
  EXPECT_THAT(parts_of({"_a", "_b", "c", "_d", "e", "f"}, 4), ElementsAre(Ids{0, 1, 2}, Ids{3, 4, 5}));
}

TEST(SplitIds, CutsAWordThatIsTooLong) {
  EXPECT_THAT(parts_of({"_a", "b", "c", "d", "e", "f", "g"}, 3), ElementsAre(Ids{0, 1, 2}, Ids{3, 4, 5}, Ids{6}));
}

TEST(SplitIds, CutsBehindTheFullPartWhereAWordEndsThere) {
  EXPECT_THAT(parts_of({"_a", "b", "c", "_d", "e"}, 3), ElementsAre(Ids{0, 1, 2}, Ids{3, 4}));
}

TEST(SplitIds, TakesNoPointInsideANumberForAnEnd) {
  EXPECT_THAT(parts_of({"_3", ".", "1", "4", "_x", "_y"}, 5), ElementsAre(Ids{0, 1, 2, 3, 4}, Ids{5}));
}

TEST(SplitIds, CutsAtFullWidthMarksWithoutSpaces) {
  EXPECT_THAT(parts_of({"_汉", "字", "。", "汉", "字", "汉"}, 5), ElementsAre(Ids{0, 1, 2}, Ids{3, 4, 5}));
}

TEST(SplitIds, AvoidsCutsWithinWhatShouldStayTogether) {
  EXPECT_THAT(parts_of({"_a", "_Dr", ".", "_S", "_b"}, 3, {false, false, true, true, false}),
              ElementsAre(Ids{0}, Ids{1, 2, 3}, Ids{4}));
  EXPECT_THAT(parts_of({"_a", "b", "c", "d", "e"}, 3, {false, false, true, true, false}),
              ElementsAre(Ids{0}, Ids{1, 2, 3}, Ids{4}))
      << "even within a word";
  EXPECT_THAT(parts_of({"_a", "_b", "c", "_d", "e"}, 3, {false, true, true, true, true}),
              ElementsAre(Ids{0, 1, 2}, Ids{3, 4}))
      << "there is no other place";
}

TEST(SplitIds, LosesNothingAndKeepsTheLimit) {
  std::vector<std::string> pieces;
  const std::vector<std::string> kinds{"_w", "x", ".", ",", "_y", "。", "z"};
  for (size_t i = 0; i < 500; ++i) pieces.push_back(kinds[(i * i + i / 7) % kinds.size()]);
  for (int64_t limit = 1; limit < 40; ++limit) {
    Ids joined;
    for (const Ids& part : parts_of(pieces, limit)) {
      EXPECT_FALSE(part.empty());
      EXPECT_LE(static_cast<int64_t>(part.size()), limit);
      joined.insert(joined.end(), part.begin(), part.end());
    }
    ASSERT_EQ(joined.size(), pieces.size());
    for (size_t i = 0; i < joined.size(); ++i) ASSERT_EQ(joined[i], static_cast<int64_t>(i));
  }
}

}  // namespace
}  // namespace transmute

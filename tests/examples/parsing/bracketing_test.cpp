// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/examples/parsing/bracketing.h>

#include <string>

namespace transmute {
namespace {

Tree tree_of(const std::string& text) {
  return read_trees(text, "text").at(0);
}

BracketCounts counts_of(const std::string& found, const std::string& reference) {
  return bracket_counts(tree_of(found), tree_of(reference));
}

// The numbers are evalb's, run with COLLINS.prm on these trees.
TEST(Bracketing, CountsAsEvalbDoes) {
  const std::string reference =
      "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (NP (DT a) (NN cat)) (PP (IN with) (NP (NN fur))))) (. .)))";
  const BracketCounts same = counts_of(reference, reference);
  EXPECT_EQ(same.matched, 7);
  EXPECT_EQ(same.complete, 1);
  EXPECT_EQ(same.words, 7) << "without the full stop";
  EXPECT_EQ(same.correct_tags, 7);
  EXPECT_EQ(length_of(tree_of(reference)), 8) << "with it";

  const BracketCounts other = counts_of(
      "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat)) (PP (IN with) (NP (NNS fur)))) (. .)))",
      reference);
  EXPECT_EQ(other.reference, 7);
  EXPECT_EQ(other.found, 6);
  EXPECT_EQ(other.matched, 6);
  EXPECT_EQ(other.complete, 0);
  EXPECT_EQ(other.correct_tags, 6);
}

TEST(Bracketing, TakesSomeLabelsForOneAndLeavesOthersOut) {
  EXPECT_EQ(counts_of("(TOP (S (VB go) (PRT (RP up))))", "(TOP (S (VB go) (ADVP (RP up))))").matched, 2);
  const BracketCounts unary = counts_of("(TOP (NP (NP (NP (NN x)))))", "(TOP (NP (NP (NN x))))");
  EXPECT_EQ(unary.found, 3);
  EXPECT_EQ(unary.reference, 2);
  EXPECT_EQ(unary.matched, 2) << "a bracket matches once";
  EXPECT_EQ(counts_of("(TOP (S (NN x) (PRN (, ,) (: --))))", "(TOP (S (NN x) (, ,) (: --)))").found, 1)
      << "a phrase of punctuation alone is empty";
}

TEST(Bracketing, SetsAsideWhatCannotBeCompared) {
  const std::string reference = "(TOP (S (NN a) (NN b) (. .)))";
  EXPECT_EQ(counts_of("(TOP (S (NN a) (NN c) (. .)))", reference).errors, 1);
  EXPECT_EQ(counts_of("(TOP (S (NN a) (. b) (. .)))", reference).errors, 1) << "a word taken for punctuation";
  EXPECT_EQ(counts_of("(TOP (S (. a) (. b) (. .)))", reference).skipped, 1);
  EXPECT_EQ(counts_of("(TOP (S (NN a) (NN c) (. .)))", reference).reference, 0);
}

TEST(Bracketing, ScoresAreOfSums) {
  BracketCounts counts;
  counts += {3, 1, 0, 10, 8, 6, 1, 20, 15};
  counts += {1, 0, 1, 0, 0, 0, 0, 0, 0};
  const BracketScores scores = scores_of(counts);
  EXPECT_DOUBLE_EQ(scores.recall, 60);
  EXPECT_DOUBLE_EQ(scores.precision, 75);
  EXPECT_NEAR(scores.f1, 2.0 * 60 * 75 / 135, 1e-9);
  EXPECT_DOUBLE_EQ(scores.complete_match, 50);
  EXPECT_DOUBLE_EQ(scores.tagging_accuracy, 75);
  EXPECT_EQ(scores_of({}).f1, 0);
}

}  // namespace
}  // namespace transmute

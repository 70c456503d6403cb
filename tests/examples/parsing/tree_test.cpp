// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/examples/parsing/tree.h>
#include <transmute/examples/parsing/tree_text.h>
#include <transmute/tests/support/errors.h>

#include <random>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using ::testing::SizeIs;

Tree only_tree(const std::string& text) {
  const auto trees = read_trees(text, "text");
  EXPECT_THAT(trees, SizeIs(1)) << text;
  return trees.at(0);
}

TEST(Trees, AreReadOverSeveralLines) {
  const auto trees =
      read_trees("( (S (NP (NNP Ann))\n\t(VP (VBZ sleeps)) (. .)) )\n\n(TOP (NP (NN x)))(S (X y))\n", "t");
  ASSERT_THAT(trees, SizeIs(3));
  EXPECT_EQ(to_brackets(trees[0]), "(TOP (S (NP (NNP Ann)) (VP (VBZ sleeps)) (. .)))");
  EXPECT_EQ(to_brackets(trees[1]), "(TOP (NP (NN x)))");
  EXPECT_EQ(to_brackets(trees[2]), "(TOP (S (X y)))") << "a root is put above";
  EXPECT_THAT(words_of(trees[0]), ElementsAre("Ann", "sleeps", "."));
  EXPECT_THAT(read_trees(" \n", "t"), IsEmpty());
}

TEST(Trees, LoseTracesEmptyPhrasesAndFunctions) {
  const Tree tree = only_tree(
      "( (S (NP-SBJ-1 (-NONE- *)) (NP=2 (PRP$ my) (NN dog)) (VP (VBZ runs) (S (NP (-NONE- *T*)) (PP (ADVP (-NONE- 0))))"
      " (PRN (-LRB- -LRB-) (CD 3) (-RRB- ]))) (: --)) )");
  EXPECT_EQ(to_brackets(simplified(tree)),
            "(TOP (S (NP (PRP$ my) (NN dog)) (VP (VBZ runs) (PRN (-LRB- -LRB-) (CD 3) (-RRB- ]))) (: --)))");
}

TEST(Trees, AreWrittenSoThatTheyCanBeRead) {
  TreeRepairs repairs;
  const Tree restored = tree_from_text({"a", "(", "b)"}, "(NP NN -LRB- NN )NP", repairs);
  EXPECT_EQ(to_brackets(restored), "(TOP (NP (NN a) (-LRB- -LRB-) (NN b-RRB-)))");
  EXPECT_EQ(to_brackets(simplified(only_tree("(S (=X (NN dog)))"))), "(TOP (S (=X (NN dog))))");
}

TEST(Trees, HaveTheWordsOfALineThatTheyAreWrittenTo) {
  EXPECT_THAT(split_words(" the\fred \t\v\r\n house\r"), ElementsAre("the\fred", "\v", "house"));
  EXPECT_THAT(split_words(" \t"), IsEmpty());
  EXPECT_THAT(words_of(only_tree("(S (DT the\fred)\t(NN \v))")), ElementsAre("the\fred", "\v"));
  TreeRepairs repairs;
  EXPECT_EQ(to_brackets(tree_from_text({"a", "b"}, "(S\fX DT NN )S\fX", repairs)), "(TOP (S\fX (DT a) (NN b)))");
}

TEST(Trees, NameTheLineThatIsNoTree) {
  const auto error = [](const std::string& text) {
    return message_of<std::runtime_error>([&] { read_trees(text, "file.mrg"); });
  };
  EXPECT_EQ(error("(TOP (NN x))\nword"), "file.mrg:2: a tree must begin with \"(\"");
  EXPECT_EQ(error("( (S (NN x)\n\n"), "file.mrg:3: the text ends within a tree");
  EXPECT_THAT(error("( (S x (NN y)) )"), HasSubstr("\"x\" is beside a phrase"));
  EXPECT_THAT(error("( (S (NN y) x) )"), HasSubstr("\"x\" has no part of speech"));
  EXPECT_THAT(error("( (NN x y) )"), HasSubstr("\"y\" has no part of speech"));
  EXPECT_THAT(error("(S x)"), HasSubstr("\"x\" has no part of speech"));
  EXPECT_THAT(error("( (S ) )"), HasSubstr("(S) has no content"));
  EXPECT_THAT(error("( ( (NN x)) )"), HasSubstr("a phrase without a label"));
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "(S ";
  EXPECT_THAT(error(deep), HasSubstr("nest more than 500 deep"));
}

TEST(TreeText, HasLabelsAlone) {
  const Tree tree = only_tree("( (S (NP (NNP Ann)) (VP (VBZ sleeps)) (. .)) )");
  EXPECT_EQ(tree_text(tree), "(S (NP NNP )NP (VP VBZ )VP . )S");
  TreeRepairs repairs;
  EXPECT_EQ(tree_from_text(words_of(tree), tree_text(tree), repairs), tree);
  EXPECT_EQ(repairs.trees, 1);
  EXPECT_EQ(repairs.repaired, 0);
}

TEST(TreeText, OfTheGreatestDepthComesBack) {
  std::string nested = "(NN a)";
  for (int depth = 0; depth < 490; ++depth) nested = "(NP " + nested + ")";
  const Tree tree = only_tree("(TOP " + nested + ")");
  TreeRepairs repairs;
  EXPECT_EQ(tree_from_text(words_of(tree), tree_text(tree), repairs), tree);
  EXPECT_EQ(repairs.repaired, 0);
  tree_from_text(words_of(tree), "(S " + tree_text(tree) + " )S", repairs);
  EXPECT_EQ(repairs.unbalanced, 1);
}

struct Repair {
  const char* text;
  const char* tree;
  int unbalanced, word_count;
};

TEST(TreeText, IsRepairedWhereItIsNoTree) {
  const std::vector<std::string> words{"a", "b"};
  for (const Repair& repair :
       {Repair{"(S (NP DT )NP NN )S", "(TOP (S (NP (DT a)) (NN b)))", 0, 0},
        Repair{"(S (NP DT NN", "(TOP (S (NP (DT a) (NN b))))", 1, 0},
        Repair{"(S (NP DT )S NN", "(TOP (S (NP (DT a))) (NN b))", 1, 0},
        Repair{")VP (S DT NN )S )NP", "(TOP (S (DT a) (NN b)))", 1, 0},
        Repair{"(S DT )S", "(TOP (S (DT a) (NN b)))", 0, 1}, Repair{"(S DT NN VB )S", "(TOP (S (DT a) (NN b)))", 0, 1},
        Repair{"(S (NP )NP DT NN (VP )VP )S", "(TOP (S (DT a) (NN b)))", 0, 0},
        Repair{"( ) (S DT x(y NN )S", "(TOP (S (DT a) (NN b)))", 1, 0}, Repair{"", "(TOP (NN a) (NN b))", 0, 1}}) {
    TreeRepairs repairs;
    EXPECT_EQ(to_brackets(tree_from_text(words, repair.text, repairs)), repair.tree) << repair.text;
    EXPECT_EQ(repairs.unbalanced, repair.unbalanced) << repair.text;
    EXPECT_EQ(repairs.word_count, repair.word_count) << repair.text;
    EXPECT_EQ(repairs.repaired, repair.unbalanced + repair.word_count) << repair.text;
  }
}

// Whatever a network writes, what comes of it can be read and has all words.
TEST(TreeText, OfAnyKindBecomesATreeOfAllWords) {
  std::mt19937 random(7);
  const std::vector<std::string> symbols{"(S", "(NP", ")S", ")NP", "NN", "VB", "(", ")", "(("};
  for (int run = 0; run < 2000; ++run) {
    std::vector<std::string> words;
    for (unsigned i = random() % 5 + 1; i > 0; --i) words.push_back("w" + std::to_string(i));
    std::string text;
    for (unsigned i = random() % (run == 0 ? 1 : 30); i > 0; --i) text += symbols[random() % symbols.size()] + " ";
    TreeRepairs repairs;
    const Tree tree = tree_from_text(words, text, repairs);
    EXPECT_EQ(words_of(tree), words) << text;
    EXPECT_EQ(only_tree(to_brackets(tree)), tree) << text;
  }
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "(S ";
  TreeRepairs repairs;
  EXPECT_THAT(words_of(only_tree(to_brackets(tree_from_text({"x"}, deep + "NN", repairs)))), ElementsAre("x"));
}

}  // namespace
}  // namespace transmute

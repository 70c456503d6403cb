// SPDX-License-Identifier: Apache-2.0
// Parse trees on the command line: trees, evaluate --trees, translate --trees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/e2e/programs.h>
#include <transmute/tests/support/folder_fixture.h>
#include <transmute/tests/support/tiny_model.h>
#include <transmute/tests/support/tiny_tokenizer.h>

#include <filesystem>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using TreePrograms = InFolder;

TEST_F(TreePrograms, ASentenceWithoutWordsStaysAnEmptyLineWhichEvaluationCounts) {
  write_text(folder_ / "words", "the dog\n\nhe\n");
  write_text(folder_ / "labels", "(NP DT NN )NP\n(S\n(NP PRP )NP\n");
  const Outcome restored = run("trees", {"--restore", "--words", folder_ / "words", "--labels", folder_ / "labels"});
  ASSERT_EQ(restored.exit_code, 0) << restored.errors;
  EXPECT_EQ(restored.output, "(TOP (NP (DT the) (NN dog)))\n\n(TOP (NP (PRP he)))\n");
  EXPECT_THAT(restored.errors, HasSubstr("2 trees; 0 repaired"));
  EXPECT_THAT(restored.errors, HasSubstr("1 line without words"));
  write_text(folder_ / "trees", restored.output);
  EXPECT_THAT(output_of(run("evaluate", {"--trees", "-i", folder_ / "trees", "-r", folder_ / "trees"})),
              AllOf(HasSubstr("all: F1 100.00"), HasSubstr("1 without words")));
}

TEST_F(TreePrograms, StandardInputAndAByteOrderMarkAreRead) {
  const Outcome words =
      run("trees", {"-i", "-", "--words", "-"}, "\xef\xbb\xbf( (S (NP (NNP Ann))\n(VP (VBZ runs))) )");
  EXPECT_EQ(words.exit_code, 0) << words.errors;
  EXPECT_EQ(words.output, "Ann runs\n");
  for (const char* cut : {"(S (NN a)", "(S (NN a)\n"})
    EXPECT_THAT(refusal("trees", {"-i", "-", "--words", "-"}, 1, cut),
                HasSubstr("standard input:1: the text ends within a tree"));
}

TEST_F(TreePrograms, AFormFeedInAWordComesBack) {
  const std::string words = folder_ / "words", labels = folder_ / "labels",
                    tree = "(TOP (S (DT the\fdog) (VBZ sees)))\n";
  const Outcome lines = run("trees", {"-i", "-", "--words", words, "--labels", labels}, tree);
  ASSERT_EQ(lines.exit_code, 0) << lines.errors;
  EXPECT_EQ(run("trees", {"--restore", "--words", words, "--labels", labels}).output, tree);
}

TEST_F(TreePrograms, NothingIsWrittenOverAnotherOutputOrAnInput) {
  const std::string trees = folder_ / "trees", content = "(S (NN a))\n", one = folder_ / "one";
  write_text(trees, content);
  EXPECT_THAT(refusal("trees", {"-i", trees, "--words", one, "--labels", folder_.path() + "/./one"}),
              HasSubstr("--words and --labels are one file"));
  EXPECT_THAT(refusal("trees", {"-i", trees, "--simplified", trees}), HasSubstr("--input and --simplified are one"));
  EXPECT_EQ(read_text(trees), content);
  EXPECT_THAT(refusal("trees", {"-i", trees, "--words", one, "-o", folder_ / "two"}),
              HasSubstr("--output is for --restore"));
  EXPECT_THAT(refusal("trees", {"--restore", "--words", one, "--labels", trees, "--simplified", folder_ / "two"}),
              HasSubstr("--simplified is for --input"));
  EXPECT_THAT(refusal("trees", {"--restore", "--words", "-", "--labels", "-"}),
              HasSubstr("--words and --labels both read standard input"));
  write_text(one, "a\n");
  EXPECT_THAT(refusal("trees", {"--restore", "--words", one, "--labels", trees, "-o", one}),
              HasSubstr("--output is the file of --words"));
  EXPECT_EQ(read_text(one), "a\n");
}

TEST_F(TreePrograms, EvaluationOfTreesTakesNoFlagsOfText) {
  const std::string trees = folder_ / "trees";
  write_text(trees, "(S (NN a))\n");
  EXPECT_THAT(refusal("evaluate", {"--trees", "-i", trees, "-r", trees, "--metric", "bleu"}),
              HasSubstr("--metric excludes --trees"));
  EXPECT_THAT(refusal("evaluate", {"--trees", "-i", trees, "-r", trees, "--samples", "50"}), HasSubstr("--samples"));
  EXPECT_THAT(refusal("evaluate", {"--trees", "-i", trees, "-r", trees, "--confidence"}),
              HasSubstr("--confidence excludes --trees"));
  write_text(folder_ / "bad", "(S (NN a))\n(S (NN\n");
  EXPECT_THAT(refusal("evaluate", {"--trees", "-i", folder_ / "bad", "-r", trees}, 1), HasSubstr("bad:2"));
}

TEST_F(TreePrograms, AParserMakesEachTreeAsAWhole) {
  const std::string model = folder_ / "model", labels = folder_ / "labels";
  std::filesystem::create_directory(model);
  const std::vector<std::string> trees(50, "(S (NP DT NN )NP (VP VBZ )VP . )S");
  TokenizerOptions options = tiny_tokenizer_options();
  options.split_by_script = false;
  const Tokenizer tokenizer = train_tokenizer(options, lines_from(tiny_english()), lines_from(trees));
  save_model_folder(model, tiny_config(), tokenizer, tiny_weights(tokenizer, 5));
  write_text(labels, trees.front() + "\n");
  const auto parse = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"-m", model, "--trees", labels});
    return flags;
  };
  const std::string text = "the red\n";
  const Outcome whole = run("translate", parse({}), text);
  EXPECT_EQ(whole.exit_code, 0) << whole.errors;
  EXPECT_EQ(whole.output.front(), '(');
  write_text(folder_ / "none", "");
  EXPECT_THAT(refusal("translate", {"-m", model, "--trees", folder_ / "none"}, 1), HasSubstr("none: no labels"));
  write_text(folder_ / "brackets", "(S (NP (Ж the)))\n");
  EXPECT_THAT(refusal("translate", {"-m", model, "--trees", folder_ / "brackets"}, 1),
              AllOf(HasSubstr("brackets: "), HasSubstr("--trees takes the labels that trees --labels wrote")));
  EXPECT_THAT(refusal("translate", parse({"--max-source-tokens", "1"}), 1, text),
              AllOf(HasSubstr("standard input:1: "), HasSubstr("3 tokens, more than 1"),
                    HasSubstr("raise --max-source-tokens"), HasSubstr("a tree cannot be put together from parts")));
  EXPECT_THAT(refusal("translate", parse({"--split-sentences"})), HasSubstr("--trees excludes --split-sentences"));
  EXPECT_THAT(refusal("translate", parse({"--inline-tags"})), HasSubstr("--trees excludes --inline-tags"));
  EXPECT_THAT(refusal("translate", parse({"--alternatives", "2"})), HasSubstr("--alternatives excludes --trees"));
  EXPECT_THAT(refusal("translate", {"-m", model, "--trees", "-"}), HasSubstr("both read standard input"));
}

}  // namespace
}  // namespace transmute::testing

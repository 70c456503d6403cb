// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/e2e/programs.h>

#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::names_in;
using testing::Outcome;
using testing::output_of;
using testing::program;
using testing::read_text;
using testing::refusal;
using testing::run_program_with;
using testing::shell;
using testing::TemporaryFolder;
using testing::write_text;

Outcome prepare(std::vector<std::string> words) {
  words.insert(words.begin(), {program("prepare")});
  return run_program_with(words);
}

// Has files with two good pairs, a duplicate and one without a target.
class PrepareProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    write_text(folder_ / "a.en", "A dog.\nA cat.\nA dog.\nNothing.\n");
    write_text(folder_ / "a.de", "Ein Hund.\nEine Katze.\nEin Hund.\n\n");
  }
  // Prepares these files.
  Outcome prepare_pairs(const std::vector<std::string>& flags) const {
    std::vector<std::string> words{"--source", folder_ / "a.en", "--target", folder_ / "a.de"};
    words.insert(words.end(), flags.begin(), flags.end());
    return prepare(words);
  }

  const TemporaryFolder folder_;
};

TEST_F(PrepareProgram, WritesTheKeptPairsAndSaysWhatWent) {
  const Outcome outcome =
      prepare_pairs({"--output-source", folder_ / "b.en", "--output-target", folder_ / "b.de", "--dropped",
                     folder_ / "dropped.tsv", "--report", folder_ / "r.html", "--counts", folder_ / "counts.json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(read_text(folder_ / "b.en"), "A dog.\nA cat.\n");
  EXPECT_EQ(read_text(folder_ / "b.de"), "Ein Hund.\nEine Katze.\n");
  EXPECT_EQ(read_text(folder_ / "dropped.tsv"),
            "duplicate\tthe same pair came before\tA dog.\tEin Hund.\nempty\tthe target is empty\tNothing.\t\n");
  EXPECT_THAT(outcome.errors, HasSubstr("kept 2 of 4 pairs (50.00%)"));
  EXPECT_THAT(read_text(folder_ / "counts.json"), HasSubstr("\"kept\": 2"));
  EXPECT_THAT(read_text(folder_ / "r.html"), HasSubstr("Nothing."));
  EXPECT_EQ(read_text(folder_ / "a.en"), "A dog.\nA cat.\nA dog.\nNothing.\n");
}

TEST_F(PrepareProgram, WritesColumnsToStandardOutput) {
  EXPECT_EQ(output_of(prepare_pairs({"-o", "-", "--keep", "duplicate,near_duplicate"})),
            "A dog.\tEin Hund.\nA cat.\tEine Katze.\nA dog.\tEin Hund.\n");
}

TEST_F(PrepareProgram, WritesReportsToStandardOutputAndPacked) {
  EXPECT_THAT(output_of(prepare_pairs({"--counts", "-", "--report", folder_ / "r.html.gz"})), HasSubstr("\"kept\": 2"));
  EXPECT_THAT(run_program_with({"gzip", "-dc", folder_ / "r.html.gz"}).output, HasSubstr("Nothing."));
}

TEST_F(PrepareProgram, WritesALineOfAlignmentsForEachKeptPair) {
  const Outcome outcome = prepare_pairs({"-o", folder_ / "b.tsv", "--alignments", folder_ / "b.align"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(read_text(folder_ / "b.tsv"), "A dog.\tEin Hund.\nA cat.\tEine Katze.\n");
  EXPECT_EQ(read_text(folder_ / "b.align"), "0-0 1-1\n0-0 1-1\n");
}

TEST_F(PrepareProgram, CountsUnitsThatLackALanguage) {
  const auto unit = [](const std::string& source, const std::string& target, const std::string& texts) {
    return "<tu><tuv xml:lang=\"" + source + "\"><seg>A " + texts + ".</seg></tuv><tuv xml:lang=\"" + target +
           "\"><seg>Ein " + texts + ".</seg></tuv></tu>";
  };
  write_text(folder_ / "a.tmx", "<tmx><header srclang=\"en-US\"/><body>" + unit("en-US", "de-DE", "Hund") +
                                    unit("en-GB", "de", "Wolf") + unit("EN", "nl", "Hond") + "</body></tmx>");
  const Outcome outcome = prepare({"--pairs", folder_ / "a.tmx", "-o", "-", "--counts", folder_ / "counts.json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(outcome.output, "A Hund.\tEin Hund.\nA Wolf.\tEin Wolf.\n");
  EXPECT_THAT(outcome.errors, HasSubstr("  1  entries of the files lack one of the two languages\n"));
  EXPECT_THAT(read_text(folder_ / "counts.json"), HasSubstr("\"without_both_languages\": 1"));
}

TEST_F(PrepareProgram, WarnsOfAFewLinesThatAreNotUtf8AndRefusesMore) {
  std::string sources, targets;
  for (int i = 0; i < 99; ++i) {
    sources += "A dog.\n";
    targets += "Ein Hund.\n";
  }
  write_text(folder_ / "a.en", sources + "A man.\nA woman.\n");
  write_text(folder_ / "a.de", targets + "Ein Mann f\xfcr alle.\nEine Frau.\n");
  const Outcome few = prepare_pairs({"-o", "-"});
  EXPECT_EQ(few.exit_code, 0) << few.errors;
  EXPECT_EQ(few.output, "A dog.\tEin Hund.\nA woman.\tEine Frau.\n");
  EXPECT_THAT(few.errors, HasSubstr("a.de:100: not valid UTF-8"));
  EXPECT_THAT(few.errors, HasSubstr("1 of 101"));
  write_text(folder_ / "a.de", targets +
                                   "Ein Mann f\xfcr alle.\nEine gro\xdf"
                                   "e Frau.\n");
  const Outcome many = prepare_pairs({"-o", folder_ / "b.tsv"});
  EXPECT_EQ(many.exit_code, 1);
  EXPECT_THAT(many.errors, HasSubstr("iconv -f windows-1252 -t utf-8"));
  EXPECT_THAT(many.errors, HasSubstr("2 of 101"));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("a.de", "a.en"));
}

TEST_F(PrepareProgram, WritesNothingOverItsInputs) {
  for (const char* flag : {"--output", "--dropped", "--report", "--counts"}) {
    const Outcome outcome = prepare_pairs({flag, folder_ / "a.de"});
    EXPECT_EQ(outcome.exit_code, 2) << flag;
    EXPECT_THAT(outcome.errors, HasSubstr(flag));
  }
  EXPECT_EQ(read_text(folder_ / "a.de"), "Ein Hund.\nEine Katze.\nEin Hund.\n\n");
}

TEST_F(PrepareProgram, WritesNoOutputOverAnother) {
  EXPECT_THAT(refusal(prepare_pairs({"--output-source", folder_ / "b", "--output-target", folder_.path() + "/./b"})),
              HasSubstr("--output-target and --output-source are both"));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("a.de", "a.en"));
}

TEST_F(PrepareProgram, ReadsTestSetsFromAPipeButNoText) {
  const std::string begin = "cd " + folder_.path() + "; " + program("prepare") + " -o - ";
  EXPECT_EQ(output_of(shell(begin + "--source a.en --target a.de --exclude <(head -n 1 a.en)")),
            "A cat.\tEine Katze.\n");
  EXPECT_THAT(refusal(shell(begin + "--source <(cat a.en) --target a.de")),
              HasSubstr("is no file, and the text is read twice; save it in a file first"));
}

TEST_F(PrepareProgram, LeavesNoFileWhereItFails) {
  write_text(folder_ / "short.de", "Ein Hund.\n");
  EXPECT_THAT(
      refusal(prepare({"--source", folder_ / "a.en", "--target", folder_ / "short.de", "-o", folder_ / "b"}), 1),
      HasSubstr("has more lines than"));
  const Outcome none = prepare(
      {"--source", folder_ / "a.en", "--target", folder_ / "a.en", "--exclude", folder_ / "a.en", "-o", folder_ / "b"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.errors, HasSubstr("kept 0 of 4 pairs"));
  EXPECT_THAT(none.errors, HasSubstr("error: none of 4 pairs is left, and nothing was written\n"));
  write_text(folder_ / "empty", "");
  const Outcome empty = prepare({"--source", folder_ / "empty", "--target", folder_ / "empty", "-o", folder_ / "b"});
  EXPECT_EQ(empty.exit_code, 1);
  EXPECT_THAT(empty.errors, HasSubstr("error: the text has no pairs, and nothing was written\n"));
  EXPECT_THAT(names_in(folder_.path()), ElementsAre("a.de", "a.en", "empty", "short.de"));
}

TEST_F(PrepareProgram, NotesThatTheSidesAreExchanged) {
  write_text(folder_ / "a", "I have seen the house where they live.\nThis is the book that you wanted to read.\n");
  write_text(folder_ / "b",
             "Ich habe das Haus gesehen, in dem sie wohnen.\nDas ist das Buch, das du lesen wolltest.\n");
  const std::vector<std::string> flags{"--source-language", "en", "--target-language", "de", "-o", "-", "--keep",
                                       "ratio,alignment"};
  const auto errors_of = [&](const std::string& source, const std::string& target) {
    std::vector<std::string> words{"--source", folder_ / source, "--target", folder_ / target};
    words.insert(words.end(), flags.begin(), flags.end());
    return prepare(words).errors;
  };
  EXPECT_THAT(errors_of("b", "a"), HasSubstr("if the sides are exchanged, exchange the files or columns"));
  EXPECT_EQ(errors_of("a", "b").find("exchanged"), std::string::npos);
}

TEST_F(PrepareProgram, RefusesWhatItCannotUse) {
  const auto expect_usage = [&](const std::vector<std::string>& words, const std::string& message) {
    const Outcome outcome = prepare(words);
    EXPECT_EQ(outcome.exit_code, 2) << message;
    EXPECT_THAT(outcome.errors, HasSubstr(message));
  };
  expect_usage({}, "there is no text");
  expect_usage({"--source", folder_ / "a.en"}, "each source needs its translation");
  expect_usage({"--pairs", folder_ / "a.en"}, "tells no format");
  expect_usage({"--source", "-", "--target", folder_ / "a.de"}, "is read twice");
  expect_usage({"--source", folder_ / "a.en", "--target", "/dev/null"}, "is read twice");
  expect_usage({"--source", folder_ / "a.en", "--target", folder_ / "a.de", "--keep", "numbers"},
               "the rules are empty,");
  expect_usage({"--pairs", folder_ / "a.tsv", "--source-language", "xx"}, "is no language");
}

}  // namespace
}  // namespace transmute

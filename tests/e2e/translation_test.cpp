// SPDX-License-Identifier: Apache-2.0
// From text to a translator: a small network learns the demo task, and the translate program serves it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <transmute/common/json.h>
#include <transmute/tests/e2e/trained_model.h>
#include <transmute/text/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST_F(TrainedModel, TranslatesDocumentsAsItTranslatesTheirTexts) {
  const std::string catalog = *folder_ / "de.po", translated = *folder_ / "new.po";
  const std::vector<std::string> texts{"9 hours, 30 minutes", "Monday, March 3, 2025"};
  std::string entries;
  for (const std::string& text : texts) entries += "msgid \"" + text + "\"\nmsgstr \"\"\n\n";
  write_text(catalog, entries);
  const Outcome outcome = translate("", {"--input", catalog, "--output", translated});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  std::string wanted;
  const auto lines = split_lines(translate(texts[0] + "\n" + texts[1] + "\n").output);
  for (size_t i = 0; i < texts.size(); ++i)
    wanted += "#, fuzzy\nmsgid \"" + texts[i] + "\"\nmsgstr \"" + lines.at(i) + "\"\n\n";
  EXPECT_EQ(read_text(translated), wanted);
  EXPECT_EQ(translate("", {"--input", catalog, "--n-best", "2"}).exit_code, 2);
  EXPECT_EQ(translate("", {"--input", catalog, "--output", catalog}).exit_code, 2);
  EXPECT_EQ(read_text(catalog), entries);
}

TEST_F(TrainedModel, TranslatesMostExpressionsThatItHasNeverSeen) {
  const auto wanted = split_lines(read_text(*folder_ / "data/test.de"));
  const auto got = split_lines(translate(read_text(*folder_ / "data/test.en")).output);
  ASSERT_EQ(got.size(), wanted.size());
  size_t right = 0;
  for (size_t i = 0; i < got.size(); ++i) right += got[i] == wanted[i] ? 1 : 0;
  RecordProperty("exactly_right", static_cast<int>(right));
  std::cout << right << " of " << wanted.size() << " held-out expressions exactly right\n";
  EXPECT_GE(right, wanted.size() * 7 / 10);
}

TEST_F(TrainedModel, WritesOneLinePerLineAndEmptyLinesStayEmpty) {
  const Outcome outcome = translate("seven\n\n   \neight\r\nnine");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  const auto lines = split_lines(outcome.output);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[1], "");
  EXPECT_EQ(lines[2], "");
  EXPECT_THAT(outcome.output, EndsWith("\n"));
  EXPECT_EQ(split_lines(translate("eight\n").output).front(), lines[3]) << "a carriage return is part of the end";
}

TEST_F(TrainedModel, GivesTheSameTextWhateverTheBatchesAndThreads) {
  const std::string input = read_text(*folder_ / "data/test.en");
  const std::string reference = translate(input).output;
  for (const auto& flags : std::vector<std::vector<std::string>>{
           {"--batch-size", "1"}, {"--batch-size", "7", "--threads", "1"}, {"--buffer-lines", "3"}})
    EXPECT_EQ(translate(input, flags).output, reference);
}

TEST_F(TrainedModel, NBestListsAreMosesAndBestFirst) {
  const Outcome outcome = translate("Monday, March 3, 1980\nseven\n", {"--n-best", "3"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  const auto lines = split_lines(outcome.output);
  ASSERT_EQ(lines.size(), 6U);
  double last = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_THAT(lines[i], MatchesRegex("[01] \\|\\|\\| .* \\|\\|\\| logprob= -?[0-9.]+ \\|\\|\\| -?[0-9.]+"));
    EXPECT_EQ(lines[i].front(), i < 3 ? '0' : '1');
    const double score = std::stod(lines[i].substr(lines[i].rfind("||| ") + 4));
    if (i % 3 > 0) {
      EXPECT_LE(score, last) << lines[i];
    }
    last = score;
  }
}

TEST_F(TrainedModel, ReadsAndWritesFiles) {
  write_text(*folder_ / "in.txt", "seven\n");
  EXPECT_EQ(output_of(translate("", {"--input", *folder_ / "in.txt", "--output", *folder_ / "out.txt"})), "");
  EXPECT_EQ(read_text(*folder_ / "out.txt"), translate("seven\n").output);
}

TEST_F(TrainedModel, TranslatesTheSameAsAnExportedFile) {
  const Outcome exported =
      run("export_torchscript", {"--model", *folder_ / "run/model", "--output", *folder_ / "model.pt"});
  ASSERT_EQ(exported.exit_code, 0) << exported.errors;
  const std::string input = read_text(*folder_ / "data/test.en");
  const Outcome of_file = run("translate", {"--model", *folder_ / "model.pt"}, input);
  EXPECT_EQ(of_file.output, translate(input).output) << of_file.errors;
}

TEST_F(TrainedModel, AnOverLongLineIsTranslatedInPartsAndCounted) {
  std::string line;
  for (int i = 0; i < 30; ++i) line += "seven, ";
  const Outcome outcome = translate(line + "\nseven\n", {"--max-source-tokens", "20"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(split_lines(outcome.output).size(), 2U);
  EXPECT_THAT(outcome.errors, HasSubstr("1 of 2 lines had over 20 tokens"));
}

TEST_F(TrainedModel, AnswersALineBeforeTheNextOneIsWritten) {
  int to_child[2];
  int from_child[2];
  ASSERT_EQ(pipe(to_child), 0);
  ASSERT_EQ(pipe(from_child), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(to_child[0], STDIN_FILENO);
    dup2(from_child[1], STDOUT_FILENO);
    for (const int fd : {to_child[0], to_child[1], from_child[0], from_child[1]}) close(fd);
    const std::string name = program("translate");
    execl(name.c_str(), name.c_str(), "--model", (*folder_ / "run/model").c_str(), nullptr);
    _exit(127);
  }
  close(to_child[0]);
  close(from_child[1]);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(write(to_child[1], "seven\n", 6), 6);
    pollfd answer{from_child[0], POLLIN, 0};
    ASSERT_EQ(poll(&answer, 1, 60'000), 1) << "no answer to line " << i + 1;
    char text[256];
    const ssize_t count = read(from_child[0], text, sizeof(text));
    ASSERT_GT(count, 0);
    EXPECT_EQ(text[count - 1], '\n');
  }
  close(to_child[1]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  close(from_child[0]);
}

TEST_F(TrainedModel, ScoresItsOwnTranslationsAsTheSearchDid) {
  const std::string input = read_text(*folder_ / "data/test.en");
  const auto lists = split_lines(translate(input, {"--n-best", "1"}).output);
  write_text(*folder_ / "own.de", translate(input).output);
  const Outcome outcome = run("score", {"--model", *folder_ / "run/model", "--source", *folder_ / "data/test.en",
                                        "--target", *folder_ / "own.de"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.errors, HasSubstr("perplexity 1."));
  const auto scores = split_lines(outcome.output);
  ASSERT_EQ(scores.size(), lists.size());
  size_t equal = 0;  // a text may have other pieces than those that the search chose for it
  for (size_t i = 0; i < scores.size(); ++i) {
    const size_t at = lists[i].find("logprob= ") + 9;
    equal += std::abs(std::stod(scores[i]) - std::stod(lists[i].substr(at))) < 1e-3 ? 1 : 0;
  }
  EXPECT_GE(equal, scores.size() * 95 / 100);

  const Outcome per_token = run("score", {"--model", *folder_ / "run/model", "--source", *folder_ / "data/test.en",
                                          "--target", *folder_ / "own.de", "--per-token"});
  const auto tokens = split_lines(per_token.output);
  double sum = 0;
  std::istringstream fields(tokens.at(0));
  std::string field;
  std::getline(fields, field, '\t');
  while (std::getline(fields, field, '\t')) sum += std::stod(field.substr(field.rfind(' ')));
  EXPECT_NEAR(sum, std::stod(tokens[0]), 1e-4);

  write_text(*folder_ / "short.de", "eins\n");
  EXPECT_THAT(refusal("score",
                      {"--model", *folder_ / "run/model", "--source", *folder_ / "data/test.en", "--target",
                       *folder_ / "short.de"},
                      1),
              HasSubstr("short.de has 1"));
}

TEST_F(TrainedModel, AnEnsembleTranslatesAtLeastAsWellAsItsCheckpoints) {
  const std::string input = read_text(*folder_ / "data/test.en");
  const auto wanted = split_lines(read_text(*folder_ / "data/test.de"));
  const auto right = [&](const std::vector<std::string>& models) {
    std::vector<std::string> words{program("translate")};
    for (const auto& model : models) words.insert(words.end(), {"--model", *folder_ / model});
    const Outcome outcome = run_program_with(words, input);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    const auto got = split_lines(outcome.output);
    size_t count = 0;
    for (size_t i = 0; i < got.size(); ++i) count += got[i] == wanted.at(i) ? 1 : 0;
    return count;
  };
  const std::string first = "run/checkpoints/step-000001200", second = "run/checkpoints/step-000001100";
  EXPECT_GE(right({first, second}) + wanted.size() / 20, std::max(right({first}), right({second})));
}

TEST_F(TrainedModel, OptionsOfTheSearchDoWhatTheySay) {
  const auto best = [&](const std::string& line, const std::vector<std::string>& flags) {
    const Outcome outcome = translate(line + "\n", flags);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    return split_lines(outcome.output).at(0);
  };
  const std::string date = "Monday, March 3, 1980";
  EXPECT_THAT(best(date, {"--alignment", "tokens"}), MatchesRegex(".* \\|\\|\\| 0-0( [0-9]+-[0-9]+)+"));
  EXPECT_THAT(
      best(date, {"--format", "json", "--alignment", "--n-best", "2"}),
      AllOf(HasSubstr("\"source_tokens\":["), HasSubstr("\"alignment\":[["), HasSubstr("\"word_alignment\":[[")));
  EXPECT_EQ(best(date, {"--sample", "--temperature", "0"}), best(date, {"--beam-size", "1"}));
  EXPECT_EQ(best(date, {"--sample", "--seed", "5"}), best(date, {"--sample", "--seed", "5"}));
  EXPECT_NE(best(date, {"--sample", "--temperature", "3"}),
            best(date, {"--sample", "--temperature", "3", "--seed", "2"}));
  EXPECT_NE(best("seven", {"--min-length", "12"}), best("seven", {}));
  EXPECT_EQ(best("seven", {"--length-alpha", "0", "--length-penalty", "power"}),
            best("seven", {"--length-alpha", "0"}));
  EXPECT_EQ(split_lines(translate(date + "\n", {"--alternatives", "3"}).output).size(), 3U);
  write_text(*folder_ / "prefix.txt", "Freitag\n");
  EXPECT_EQ(best(date, {"--target-prefix", *folder_ / "prefix.txt"}).rfind("Freitag", 0), 0U);
  write_text(*folder_ / "glossary.tsv", "March\tMittwoch\n");
  EXPECT_THAT(best(date, {"--glossary", *folder_ / "glossary.tsv"}), HasSubstr("Mittwoch"));
  EXPECT_THAT(best("<b>" + date + "</b>", {"--inline-tags"}), AllOf(HasSubstr("<b>"), EndsWith("</b>")));
  EXPECT_EQ(best("Monday, March 3, {0} 1980", {}), "Montag, 3. März {0} 1980");
  EXPECT_EQ(best("%1$s: %2$d", {}), "%1$s: %2$d");
  EXPECT_THAT(best("Monday, %s", {"--protect", "none"}), Not(HasSubstr("%s")));
}

// The word that each token belongs to.
std::vector<size_t> words_of(const std::vector<std::string>& tokens) {
  std::vector<size_t> words;
  size_t word = 0;
  for (const auto& token : tokens) {
    if (!words.empty() && token.rfind("\u2581", 0) == 0) ++word;
    words.push_back(word);
  }
  return words;
}

TEST_F(TrainedModel, ItsAttentionAlignsTheWordsOfDates) {
  // Monday, March 3, 1980 is Montag, 3. März 1980: which word is which is known.
  const std::set<std::pair<size_t, size_t>> sure{{0, 0}, {1, 2}, {2, 1}, {3, 3}};
  const std::vector<std::string> days{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
  const std::vector<std::string> months{"January", "February", "March",     "April",   "May",      "June",
                                        "July",    "August",   "September", "October", "November", "December"};
  std::string input;
  for (int i = 0; i < 150; ++i)
    input += days[i % 7] + ", " + months[i % 12] + " " + std::to_string(1 + i % 28) + ", " +
             std::to_string(1950 + i % 90) + "\n";
  size_t pairs = 0, given = 0, right = 0;
  for (const auto& line : split_lines(translate(input, {"--format", "json", "--alignment"}).output)) {
    const auto object = parse_json(line);
    const auto& best = object["hypotheses"][0];
    const auto source = words_of(object["source_tokens"]), target = words_of(best["tokens"]);
    if (source.empty() || source.back() != 3 || target.empty() || target.back() != 3) continue;  // not this pattern
    Hypothesis hypothesis;
    hypothesis.alignment = best["alignment"].get<std::vector<std::vector<float>>>();
    std::set<std::pair<size_t, size_t>> links;
    for (const auto& [s, t] : hard_alignment(hypothesis)) links.emplace(source[s], target[t]);
    ++pairs;
    given += links.size();
    right +=
        static_cast<size_t>(std::count_if(links.begin(), links.end(), [&](const auto& l) { return sure.count(l); }));
  }
  ASSERT_GE(pairs, 100U);
  const double error_rate = 1 - 2 * static_cast<double>(right) / static_cast<double>(given + pairs * sure.size());
  std::cout << "alignment error rate " << error_rate << " on " << pairs << " dates\n";
  EXPECT_LE(error_rate, 0.25);
}

TEST_F(TrainedModel, MistakesInItsOptionsAreNamed) {
  const auto refusal = [&](const std::vector<std::string>& flags, int exit_code) {
    const Outcome outcome = translate("seven\neight\n", flags);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.errors;
    EXPECT_EQ(outcome.output, "");
    return outcome.errors;
  };
  EXPECT_THAT(refusal({"--sample", "--top-p", "2"}, 2), HasSubstr("--top-p"));
  EXPECT_THAT(refusal({"--top-k", "3"}, 2), HasSubstr("--sample"));
  EXPECT_THAT(refusal({"--length-penalty", "cubic"}, 2), HasSubstr("paper"));
  write_text(*folder_ / "bad.tsv", "March Lenz\n");
  EXPECT_THAT(refusal({"--glossary", *folder_ / "bad.tsv"}, 1), HasSubstr("bad.tsv:1"));
  write_text(*folder_ / "unknown.tsv", "seven\t七\n");
  EXPECT_THAT(refusal({"--glossary", *folder_ / "unknown.tsv"}, 1), HasSubstr("unknown.tsv:1: \"七\""));
  EXPECT_THAT(refusal({"--split-sentences", "sometimes"}, 2), HasSubstr("--split-sentences"));
  EXPECT_THAT(refusal({"--text-language", "xx"}, 2), HasSubstr("--text-language: \"xx\" is no language"));
}

TEST_F(TrainedModel, BadInputIsNamed) {
  EXPECT_THAT(refusal(translate("seven\n\xff\n"), 1), HasSubstr("standard input:2: not valid UTF-8"));
  EXPECT_THAT(refusal(translate("seven\n", {"--beam-size", "0"})), HasSubstr("--beam-size: must be from 1 to 10000"));
  EXPECT_THAT(refusal("translate", {"--model", "nowhere"}, 1, "seven\n"), HasSubstr("nowhere: no such model folder"));
}

TEST_F(TrainedModel, IsTheRecommendedOneOfARunFolder) {
  const auto translated_with = [](const std::string& model) { return run("translate", {"--model", model}, "seven\n"); };
  EXPECT_EQ(output_of(translated_with(*folder_ / "run")), translated_with(*folder_ / "run/recommended").output);
  std::filesystem::create_directory(*folder_ / "unmarked");
  std::filesystem::create_directory_symlink(*folder_ / "run/model", *folder_ / "unmarked/model");
  EXPECT_THAT(refusal(translated_with(*folder_ / "unmarked"), 1),
              HasSubstr("its finished model is " + (*folder_ / "unmarked/model")));
}

TEST_F(TrainedModel, AFullDiskIsAnError) {
  EXPECT_THAT(refusal(shell("echo seven | " + command_line({program("translate"), "--model", *folder_ / "run/model"}) +
                            ">/dev/full"),
                      1),
              HasSubstr("standard output cannot be written to (is the disk full?)"));
}

}  // namespace
}  // namespace transmute::testing

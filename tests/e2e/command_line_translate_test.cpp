// SPDX-License-Identifier: Apache-2.0
// The flags of translate that choose among translations and say more about them.

#include <transmute/common/text_file.h>
#include <transmute/tests/e2e/command_line.h>
#include <transmute/text/format.h>
#include <transmute/translation/translator.h>

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Translator open_with_one_thread(const std::string& model) {
  TranslatorOptions options;
  options.threads = 1;
  return Translator(model, options);
}

// The output of translate --n-best for these lines, by the library.
std::string n_best_by_library(const Translator& translator, const std::vector<std::string>& lines,
                              const TranslationOptions& options) {
  std::string text;
  int64_t line = 0;
  for (const Translation& translation : translator.translate_batch(lines, options))
    text += format_n_best(translation, line++);
  return text;
}

TEST_F(CommandLine, AnEmptyFileOfTreeWordsIsNotAsIfThereWereNone) {
  const std::string trees = folder_ / "trees", words = folder_ / "words";
  write_text(trees, "(S (NP NNP )NP (VP VBZ )VP . )S\n");
  write_text(words, "");
  EXPECT_THAT(refusal("translate", {"-m", model(), "--trees", trees, "--no-repeat-ngram", "4"}),
              HasSubstr("--no-repeat-ngram excludes --trees"));
  EXPECT_THAT(refusal("translate", {"-m", model(), "--trees", trees, "--tree-words", words}, 1, "a\n"),
              AllOf(HasSubstr("words has 0 lines, but"), HasSubstr("has 1; line n of one must have the words of")));
}

TEST_F(CommandLine, TextsAmongTheWordsAreTranslatedALineEach) {
  const std::string wanted = translate("the red house\nis near.\n").output;
  EXPECT_EQ(translate("", {"the red house", "is near."}).output, wanted);
  EXPECT_EQ(translate("", {"the red house\nis near."}).output, wanted);
  const Outcome directly = run("translate", {"-m", model(), "the red house", "is near.", "--max-extra-length", "2"});
  EXPECT_EQ(directly.output, wanted) << directly.errors;
  EXPECT_EQ(run("translate", {"the red house", "is near.", "--max-extra-length", "2", "-m", model()}).output, wanted);
  EXPECT_EQ(run("translate", {"-m", model(), "and/or", "--max-extra-length", "2"}).output,
            translate("and/or\n").output);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"-m", model(), "the red house", "-i", "x"}, {"the house", "-i", "x", "-m", model()}})
    EXPECT_THAT(refusal("translate", words), HasSubstr("--input"));
  EXPECT_THAT(refusal("translate", {model()}), HasSubstr("did you mean --model " + model() + "?"));
  EXPECT_THAT(refusal("translate", {model(), "-m", model()}), HasSubstr("is a folder, not a text"));
  const std::string wanted_twice = translate(model() + "\n" + model() + "\n").output;
  EXPECT_EQ(translate("", {"--", model(), model()}).output, wanted_twice);
  EXPECT_EQ(translate("", {model(), model()}).output, wanted_twice) << "two words are no model";
  EXPECT_THAT(refusal("translate", {"-m", model(), "gr\xfcn"}), HasSubstr("not valid UTF-8"));
}

TEST_F(CommandLine, WhatTheVocabularyCannotWriteIsNamedWithItsLine) {
  write_text(folder_ / "terms", "house\tHaus\ntrain\t電車\n");
  EXPECT_THAT(refusal("translate", {"-m", model(), "--glossary", folder_ / "terms"}, 1),
              AllOf(HasSubstr("terms:2: \"電車\""), HasSubstr("byte_fallback")));
  write_text(folder_ / "full_width", "train\tZug\nhouse\tＨaus\n");
  const Outcome noted = translate("the house\n", {"--glossary", folder_ / "full_width"});
  EXPECT_THAT(noted.errors, HasSubstr("1 target term in another way, for example \"Ｈaus\" as \"Haus\""));
  EXPECT_THAT(noted.output, HasSubstr("Haus"));
}

TEST_F(CommandLine, LearnedPositionsAreNamedWhereTheyAreTheLimit) {
  TransformerOptions network = tiny_transformer_options();
  network.positional_encoding = PositionalEncodingKind::learned;
  network.max_positions = 6;
  const std::string learned = folder_ / "learned";
  write_tiny_model(learned, network);
  const std::string text = "the\nthe red house is near. the old train is gone.\n";
  for (const char* name : {"translate", "embed"})
    EXPECT_THAT(run(name, {"-m", learned}, text).errors,
                HasSubstr("1 of 2 lines had more tokens than the model has learned positions for"));
  EXPECT_THAT(refusal("translate", {"-m", learned, "--long-lines", "fail"}, 1, text),
              AllOf(HasSubstr("standard input:2: "), HasSubstr("learned positions")));
  EXPECT_THAT(
      refusal("translate", {"-m", learned, "--long-lines", "fail", "--", "the red house is near. the old train."}, 1),
      HasSubstr("text 1: "))
      << "a text of the command line fails as a line of the input does";
  write_text(folder_ / "long_prefixes", "das\ndas alte Haus ist geschlossen.\n");
  const Outcome prefixed =
      run("translate", {"-m", learned, "--target-prefix", folder_ / "long_prefixes"}, "the\nthe\n");
  EXPECT_EQ(prefixed.exit_code, 1);
  EXPECT_THAT(prefixed.errors, AllOf(HasSubstr("standard input:2: its translation must have "),
                                     HasSubstr("the lines before it are written")));
  EXPECT_THAT(split_lines(prefixed.output), SizeIs(1));
}

TEST_F(CommandLine, ModelsOfManyLanguagesAreToldTheLanguages) {
  const std::string many = TRANSMUTE_TEST_DATA "/formats/nllb", text = "the old house\n";
  EXPECT_THAT(refusal("embed", {"-m", many}, 2, text), HasSubstr("name the source language (--source-language)"));
  EXPECT_EQ(run("embed", {"-m", many, "--source-language", "eng_Latn"}, text).exit_code, 0);
  EXPECT_THAT(refusal("visualize", {"-m", many, "-o", "-"}, 2, text), HasSubstr("--target-language"));
  EXPECT_THAT(refusal("prepare", {"--pairs", "a.tsv", "--model", many, "--reverse-model", many}),
              HasSubstr("take models of one pair"));
  EXPECT_THAT(
      run("visualize", {"-m", many, "-o", "-", "--source-language", "eng_Latn", "--target-language", "deu_Latn"}, text)
          .output,
      HasSubstr("deu_Latn"));
  EXPECT_EQ(
      run("translate",
          {"-m", many, "--source-language", "eng_Latn", "--target-language", "deu_Latn", "--rerank",
           TRANSMUTE_TEST_DATA "/formats/m2m", "--rerank-source-language", "de", "--rerank-target-language", "en"},
          text)
          .exit_code,
      0);
  EXPECT_THAT(refusal("translate", {"-m", many, "--rerank-target-language", "en"}), HasSubstr("requires --rerank"));
}

TEST_F(CommandLine, ATermWithTwoTranslationsIsNamedWithItsLine) {
  const std::string glossary = folder_ / "two.tsv";
  write_text(glossary, "house\tHaus\n\nhouse\tHaus\n house \tZug\n");
  EXPECT_THAT(refusal("translate", {"-m", model(), "--glossary", glossary}, 1, "the house\n"),
              AllOf(HasSubstr("two.tsv:4: "), HasSubstr("in line 1")));
}

TEST_F(CommandLine, TextForAFlagThatNamesAFileIsRefusedAsSuch) {
  for (const std::string flag : {"--glossary", "--target-prefix"})
    EXPECT_THAT(refusal("translate", {"-m", model(), flag, "house=Haus"}, 2, "the house\n"),
                HasSubstr(flag + " names a file, and there is no file house=Haus"));
}

TEST_F(CommandLine, NBestRaisesABeamThatNobodyChose) {
  const Outcome outcome = translate("the red house is near.\n", {"--n-best", "9"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(split_lines(outcome.output).size(), 9U);
  EXPECT_EQ(outcome.output, translate("the red house is near.\n", {"--n-best", "9", "-b", "9"}).output);
  EXPECT_EQ(translate("the red house is near.\n", {"--mbr", "6"}).exit_code, 0);
  EXPECT_THAT(refusal("translate", {"-m", model(), "--mbr", "16", "-b", "2"}),
              HasSubstr("--mbr 16 needs a --beam-size of at least 16, not 2"));
}

TEST_F(CommandLine, TheUtilityOfMinimumRiskIsThatOfItsFlag) {
  const std::vector<std::string> lines{"the red house is near.", "the old train is gone."};
  const std::string text = lines[0] + "\n" + lines[1] + "\n";
  const Translator translator = open_with_one_thread(model());
  TranslationOptions options;
  options.search = translator.default_search();
  options.search.max_extra_length = 2;  // as translate() has it
  options.search.beam_size = options.search.num_hypotheses = options.mbr.candidates = 6;
  std::vector<std::string> lists;
  for (const auto& [name, utility] : {std::pair{"chrf", MbrUtility::chrf}, {"bleu", MbrUtility::bleu}}) {
    options.mbr.utility = utility;
    lists.push_back(translate(text, {"--n-best", "6", "--mbr", "6", "--mbr-utility", name}).output);
    EXPECT_EQ(lists.back(), n_best_by_library(translator, lines, options)) << name;
  }
  EXPECT_EQ(translate(text, {"--n-best", "6", "--mbr", "6"}).output, lists.front()) << "chrf is the default";
  EXPECT_NE(lists.front(), lists.back());
}

TEST_F(CommandLine, APairOfTokensIsNotRepeatedWhereThatIsForbidden) {
  const auto pairs_of = [](const std::vector<std::string>& flags) {
    const Json best = best_translation("the red house is near.", flags);
    const auto tokens = best["tokens"].get<std::vector<std::string>>();
    std::vector<std::pair<std::string, std::string>> pairs;
    for (size_t i = 1; i < tokens.size(); ++i) pairs.emplace_back(tokens[i - 1], tokens[i]);
    std::sort(pairs.begin(), pairs.end());
    return pairs;
  };
  const auto has_repetition = [](const auto& sorted) {
    return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  };
  EXPECT_TRUE(has_repetition(pairs_of({}))) << "this model repeats itself";
  const auto pairs = pairs_of({"--no-repeat-ngram", "2"});
  EXPECT_FALSE(pairs.empty());
  EXPECT_FALSE(has_repetition(pairs));
}

TEST_F(CommandLine, TheCoveragePenaltyChangesTheScoreByItsWeight) {
  // The first end ends greedy search: the penalty changes the score alone.
  const auto greedy = [](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"-b", "1", "--guard", "off"});
    return best_translation("the red house is near.", flags);
  };
  const Json without = greedy({}), once = greedy({"--coverage-beta", "1"}), twice = greedy({"--coverage-beta", "2"});
  const auto score = [](const Json& translation) { return translation["score"].get<double>(); };
  EXPECT_EQ(once["text"].get<std::string>(), without["text"].get<std::string>());
  EXPECT_LT(score(once), score(without) - 0.01);
  EXPECT_NEAR(score(twice) - score(without), 2 * (score(once) - score(without)), 1e-6);
}

TEST_F(CommandLine, LanguagesAreThoseOfTheFlags) {
  const std::string nllb = TRANSMUTE_TEST_DATA "/formats/nllb";
  const std::vector<std::string> lines{"the blue train is near.", "the old house is there."};
  const std::string text = lines[0] + "\n" + lines[1] + "\n";
  const Translator translator = open_with_one_thread(nllb);
  TranslationOptions options;
  options.search = translator.default_search();
  options.search.num_hypotheses = 2;
  options.search.min_length = 4;  // of this random model the best translations are empty
  std::vector<std::string> lists;
  for (const auto& [source, target] : {std::pair{"eng_Latn", "deu_Latn"}, {"deu_Latn", "eng_Latn"}}) {
    options.source_language = source;
    options.target_language = target;
    const Outcome outcome = run(
        "translate",
        {"-m", nllb, "--n-best", "2", "--min-length", "4", "--source-language", source, "--target-language", target},
        text);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    EXPECT_EQ(outcome.output, n_best_by_library(translator, lines, options)) << source << " to " << target;
    lists.push_back(outcome.output);
  }
  EXPECT_NE(lists.front(), lists.back());
  const std::string demand =
      "name the source language and the target language (--source-language and --target-language)";
  EXPECT_THAT(refusal("translate", {"-m", nllb}, 2, text), HasSubstr(demand));
  EXPECT_THAT(refusal("translate", {"-m", nllb, "--target-language", "deu_Latn"}, 2, text), HasSubstr(demand));
  EXPECT_THAT(refusal("translate", {"-m", nllb, "--source-language", "english", "--target-language", "deu_Latn"}),
              HasSubstr("no language \"english\"; it has eng_Latn, deu_Latn, nld_Latn"));
  EXPECT_THAT(refusal("translate", {"-m", model(), "--target-language", "deu_Latn"}),
              HasSubstr("name no source or target language"));
}

TEST_F(CommandLine, RerankingTakesTheOneThatBothModelsFindBest) {
  const std::string text = "the red house is near.\n\n";
  std::vector<std::pair<double, std::string>> by_hand;  // from the two log-probabilities, with the length penalty off
  const auto list =
      translate(text, {"--rerank", model(), "--rerank-weight", "2", "--n-best", "8", "--length-alpha", "0"});
  ASSERT_EQ(list.exit_code, 0) << list.errors;
  for (const std::string& line : split_lines(list.output)) {
    std::smatch found;
    ASSERT_TRUE(
        std::regex_match(line, found,
                         std::regex(R"((\d+) \|\|\| (.*) \|\|\| logprob= (\S+) reverse= (\S+) \|\|\| (\S+))")) ||
        line == "1 |||  ||| logprob= 0.000000 ||| 0.000000")
        << line;
    if (found.empty()) continue;
    EXPECT_NEAR(std::stod(found[3]) + 2 * std::stod(found[4]), std::stod(found[5]), 1e-5);
    by_hand.emplace_back(std::stod(found[5]), found[2]);
  }
  ASSERT_EQ(by_hand.size(), 8U);
  EXPECT_TRUE(std::is_sorted(by_hand.rbegin(), by_hand.rend()));
  EXPECT_EQ(translate(text, {"--rerank", model(), "--rerank-weight", "2", "--length-alpha", "0"}).output,
            by_hand.front().second + "\n\n")
      << "of 8 candidates, if nothing else is said";
  EXPECT_THAT(refusal("translate", {"-m", model(), "--rerank", model(), "--mbr", "4"}), HasSubstr("--mbr"));
  EXPECT_THAT(refusal("translate", {"-m", model(), "--rerank", model(), "-b", "4"}),
              HasSubstr("--rerank-candidates 8 needs a --beam-size of at least 8, not 4"));
  EXPECT_THAT(refusal("translate", {"-m", model(), "--rerank", "/nowhere"}, 1), HasSubstr("/nowhere"));
}

TEST_F(CommandLine, ALengthPenaltyMayBeTheExponentAsOtherProgramsTakeIt) {
  const std::string text = "the red house is near.\n";
  const auto list = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--n-best", "4"});
    return translate(text, flags).output;
  };
  EXPECT_EQ(list({"--length-penalty", "0.3"}), list({"--length-penalty", "power", "--length-alpha", "0.3"}));
  EXPECT_NE(list({"--length-penalty", "0.3"}), list({"--length-alpha", "0.3"}));
  EXPECT_THAT(refusal("translate", {"-m", model(), "--length-penalty", "1", "--length-alpha", "1"}),
              HasSubstr("leave --length-alpha out"));
}

TEST_F(CommandLine, AlignmentsAreOverWordsUnlessTokensAreAskedFor) {
  const std::string text = "the red house is near.\n";
  const auto links_of = [&](const std::vector<std::string>& flags) {
    const std::string line = split_lines(translate(text, flags).output).at(0);
    const std::string translated = line.substr(0, line.find(" ||| "));
    std::vector<std::pair<int, int>> links;
    std::istringstream stream(line.substr(line.find(" ||| ") + 5));
    for (std::string link; stream >> link;)
      links.emplace_back(std::stoi(link), std::stoi(link.substr(link.find('-') + 1)));
    const auto words = static_cast<int>(1 + std::count(translated.begin(), translated.end(), ' '));
    return std::make_pair(links, words);
  };
  const auto [words, target_words] = links_of({"--alignment"});
  ASSERT_FALSE(words.empty());
  for (const auto& [source, target] : words) {
    EXPECT_LT(source, 5);
    EXPECT_LT(target, target_words);
  }
  EXPECT_EQ(links_of({"--alignment", "words"}).first, words);
  const auto [tokens, ignored] = links_of({"--alignment", "tokens"});
  EXPECT_GT(tokens.size(), words.size()) << "several tokens are a word";
  const auto object = parse_json(translate(text, {"--format", "json", "--alignment"}).output);
  const auto& best = object["hypotheses"][0];
  EXPECT_EQ((best["word_alignment"].get<std::vector<std::pair<int, int>>>()), words);
  EXPECT_EQ(best["alignment"].size(), best["tokens"].size());
}

}  // namespace
}  // namespace transmute::testing

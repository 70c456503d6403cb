// SPDX-License-Identifier: Apache-2.0
// What all programs have in common on the command line, with an untrained model that translates badly and fast.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/common/text_file.h>
#include <transmute/tests/e2e/programs.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/text/format.h>
#include <transmute/translation/translator.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <tuple>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::vector<std::string> all_programs() {
  std::vector<std::string> names{"average_checkpoints", "convert",        "embed",   "evaluate",
                                 "export_torchscript",  "generate",       "score",   "sentences",
                                 "make_demo_corpus",    "make_shortlist", "prepare", "translate",
                                 "visualize",           "train",          "trees",   "models"};
#ifdef TRANSMUTE_HAS_GET
  names.emplace_back("get");
#endif
#ifdef TRANSMUTE_HAS_SERVE
  names.emplace_back("serve");
#endif
  return names;
}

// All others load nothing of it.
const std::set<std::string>& programs_with_libtorch() {
  static const std::set<std::string> names{"average_checkpoints", "export_torchscript", "train", "visualize"};
  return names;
}

TEST(Programs, LoadLibTorchOnlyWhereTheyNeedIt) {
  for (const std::string& name : all_programs()) {
    const Outcome libraries = run_program_with({"ldd", std::string(TRANSMUTE_PROGRAMS) + "/" + name});
    EXPECT_EQ(libraries.output.find("libtorch") != std::string::npos, programs_with_libtorch().count(name) > 0) << name;
    if (programs_with_libtorch().count(name) > 0 || name == "get") continue;  // libcurl and libarchive need many
    EXPECT_LE(split_lines(libraries.output).size(), 20U) << name;
    EXPECT_THAT(libraries.output, AllOf(Not(HasSubstr("gomp")), Not(HasSubstr("blas")), Not(HasSubstr("dnnl"))));
  }
}

size_t width_of(const std::string& line) {
  return static_cast<size_t>(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

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

class CommandLine : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    std::filesystem::create_directory(model());
    const Tokenizer tokenizer = tiny_tokenizer();
    save_model_folder(model(), tiny_config(), tokenizer, weights_of(tiny_transformer(tokenizer, 5)));
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static std::string model() { return *folder_ / "model"; }
  static Outcome run(const std::string& name, std::vector<std::string> words, const std::string& input = "") {
    words.insert(words.begin(), program(name));
    return run_program_with(words, input);
  }
  static Outcome translate(const std::string& input, std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"-m", model(), "--max-extra-length", "2"});
    return run("translate", flags, input);
  }
  static Json best_translation(const std::string& line, std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--format", "json"});
    const Outcome outcome = translate(line + "\n", flags);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    return parse_json(outcome.output)["hypotheses"][0];
  }
  static std::string refusal(const std::string& name, const std::vector<std::string>& words, int exit_code = 2,
                             const std::string& input = "") {
    const Outcome outcome = run(name, words, input);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.errors;
    return outcome.errors;
  }

  static std::unique_ptr<TemporaryFolder> folder_;
};
std::unique_ptr<TemporaryFolder> CommandLine::folder_;

TEST_F(CommandLine, EveryProgramSaysItsVersionAndHelpThatFitsTheTerminalWithAnExample) {
  for (const std::string& name : all_programs()) {
    const Outcome version = run(name, {"--version"});
    EXPECT_EQ(version.exit_code, 0);
    EXPECT_THAT(version.output, AllOf(StartsWith(name + " (transmute) "), HasSubstr("\nCPU kernels: ")));
    const bool links_libtorch = programs_with_libtorch().count(name) > 0;
    EXPECT_EQ(version.output.find("\nLibTorch ") != std::string::npos, links_libtorch) << name;
    for (const int columns : {60, 100}) {
      const Outcome help = run_program_with({"env", "COLUMNS=" + std::to_string(columns), program(name), "--help"});
      EXPECT_EQ(help.exit_code, 0);
      EXPECT_THAT(help.output, AllOf(StartsWith("Usage: " + name), HasSubstr("\nExamples:\n  ")));
      size_t widest = 0;
      for (const std::string& line : split_lines(help.output.substr(0, help.output.find("\nExamples:"))))
        widest = std::max(widest, width_of(line));
      EXPECT_LE(widest, static_cast<size_t>(columns)) << name;
      EXPECT_GE(widest, static_cast<size_t>(columns) - 12) << name;
    }
  }
}

TEST_F(CommandLine, ProgramsThatRunAModelHaveDeviceThreadsAndPrecision) {
  for (const char* name : {"translate", "generate", "score", "embed", "visualize"}) {
    const std::string help = run(name, {"--help"}).output;
    for (const char* flag : {"-m, --model ", "--device ", "--precision "}) EXPECT_THAT(help, HasSubstr(flag)) << name;
    const bool takes_one_sentence_at_a_time = name == std::string("visualize");
    EXPECT_EQ(help.find("--threads ") == std::string::npos, takes_one_sentence_at_a_time) << name;
  }
}

TEST_F(CommandLine, TransmuteListsAndRunsThePrograms) {
  const Outcome list = run("transmute", {});
  EXPECT_EQ(list.exit_code, 0);
  for (const std::string& name : all_programs()) EXPECT_THAT(list.output, HasSubstr("\n  " + name + " "));
  EXPECT_EQ(run("transmute", {"help", "convert"}).output,
            run_program_with({"bash", "-c", "exec -a 'transmute convert' " + program("convert") + " --help"}).output);
  const std::string text = "the red house is near.\n";
  EXPECT_EQ(run("transmute", {"translate", "-m", model()}, text).output,
            run("translate", {"-m", model()}, text).output);
  EXPECT_THAT(run("transmute", {"--version"}).output, MatchesRegex("transmute [0-9.]+[^\n]*\nCPU kernels: .*\n"));
  EXPECT_EQ(run("transmute", {"export-torchscript", "--version"}).output,
            run("export_torchscript", {"--version"}).output);
  EXPECT_THAT(refusal("transmute", {"tranlsate"}), HasSubstr("no command 'tranlsate'; did you mean translate?"));
  EXPECT_THAT(refusal("transmute", {"convert", "--nonsense"}), StartsWith("transmute convert: error: "));
}

TEST_F(CommandLine, NeverWritesOverItsInputAndTakesNoTextForAModel) {
  const TemporaryFolder folder;
  const std::string text = folder / "text.en", content = "the red house is near.\n";
  write_text(text, content);
  EXPECT_THAT(refusal("translate", {"-m", model(), "-i", text, "-o", folder.path() + "/./text.en"}),
              HasSubstr("--output is the file of --input"));
  const std::string other = folder / "text.de";
  write_text(other, content);
  for (const std::string flag : {"--target-prefix", "--glossary", "--shortlist", "--rerank"})
    EXPECT_THAT(refusal("translate", {"-m", model(), "-i", text, flag, other, "-o", other}),
                HasSubstr("--output is the file of " + flag));
  for (const std::string program : {"translate", "embed", "visualize", "generate"})
    EXPECT_THAT(refusal(program, {"-m", other, "-i", text, "-o", other}), HasSubstr("--output is the file of --model"))
        << program;
  for (const std::string flag : {"--target-prefix", "--glossary", "--trees", "--shortlist"})
    EXPECT_THAT(refusal("translate", {"-m", model(), flag, ""}), HasSubstr(flag));
  EXPECT_THAT(refusal("score", {"-m", model(), "--source", text, "--target", other, "-o", other}),
              HasSubstr("--output is the file of --target"));
  EXPECT_THAT(refusal("score", {"-m", model(), "--text", text, "-o", text}),
              HasSubstr("--output is the file of --text"));
  EXPECT_THAT(refusal("visualize", {"-m", model(), "-i", text, "-o", text}),
              HasSubstr("--output is the file of --input"));
  EXPECT_THAT(refusal("visualize", {"-m", model(), "-i", text, "--target", other, "-o", other}),
              HasSubstr("--output is the file of --target"));
  EXPECT_THAT(refusal("make_shortlist", {"-m", model(), "--source", text, "--target", other, "-o", text}),
              HasSubstr("--output is the file of --source"));
  for (const std::string& path : {text, other}) EXPECT_EQ(read_text(path), content);
  const Outcome outcome = run("translate", {"-m", model(), text});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("text.en: no model"));
  EXPECT_THAT(outcome.errors, HasSubstr("--input"));
}

TEST_F(CommandLine, AnEmptyFileOfTreeWordsIsNotAsIfThereWereNone) {
  const TemporaryFolder folder;
  const std::string trees = folder / "trees", words = folder / "words";
  write_text(trees, "(S (NP NNP )NP (VP VBZ )VP . )S\n");
  write_text(words, "");
  EXPECT_THAT(refusal("translate", {"-m", model(), "--trees", trees, "--no-repeat-ngram", "4"}),
              HasSubstr("--no-repeat-ngram excludes --trees"));
  EXPECT_THAT(refusal("translate", {"-m", model(), "--trees", trees, "--tree-words", words}, 1, "a\n"),
              AllOf(HasSubstr("words has 0 lines, but"), HasSubstr("has 1; line n of one must have the words of")));
}

TEST_F(CommandLine, NumbersAreDecimal) {
  EXPECT_THAT(refusal("translate", {"-m", model(), "--n-best", "010"}), HasSubstr("--n-best: write 10, not '010'"));
  EXPECT_THAT(refusal("translate", {"-m", model(), "--sample", "--seed", "-1"}), HasSubstr("--seed"));
}

TEST_F(CommandLine, NoModelIsWrittenOverAModelThatIsRead) {
  const TemporaryFolder folder;
  const std::string own = folder / "own", weights = own + "/weights.safetensors";
  std::filesystem::copy(model(), own);
  const std::string before = read_text(weights);
  EXPECT_THAT(refusal("convert", {"-m", own, "--to", "folder", "--precision", "int8", "-o", own + "/"}),
              HasSubstr("--output is the folder of --model, which would be lost"));
  EXPECT_THAT(refusal("average_checkpoints", {"-o", own, model(), folder.path() + "/./own"}),
              HasSubstr("--output is the folder of a model to average"));
  EXPECT_THAT(refusal("export_torchscript", {"-m", weights, "-o", weights}),
              HasSubstr("--output is the file of --model"));
  EXPECT_THAT(refusal("export_torchscript", {"-m", own, "--triton", own}),
              HasSubstr("--triton is the folder of --model"));
  for (const char* name : {"export_torchscript", "translate"})
    EXPECT_THAT(refusal(name, {"-m", own, "-o", weights}), HasSubstr("--output is a file in the folder of --model"));
  EXPECT_THAT(
      refusal("make_shortlist", {"-m", own, "--source", weights, "--target", weights, "-o", own + "/config.yaml"}),
      HasSubstr("--output is a file in the folder of --model"));
  EXPECT_EQ(read_text(weights), before);
}

TEST_F(CommandLine, NoFolderIsWrittenIntoTheModelThatIsRead) {
  const TemporaryFolder folder;
  const std::string own = folder / "own", link = folder / "link";
  std::filesystem::copy(model(), own);
  std::filesystem::create_symlink(own, link);
  EXPECT_THAT(refusal("convert", {"-m", own, "--to", "folder", "-o", own + "/small"}),
              HasSubstr("--output would be within the folder of --model"));
  EXPECT_THAT(refusal("convert", {"-m", own, "--to", "folder", "-o", link + "/a/../b/small/"}),
              HasSubstr("--output would be within the folder of --model"));
  EXPECT_THAT(refusal("average_checkpoints", {"-o", own + "/mean", model(), own}),
              HasSubstr("--output would be within the folder of a model to average"));
  EXPECT_THAT(refusal("export_torchscript", {"-m", link, "--triton", own + "/triton"}),
              HasSubstr("--triton would be within the folder of --model"));
  EXPECT_EQ(names_in(own), names_in(model()));
  EXPECT_EQ(run("convert", {"-m", own, "--to", "folder", "-o", own + "/../own.small"}).exit_code, 0) << "a neighbor";
}

TEST_F(CommandLine, OnlyModelFoldersAreAveraged) {
  const TemporaryFolder folder;
  const std::string exported = folder / "model.pt", formats = TRANSMUTE_TEST_DATA "/formats/";
  write_text(exported, "");
  for (const std::string& path : {exported, formats + "nllb", formats + "marian_ctranslate2", formats + "marian"})
    EXPECT_THAT(refusal("average_checkpoints", {"-o", folder / "mean", model(), path}, 1),
                AllOf(HasSubstr(path + ": is no model folder"), HasSubstr("convert --to folder")));
}

TEST_F(CommandLine, WhatCannotGoToStandardOutputIsRefused) {
  const std::vector<std::vector<std::string>> commands{{"export_torchscript", "-m", "m", "-o", "-"},
                                                       {"export_torchscript", "-m", "m", "--triton", "-"},
                                                       {"convert", "-m", "m", "--to", "folder", "-o", "-"},
                                                       {"average_checkpoints", "m", "-o", "-"},
                                                       {"make_demo_corpus", "-o", "-"},
                                                       {"train", "-c", "c", "--profile", "-"}};
  for (const std::vector<std::string>& words : commands)
    EXPECT_THAT(refusal(words[0], {words.begin() + 1, words.end()}), HasSubstr("cannot be standard output"));
  EXPECT_THAT(refusal("train", {"-c", "c", "--profile", "trace.json.gz"}), HasSubstr("without .gz"));
}

TEST_F(CommandLine, ATorchScriptFileMayGoThroughAPipe) {
  const std::string file = *folder_ / "piped.pt";
  const Outcome outcome =
      shell("set -o pipefail; " + program("export_torchscript") + " -m " + model() + " -o /dev/stdout | cat >" + file);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.errors, HasSubstr("wrote /dev/stdout\n"));
  EXPECT_EQ(run("translate", {"-m", file}, "the house\n").exit_code, 0);
}

TEST_F(CommandLine, AnExportForTritonThatFailsLeavesNothing) {
  const TemporaryFolder folder;
  refusal("export_torchscript", {"-m", folder / "none", "--triton", folder / "repository/en-de"}, 1);
  EXPECT_FALSE(std::filesystem::exists(folder / "repository"));
  write_text(folder / "file", "");
  EXPECT_THAT(refusal("export_torchscript", {"-m", model(), "--triton", folder / "file"}, 1),
              HasSubstr("file/1: the folder cannot be made"));
}

TEST_F(CommandLine, MistakesSpeakOfFlagsAsTheyWereTyped) {
  EXPECT_THAT(refusal("translate", {"--model", "m", "--beem-size", "3"}),
              HasSubstr("unknown flag --beem-size; did you mean --beam-size?"));
  EXPECT_THAT(refusal("translate", {"--modle", "m"}), HasSubstr("unknown flag --modle; did you mean --model?"));
  EXPECT_THAT(refusal("train", {"--sorce", "a", "--target", "b", "--run-folder", "r"}),
              HasSubstr("unknown flag --sorce; did you mean --source?"));
  EXPECT_THAT(refusal("translate", {}), HasSubstr("--model is required"));
  EXPECT_THAT(refusal("embed", {"stray", "--model", "m"}), HasSubstr("unexpected argument 'stray'"));
  EXPECT_THAT(refusal("translate", {"--model"}), HasSubstr("--model needs a value"));
  EXPECT_THAT(refusal("translate", {"--model", "m", "-i", "a", "-i", "b"}),
              HasSubstr("--input is given more than once"));
  EXPECT_THAT(refusal("translate", {"-m", "m", "-b", "0"}), HasSubstr("--beam-size: must be from 1 to 10000, not 0"));
  EXPECT_THAT(refusal("translate", {"-m", "m", "-b", "1.5"}),
              HasSubstr("--beam-size: needs a whole number, not '1.5'"));
  EXPECT_THAT(refusal("translate", {"-m", "m", "--sample", "--top-p", "2"}),
              HasSubstr("--top-p: must be a number above 0 and at most 1, not '2'"));
  EXPECT_THAT(refusal("translate", {"-m", "m", "--format", "jason"}),
              HasSubstr("--format: must be one of text, json, not 'jason'; did you mean json?"));
  EXPECT_THAT(refusal("translate", {"-m", "m", "--length-penalty", "cubic"}),
              HasSubstr("--length-penalty: must be paper, power, or a number"));
  EXPECT_THAT(refusal("translate", {"-m", "m", "--seed", "x", "--sample"}),
              HasSubstr("--seed: needs a whole number, not 'x'"));
  EXPECT_THAT(refusal("translate", {"-m", "m", "--n-best", "2", "--alternatives", "2"}),
              HasSubstr("--n-best excludes --alternatives"));
  EXPECT_THAT(refusal("train", {"my.yaml"}),
              HasSubstr("unexpected argument 'my.yaml'; did you mean --config my.yaml?"));
  EXPECT_THAT(refusal("average_checkpoints", {"-o", "x"}), HasSubstr("name the model folders or checkpoints"));
  EXPECT_THAT(refusal("average_checkpoints", {"-o", "", "m"}), HasSubstr("--output: needs the name of a folder"));
  EXPECT_THAT(refusal("convert", {"-m", "m", "--to", "folder", "-o", ""}),
              HasSubstr("--output: needs the name of a folder"));
  EXPECT_THAT(refusal("translate", {"-m", ""}, 1), HasSubstr("the path of the model is empty"));
  EXPECT_THAT(refusal("make_shortlist", {"-m", "", "--source", "a", "--target", "b"}, 1),
              HasSubstr("the path of the model is empty"));
  EXPECT_THAT(refusal("make_shortlist", {"-m", program("train"), "--source", "a", "--target", "b"}, 1),
              HasSubstr("has no tokenizer (tokenizer.model)"));
  EXPECT_THAT(refusal("evaluate", {"-r", "x", "--metric", "BLEU"}), HasSubstr("not 'BLEU'; did you mean bleu?"));
  EXPECT_THAT(refusal("evaluate", {"-r", "x", "--smooth-value", "1"}), HasSubstr("needs --smooth floor or add-k"));
  EXPECT_THAT(refusal("evaluate", {"-r", "x", "--tokenize", "ja-mecab"}), HasSubstr("MeCab's dictionary"));
}

TEST_F(CommandLine, FlagsOfOtherToolkitsAreAnsweredWithOurs) {
  const std::vector<std::tuple<const char*, std::vector<std::string>, const char*>> cases{
      {"train", {"--resume"}, "train resumes by itself"},
      {"train", {"--epochs", "5"}, "--set training.max_epochs=N"},
      {"train", {"--lr=0.1"}, "--set training.learning_rate=X"},
      {"train", {"--config", "c", "--set", "training.max_steps", "5"}, "did you mean --set training.max_steps=5?"},
      {"translate", {"-v"}, "did you mean --version?"},
      {"translate", {"-m", "m", "--gpu"}, "did you mean --device cuda?"},
      {"translate", {"-m", "m", "--src_lang", "en"}, "did you mean --source-language?"},
      {"translate", {"-m", "m", "--text", "hello"}, "without a flag: -m MODEL 'some text'"},
      {"transmute", {"version"}, "did you mean --version?"},
      {"transmute", {"sacrebleu"}, "did you mean evaluate?"}};
  for (const auto& [name, words, hint] : cases) EXPECT_THAT(refusal(name, words), HasSubstr(hint)) << words.front();
  const std::string runs = *folder_ / "runs";
  std::filesystem::create_directories(runs + "/one");
  std::filesystem::copy(model(), runs + "/one/model");
  EXPECT_THAT(refusal("translate", {"-m", runs}, 1), HasSubstr("did you mean " + runs + "/one/model?"));
}

TEST_F(CommandLine, TextsAmongTheWordsAreTranslatedALineEach) {
  const std::string wanted = translate("the red house\nis near.\n").output;
  EXPECT_EQ(translate("", {"the red house", "is near."}).output, wanted);
  EXPECT_EQ(translate("", {"the red house\nis near."}).output, wanted);
  const Outcome directly = run("translate", {"-m", model(), "the red house", "is near.", "--max-extra-length", "2"});
  EXPECT_EQ(directly.output, wanted) << directly.errors;
  EXPECT_EQ(run("translate", {"the red house", "is near.", "--max-extra-length", "2", "-m", model()}).output, wanted);
  EXPECT_EQ(run("translate", {"-m", model(), "--max-extra-length", "2", "--", "and/or"}).output,
            translate("and/or\n").output);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"-m", model(), "the red house", "-i", "x"}, {"the house", "-i", "x", "-m", model()}})
    EXPECT_THAT(refusal("translate", words), HasSubstr("--input"));
  EXPECT_THAT(refusal("translate", {"-m", model(), "runs/other"}, 1), HasSubstr("runs/other: no such model folder"));
  EXPECT_THAT(refusal("translate", {model()}), HasSubstr("did you mean --model " + model() + "?"));
  EXPECT_THAT(refusal("translate", {model(), "-m", model()}), HasSubstr("is a folder, not a text"));
  EXPECT_THAT(refusal("translate", {"-m", model(), "gr\xfcn"}), HasSubstr("not valid UTF-8"));
}

TEST_F(CommandLine, FlagsThatWouldDoNothingAreRefused) {
  EXPECT_THAT(refusal("translate", {"-m", "m", "--sample", "-b", "2"}), HasSubstr("--beam-size excludes --sample"));
  EXPECT_THAT(refusal("translate", {"-m", "m", "--alternatives", "3", "-b", "8"}),
              HasSubstr("--alternatives excludes --beam-size"));
  EXPECT_THAT(refusal("generate", {"-m", "m", "--length-alpha", "1"}), HasSubstr("requires --beam-size"));
  EXPECT_THAT(refusal("export_torchscript", {"-m", "m", "-o", "o", "-b", "2"}), HasSubstr("--forward translate"));
}

TEST_F(CommandLine, EvaluateRefusesFlagsThatNoMetricUses) {
  const auto evaluate = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"-r", "x"});
    return refusal("evaluate", flags);
  };
  for (const std::string flag : {"--case-sensitive", "--ter-normalize", "--ter-no-punctuation", "--ter-asian-support"})
    EXPECT_THAT(evaluate({flag, "--metric", "bleu,chrf"}), HasSubstr(flag + " needs --metric ter"));
  EXPECT_THAT(evaluate({"--tokenize", "13a", "--metric", "chrf"}), HasSubstr("--tokenize needs --metric bleu"));
  EXPECT_THAT(evaluate({"--smooth", "none", "--metric", "ter"}), HasSubstr("--smooth needs --metric bleu"));
  EXPECT_THAT(evaluate({"--effective-order", "--metric", "chrf++"}), HasSubstr("--effective-order needs"));
  EXPECT_THAT(evaluate({"--samples", "100"}), HasSubstr("--samples needs --confidence or --compare"));
  EXPECT_THAT(evaluate({"--seed", "1"}), HasSubstr("--seed needs --confidence or --compare"));
  EXPECT_THAT(evaluate({"--score-only", "--confidence"}), HasSubstr("excludes"));
  EXPECT_THAT(evaluate({"--score-only", "--compare", "y", "--samples", "100"}), HasSubstr("excludes"));
  EXPECT_THAT(evaluate({"--lowercase", "--case-sensitive", "--metric", "ter"}),
              HasSubstr("--lowercase excludes --case-sensitive where ter is the only metric"));
  EXPECT_THAT(evaluate({"--metric", "bleu,ter,bleu"}), HasSubstr("--metric has bleu more than once"));

  write_text(*folder_ / "cased", "A b c d\n");
  const std::string cased = *folder_ / "cased";
  const Outcome both = run("evaluate", {"-i", cased, "-r", cased, "--metric", "bleu,ter", "--lowercase",
                                        "--case-sensitive", "--tokenize", "none"});
  EXPECT_EQ(both.exit_code, 0) << both.errors;
  EXPECT_THAT(both.output, AllOf(HasSubstr("case:lc"), HasSubstr("case:mixed")));
}

TEST_F(CommandLine, StandardInputIsReadByOneFlagAlone) {
  EXPECT_THAT(refusal("evaluate", {"-r", "-"}), HasSubstr("--hypothesis and --reference both read standard input"));
  EXPECT_THAT(refusal("score", {"-m", "m", "--source", "-", "--target", "-"}),
              HasSubstr("--source and --target both read standard input"));
  EXPECT_THAT(refusal("visualize", {"-m", "m", "--target", "-", "-o", "x"}),
              HasSubstr("--input and --target both read standard input"));
}

TEST_F(CommandLine, AFolderAsStandardInputIsNamed) {
  const Outcome outcome = shell(program("translate") + " -m " + model() + " < " + model());
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("standard input: cannot be read: Is a directory"));
}

TEST_F(CommandLine, APromptIsOneLine) {
  EXPECT_THAT(refusal("generate", {"-m", "m", "--prompt", "a\nb"}), HasSubstr("--prompt: must be one line"));
  EXPECT_THAT(refusal("generate", {"-m", "m", "--prompt", "a\xff"}), HasSubstr("--prompt: is not valid UTF-8 (byte 2"));
}

TEST_F(CommandLine, WhatTheVocabularyCannotWriteIsNamedWithItsLine) {
  write_text(*folder_ / "terms", "house\tHaus\ntrain\t電車\n");
  EXPECT_THAT(refusal("translate", {"-m", model(), "--glossary", *folder_ / "terms"}, 1),
              AllOf(HasSubstr("terms:2: \"電車\""), HasSubstr("byte_fallback")));
  write_text(*folder_ / "full_width", "train\tZug\nhouse\tＨaus\n");
  const Outcome noted = translate("the house\n", {"--glossary", *folder_ / "full_width"});
  EXPECT_THAT(noted.errors, HasSubstr("1 target term in another way, for example \"Ｈaus\" as \"Haus\""));
  EXPECT_THAT(noted.output, HasSubstr("Haus"));
}

TEST_F(CommandLine, AFaultOfAPrefixIsNamedAndTheLinesBeforeItAreWritten) {
  const std::string prefixes = *folder_ / "prefixes", out = *folder_ / "prefixed";
  write_text(*folder_ / "three", "the\nthe house\nthe\n");
  const auto translate_three = [&](const std::string& text, const std::string& buffer_lines) {
    write_text(prefixes, text);
    std::filesystem::remove(out);
    return translate(
        "", {"--target-prefix", prefixes, "-i", *folder_ / "three", "-o", out, "--buffer-lines", buffer_lines});
  };
  ASSERT_EQ(translate_three("das\nder\ndie\n", "100").exit_code, 0);
  const std::vector<std::string> whole = read_lines(out);
  ASSERT_THAT(whole, SizeIs(3));
  struct Fault {
    std::string prefixes, message;
    size_t written;
  };
  for (const auto& [text, message, written] : {
           Fault{"das\nder\n電車\n", "prefixes:3: \"電車\" has characters", 2},
           Fault{{"das\nd\0r\n", 8}, "prefixes:2: \"d\\x00r\" has characters", 1},
           Fault{"das\n\xff\n", "prefixes:2: not valid UTF-8", 1},
           Fault{"\xff\n", "prefixes:1: not valid UTF-8", 0},
           Fault{"das\nder\n", "prefixes:3: the file ends here, but the input continues", 2},
           Fault{"das\nder\ndie\ndas\n", "prefixes:4: the input has only 3 lines", 3},
           Fault{"das\nder\ndie\n\xff\n", "prefixes:4: the input has only 3 lines", 3},
       })
    for (const char* buffer_lines : {"1", "2", "100"}) {
      const Outcome outcome = translate_three(text, buffer_lines);
      EXPECT_EQ(outcome.exit_code, 1);
      EXPECT_THAT(outcome.errors, AllOf(HasSubstr(message), HasSubstr("the lines before it are written")));
      EXPECT_EQ(read_lines(out), std::vector<std::string>(whole.begin(), whole.begin() + written)) << message;
    }
}

TEST_F(CommandLine, LearnedPositionsAreNamedWhereTheyAreTheLimit) {
  TransformerOptions network = tiny_transformer_options();
  network.positional_encoding = PositionalEncodingKind::learned;
  network.max_positions = 6;
  const std::string learned = *folder_ / "learned";
  std::filesystem::create_directory(learned);
  const Tokenizer tokenizer = tiny_tokenizer();
  save_model_folder(learned, tiny_config(network), tokenizer, weights_of(tiny_transformer(tokenizer, 5, network)));
  const std::string text = "the\nthe red house is near. the old train is gone.\n";
  for (const char* name : {"translate", "embed"})
    EXPECT_THAT(run(name, {"-m", learned}, text).errors,
                HasSubstr("1 of 2 lines had more tokens than the model has learned positions for"));
  const Outcome failed = run("translate", {"-m", learned, "--long-lines", "fail"}, text);
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(failed.errors, AllOf(HasSubstr("standard input:2: "), HasSubstr("learned positions")));
  write_text(*folder_ / "long_prefixes", "das\ndas alte Haus ist geschlossen.\n");
  const Outcome prefixed =
      run("translate", {"-m", learned, "--target-prefix", *folder_ / "long_prefixes"}, "the\nthe\n");
  EXPECT_EQ(prefixed.exit_code, 1);
  EXPECT_THAT(prefixed.errors, AllOf(HasSubstr("standard input:2: its translation must have "),
                                     HasSubstr("the lines before it are written")));
  EXPECT_THAT(split_lines(prefixed.output), SizeIs(1));
}

// The line has its number in the whole input, not in the block that was read.
TEST_F(CommandLine, ALineThatCannotBeDoneIsNamedAndThoseBeforeItAreWritten) {
  std::string term;
  for (int i = 0; i < 100; ++i) term += (i > 0 ? " " : "") + std::string("das alte Haus");
  write_text(*folder_ / "long_term", "house\t" + term + "\n");
  const Outcome translated =
      translate("the\nthe\nthe\nthe house\nthe\n", {"--glossary", *folder_ / "long_term", "--buffer-lines", "2"});
  EXPECT_EQ(translated.exit_code, 1);
  EXPECT_THAT(split_lines(translated.output), SizeIs(3));
  EXPECT_THAT(translated.errors, AllOf(HasSubstr("standard input:4: the glossary demands terms of"),
                                       HasSubstr("the lines before it are written")));

  constexpr int kBefore = 4098;  // more than score reads at once
  std::string sources, targets;
  for (int i = 0; i < kBefore; ++i) {
    sources += "the\n";
    targets += "das\n";
  }
  for (int i = 0; i < 8200; ++i) targets += "Haus ";
  write_text(*folder_ / "sources", sources + "the\n");
  write_text(*folder_ / "targets", targets + "\n");
  const Outcome scored =
      run("score", {"-m", model(), "--source", *folder_ / "sources", "--target", *folder_ / "targets"});
  EXPECT_EQ(scored.exit_code, 1);
  EXPECT_THAT(split_lines(scored.output), SizeIs(kBefore));
  EXPECT_THAT(scored.errors, AllOf(HasSubstr("line 4099 of "), HasSubstr("targets: the target has "),
                                   HasSubstr("the lines before it are written")));
}

TEST_F(CommandLine, ModelsOfManyLanguagesAreToldTheLanguages) {
  const std::string many = TRANSMUTE_TEST_DATA "/formats/nllb", text = "the old house\n";
  EXPECT_THAT(refusal("embed", {"-m", many}, 2, text), HasSubstr("name the source language (--source-language)"));
  EXPECT_EQ(run("embed", {"-m", many, "--source-language", "eng_Latn"}, text).exit_code, 0);
  EXPECT_THAT(refusal("visualize", {"-m", many, "-o", "-"}, 2, text), HasSubstr("--target-language"));
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

TEST_F(CommandLine, ASignalRemovesTheIncompleteOutput) {
  const TemporaryFolder folder;
  const Outcome outcome = shell(
      "mkfifo " + (folder / "in") + "; (sleep 30 > " + (folder / "in") + " & echo $! > " + (folder / "sleeper") +
      "); " + program("translate") + " -m " + model() + " -i " + (folder / "in") + " -o " + (folder / "out.de") +
      " & child=$!; for i in $(seq 200); do ls " + folder.path() + " | grep -q partial && break; sleep 0.1; done; ls " +
      folder.path() + "; kill -TERM $child; wait $child; code=$?; kill $(cat " + (folder / "sleeper") + "); ls " +
      folder.path() + "; exit $code");
  EXPECT_EQ(outcome.exit_code, 128 + SIGTERM) << outcome.errors;
  const size_t partial = outcome.output.find("out.de.partial");
  ASSERT_NE(partial, std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("out.de", partial + 1), std::string::npos) << outcome.output;
}

// Runs translate on a pipe, into which these lines come, and stops it once it has written them.
Outcome stop_after_lines(const std::string& folder, const std::string& command, const std::string& lines, int count) {
  return shell(
      "cd " + shell_quoted(folder) + "; mkfifo in; { " + command + " < in & }; child=$!; exec 3> in; printf " +
      shell_quoted(lines) + " >&3; for i in $(seq 300); do grep -qs 'lines 0*" + std::to_string(count) +
      " ' *.partial.state && break; sleep 0.1; done; kill -TERM $child; wait $child; code=$?; rm in; exit $code");
}

TEST_F(CommandLine, AStoppedTranslationResumesWhereItWasStopped) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += std::string(i % 3, ' ') + "the old house is " + std::to_string(i) + ".\n";
  for (const std::string name : {"out.de", "out.de.gz"}) {
    const TemporaryFolder folder;
    const std::string out = folder / name, partial = out + ".partial";
    write_text(folder / "in.en", text);
    const std::vector<std::string> flags{"-i", folder / "in.en", "--format", "json", "-o"};
    const auto run_to = [&](const std::string& path, const std::vector<std::string>& more) {
      std::vector<std::string> words = flags;
      words.push_back(path);
      words.insert(words.end(), more.begin(), more.end());
      return translate("", words);
    };
    const std::string begin = text.substr(0, text.find("is 3.") + 6);
    const Outcome stopped = stop_after_lines(
        folder.path(),
        command_line({program("translate"), "-m", model(), "--max-extra-length", "2", "--format", "json", "-o", name}),
        begin, 4);
    EXPECT_EQ(stopped.exit_code, 128 + SIGTERM);
    EXPECT_THAT(stopped.errors, AllOf(HasSubstr(name + ".partial"), HasSubstr("--continue")));
    EXPECT_FALSE(std::filesystem::exists(out));
    ASSERT_EQ(run_to(folder / "whole-" + name, {}).exit_code, 0);
    EXPECT_EQ(read_text(partial), translate(begin, {"--format", "json"}).output);

    EXPECT_THAT(run_to(out, {"--continue", "-b", "2"}).errors, HasSubstr("'--beam-size 2' now"));
    write_text(folder / "in.en", "another line\n" + text);
    EXPECT_THAT(run_to(out, {"--continue"}).errors, HasSubstr("the input does not begin with the 4 lines"));
    write_text(folder / "in.en", text);
    EXPECT_FALSE(std::filesystem::exists(out)) << "nor did these refusals take anything away";
    const Outcome resumed = run_to(out, {"--continue", "--threads", "1", "--batch-size", "3"});
    EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
    EXPECT_EQ(read_text(out), read_text(folder / "whole-" + name));
    EXPECT_FALSE(std::filesystem::exists(partial) || std::filesystem::exists(partial + ".state"));
  }
  EXPECT_THAT(refusal("translate", {"-m", model(), "--continue", "-o", "-"}), HasSubstr("--output"));
}

TEST_F(CommandLine, APartialFileOfSomebodyElseStays) {
  const TemporaryFolder folder;
  write_text(folder / "out.de.partial", "mine\n");
  const Outcome outcome = translate("the red house\n", {"-o", folder / "out.de"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("is not the unfinished output of an earlier run"));
  EXPECT_EQ(read_text(folder / "out.de.partial"), "mine\n");
}

TEST_F(CommandLine, Utf16WithoutAMarkIsNamedByEveryProgramThatReadsText) {
  using namespace std::string_literals;
  const std::string utf16 = "t\0h\0e\0 \0h\0o\0u\0s\0e\0\n\0"s, path = *folder_ / "utf16.txt";
  write_text(path, utf16);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"translate", "-m", model()},
                                                {"translate", "-m", model(), "--invalid-utf8", "replace"},
                                                {"translate", "-m", model(), "-i", path},
                                                {"score", "-m", model(), "--source", path, "--target", path},
                                                {"embed", "-m", model()},
                                                {"evaluate", "-i", path, "-r", path},
                                                {"make_shortlist", "-m", model(), "--source", path, "--target", path}})
    EXPECT_THAT(refusal(words.front(), {words.begin() + 1, words.end()}, 1, utf16),
                AllOf(HasSubstr(":1: is UTF-16"), HasSubstr("iconv -f utf-16le -t utf-8")))
        << words.front();
  const Outcome one = translate("the\0 house\nis\0 near\n"s);
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(one.errors, HasSubstr("standard input:1: has zero bytes"));
  EXPECT_EQ(one.errors.find("zero bytes"), one.errors.rfind("zero bytes")) << "said once";
}

TEST_F(CommandLine, ATermWithTwoTranslationsIsNamedWithItsLine) {
  const std::string glossary = *folder_ / "two.tsv";
  write_text(glossary, "house\tHaus\n\nhouse\tHaus\n house \tZug\n");
  EXPECT_THAT(refusal("translate", {"-m", model(), "--glossary", glossary}, 1, "the house\n"),
              AllOf(HasSubstr("two.tsv:4: "), HasSubstr("in line 1")));
}

TEST_F(CommandLine, AnArrayOfVectorsIsWholeOrNotAtAll) {
  const std::string array = *folder_ / "vectors.npy";
  EXPECT_THAT(refusal("embed", {"-m", model(), "--format", "npy", "-o", array}, 1, "the\n\xff\n"),
              AllOf(HasSubstr("standard input:2: not valid UTF-8"), Not(HasSubstr("the lines before it are written"))));
  EXPECT_FALSE(std::filesystem::exists(array));
}

TEST_F(CommandLine, BadValuesAreRefusedBeforeTheFirstLineIsRead) {
  EXPECT_THAT(refusal("translate", {"-m", model(), "--alignment", "--alignment-layer", "9"}),
              HasSubstr("no decoder layer 9"));
  EXPECT_THAT(refusal("translate", {"-m", model(), "--alignment", "--alignment-head", "9"}),
              HasSubstr("no attention head 9"));
  EXPECT_THAT(refusal("translate", {"-m", model(), "-b", "4", "--n-best", "10"}),
              HasSubstr("--n-best 10 needs a --beam-size of at least 10, not 4"));
  EXPECT_THAT(refusal("generate", {"-m", model(), "-b", "4", "--n-best", "10"}),
              HasSubstr("--n-best 10 needs a --beam-size of at least 10, not 4"));
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

TEST_F(CommandLine, AHyphenIsAStandardStreamAndGzMeansCompressed) {
  const std::string text = "the red house is near.\nthe old train is gone.\n";
  const std::string expected = translate(text).output;
  EXPECT_EQ(translate(text, {"-i", "-", "-o", "-"}).output, expected);
  const std::string packed = *folder_ / "out.txt.gz";
  ASSERT_EQ(translate(text, {"--output", packed}).exit_code, 0);
  EXPECT_EQ(read_text(packed).substr(0, 2), "\x1f\x8b");
  std::string unpacked;
  for (const std::string& line : read_lines(packed)) unpacked += line + '\n';
  EXPECT_EQ(unpacked, expected);
  EXPECT_EQ(run_program_with({"gzip", "-dc", packed}).output, expected);
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST_F(CommandLine, EvaluateReadsAPipe) {
  write_text(*folder_ / "reference", "a b c d e\nf g h i j\n");
  const std::string translated = "a b c d e\nf g h i k\n";
  write_text(*folder_ / "translated", translated);
  const Outcome of_file = run("evaluate", {"-i", *folder_ / "translated", "-r", *folder_ / "reference"});
  ASSERT_EQ(of_file.exit_code, 0) << of_file.errors;
  EXPECT_THAT(of_file.output, HasSubstr("BLEU|"));
  EXPECT_EQ(run("evaluate", {"-r", *folder_ / "reference"}, translated).output, of_file.output);
  EXPECT_EQ(run("evaluate", {"-i", "-", "-r", *folder_ / "reference"}, translated).output, of_file.output);
  EXPECT_THAT(refusal("evaluate", {"-r", *folder_ / "reference"}, 1, "one\n"), HasSubstr("standard input has 1;"));
  EXPECT_THAT(run("evaluate", {"-r", *folder_ / "reference", "--metric", "ter"}, translated).output,
              MatchesRegex("TER\\|nrefs:1.* = 10\\.00\n"));
}

TEST_F(CommandLine, EvaluateComparesSystemsByNameOrByTheirScoresAlone) {
  const std::string reference = *folder_ / "reference.txt", translated = "a b c d e\nf g h i k\n";
  write_text(reference, "a b c d e\nf g h i j\n");
  const std::vector<std::string> flags{"-r", reference, "--compare", reference, "--metric", "ter"};
  const Outcome table = run("evaluate", flags, translated);
  ASSERT_EQ(table.exit_code, 0) << table.errors;
  EXPECT_THAT(table.output,
              AllOf(StartsWith("TER|"), HasSubstr("  baseline    standard input\n"), EndsWith(" " + reference + "\n")));
  std::vector<std::string> alone = flags;
  alone.emplace_back("--score-only");
  EXPECT_EQ(run("evaluate", alone, translated).output, "10.00\n0.00\n");
}

TEST_F(CommandLine, ALineThatIsNoUtf8EndsTheJobAfterTheLinesBeforeItOrIsRepaired) {
  const std::string good = "the red house is near.\nthe old train is gone.\n";
  const std::string bad = good + "the \xff river\nthe bridge is far.\n";
  const Outcome failed = translate(bad);
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_EQ(failed.output, translate(good).output);
  EXPECT_THAT(failed.errors,
              AllOf(HasSubstr("standard input:3: not valid UTF-8"), HasSubstr("lines before it are written")));
  write_text(*folder_ / "bad.txt", bad);
  const std::string out = *folder_ / "bad.out";
  EXPECT_EQ(translate("", {"-i", *folder_ / "bad.txt", "-o", out}).exit_code, 1);
  EXPECT_EQ(read_text(out), failed.output) << "a file keeps them too";
  for (const char* buffer : {"1", "2", "100"})
    EXPECT_EQ(translate(bad, {"--buffer-lines", buffer}).output, failed.output) << buffer;

  const Outcome repaired = translate(bad, {"--invalid-utf8", "replace"});
  EXPECT_EQ(repaired.exit_code, 0) << repaired.errors;
  EXPECT_EQ(split_lines(repaired.output).size(), 4U);
  EXPECT_EQ(repaired.output, translate(good + "the \xEF\xBF\xBD river\nthe bridge is far.\n").output);
  EXPECT_EQ(translate("", {"-i", *folder_ / "bad.txt", "--invalid-utf8", "replace"}).output, repaired.output);

  write_text(*folder_ / "target.txt", good + "x\ny\n");
  write_text(*folder_ / "good.txt", good);
  const auto score = [&](const std::string& source, const std::string& target, const std::string& output = "-") {
    return run("score", {"-m", model(), "--source", *folder_ / source, "--target", *folder_ / target, "-o", output});
  };
  const std::string scores = score("good.txt", "good.txt").output;
  EXPECT_EQ(split_lines(scores).size(), 2U);
  for (const Outcome& scored : {score("bad.txt", "target.txt"), score("target.txt", "bad.txt")}) {
    EXPECT_EQ(scored.exit_code, 1);
    EXPECT_EQ(scored.output, scores);
    EXPECT_THAT(scored.errors, AllOf(HasSubstr("bad.txt:3: "), HasSubstr("the lines before it are written")));
  }
  EXPECT_EQ(score("bad.txt", "target.txt", out).exit_code, 1);
  EXPECT_EQ(read_text(out), scores);
  write_text(*folder_ / "one.txt", "the\n");
  const Outcome unequal = score("one.txt", "bad.txt");
  EXPECT_EQ(unequal.exit_code, 1);
  EXPECT_THAT(unequal.errors, AllOf(HasSubstr("one.txt has 1 line but "), HasSubstr("bad.txt has at least 2 lines")));
  EXPECT_EQ(run("score", {"-m", model(), "--invalid-utf8", "replace", "--source", *folder_ / "bad.txt", "--target",
                          *folder_ / "target.txt"})
                .exit_code,
            0);
}

TEST_F(CommandLine, AnOverLongLineNamesItsPlaceAndIsNoUsageError) {
  const std::string shorter = "the\nthe\n";
  for (const char* buffer : {"1", "100"}) {
    const Outcome outcome = translate(shorter + "the red house is near.\nthe\nthe old old old train.\n",
                                      {"--long-lines", "fail", "--max-source-tokens", "3", "--buffer-lines", buffer});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.errors,
                AllOf(HasSubstr("standard input:3: "), HasSubstr("--max-source-tokens"), HasSubstr("more than 3")));
    EXPECT_EQ(outcome.output, translate(shorter).output);
  }
}

TEST_F(CommandLine, AMissingGpuIsNoUsageError) {
  if (run("translate", {"-m", model(), "--device", "cuda"}).exit_code == 0) GTEST_SKIP() << "there is a GPU";
  EXPECT_THAT(refusal("translate", {"-m", model(), "--device", "cuda"}, 1), HasSubstr("sees no CUDA device"));
  EXPECT_THAT(refusal("translate", {"-m", model(), "--device", "gpu"}, 2), HasSubstr("'gpu' is unknown"));
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

TEST_F(CommandLine, CountsAgreeWithTheirNouns) {
  const Outcome one = translate("the red house is near.\n", {"--max-source-tokens", "3"});
  EXPECT_THAT(one.errors, HasSubstr("1 of 1 line had over 3 tokens; translated in parts"));
  const Outcome sentences = translate("the house. The river.\nthe red house is near\nthe\n",
                                      {"--max-source-tokens", "7", "--split-sentences"});
  EXPECT_THAT(sentences.errors, HasSubstr("1 of 3 lines had over 7 tokens; translated in parts"));
  write_text(*folder_ / "one", "the\n");
  EXPECT_THAT(run("score", {"-m", model(), "--source", *folder_ / "one", "--target", *folder_ / "one"}).errors,
              HasSubstr("score: 1 line, 2 tokens with the ends"));
}

TEST_F(CommandLine, SentencesAreWrittenOnePerLine) {
  const Outcome outcome =
      run_program_with({program("sentences"), "--language", "en"}, "Dr. Smith came. He left.\n\nOne.\n");
  EXPECT_EQ(outcome.output, "Dr. Smith came.\nHe left.\n\nOne.\n");
  EXPECT_EQ(run_program_with({program("sentences"), "--language", "xx"}, "").exit_code, 2);
}

TEST_F(CommandLine, TheDemoCorpusReplacesNoOtherText) {
  const std::string data = *folder_ / "data";
  const std::vector<std::string> small{"-o",      data, "--max-number", "99", "--train", "50",
                                       "--valid", "5",  "--test",       "5"};
  ASSERT_EQ(run("make_demo_corpus", small).exit_code, 0);
  const std::string first = read_text(data + "/train.en");
  EXPECT_EQ(run("make_demo_corpus", small).exit_code, 0) << "the same text again";
  std::vector<std::string> other = small;
  other.insert(other.end(), {"--seed", "5"});
  EXPECT_THAT(refusal("make_demo_corpus", other, 1), AllOf(HasSubstr("is another text"), HasSubstr("--force")));
  EXPECT_EQ(read_text(data + "/train.en"), first);
  other.emplace_back("--force");
  EXPECT_EQ(run("make_demo_corpus", other).exit_code, 0);
  EXPECT_NE(read_text(data + "/train.en"), first);
}

}  // namespace
}  // namespace transmute::testing

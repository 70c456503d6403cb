// SPDX-License-Identifier: Apache-2.0
// Help, flags and messages that all programs have in common.

#include <transmute/common/text_file.h>
#include <transmute/tests/e2e/command_line.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> all_programs() {
  std::vector<std::string> names{
      "average_checkpoints", "backtranslate",  "convert",  "embed",   "evaluate", "export_torchscript", "generate",
      "make_demo_corpus",    "make_shortlist", "models",   "prepare", "score",    "sentences",          "train",
      "translate",           "trees",          "visualize"};
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
  static const std::set<std::string> names{"average_checkpoints", "backtranslate", "export_torchscript", "train",
                                           "visualize"};
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

TEST_F(CommandLine, TextsKeepTheirBracketsCommasAndOrder) {
  const std::vector<std::string> texts{"[the red house, near the sea.]", "[]", "the [old] house", "[\"a\", b]"};
  std::string lines;
  for (const std::string& text : texts) lines += text + '\n';
  const std::string expected = run("translate", {"-m", model()}, lines).output;
  EXPECT_EQ(run("translate", {"-m", model(), texts[0], texts[1], texts[2], texts[3]}).output, expected);
  EXPECT_EQ(run("translate", {texts[0], "-m", model(), texts[1], "--threads", "1", texts[2], texts[3]}).output,
            expected);
  EXPECT_THAT(run("translate", {"--help"}).output, StartsWith("Usage: translate [OPTION]... [TEXT...]\n"));
}

TEST_F(CommandLine, NumbersAreDecimal) {
  EXPECT_THAT(refusal("translate", {"-m", model(), "--n-best", "010"}), HasSubstr("--n-best: write 10, not '010'"));
  EXPECT_THAT(refusal("translate", {"-m", model(), "--sample", "--seed", "-1"}), HasSubstr("--seed"));
}

TEST_F(CommandLine, MistakesSpeakOfFlagsAsTheyWereTyped) {
  EXPECT_THAT(refusal("translate", {"--model", "m", "--beem-size", "3"}),
              HasSubstr("unknown flag --beem-size; did you mean --beam-size?"));
  EXPECT_THAT(refusal("translate", {"--modle", "m"}), HasSubstr("unknown flag --modle; did you mean --model?"));
  EXPECT_THAT(refusal("train", {"--sorce", "a", "--target", "b", "--run-folder", "r"}),
              HasSubstr("unknown flag --sorce; did you mean --source?"));
  EXPECT_THAT(refusal("translate", {}), HasSubstr("--model is required"));
  EXPECT_THAT(refusal("embed", {"stray", "--model", "m"}), HasSubstr("unexpected argument 'stray'"));
  EXPECT_THAT(refusal("visualize", {"-m", "m", "a text"}), HasSubstr("'a text'; lines are read from --input FILE or"));
  EXPECT_THAT(refusal("embed", {model(), "--input", "i"}), HasSubstr("did you mean --model " + model() + "?"));
  const std::string pair = "en-de=" + model();
  EXPECT_THAT(refusal("serve", {pair}), HasSubstr("did you mean --model " + pair + "?"));
  EXPECT_THAT(refusal("serve", {"en-de=" + model() + "x"}), HasSubstr("x'\n"));
  EXPECT_THAT(refusal("score", {"-m", "m", "--target", "t", model()}), HasSubstr("did you mean --source " + model()));
  EXPECT_THAT(refusal("translate", {"-m", "m", "-i", "a", "--memory", "b"}), HasSubstr("unknown flag --memory"));
  EXPECT_THAT(refusal("translate", {"-m", "m", "-i", "a", "b"}),
              HasSubstr("--input excludes texts without a flag, such as 'b'"));
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
  EXPECT_THAT(refusal("translate", {"-m", "m", "--alignment", "The house is old."}),
              HasSubstr("write -- before a text that follows this flag"));
  EXPECT_THAT(refusal("translate", {"-m", "m", "--length-penalty", "cubic"}),
              HasSubstr("--length-penalty: must be paper, power, or a number"));
  EXPECT_THAT(refusal("translate", {"-m", "m", "--seed", "x", "--sample"}),
              HasSubstr("--seed: needs a whole number, not 'x'"));
  EXPECT_THAT(refusal("translate", {"-m", "m", "--threads", "99999999999"}),
              HasSubstr("--threads: must be from 0 to 4096, not 99999999999"));
  EXPECT_THAT(refusal("translate", {"-m", model(), "--repetition-penalty", "1e-300"}),
              HasSubstr("--repetition-penalty must lie between 0.01 and 1000"));
  EXPECT_THAT(refusal("translate", {"-m", "m", "--n-best", "2", "--alternatives", "2"}),
              HasSubstr("--n-best excludes --alternatives"));
  EXPECT_THAT(refusal("train", {"my.yaml"}),
              HasSubstr("unexpected argument 'my.yaml'; did you mean --config my.yaml?"));
  EXPECT_THAT(refusal("average_checkpoints", {"-o", "x"}), HasSubstr("name the model folders or checkpoints"));
  EXPECT_THAT(refusal("average_checkpoints", {"-o", "", "m"}), HasSubstr("--output: needs the name of a folder"));
  EXPECT_THAT(refusal("convert", {"-m", "m", "--to", "folder", "-o", ""}),
              HasSubstr("--output: needs the name of a folder"));
  EXPECT_THAT(refusal("translate", {"-m", ""}, 1), HasSubstr("the path of the model is empty"));
  EXPECT_THAT(refusal("make_shortlist", {"-m", "", "--source", "a", "--target", "b"}),
              HasSubstr("--model: needs the name of a folder"));
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
      {"train", {"--pairs", "a.tsv"}, "data.train_pairs"},
      {"evaluate", {"-r", "x", "-m", "bleu"}, "did you mean --metric?"},
      {"translate", {"-m", "m", "-i", "a", "--beam", "2"}, "did you mean --beam-size?"},
      {"translate", {"-v"}, "did you mean --version?"},
      {"translate", {"-m", "m", "--gpu"}, "did you mean --device cuda?"},
      {"translate", {"-m", "m", "--src_lang", "en"}, "did you mean --source-language?"},
      {"translate", {"-m", "m", "--text", "hello"}, "without a flag: -m MODEL 'some text'"},
      {"score", {"-m", "m", "--input", "x"}, "did you mean --source and --target, or --text?"},
      {"backtranslate", {"-m", "m", "--input", "x"}, "did you mean --text?"},
      {"make_shortlist", {"-m", "m", "--input", "x"}, "did you mean --source and --target?"},
      {"prepare", {"--input", "x"}, "did you mean --pairs, or --source and --target?"},
      {"average_checkpoints", {"--input", "x"}, "give the folders themselves, without a flag"},
      {"transmute", {"version"}, "did you mean --version?"},
      {"transmute", {"sacrebleu"}, "did you mean evaluate?"}};
  for (const auto& [name, words, hint] : cases) EXPECT_THAT(refusal(name, words), HasSubstr(hint)) << words.front();
  const std::string runs = folder_ / "runs";
  std::filesystem::create_directories(runs + "/one");
  std::filesystem::copy(model(), runs + "/one/model");
  EXPECT_THAT(refusal("translate", {"-m", runs}, 1), HasSubstr("did you mean " + runs + "/one/model?"));
}

TEST_F(CommandLine, FlagsThatWouldDoNothingAreRefused) {
  EXPECT_THAT(refusal("translate", {"-m", "m", "--sample", "-b", "2"}), HasSubstr("--beam-size excludes --sample"));
  EXPECT_THAT(refusal("translate", {"-m", "m", "--alternatives", "3", "-b", "8"}),
              HasSubstr("--alternatives excludes --beam-size"));
  EXPECT_THAT(refusal("generate", {"-m", "m", "--length-alpha", "1"}), HasSubstr("requires --beam-size"));
  EXPECT_THAT(refusal("export_torchscript", {"-m", "m", "-o", "o", "-b", "2"}), HasSubstr("--forward translate"));
  EXPECT_THAT(refusal("score", {"-m", "m", "--text", "t", "--target-language", "de"}), HasSubstr("not to --text"));
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

  write_text(folder_ / "cased", "A b c d\n");
  const std::string cased = folder_ / "cased";
  const Outcome both = run("evaluate", {"-i", cased, "-r", cased, "--metric", "bleu,ter", "--lowercase",
                                        "--case-sensitive", "--tokenize", "none"});
  EXPECT_EQ(both.exit_code, 0) << both.errors;
  EXPECT_THAT(both.output, AllOf(HasSubstr("case:lc"), HasSubstr("case:mixed")));
  EXPECT_EQ(both.errors, "");

  write_text(folder_ / "chinese", "我们在家。\n");
  const std::string chinese = folder_ / "chinese";
  EXPECT_THAT(run("evaluate", {"-i", chinese, "-r", chinese}).errors, HasSubstr("--tokenize zh"));
  EXPECT_EQ(run("evaluate", {"-i", chinese, "-r", chinese, "--tokenize", "zh"}).errors, "");
}

TEST_F(CommandLine, APromptIsOneLine) {
  EXPECT_THAT(refusal("generate", {"-m", "m", "--prompt", "a\nb"}), HasSubstr("--prompt: must be one line"));
  EXPECT_THAT(refusal("generate", {"-m", "m", "--prompt", "a\xff"}), HasSubstr("--prompt: is not valid UTF-8 (byte 2"));
  EXPECT_THAT(refusal("generate", {"-m", "m", "--prompt", "a\xff", "--invalid-utf8", "replace"}, 1), HasSubstr("m: "));
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

TEST_F(CommandLine, EvaluateComparesSystemsByNameOrByTheirScoresAlone) {
  const std::string reference = folder_ / "reference.txt", translated = "a b c d e\nf g h i k\n";
  write_text(reference, "a b c d e\nf g h i j\n");
  const std::vector<std::string> flags{"-r", reference, "--compare", reference, "--metric", "ter"};
  EXPECT_THAT(output_of(run("evaluate", flags, translated)),
              AllOf(StartsWith("TER|"), HasSubstr("  baseline    standard input\n"), EndsWith(" " + reference + "\n")));
  std::vector<std::string> alone = flags;
  alone.emplace_back("--score-only");
  EXPECT_EQ(run("evaluate", alone, translated).output, "10.00\n0.00\n");
}

TEST_F(CommandLine, AMissingGpuIsNoUsageError) {
  if (run("translate", {"-m", model(), "--device", "cuda"}).exit_code == 0) GTEST_SKIP() << "there is a GPU";
  EXPECT_THAT(refusal("translate", {"-m", model(), "--device", "cuda"}, 1), HasSubstr("sees no CUDA device"));
  EXPECT_THAT(refusal("translate", {"-m", model(), "--device", "gpu"}, 2), HasSubstr("'gpu' is unknown"));
}

TEST_F(CommandLine, CountsAgreeWithTheirNouns) {
  const Outcome one = translate("the red house is near.\n", {"--max-source-tokens", "3"});
  EXPECT_THAT(one.errors, HasSubstr("1 of 1 line had over 3 tokens; translated in parts"));
  const Outcome sentences = translate("the house. The river.\nthe red house is near\nthe\n",
                                      {"--max-source-tokens", "7", "--split-sentences"});
  EXPECT_THAT(sentences.errors, HasSubstr("1 of 3 lines had over 7 tokens; translated in parts"));
  write_text(folder_ / "one", "the\n");
  EXPECT_THAT(run("score", {"-m", model(), "--source", folder_ / "one", "--target", folder_ / "one"}).errors,
              HasSubstr("score: 1 line, 2 tokens with the ends"));
}

TEST_F(CommandLine, SentencesAreWrittenOnePerLine) {
  const Outcome outcome = run("sentences", {"--language", "en"}, "Dr. Smith came. He left.\n\nOne.\n");
  EXPECT_EQ(outcome.output, "Dr. Smith came.\nHe left.\n\nOne.\n");
  EXPECT_EQ(run("sentences", {"--language", "xx"}, "").exit_code, 2);
}

}  // namespace
}  // namespace transmute::testing

// SPDX-License-Identifier: Apache-2.0
// The files and streams that programs read and write, and lines that cannot be read.

#include <transmute/common/text_file.h>
#include <transmute/tests/e2e/command_line.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(CommandLine, NeverWritesOverItsInputAndTakesNoFileForAText) {
  const std::string text = folder_ / "text.en", content = "the red house is near.\n";
  write_text(text, content);
  EXPECT_THAT(refusal("translate", {"-m", model(), "-i", text, "-o", folder_.path() + "/./text.en"}),
              HasSubstr("--output is the file of --input"));
  const std::string other = folder_ / "text.de";
  write_text(other, content);
  for (const std::string flag : {"--target-prefix", "--glossary", "--shortlist", "--rerank"})
    EXPECT_THAT(refusal("translate", {"-m", model(), "-i", text, flag, other, "-o", other}),
                HasSubstr("--output is the file of " + flag));
  for (const std::string program : {"translate", "embed", "visualize", "generate"})
    EXPECT_THAT(refusal(program, {"-m", other, "-i", text, "-o", other}), HasSubstr("--output is the file of --model"))
        << program;
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
  EXPECT_THAT(refusal("translate", {"-m", model(), text}), HasSubstr("is a file, not a text; did you mean --input"));
  EXPECT_THAT(refusal("translate", {"-m", model(), model()}),
              HasSubstr("is a folder, not a text; did you mean --model"));
}

TEST_F(CommandLine, NoNameOfAFileIsEmpty) {
  for (const std::string flag :
       {"--input", "--output", "--target-prefix", "--glossary", "--trees", "--tree-words", "--shortlist"})
    EXPECT_THAT(refusal("translate", {"-m", model(), flag, ""}), HasSubstr(flag + ": needs the name of a file"));
  for (const std::string flag : {"--hypothesis", "--reference", "--compare"})
    EXPECT_THAT(refusal("evaluate", {flag, ""}), HasSubstr(flag + ": needs the name of a file"));
  for (const std::string flag : {"--config", "--profile", "--source", "--valid-target"})
    EXPECT_THAT(refusal("train", {flag, ""}), HasSubstr(flag + ": needs the name of a file"));
  EXPECT_THAT(refusal("train", {"--run-folder", ""}), HasSubstr("--run-folder: needs the name of a folder"));
}

TEST_F(CommandLine, AFileOfAnOfficeProgramIsNotReadAsLines) {
  const std::string input = folder_ / "in", output = folder_ / "out";
  const std::vector<std::string> flags{"-m", model(), "--max-extra-length", "2", "-i", input, "-o", output};
  for (const auto& [begin, message] : std::vector<std::pair<std::string, std::string>>{
           {"%PDF-1.7\n", "in: PDF is not read"},
           {"{\\rtf1 red}\n", "in: is in RTF; convert it with LibreOffice: 'soffice --convert-to docx "},
           {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "in: is in the format of Office 97"},
           {"<?xml version=\"1.0\"?>\n<TS version=\"2.1\"/>\n", "in: is XML; if translate knows the format, name it"},
           {"\xEF\xBB\xBF<?xml version=\"1.0\"?><tmx version=\"1.4\"/>\n", "in: is a translation memory"}}) {
    write_text(input, begin);
    EXPECT_THAT(refusal("translate", flags, 1), HasSubstr(message));
    EXPECT_FALSE(std::filesystem::exists(output));
    const Outcome piped = shell("cat " + input + " | " + program("translate") + " -m " + model() + " -o " + output);
    EXPECT_THAT(piped.errors, HasSubstr(message.substr(2)));
    EXPECT_FALSE(std::filesystem::exists(output));
    const Outcome named = shell("cat " + input + " | " + program("translate") + " -m " + model() + " -i /dev/fd/0");
    EXPECT_THAT(named.errors, HasSubstr("/dev/fd/0" + message.substr(2)));
  }
  EXPECT_THAT(translate("PK\3\4").errors, HasSubstr("standard input: is a zip archive"));
  write_text(input, "{\\rtf1 red}\n");
  const Outcome as_lines = run("translate", {"-m", model(), "-i", input, "--document-format", "lines"});
  EXPECT_EQ(as_lines.exit_code, 0) << as_lines.errors;
}

TEST_F(CommandLine, WarningsGetAFile) {
  const std::string warnings = folder_ / "warnings.tsv", input = folder_ / "in.txt", output = folder_ / "out";
  const auto rows_of = [&](const std::string& text, std::vector<std::string> flags) {
    write_text(input, text);
    flags.insert(flags.end(), {"-m", model(), "-i", input, "-o", output, "--guard", "warn", "--protect", "none",
                               "--warnings", warnings});
    EXPECT_THAT(messages_of(run("translate", flags)), HasSubstr("; see " + warnings));
    return read_text(warnings);
  };
  const std::string row = "2\tnumber\tthe number 271 is missing\troom 271 is far.\t";
  EXPECT_THAT(rows_of("the red house is near.\nroom 271 is\tfar.\n", {}), HasSubstr(row));
  EXPECT_THAT(rows_of("the red house is near.\n\nroom 271 is far.\n", {"--document-format", "txt"}), HasSubstr(row));
  EXPECT_THAT(refusal("translate", {"-m", "m", "-i", "a", "-o", "b", "--continue", "--warnings", "c"}),
              HasSubstr("--continue excludes --warnings"));
  EXPECT_THAT(refusal("translate", {"-m", "m", "--guard", "off", "--warnings", "c"}),
              HasSubstr("--warnings has no effect with --guard off"));
  EXPECT_THAT(refusal("translate", {"-m", "m", "-o", "c", "--warnings", "./c"}),
              HasSubstr("--warnings and --output are both ./c"));
  EXPECT_THAT(refusal("translate", {"-m", "m", "-i", input, "--warnings", input}), HasSubstr("which would be lost"));
}

TEST_F(CommandLine, LinesThatEndWithinSentencesAreNoted) {
  const std::string input = folder_ / "in.txt";
  const std::string note =
      "in.txt: many lines end within a sentence, and each is translated by itself; "
      "--document-format txt translates paragraphs as a whole";
  const auto errors_with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> flags{"-m", model(), "--max-extra-length", "2", "-i", input};
    flags.insert(flags.end(), more.begin(), more.end());
    return run("translate", flags).errors;
  };
  write_text(input,
             "the committee has decided to postpone this until the\nend of the year, as it did before, and to ask the\n"
             "members of the other committees what they think of\nit in a letter.\n");
  EXPECT_THAT(errors_with({}), HasSubstr(note));
  for (const char* const format : {"lines", "txt"})
    EXPECT_THAT(errors_with({"--document-format", format}), Not(HasSubstr("within a sentence")));
  write_text(input, "A man walks.\nTwo dogs run.\nA woman reads.\nA child plays in the garden of the house.\n");
  EXPECT_THAT(errors_with({}), Not(HasSubstr("within a sentence")));
}

TEST_F(CommandLine, AnOfficeFileKeepsItsEnding) {
  const auto refused = [&](const std::string& input, const std::string& output) {
    return refusal("translate", {"-m", model(), "-i", folder_ / input, "-o", folder_ / output}, 2);
  };
  for (const auto& [input, output] : std::vector<std::pair<std::string, std::string>>{
           {"a.DOCM", "b.docx"}, {"a.dotx", "b.docx"}, {"a.xlsx", "b.xlsm"}, {"a.pptm", "b.pptx"}})
    EXPECT_THAT(refused(input, output), HasSubstr("which Office opens under no other ending; rename it"));
  for (const auto& [input, output] : std::vector<std::pair<std::string, std::string>>{
           {"a.docm", "b.DOCM"}, {"a.ppsx", "b.pptx"}, {"a.ott", "b.odt"}, {"a.docx", "b"}}) {
    const Outcome outcome = run("translate", {"-m", model(), "-i", folder_ / input, "-o", folder_ / output});
    EXPECT_THAT(outcome.errors, Not(HasSubstr("rename it")));  // there is no such input
  }
}

TEST_F(CommandLine, NoModelIsWrittenOverAModelThatIsRead) {
  const std::string own = folder_ / "own", weights = own + "/weights.safetensors";
  std::filesystem::copy(model(), own);
  const std::string before = read_text(weights);
  EXPECT_THAT(refusal("convert", {"-m", own, "--to", "folder", "--precision", "int8", "-o", own + "/"}),
              HasSubstr("--output is the folder of --model, which would be lost"));
  EXPECT_THAT(refusal("average_checkpoints", {"-o", own, model(), folder_.path() + "/./own"}),
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
  for (const char* name : {"/best.ckpt", "/src_vocab.txt", "/dict.en.txt"}) {
    write_text(own + name, "");
    EXPECT_THAT(refusal("translate", {"-m", own, "-o", own + name}),
                HasSubstr("--output is a file in the folder of --model"));
  }
  EXPECT_EQ(read_text(weights), before);
}

TEST_F(CommandLine, NoModelIsWrittenOverAModelThatTheStoreNames) {
  const std::string store = folder_ / "transmute/models", stored = store + "/stored";
  std::filesystem::create_directories(store);
  std::filesystem::copy(model(), stored);
  const auto refusal_of = [&](const std::string& name, const std::vector<std::string>& flags) {
    std::vector<std::string> words{"env", "XDG_DATA_HOME=" + folder_.path(), program(name)};
    words.insert(words.end(), flags.begin(), flags.end());
    return refusal(run_program_with(words));
  };
  EXPECT_THAT(refusal_of("convert", {"-m", "stored", "--to", "folder", "--precision", "int8", "-o", stored}),
              HasSubstr("--output is the folder of --model, which would be lost"));
  EXPECT_THAT(refusal_of("convert", {"-m", "stored", "--to", "folder", "-o", stored + "/small"}),
              HasSubstr("--output would be within the folder of --model"));
  EXPECT_THAT(refusal_of("export_torchscript", {"-m", "stored", "--triton", stored}),
              HasSubstr("--triton is the folder of --model"));
  EXPECT_THAT(refusal_of("average_checkpoints", {"stored", model(), "-o", stored}),
              HasSubstr("--output is the folder of a model to average"));
  const std::string weights = stored + "/weights.safetensors";
  for (const char* name : {"export_torchscript", "translate", "embed", "visualize", "sentences"})
    EXPECT_THAT(refusal_of(name, {"-m", "stored", "-o", weights}),
                HasSubstr("--output is a file in the folder of --model"))
        << name;
  EXPECT_THAT(refusal_of("prepare", {"--pairs", "a.tsv", "--model", model(), "--reverse-model", "stored", "--counts",
                                     stored + "/config.yaml"}),
              HasSubstr("--counts is a file in the folder of --reverse-model"));
  const std::string config = folder_ / "config.yaml";
  write_text(config, "training: {initialize_from: stored}\ndata: {train_source: [a], train_target: [b]}\n");
  EXPECT_THAT(refusal_of("train", {"-c", config, "--profile", weights}),
              HasSubstr("--profile is a file in the folder of training.initialize_from"));
  EXPECT_EQ(names_in(stored), names_in(model()));
  EXPECT_EQ(read_text(weights), read_text(model() + "/weights.safetensors"));
}

TEST_F(CommandLine, NoFolderIsWrittenIntoTheModelThatIsRead) {
  const std::string own = folder_ / "own", link = folder_ / "link";
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
  const std::string exported = folder_ / "model.pt", formats = TRANSMUTE_TEST_DATA "/formats/";
  write_text(exported, "");
  for (const std::string& path : {exported, formats + "nllb", formats + "marian_ctranslate2", formats + "marian"})
    EXPECT_THAT(refusal("average_checkpoints", {"-o", folder_ / "mean", model(), path}, 1),
                AllOf(HasSubstr(path + ": is no model folder"), HasSubstr("convert --to folder")));
  std::filesystem::create_directories(folder_ / "run/checkpoints/step-1");
  for (const std::string& path : {folder_ / "run", folder_ / "run/checkpoints", folder_ / "run/checkpoints/"})
    EXPECT_THAT(refusal("average_checkpoints", {"-o", folder_ / "mean", path}, 1),
                HasSubstr("name those to average, such as " + folder_.path() + "/run/checkpoints/step-*"));
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
  const std::string file = folder_ / "piped.pt";
  const Outcome outcome =
      shell("set -o pipefail; " + program("export_torchscript") + " -m " + model() + " -o /dev/stdout | cat >" + file);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.errors, HasSubstr("wrote /dev/stdout\n"));
  EXPECT_EQ(run("translate", {"-m", file}, "the house\n").exit_code, 0);
}

TEST_F(CommandLine, AnExportForTritonThatFailsLeavesNothing) {
  refusal("export_torchscript", {"-m", folder_ / "none", "--triton", folder_ / "repository/en-de"}, 1);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "repository"));
  write_text(folder_ / "file", "");
  EXPECT_THAT(refusal("export_torchscript", {"-m", model(), "--triton", folder_ / "file"}, 1),
              HasSubstr("file/1: the folder cannot be made"));
}

TEST_F(CommandLine, StandardInputIsReadByOneFlagAlone) {
  EXPECT_THAT(refusal("evaluate", {"-r", "-"}), HasSubstr("--hypothesis and --reference both read standard input"));
  EXPECT_THAT(refusal("score", {"-m", "m", "--source", "-", "--target", "-"}),
              HasSubstr("--source and --target both read standard input"));
  EXPECT_THAT(refusal("visualize", {"-m", "m", "--target", "-", "-o", "x"}),
              HasSubstr("--input and --target both read standard input"));
}

TEST_F(CommandLine, AFolderAsStandardInputIsNamed) {
  EXPECT_THAT(refusal(shell(program("translate") + " -m " + model() + " < " + model()), 1),
              HasSubstr("standard input: cannot be read: Is a directory"));
}

TEST_F(CommandLine, ASignalRemovesTheIncompleteOutput) {
  const Outcome outcome =
      shell("mkfifo " + (folder_ / "in") + "; (sleep 30 > " + (folder_ / "in") + " & echo $! > " +
            (folder_ / "sleeper") + "); " + program("translate") + " -m " + model() + " -i " + (folder_ / "in") +
            " -o " + (folder_ / "out.de") + " & child=$!; for i in $(seq 200); do ls " + folder_.path() +
            " | grep -q partial && break; sleep 0.1; done; ls " + folder_.path() +
            "; kill -TERM $child; wait $child; code=$?; kill $(cat " + (folder_ / "sleeper") + "); ls " +
            folder_.path() + "; exit $code");
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

TEST_F(CommandLine, ARunWithAFileOfWarningsIsContinuedWithoutIt) {
  const std::vector<std::string> words{program("translate"), "-m", model(), "--max-extra-length", "2", "-o", "out.de"};
  std::vector<std::string> with_warnings = words;
  with_warnings.insert(with_warnings.end(), {"--warnings", "warnings.tsv"});
  const std::string begin = "the house\nthe train\n";
  EXPECT_THAT(stop_after_lines(folder_.path(), command_line(with_warnings), begin, 2).errors,
              HasSubstr("the same command with --continue instead of --warnings resumes from there"));
  write_text(folder_ / "all.en", begin + "the river\n");
  const Outcome resumed =
      shell("cd " + shell_quoted(folder_.path()) + "; " + command_line(words) + "--continue < all.en");
  EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors, HasSubstr("continuing after 2 lines"));
}

TEST_F(CommandLine, APartialFileOfSomebodyElseStays) {
  write_text(folder_ / "out.de.partial", "mine\n");
  EXPECT_THAT(refusal(translate("the red house\n", {"-o", folder_ / "out.de"}), 1),
              HasSubstr("is not the unfinished output of an earlier run"));
  EXPECT_EQ(read_text(folder_ / "out.de.partial"), "mine\n");
}

TEST_F(CommandLine, AnInputThatEndsBeforeTheFinishedLinesLeavesThemToBeContinued) {
  const std::string partial = folder_ / "out.de.partial", begin = "the house\nthe train\n", all = begin + "the river\n";
  const std::string command =
      command_line({program("translate"), "-m", model(), "--max-extra-length", "2", "-o", "out.de"});
  stop_after_lines(folder_.path(), command, begin, 2);
  const std::string finished = read_text(partial);
  EXPECT_EQ(finished, translate(begin).output);
  const auto resume = [&](const std::string& input) {
    return shell("cd " + shell_quoted(folder_.path()) + "; " + command + "--continue < " + input);
  };
  for (const std::string input : {"/dev/null", "/", "<(printf 'the house\\n' | gzip | head -c 12)"}) {
    const Outcome outcome = resume(input);
    EXPECT_EQ(outcome.exit_code, 1) << input;
    EXPECT_THAT(outcome.errors, AllOf(HasSubstr("--continue resumes from there"), Not(HasSubstr("are written"))));
    EXPECT_EQ(read_text(partial), finished) << input;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out.de")) << input;
  }
  write_text(folder_ / "all.en", all);
  EXPECT_EQ(resume("all.en").exit_code, 0);
  EXPECT_EQ(read_text(folder_ / "out.de"), translate(all).output);
}

TEST_F(CommandLine, ARunLeavesThePartialFileToTheRunThatIsAtWorkOnIt) {
  const std::string run =
      command_line({program("translate"), "-m", model(), "--max-extra-length", "2", "-o", "out.de"});
  const std::string wait = "; for i in $(seq 300); do ";
  // The second run starts before the first has a partial file, the third after.
  const Outcome outcome = shell(
      "cd " + shell_quoted(folder_.path()) + "; mkfifo a b; " + run + "< a & first=$!; " + run +
      "< b & second=$!; exec 3> a 4> b" + wait + "[ $(ls -d out.de.partial-* 2> /dev/null | wc -l) = 2 ] && break" +
      "; sleep 0.1; done; echo the house >&3" + wait + "grep -qs 'lines 0*1 ' *.state && break" +
      "; sleep 0.1; done; echo the train >&4; exec 4>&-; wait $second; echo $?; echo the | " + run +
      "; echo $?; exec 3>&-; wait $first; echo $?");
  EXPECT_EQ(outcome.output, "1\n1\n0\n") << outcome.errors;
  const std::string refused = "another process is writing it", &said = outcome.errors;
  EXPECT_NE(said.find(refused), said.rfind(refused)) << said;
  EXPECT_EQ(read_text(folder_ / "out.de"), translate("the house\n").output);
}

TEST_F(CommandLine, ResumingNeedsTheModelThatItsNameMeantAndNothingElseInItsFolder) {
  const std::string store = folder_ / "transmute/models", stored = store + "/stored", begin = "the house\n";
  std::filesystem::create_directories(store);
  std::filesystem::copy(model(), stored);
  const std::string command = command_line({"env", "XDG_DATA_HOME=" + folder_.path(), program("translate"), "-m",
                                            "stored", "--max-extra-length", "2", "-o", "out.de"});
  stop_after_lines(stored, command, begin, 1);
  const auto resume = [&] {
    return shell("cd " + shell_quoted(stored) + "; printf " + shell_quoted(begin) + " | " + command + "--continue");
  };
  write_text(stored + "/log", "");
  write_text(stored + "/added.json", "{}");
  EXPECT_THAT(refusal(resume(), 1), HasSubstr("the earlier run had other settings: '--model stored "));
  std::filesystem::remove(stored + "/added.json");
  const Outcome resumed = resume();
  EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_EQ(read_text(stored + "/out.de"), translate(begin).output);
}

TEST_F(CommandLine, AnInputOfWhichNoLineIsDoneLeavesTheOldOutput) {
  const std::string out = folder_ / "out", good = folder_ / "good", bad = folder_ / "bad";
  write_text(good, "the\n");
  write_text(bad, "\xff\n");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"translate", "-m", model(), "-i", bad},
                                                {"translate", "-m", model(), "-i", good, "--target-prefix", bad},
                                                {"embed", "-m", model(), "-i", bad},
                                                {"score", "-m", model(), "--source", bad, "--target", good},
                                                {"sentences", "-i", bad}}) {
    write_text(out, "old\n");
    std::vector<std::string> flags(words.begin() + 1, words.end());
    flags.insert(flags.end(), {"-o", out});
    EXPECT_THAT(refusal(words.front(), flags, 1), AllOf(HasSubstr("bad:1: "), Not(HasSubstr("are written"))));
    EXPECT_EQ(read_text(out), "old\n") << words.front();
  }
}

TEST_F(CommandLine, AnOutputMayHaveALongName) {
  for (const size_t length : {242, 255}) {
    const std::string out = folder_ / std::string(length, 'n');
    const Outcome outcome = translate("the\n", {"-o", out});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    EXPECT_EQ(read_text(out), translate("the\n").output) << length;
  }
}

TEST_F(CommandLine, Utf16WithoutAMarkIsNamedByEveryProgramThatReadsText) {
  using namespace std::string_literals;
  const std::string utf16 = "t\0h\0e\0 \0h\0o\0u\0s\0e\0\n\0"s, path = folder_ / "utf16.txt";
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
  EXPECT_EQ(one.errors.find("has zero bytes"), one.errors.rfind("has zero bytes")) << "said once";
}

TEST_F(CommandLine, AnArrayOfVectorsIsWholeOrNotAtAll) {
  const std::string array = folder_ / "vectors.npy";
  EXPECT_THAT(refusal("embed", {"-m", model(), "--format", "npy", "-o", array}, 1, "the\n\xff\n"),
              AllOf(HasSubstr("standard input:2: not valid UTF-8"), Not(HasSubstr("the lines before it are written"))));
  EXPECT_FALSE(std::filesystem::exists(array));
}

TEST_F(CommandLine, AHyphenIsAStandardStreamAndGzMeansCompressed) {
  const std::string text = "the red house is near.\nthe old train is gone.\n";
  const std::string expected = translate(text).output;
  EXPECT_EQ(translate(text, {"-i", "-", "-o", "-"}).output, expected);
  const std::string packed = folder_ / "out.txt.gz";
  ASSERT_EQ(translate(text, {"--output", packed}).exit_code, 0);
  EXPECT_EQ(read_text(packed).substr(0, 2), "\x1f\x8b");
  std::string unpacked;
  LineReader reader(packed);
  for (std::string line; reader.next(line);) unpacked += line + '\n';
  EXPECT_EQ(unpacked, expected);
  EXPECT_EQ(run_program_with({"gzip", "-dc", packed}).output, expected);
  EXPECT_FALSE(std::filesystem::exists("-"));
  EXPECT_THAT(refusal(translate(text, {"--output", folder_ / "out.txt.zst"})),
              HasSubstr("out.txt.zst: only .gz is written; write a plain file and compress it afterwards"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.txt.zst"));
  EXPECT_THAT(translate(text, {"--output", folder_ / "none/out.txt"}).errors,
              HasSubstr("none/out.txt: cannot be written into a folder that does not exist"));
}

TEST_F(CommandLine, EvaluateReadsAPipe) {
  write_text(folder_ / "reference", "a b c d e\nf g h i j\n");
  const std::string translated = "a b c d e\nf g h i k\n";
  write_text(folder_ / "translated", translated);
  const Outcome of_file = run("evaluate", {"-i", folder_ / "translated", "-r", folder_ / "reference"});
  ASSERT_EQ(of_file.exit_code, 0) << of_file.errors;
  EXPECT_THAT(of_file.output, HasSubstr("BLEU|"));
  EXPECT_EQ(run("evaluate", {"-r", folder_ / "reference"}, translated).output, of_file.output);
  EXPECT_EQ(run("evaluate", {"-i", "-", "-r", folder_ / "reference"}, translated).output, of_file.output);
  EXPECT_THAT(refusal("evaluate", {"-r", folder_ / "reference"}, 1, "one\n"), HasSubstr("standard input has 1;"));
  EXPECT_THAT(run("evaluate", {"-r", folder_ / "reference", "--metric", "ter"}, translated).output,
              MatchesRegex("TER\\|nrefs:1.* = 10\\.00\n"));
}

TEST_F(CommandLine, ALineThatIsNoUtf8EndsTheJobAfterTheLinesBeforeItOrIsRepaired) {
  const std::string good = "the red house is near.\nthe old train is gone.\n";
  const std::string bad = good + "the \xff river\nthe bridge is far.\n";
  const Outcome failed = translate(bad);
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_EQ(failed.output, translate(good).output);
  EXPECT_THAT(failed.errors,
              AllOf(HasSubstr("standard input:3: not valid UTF-8"), HasSubstr("lines before it are written")));
  write_text(folder_ / "bad.txt", bad);
  const std::string out = folder_ / "bad.out";
  EXPECT_EQ(translate("", {"-i", folder_ / "bad.txt", "-o", out}).exit_code, 1);
  EXPECT_EQ(read_text(out), failed.output) << "a file keeps them too";
  for (const char* buffer : {"1", "2", "100"})
    EXPECT_EQ(translate(bad, {"--buffer-lines", buffer}).output, failed.output) << buffer;

  const Outcome repaired = translate(bad, {"--invalid-utf8", "replace"});
  EXPECT_EQ(repaired.exit_code, 0) << repaired.errors;
  EXPECT_EQ(split_lines(repaired.output).size(), 4U);
  EXPECT_EQ(repaired.output, translate(good + "the \xEF\xBF\xBD river\nthe bridge is far.\n").output);
  EXPECT_EQ(translate("", {"-i", folder_ / "bad.txt", "--invalid-utf8", "replace"}).output, repaired.output);

  write_text(folder_ / "target.txt", good + "x\ny\n");
  write_text(folder_ / "good.txt", good);
  const auto score = [&](const std::string& source, const std::string& target, const std::string& output = "-") {
    return run("score", {"-m", model(), "--source", folder_ / source, "--target", folder_ / target, "-o", output});
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
  write_text(folder_ / "one.txt", "the\n");
  EXPECT_THAT(refusal(score("one.txt", "bad.txt"), 1),
              AllOf(HasSubstr("one.txt has 1 line but "), HasSubstr("bad.txt has at least 2 lines")));
  EXPECT_EQ(run("score", {"-m", model(), "--invalid-utf8", "replace", "--source", folder_ / "bad.txt", "--target",
                          folder_ / "target.txt"})
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

// The line has its number in the whole input, not in the block that was read.
TEST_F(CommandLine, ALineThatCannotBeDoneIsNamedAndThoseBeforeItAreWritten) {
  std::string term;
  for (int i = 0; i < 100; ++i) term += (i > 0 ? " " : "") + std::string("das alte Haus");
  write_text(folder_ / "long_term", "house\t" + term + "\n");
  const Outcome translated =
      translate("the\nthe\nthe\nthe house\nthe\n", {"--glossary", folder_ / "long_term", "--buffer-lines", "2"});
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
  write_text(folder_ / "sources", sources + "the\n");
  write_text(folder_ / "targets", targets + "\n");
  const Outcome scored =
      run("score", {"-m", model(), "--source", folder_ / "sources", "--target", folder_ / "targets"});
  EXPECT_EQ(scored.exit_code, 1);
  EXPECT_THAT(split_lines(scored.output), SizeIs(kBefore));
  EXPECT_THAT(scored.errors, AllOf(HasSubstr("line 4099 of "), HasSubstr("targets: the target has "),
                                   HasSubstr("the lines before it are written")));
}

TEST_F(CommandLine, AFaultOfAPrefixIsNamedAndTheLinesBeforeItAreWritten) {
  const std::string prefixes = folder_ / "prefixes", out = folder_ / "prefixed";
  write_text(folder_ / "three", "the\nthe house\nthe\n");
  const auto translate_three = [&](const std::string& text, const std::string& buffer_lines) {
    write_text(prefixes, text);
    std::filesystem::remove(out);
    return translate("",
                     {"--target-prefix", prefixes, "-i", folder_ / "three", "-o", out, "--buffer-lines", buffer_lines});
  };
  ASSERT_EQ(translate_three("das\nder\ndie\n", "100").exit_code, 0);
  const std::vector<std::string> whole = split_lines(read_text(out));
  ASSERT_THAT(whole, SizeIs(3));
  struct Fault {
    std::string prefixes, message;
    size_t written;
  };
  for (const auto& [text, message, written] : {
           Fault{"das\nder\n電車\n", "prefixes:3: \"電車\" has characters", 2},
           Fault{{"das\nd\0r\n", 8}, "prefixes:2: \"d\\x00r\" has characters", 1},
           Fault{"das\n\xff\n", "prefixes:2: not valid UTF-8", 1},
           Fault{"das\nder\n", "prefixes:3: the file ends here, but the input continues", 2},
           Fault{"das\nder\ndie\ndas\n", "prefixes:4: the input has only 3 lines", 3},
           Fault{"das\nder\ndie\n\xff\n", "prefixes:4: the input has only 3 lines", 3},
       })
    for (const char* buffer_lines : {"1", "2", "100"}) {
      EXPECT_THAT(refusal(translate_three(text, buffer_lines), 1),
                  AllOf(HasSubstr(message), HasSubstr("the lines before it are written")));
      EXPECT_EQ(split_lines(read_text(out)), std::vector<std::string>(whole.begin(), whole.begin() + written))
          << message;
    }
}

TEST_F(CommandLine, TheDemoCorpusReplacesNoOtherText) {
  const std::string data = folder_ / "data";
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

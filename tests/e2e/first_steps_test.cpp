// SPDX-License-Identifier: Apache-2.0
// What people meet who start a training for the first time: starts that fail, files that do not fit, no config at all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/e2e/first_steps.h>
#include <transmute/tests/support/running_training.h>

#include <csignal>
#include <filesystem>
#include <sstream>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(FirstSteps, AStartThatFailedDoesNotBindTheNext) {
  EXPECT_THAT(refusal(train("run", {"tokenizer.vocab_size=8000"})), HasSubstr("set it to at most"));
  EXPECT_EQ(train("run", {"data.train_source=nowhere.en"}).exit_code, 1);
  EXPECT_THAT(messages_of(train("run")), Not(HasSubstr("cannot change")));
  ASSERT_EQ(train("fresh").exit_code, 0);
  EXPECT_EQ(in_run("run", "model/weights.safetensors"), in_run("fresh", "model/weights.safetensors"));
  EXPECT_THAT(refusal(train("run", {"tokenizer.vocab_size=150"})),
              HasSubstr("tokenizer.vocab_size (it was 200; the config now says 150)"));
}

TEST_F(FirstSteps, AVocabularyThatAFailedStartLeftIsNotUsedForAnotherText) {
  write_other_text("other.ru");
  const std::vector<std::string> other = {"data.train_source=other.ru", "data.train_target=other.ru",
                                          "tokenizer.character_coverage=1"};
  std::vector<std::string> failing = other;
  failing.emplace_back("data.max_target_tokens=1");
  EXPECT_THAT(train("run", failing).errors, HasSubstr("no usable sentence pair"));
  ASSERT_TRUE(std::filesystem::exists(folder_ / "run/tokenizer.model"));
  EXPECT_THAT(messages_of(train("run")), Not(HasSubstr("does not know")));
  ASSERT_EQ(train("fresh").exit_code, 0);
  EXPECT_EQ(in_run("run", "tokenizer.model"), in_run("fresh", "tokenizer.model"));
  // The same text and options: what a failed start has learned is used.
  EXPECT_THAT(train("again", {"data.max_source_tokens=1", "data.max_target_tokens=1"}).errors,
              HasSubstr("no usable sentence pair"));
  EXPECT_THAT(train("again").errors, Not(HasSubstr("learning a vocabulary")));
}

TEST_F(FirstSteps, AVocabularyThatKnowsLittleOfTheTextIsReported) {
  ASSERT_EQ(train("english", {"training.max_steps=1"}).exit_code, 0);
  write_other_text("other.ru");
  std::filesystem::create_directory(folder_ / "run");
  std::filesystem::copy_file(folder_ / "english/tokenizer.model", folder_ / "run/tokenizer.model");
  const Outcome outcome = train("run", {"data.train_source=other.ru", "training.max_steps=1"});
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("using the vocabulary in"),
                                    HasSubstr("training text, source: the vocabulary does not know"),
                                    Not(HasSubstr("training text, target: the vocabulary"))));
}

TEST_F(FirstSteps, ASecondTrainingInTheSameFolderIsKeptOut) {
  const pid_t child =
      start_program(train_command(config_, folder_ / "run", {"training.max_steps=100000"}), "/dev/null");
  wait_until([&] { return std::filesystem::exists(folder_ / "run/metrics.jsonl"); });
  const Outcome second = train("run");
  kill(child, SIGKILL);
  EXPECT_EQ(exit_code_of(child), 128 + SIGKILL);
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.errors, AllOf(HasSubstr("a training in " + (folder_ / "run") + " is already under way: process " +
                                             std::to_string(child) + " on "),
                                   HasSubstr(", since 20")));
  EXPECT_THAT(in_run("run", "train.log"), Not(HasSubstr("already under way"))) << "the log is the first one's";
  const int exit_code = train("run", {"training.max_steps=1"}).exit_code;
  EXPECT_THAT(exit_code, AnyOf(0, 3)) << "who was killed holds no lock, whatever its model is worth";
}

TEST_F(FirstSteps, ValidationTextThatChangesDuringATrainingIsNamed) {
  for (const std::string file : {"valid.en", "valid.de"}) {
    const std::string path = folder_ / "data/" + file, run = folder_ / "run-" + file, before = read_text(path);
    const std::string command =
        command_line(train_command(config_, run, {"training.max_steps=1000000", "validation.every=10"}));
    const Outcome outcome =
        shell(command + " & child=$!; for i in $(seq 600); do grep -qs validation " + shell_quoted(run) +
              "/metrics.jsonl && break; sleep 0.1; done; : > " + shell_quoted(path) + "; wait $child");
    write_text(path, before);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.errors,
                AllOf(HasSubstr(path + ": the validation text has changed during the training"), HasSubstr("resume")));
  }
}

TEST_F(FirstSteps, FilesAreCheckedBeforeAnythingIsLearned) {
  const auto refusal = [&](const std::vector<std::string>& assignments) {
    const Outcome outcome = train("run", assignments);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.errors, Not(HasSubstr("learning a vocabulary")));
    return outcome.errors;
  };
  EXPECT_THAT(refusal({"data.valid_target=nowhere.de"}), HasSubstr("nowhere.de: cannot be opened: No such file"));
  EXPECT_THAT(refusal({"data.folder=.", "data.train_source=sub/nowhere.en"}),
              HasSubstr("looked for in " + (std::filesystem::current_path() / "sub").string()));
  EXPECT_THAT(refusal({"data.folder=relative"}),
              HasSubstr("looked for in " + (std::filesystem::current_path() / "relative").string() +
                        ", with data.folder: relative"));
  EXPECT_THAT(refusal({"data.train_source=valid.en"}), HasSubstr("has 60 lines, but "));
  write_text(folder_ / "data/latin1.de",
             "Stra\xdf"
             "e\n");
  write_text(folder_ / "data/one.en", "street\n");
  EXPECT_THAT(refusal({"data.valid_source=one.en", "data.valid_target=latin1.de"}), HasSubstr("latin1.de:1"));
  write_text(folder_ / "data/pairs.tsv", "one\teins\ntwo zwei\n");
  EXPECT_THAT(refusal({"data.train_source=[]", "data.train_target=[]", "data.train_pairs=pairs.tsv"}),
              HasSubstr("pairs.tsv:2: a line must be source<tab>target; this one has no tab"));
  std::filesystem::create_directory(folder_ / "data/folder");
  EXPECT_THAT(refusal({"data.valid_source=folder"}), HasSubstr("is a folder; a text file is needed"));
  EXPECT_THAT(refusal({"data.train_source=/dev/null"}), HasSubstr("/dev/null: is a pipe or a device; training reads"));
  write_text(folder_ / "tab.yaml", "data:\n\tfolder: x\n");
  const Outcome tab = run("train", {"--config", folder_ / "tab.yaml"});
  EXPECT_EQ(tab.exit_code, 2);
  EXPECT_THAT(tab.errors, HasSubstr("tab.yaml:2:1: tabs are not allowed"));
}

TEST_F(FirstSteps, ATrainingThatEndsInsideTheWarmUpOrBeforeItsFirstValidationSaysSoAtTheStart) {
  const Outcome warned = train("run");  // 30 steps, warm-up 50, validation every 1,000
  EXPECT_THAT(warned.errors,
              AllOf(HasSubstr("ends after about 30 steps, inside the warm-up"),
                    HasSubstr("Set training.warmup_steps (now 50) to at most 6"),
                    HasSubstr("before the first validation. Set validation.every (now 1,000) to about 3")));
  EXPECT_LT(warned.errors.find("inside the warm-up"), warned.errors.find("step 10 "));
  const Outcome silent = train("other", {"training.warmup_steps=6", "validation.every=10"});
  const std::string start = silent.errors.substr(0, silent.errors.find("step 10"));
  EXPECT_THAT(start, Not(HasSubstr("warm-up")));
  EXPECT_THAT(silent.errors, AllOf(Not(HasSubstr("inside the warm-up")), Not(HasSubstr("first validation"))));
  EXPECT_THAT(train("epochs", {"training.max_epochs=1", "training.max_steps=100000"}).errors,
              HasSubstr("inside the warm-up"));
}

TEST_F(FirstSteps, TheEndNamesTheBetterModelAndTheReportHasTheFinalScore) {
  // The mean of checkpoints from all over the training is worse than the last weights.
  EXPECT_THAT(
      messages_of(train("run", {"training.max_steps=800", "training.checkpoint_every=160", "training.warmup_steps=60",
                                "training.learning_rate_scale=0.3", "validation.every=60", "validation.metric=loss"})),
      AllOf(HasSubstr("run/best is better on the validation text: loss "),
            HasSubstr("the model is in " + (folder_ / "run/best") + "; translate with: transmute translate --model " +
                      (folder_ / "run/best"))));
  EXPECT_THAT(in_run("run", "report.html"), HasSubstr("finished model"));
  const Outcome last =
      train("last", {"training.average_checkpoints=1", "validation.every=30", "validation.metric=loss"});
  EXPECT_THAT(last.errors,
              AllOf(Not(HasSubstr("is better on")), HasSubstr("the model is in " + (folder_ / "last/model"))));
}

TEST_F(FirstSteps, ATableOfPairsTrainsTheSameModelAsTwoFiles) {
  std::istringstream source(read_text(folder_ / "data/train.en")), target(read_text(folder_ / "data/train.de"));
  std::string table;
  for (std::string a, b; std::getline(source, a) && std::getline(target, b);) table += a + "\t" + b + "\tmore\n";
  write_text(folder_ / "data/train.tsv", table);
  ASSERT_EQ(train("files").exit_code, 0);
  const Outcome outcome =
      train("table", {"data.train_source=[]", "data.train_target=[]", "data.train_pairs=train.tsv"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(in_run("table", "model/weights.safetensors"), in_run("files", "model/weights.safetensors"));
  write_text(folder_ / "data/bad.tsv", table + "no tab\n");
  const Outcome bad = train("bad", {"data.train_source=[]", "data.train_target=[]", "data.train_pairs=bad.tsv"});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.errors, HasSubstr("bad.tsv:301: a line must be source<tab>target; this one has no tab"));
}

TEST_F(FirstSteps, PairsOfUnequalLengthAreLeftOutAndCounted) {
  write_text(folder_ / "data/more.en", "one\nseven\n");
  std::string far_longer = "eins";
  for (int i = 0; i < 100; ++i) far_longer += " eins";
  write_text(folder_ / "data/more.de", far_longer + "\nsieben\n");
  const std::vector<std::string> files = {"data.train_source=[train.en, more.en]",
                                          "data.train_target=[train.de, more.de]"};
  std::vector<std::string> limited = files;
  limited.emplace_back("data.max_length_ratio=15");
  EXPECT_THAT(train("limited", limited).errors,
              AllOf(HasSubstr("301 sentence pairs"),
                    HasSubstr("1 pair left out: 1 with over 15 tokens of one side for one of the other")));
  EXPECT_THAT(train("all", files).errors, AllOf(HasSubstr("302 sentence pairs"), Not(HasSubstr("left out"))));
}

TEST_F(FirstSteps, SourceAndTargetInOneFileIsReported) {
  EXPECT_THAT(train("run", {"data.train_target=train.en"}).errors, HasSubstr("train.en is both source and target"));
}

TEST_F(FirstSteps, ValidationTextThatIsTrainingTextIsReported) {
  const char* const message = " is both training and validation text";
  const std::vector<std::string> same = {"data.valid_source=train.en", "data.valid_target=train.de",
                                         "training.max_steps=1"};
  EXPECT_THAT(train("same", same).errors, HasSubstr("train.en" + std::string(message)));
  std::filesystem::copy_file(folder_ / "data/train.en", folder_ / "data/copy.en");
  std::filesystem::copy_file(folder_ / "data/train.de", folder_ / "data/copy.de");
  EXPECT_THAT(train("copy", {"data.valid_source=copy.en", "data.valid_target=copy.de", "training.max_steps=1"}).errors,
              HasSubstr("copy.en" + std::string(message)));
  EXPECT_THAT(train("other", {"training.max_steps=1"}).errors, Not(HasSubstr(message)));
}

TEST_F(FirstSteps, ATrainingWithoutValidationTextSaysSo) {
  const char* const message = "no validation text (data.valid_source and data.valid_target): nothing will be validated";
  EXPECT_THAT(train("none", {"data.valid_source=[]", "data.valid_target=[]", "training.max_steps=1"}).errors,
              HasSubstr(message));
  EXPECT_THAT(train("some", {"training.max_steps=1"}).errors, Not(HasSubstr(message)));
}

TEST_F(FirstSteps, AValueWithoutEffectIsReported) {
  EXPECT_THAT(messages_of(train("run", {"training.learning_rate=0.01", "training.max_steps=1"})),
              HasSubstr("training.learning_rate has no effect with training.schedule: noam"));
  EXPECT_THAT(train("silent", {"training.max_steps=1"}).errors, Not(HasSubstr("has no effect")));
}

TEST_F(FirstSteps, AValueThatWasChosenAutomaticallyIsNotReportedAsWithoutEffect) {
  std::vector<std::string> words{program("train"),          "--source",     folder_ / "data/train.en", "--target",
                                 folder_ / "data/train.de", "--run-folder", folder_ / "run",           "--set",
                                 "training.max_steps=1",    "--set",        "training.schedule=noam"};
  for (int starts = 0; starts < 2; ++starts) {
    EXPECT_THAT(messages_of(run_program_with(words)), Not(HasSubstr("has no effect")));
  }
  words.insert(words.end(), {"--set", "training.learning_rate=0.5"});
  EXPECT_THAT(run_program_with(words).errors, HasSubstr("training.learning_rate has no effect"));
}

TEST_F(FirstSteps, AnotherTextUnderTheSameRunIsRefusedWithTheRemedy) {
  ASSERT_EQ(train("run", {"training.max_steps=10"}).exit_code, 0);
  write_text(folder_ / "data/train.en", read_text(folder_ / "data/train.en") + "seven\n");
  write_text(folder_ / "data/train.de", read_text(folder_ / "data/train.de") + "sieben\n");
  EXPECT_THAT(refusal(train("run"), 1),
              AllOf(HasSubstr("is not the one that the run in " + (folder_ / "run") + " was trained on"),
                    HasSubstr("Use another --run-folder")));
}

TEST_F(FirstSteps, TheRunsOwnConfigGoesOnWithItAndItsChangesAreSeen) {
  ASSERT_EQ(train("run", {"training.max_steps=10"}).exit_code, 0);
  const std::string path = folder_ / "run/config.yaml", trained = read_text(path);
  const auto with = [&](const std::string& before, const std::string& after) {
    const size_t at = trained.find(before);
    EXPECT_NE(at, std::string::npos) << before;
    write_text(path, std::string(trained).replace(at, before.size(), after));
    return run("train", {"--config", path});
  };
  EXPECT_THAT(refusal(with("  seed: 1\n", "  seed: 2\n")),
              HasSubstr("training.seed (it was 1; the config now says 2)"));
  const Outcome longer = with("  max_steps: 10\n", "  max_steps: 12\n");
  EXPECT_EQ(longer.exit_code, 0);
  EXPECT_THAT(longer.errors, AllOf(HasSubstr("config: training.max_steps changes from 10 to 12"),
                                   HasSubstr("resuming after step 10"), HasSubstr("finished after step 12 (")));
  const Outcome again = run("train", {"--config", path});
  EXPECT_THAT(again.errors, HasSubstr("all 12 steps of training.max_steps are made; to continue: --set"));
}

TEST_F(FirstSteps, ATrainingThatEndsBeforeAllOfItsStepsSaysWhy) {
  const auto end = [&](const std::string& run, const std::string& limit) {
    return messages_of(train(run, {"training.max_steps=100000", limit}));
  };
  EXPECT_THAT(end("epochs", "training.max_epochs=1"), HasSubstr(" of 100,000, by training.max_epochs ("));
  EXPECT_THAT(end("minutes", "training.max_minutes=0.01"),
              AllOf(HasSubstr(" of 100,000, by training.max_minutes ("),
                    ContainsRegex("the training ended after [0-9,]+ steps?, before the first validation")));
}

TEST_F(FirstSteps, ASignalBeforeTheFirstStepEndsTheTrainingAtOnce) {
  for (const char* name : {"data/train.en", "data/train.de"}) {
    const std::string text = read_text(folder_ / name);
    std::string longer;  // a second of preparation, or more
    for (int i = 0; i < 300; ++i) longer += text;
    write_text(folder_ / name, longer);
  }
  for (const int signal : {SIGINT, SIGTERM}) {
    std::filesystem::remove_all(folder_ / "run");
    const std::string messages = folder_ / ("messages" + std::to_string(signal));
    const pid_t child = start_program(train_command(config_, folder_ / "run", {"training.max_steps=1"}), messages);
    const std::string log = folder_ / "run/train.log";
    EXPECT_TRUE(wait_until([&] {
      return std::filesystem::exists(log) && read_text(log).find("learning a vocabulary") != std::string::npos;
    }));
    kill(child, signal);
    EXPECT_EQ(exit_code_of(child), 128 + signal);
    EXPECT_THAT(read_text(messages), HasSubstr("train: stopped before the first step"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run/metrics.jsonl"));
  }
  EXPECT_THAT(messages_of(train("run", {"training.max_steps=1"})),
              AllOf(HasSubstr("read 180,000 lines"), HasSubstr("learned the vocabulary in ")));
  for (const std::string& name : names_in(folder_ / "run")) EXPECT_THAT(name, Not(HasSubstr(".partial-")));
}

bool may_have_a_process_namespace() {
  return run_program_with({"unshare", "--pid", "--fork", "true"}).exit_code == 0;
}

// The outcome of a program as the first process of a container that gets SIGTERM once it has opened the pipe, which is
// made for it to wait at.
Outcome terminated_as_first_process(const std::string& pipe, const std::vector<std::string>& command) {
  const std::string script = R"(pipe=$1
shift
mkfifo "$pipe"
unshare --pid --fork --kill-child "$@" &
exec 3>"$pipe"
kill -TERM $(cat /proc/$!/task/$!/children)
wait $!)";
  std::vector<std::string> words{"timeout", "20", "sh", "-c", script, "sh", pipe};
  words.insert(words.end(), command.begin(), command.end());
  return run_program_with(words);
}

// It reads its configuration from the pipe.
TEST_F(FirstSteps, ASignalBeforeTheFirstStepAlsoEndsTheFirstProcessOfAContainer) {
  if (!may_have_a_process_namespace()) GTEST_SKIP() << "this process may not make another PID namespace";
  const std::string pipe = folder_ / "pipe.yaml";
  const Outcome outcome =
      terminated_as_first_process(pipe, {program("train"), "--config", pipe, "--run-folder", folder_ / "run"});
  EXPECT_EQ(outcome.exit_code, 128 + SIGTERM) << outcome.errors;
}

// It deleted its unfinished file and went on. It opens its input, the pipe, after its output.
TEST_F(FirstSteps, ASignalEndsTheFirstProcessOfAContainerWhileItWritesAFile) {
  if (!may_have_a_process_namespace()) GTEST_SKIP() << "this process may not make another PID namespace";
  const std::string pipe = folder_ / "pipe";
  const Outcome outcome =
      terminated_as_first_process(pipe, {program("trees"), "--input", pipe, "--words", folder_ / "words"});
  EXPECT_EQ(outcome.exit_code, 128 + SIGTERM) << outcome.errors;
  for (const std::string& name : names_in(folder_.path())) EXPECT_THAT(name, Not(HasSubstr("words")));
}

}  // namespace
}  // namespace transmute::testing

// SPDX-License-Identifier: Apache-2.0
// The train program as its user meets it: ends, resumes, is killed, and says what is wrong with its input.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <transmute/common/json.h>
#include <transmute/tests/e2e/training_run.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <sstream>

#include <nlohmann/json.hpp>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Training : public TrainingRun {};

TEST_F(Training, LeavesAModelCheckpointsMetricsAndALog) {
  const Outcome outcome = train("run");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(outcome.output, "") << "standard output is for results";
  EXPECT_EQ(names_in(folder_ / "run"),
            (std::vector<std::string>{"cache", "checkpoints", "config.yaml", "fingerprints.json", "lock",
                                      "metrics.jsonl", "model", "recommended", "report.html", "tensorboard",
                                      "text_profile.yaml", "tokenizer.model", "train.log"}));
  EXPECT_EQ(names_in(folder_ / "run/checkpoints"),
            (std::vector<std::string>{"step-000000010", "step-000000020", "step-000000030"}));
  EXPECT_EQ(names_in(folder_ / "run/model"),
            (std::vector<std::string>{"checksums.txt", "config.yaml", "text_profile.yaml", "tokenizer.model",
                                      "weights.safetensors"}));
  EXPECT_THAT(read_text(folder_ / "run/metrics.jsonl"), HasSubstr("\"step\":30"));
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("transmute 0."), HasSubstr("device cpu, 2 threads")));
}

TEST_F(Training, ResumeContinuesBitForBit) {
  ASSERT_EQ(train("whole").exit_code, 0);
  ASSERT_EQ(train("halved", {"training.max_steps=17"}).exit_code, 0);
  EXPECT_THAT(messages_of(train("halved", {"training.max_steps=30"})), HasSubstr("resuming after step 17"));
  EXPECT_EQ(checkpoint_bytes("halved", "000000030"), checkpoint_bytes("whole", "000000030"));
}

// SimCut draws all that R-Drop draws, and what it cuts.
TEST_F(Training, ConsistencyResumesBitForBitAndItsDivergenceIsRecorded) {
  const std::vector<std::string> usual = {"training.consistency=simcut", "training.log_every=1", "training.max_steps=6",
                                          "training.checkpoint_every=3"};
  std::vector<std::string> half = usual;
  half.push_back("training.max_steps=3");
  ASSERT_EQ(train("whole", usual).exit_code, 0);
  ASSERT_EQ(train("halved", half).exit_code, 0);
  ASSERT_EQ(train("halved", usual).exit_code, 0);
  EXPECT_EQ(checkpoint_bytes("halved", "000000006"), checkpoint_bytes("whole", "000000006"));
  std::istringstream metrics(read_text(folder_ / "whole/metrics.jsonl"));
  int divergences = 0;
  for (std::string line; std::getline(metrics, line);) {
    const Json record = parse_json(line);
    if (!record.contains("divergence")) continue;
    ++divergences;
    EXPECT_GT(record["divergence"].get<double>(), 0) << line;
    EXPECT_LT(record["loss"].get<double>(), 8) << line << ": of one pass, about ln 200 at the start";
  }
  EXPECT_EQ(divergences, 6);
}

TEST_F(Training, SampledSegmentationsResumeBitForBit) {
  const auto sampled = [&](const char* run, const char* max_steps) {
    return train(run, {"tokenizer.algorithm=bpe", "data.source_sampling=0.2", "data.target_sampling=0.2", max_steps});
  };
  ASSERT_EQ(sampled("whole", "training.max_steps=30").exit_code, 0);
  ASSERT_EQ(sampled("halved", "training.max_steps=17").exit_code, 0);
  ASSERT_EQ(sampled("halved", "training.max_steps=30").exit_code, 0);
  const std::string whole = checkpoint_bytes("whole", "000000030");
  EXPECT_EQ(checkpoint_bytes("halved", "000000030"), whole);
  ASSERT_EQ(train("plain", {"tokenizer.algorithm=bpe"}).exit_code, 0);
  EXPECT_NE(checkpoint_bytes("plain", "000000030"), whole);
}

TEST_F(Training, ARunKilledWhileItPreparesTheTextBeginsAgain) {
  make_training_text_longer(100);
  const std::vector<std::string> assignments = {"tokenizer.max_training_sentences=1000", "training.max_steps=3"};
  ASSERT_EQ(train("whole", assignments).exit_code, 0);
  int unfinished = 0;
  for (int kills = 0; kills < 3; ++kills) {
    std::filesystem::remove(folder_ / "run/cache/contents.json");  // it is written just before
    const auto is_time = [&] { return std::filesystem::exists(folder_ / "run/cache/contents.json"); };
    const int code = stop(start("run", assignments), is_time, std::chrono::milliseconds(40 * kills), SIGKILL);
    ASSERT_EQ(code, 128 + SIGKILL);
    for (const auto& corpus : corpora_in(folder_ / "run/cache"))
      unfinished += corpus.find(".partial") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(unfinished, 0);
  const Outcome outcome = train("run", assignments);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(checkpoint_bytes("run", "000000003"), checkpoint_bytes("whole", "000000003"));
  EXPECT_EQ(corpora_in(folder_ / "run/cache").size(), 1U) << "nothing unfinished stays";
}

TEST_F(Training, TokenizesAgainWithAnotherTokenizer) {
  ASSERT_EQ(train("run", {"training.max_steps=10"}).exit_code, 0);
  ASSERT_EQ(train("other", {"training.max_steps=1", "tokenizer.algorithm=bpe"}).exit_code, 0);
  const auto before = corpora_in(folder_ / "run/cache");
  EXPECT_EQ(train("run", {"training.max_steps=11"}).errors.find("tokenizing"), std::string::npos);
  EXPECT_EQ(corpora_in(folder_ / "run/cache"), before);
  std::filesystem::copy_file(folder_ / "other/tokenizer.model", folder_ / "run/tokenizer.model",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(refusal(train("run", {"training.max_steps=12"}), 1),
              AllOf(HasSubstr("tokenizing"), HasSubstr("or the vocabulary that it is read with, is not the one")));
  std::filesystem::remove_all(folder_ / "run/checkpoints");  // a run that has not begun may change
  const Outcome outcome = train("run", {"training.max_steps=12"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_NE(corpora_in(folder_ / "run/cache"), before);
  EXPECT_EQ(corpora_in(folder_ / "run/cache").size(), 1U) << "what is of no use is removed";
}

TEST_F(Training, TwoRunsShareACacheThatBothNeed) {
  make_training_text_longer(100);
  const std::vector<std::string> assignments = {"tokenizer.max_training_sentences=1000", "training.max_steps=2",
                                                "data.cache_folder=" + (folder_ / "cache")};
  const pid_t first = start("first", assignments);
  const Outcome second = train("second", assignments);
  EXPECT_EQ(exit_code_of(first), 0);
  EXPECT_EQ(second.exit_code, 0) << second.errors;
  EXPECT_EQ(corpora_in(folder_ / "cache").size(), 1U);
  EXPECT_EQ(checkpoint_bytes("first", "000000002"), checkpoint_bytes("second", "000000002"));
}

TEST_F(Training, AFullDiskWhileTheTextIsPreparedIsAnError) {
  make_training_text_longer(300);
  const std::string disk = folder_ / "disk";
  std::filesystem::create_directory(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "only root can make a small disk";
  const std::vector<std::string> assignments = {"tokenizer.max_training_sentences=1000", "training.max_steps=2",
                                                "data.cache_folder=" + disk + "/cache"};
  const Outcome full = train("run", assignments);
  const auto left = corpora_in(disk + "/cache");
  EXPECT_EQ(mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT, "size=100m"), 0);
  const Outcome again = train("run", assignments);
  EXPECT_EQ(umount(disk.c_str()), 0);
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.errors, AllOf(HasSubstr(disk + "/cache/train.en-"), HasSubstr("No space left on device"),
                                 HasSubstr("free some space")));
  EXPECT_TRUE(left.empty());
  EXPECT_EQ(again.exit_code, 0) << again.errors;
}

TEST_F(Training, TheMovingAverageIsResumedBitForBitAndBecomesTheModel) {
  const std::vector<std::string> averaged = {"training.ema_decay=0.8", "validation.every=10"};
  const auto with = [&](const char* more) {
    std::vector<std::string> all = averaged;
    all.push_back(more);
    return all;
  };
  ASSERT_EQ(train("whole", averaged).exit_code, 0);
  ASSERT_EQ(train("halved", with("training.max_steps=17")).exit_code, 0);
  const Outcome second_half = train("halved", with("training.max_steps=30"));
  EXPECT_THAT(second_half.errors, HasSubstr("moving average with decay 0.8: validation BLEU"));
  const std::string last = "/checkpoints/step-000000030/";
  EXPECT_EQ(checkpoint_bytes("halved", "000000030"), checkpoint_bytes("whole", "000000030"));
  const std::string average = read_text(folder_ / ("whole" + last + "ema.safetensors"));
  EXPECT_EQ(read_text(folder_ / ("halved" + last + "ema.safetensors")), average);
  EXPECT_EQ(read_text(folder_ / "whole/model/weights.safetensors"), average);
  EXPECT_NE(read_text(folder_ / ("whole" + last + "weights.safetensors")), average);
  // The training is the same with and without; the validation is not.
  ASSERT_EQ(train("without", {"validation.every=10"}).exit_code, 0);
  EXPECT_EQ(checkpoint_bytes("without", "000000030"), checkpoint_bytes("whole", "000000030"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / ("without" + last + "ema.safetensors")));
  EXPECT_NE(read_text(folder_ / "without/best/weights.safetensors"),
            read_text(folder_ / "whole/best/weights.safetensors"));
}

TEST_F(Training, KeepsCheckpointsByTheStatedPolicy) {
  const Outcome outcome = train("run", {"training.keep_checkpoints=1", "training.average_checkpoints=1",
                                        "training.keep_best=1", "training.keep_every=20", "training.checkpoint_every=4",
                                        "training.max_steps=28", "validation.every=6", "validation.metric=loss"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  // 28 is the newest, 20 a multiple of 20, and the loss is still falling in step 24, which only its validation saved.
  EXPECT_EQ(names_in(folder_ / "run/checkpoints"),
            (std::vector<std::string>{"step-000000020", "step-000000024", "step-000000028"}));
}

TEST_F(Training, WritesAProfileThatATraceViewerOpens) {
  const std::string trace = folder_ / "trace.json";
  std::vector<std::string> words =
      train_command(config_, folder_ / "run", {"training.precision=bfloat16", "training.max_steps=30"});
  words.insert(words.end(), {"--profile", trace});
  EXPECT_THAT(messages_of(run_program_with(words)), HasSubstr("profile: wrote " + trace));
  for (const char* phase : {"data", "forward", "backward", "optimizer"})
    EXPECT_THAT(read_text(trace), HasSubstr("\"name\":\"" + std::string(phase) + "\",\"ts\":"));
  words.back() = folder_ / "none/trace.json";
  EXPECT_THAT(refusal(run_program_with(words), 1), Not(HasSubstr("resuming"))) << "it is said at once";
}

TEST_F(Training, AProfileOfTooFewStepsIsReported) {
  std::vector<std::string> words = train_command(config_, folder_ / "run", {"training.max_steps=4"});
  words.insert(words.end(), {"--profile", folder_ / "trace.json"});
  EXPECT_THAT(messages_of(run_program_with(words)),
              HasSubstr("trace.json is empty, because this start made fewer than 5 steps"));
}

TEST_F(Training, AProfileIsWrittenOverNothingThatIsRead) {
  const auto refusal = [&](std::vector<std::string> words, const std::string& profile) {
    const std::string before = read_text(profile);
    words.insert(words.end(), {"--run-folder", folder_ / "run", "--profile", profile});
    const Outcome outcome = run_program_with(words);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.errors;
    EXPECT_EQ(read_text(profile), before);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
    return outcome.errors;
  };
  const std::string source = folder_ / "data/train.en", target = folder_ / "data/train.de";
  const std::vector<std::string> with_config{program("train"), "--config", config_};
  EXPECT_THAT(refusal(with_config, config_), HasSubstr("--profile is the file of --config"));
  const std::string derived = folder_ / "derived.yaml";
  write_text(derived, "base: " + std::filesystem::path(config_).filename().string() + "\n");
  EXPECT_THAT(refusal({program("train"), "--config", derived}, config_), HasSubstr("--profile is the file of base"));
  EXPECT_THAT(refusal(with_config, source), HasSubstr("--profile is the file of data.train_source"));
  EXPECT_THAT(refusal(with_config, folder_ / "data/valid.de"), HasSubstr("--profile is the file of data.valid_target"));
  EXPECT_THAT(refusal({program("train"), "--source", source, "--target", target}, target),
              HasSubstr("--profile is the file of --target"));
}

TEST_F(Training, WritesNoMessagesIntoItsFilesWhereStandardStreamsAreClosed) {
  std::string command;
  for (const std::string& word :
       train_command(config_, folder_ / "run", {"training.max_steps=2", "training.log_every=1"}))
    command += "'" + word + "' ";
  ASSERT_EQ(std::system((command + "<&- >&- 2>&-").c_str()), 0);
  const std::vector<std::string> lines = split_lines(read_text(folder_ / "run/metrics.jsonl"));
  EXPECT_GE(lines.size(), 2U);
  for (const std::string& line : lines) EXPECT_TRUE(Json::accept(line)) << line;
}

// A checkpoint after each step, so that many of the kills fall into the writing of one.
TEST_F(Training, ARunKilledEightTimesEndsWithTheWeightsOfOneThatWasNot) {
  const std::vector<std::string> assignments = {"training.max_steps=90", "training.checkpoint_every=1",
                                                "validation.every=25"};
  ASSERT_EQ(train("whole", assignments).exit_code, 0);
  const std::string checkpoints = folder_ / "run/checkpoints";
  std::mt19937 random(7);
  int unfinished = 0;
  for (int kills = 1; kills <= 8; ++kills) {
    // A step that is still to come, or the kill would fall into the start.
    const int wanted = std::max(10 * kills, newest_checkpoint(checkpoints) + 1);
    const auto is_time = [&] { return newest_checkpoint(checkpoints) >= wanted; };
    const int code = stop(start("run", assignments), is_time, std::chrono::microseconds(random() % 12000), SIGKILL);
    ASSERT_EQ(code, 128 + SIGKILL) << "at step " << wanted;
    for (const auto& name : names_in(checkpoints)) unfinished += name.size() > 14 ? 1 : 0;
  }
  RecordProperty("kills_during_checkpoint_writing", unfinished);
  const Outcome resumed = train("run", assignments);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_EQ(checkpoint_bytes("run", "000000090"), checkpoint_bytes("whole", "000000090"));
  EXPECT_EQ(read_text(folder_ / "run/model/weights.safetensors"),
            read_text(folder_ / "whole/model/weights.safetensors"));
  EXPECT_EQ(names_in(folder_ / "run/checkpoints").size(), 5U) << "nothing unfinished stays";
}

TEST_F(Training, ASignalSavesACheckpointAndIsTheExitCode) {
  const pid_t child = start("run", {"training.max_steps=100000"});
  const auto is_time = [&] { return newest_checkpoint(folder_ / "run/checkpoints") >= 10; };
  EXPECT_EQ(stop(child, is_time, {}, SIGTERM), 128 + SIGTERM);
  EXPECT_THAT(read_text(folder_ / "run/train.log"), HasSubstr("stopped after step"));
}

TEST_F(Training, AFullDiskIsAnErrorAndTheLastCheckpointServes) {
  const std::string disk = folder_ / "disk";
  std::filesystem::create_directory(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "only root can make a small disk";
  const Outcome full = train("disk/run", {"training.max_steps=100000"});
  const bool kept = std::filesystem::exists(disk + "/run/checkpoints/step-000000010");
  EXPECT_EQ(mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT, "size=100m"), 0);
  const Outcome resumed = train("disk/run", {"training.max_steps=60", "training.checkpoint_every=30"});
  EXPECT_EQ(umount(disk.c_str()), 0);
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.errors, AllOf(HasSubstr("disk/run/checkpoints/"), HasSubstr("No space left on device")));
  EXPECT_TRUE(kept);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.errors;
  EXPECT_THAT(resumed.errors, HasSubstr("resuming after step"));
}

TEST_F(Training, EndsWhereValidationBringsNothingBetterAnyMore) {
  // A learning rate of nothing: the first validation stays the best one.
  const std::vector<std::string> assignments = {"training.schedule=constant", "training.learning_rate=0",
                                                "validation.every=2", "validation.patience=3",
                                                "validation.metric=loss"};
  const Outcome ended = train("run", assignments);
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_THAT(ended.errors, AllOf(HasSubstr("no better loss in 3 validations"), HasSubstr("finished after step 8")));
  EXPECT_THAT(train("run", assignments).errors, HasSubstr("finished after step 8")) << "patience is kept";
  EXPECT_THAT(read_text(folder_ / "run/metrics.jsonl"), HasSubstr("\"chrf++\":"));
}

TEST_F(Training, SeparateVocabulariesPreNormAndLearnedPositionsTrain) {
  const Outcome outcome =
      train("run", {"tokenizer.vocabulary=separate", "tokenizer.vocab_size=120", "model.embedding_tying=target_output",
                    "model.norm_position=pre", "model.positional_encoding=learned", "model.score_function=additive",
                    "training.accumulate_batches=2", "training.clip_norm=1"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  const Outcome translated = run("translate", {"--model", folder_ / "run/model"}, "three hours\n\n");
  EXPECT_EQ(translated.exit_code, 0) << translated.errors;
  EXPECT_EQ(std::count(translated.output.begin(), translated.output.end(), '\n'), 2);
}

// A launcher deals cores out to its ranks by their affinity; the cores that all of them may run on, they share.
TEST_F(Training, LocalRanksShareTheCoresThatTheyAreConfinedTo) {
  cpu_set_t cores;
  ASSERT_EQ(sched_getaffinity(0, sizeof(cores), &cores), 0);
  if (CPU_COUNT(&cores) < 3) GTEST_SKIP() << "two of the cores must be a part of them";
  std::string two;
  for (int core = 0, found = 0; found < 2; ++core)
    if (CPU_ISSET(core, &cores)) two += (found++ > 0 ? "," : "") + std::to_string(core);
  const Outcome outcome =
      run_program_with({"taskset", "-c", two, program("train"), "--config", config_, "--run-folder", folder_ / "run",
                        "--threads", "0", "--local-ranks=2", "--set", "training.max_steps=1"});
  if (outcome.errors.find("came without c10d") != std::string::npos) GTEST_SKIP() << "this LibTorch has no c10d";
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("device cpu, 1 thread,"), HasSubstr("2 ranks (")));
}

TEST_F(Training, LocalRanksAreWhatIsAskedForWhateverTheEnvironmentSays) {
  std::vector<std::string> words = train_command(config_, folder_ / "run", {"training.max_steps=1"});
  words.insert(words.begin(), {"env", "RANK=5"});
  EXPECT_THAT(run_program_with(words).errors, HasSubstr("the environment says RANK=5"));
  for (const char* ranks : {"1", "2"}) {
    std::vector<std::string> local = words;
    local.insert(local.end(), {"--local-ranks", ranks});
    const Outcome outcome = run_program_with(local);
    if (outcome.errors.find("came without c10d") != std::string::npos) GTEST_SKIP() << "this LibTorch has no c10d";
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  }
}

}  // namespace
}  // namespace transmute::testing

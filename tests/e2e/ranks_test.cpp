// SPDX-License-Identifier: Apache-2.0
// Training with several processes, as its user meets it: the same result as one process with accumulation, exact
// resume, and an end for all where one is lost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <transmute/common/free_port.h>
#include <transmute/tests/e2e/programs.h>
#include <transmute/tests/support/running_training.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <thread>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The float32 numbers of a safetensors file, in the order of the file.
std::vector<float> numbers_in(const std::string& path) {
  const std::string bytes = read_text(path);
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof(header));
  std::vector<float> numbers((bytes.size() - sizeof(header) - header) / sizeof(float));
  std::memcpy(numbers.data(), bytes.data() + sizeof(header) + header, numbers.size() * sizeof(float));
  return numbers;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size() || a.empty()) return INFINITY;
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

double root_mean_square_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size() || a.empty()) return INFINITY;
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::pow(static_cast<double>(a[i]) - b[i], 2);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

bool exists(const std::string& path) {
  return std::filesystem::exists(path);
}

class Ranks : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    corpus_ = std::make_unique<TemporaryFolder>();
    make_corpus(*corpus_ / "data", 400);
    const std::string config = write_config(*corpus_);
    std::vector<std::string> words = train_command(config, *corpus_ / "probe", {"training.max_steps=1"});
    words.insert(words.end(), {"--local-ranks", "2"});
    possible_ = run_program_with(words).errors.find("came without c10d") == std::string::npos;
  }
  static void TearDownTestSuite() { corpus_.reset(); }

  void SetUp() override {
    std::filesystem::copy(*corpus_ / "data", folder_ / "data");
    config_ = write_config(folder_);
    if (!possible_) GTEST_SKIP() << "this LibTorch has no c10d";
  }
  // A test that fails may leave launchers behind; their ranks end with them.
  void TearDown() override {
    for (const pid_t child : running_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }

  // One thread each: the machine that tests this may have two cores.
  std::vector<std::string> command(int ranks, const std::string& run,
                                   const std::vector<std::string>& assignments) const {
    std::vector<std::string> words = train_command(config_, folder_ / run, assignments);
    words.insert(words.end(), {"--threads", "1", "--local-ranks", std::to_string(ranks)});
    words.erase(std::find(words.begin(), words.end(), "--threads"), std::find(words.begin(), words.end(), "2") + 1);
    return words;
  }

  Outcome train(int ranks, const std::string& run, const std::vector<std::string>& assignments = {}) const {
    return run_program_with(command(ranks, run, assignments));
  }

  std::string weights(const std::string& run, const std::string& step) const {
    return folder_ / (run + "/checkpoints/step-" + step + "/weights.safetensors");
  }

  std::string checkpoint_bytes(const std::string& run, const std::string& step) const {
    return read_text(weights(run, step)) +
           read_text(folder_ / (run + "/checkpoints/step-" + step + "/optimizer.safetensors"));
  }

  // The launcher in the background, its messages in `folder_/errors`. Words before it may set the environment.
  pid_t start(const std::vector<std::string>& words) {
    return *running_.insert(start_program(words, folder_ / "errors")).first;
  }

  std::string errors() const { return read_text(folder_ / "errors"); }

  int exit_code_of(pid_t child) {
    running_.erase(child);
    return testing::exit_code_of(child);
  }

  static std::vector<pid_t> ranks_of(pid_t launcher) {
    std::istringstream list(
        read_text("/proc/" + std::to_string(launcher) + "/task/" + std::to_string(launcher) + "/children"));
    std::vector<pid_t> ranks;
    for (pid_t rank = 0; list >> rank;) ranks.push_back(rank);
    return ranks;
  }

  std::string checkpoints(const std::string& run) const { return folder_ / (run + "/checkpoints"); }

  // Waits until a run has a checkpoint of `step` or of a later one.
  bool comes_to(const std::string& run, int step) const {
    return wait_until([&] { return newest_checkpoint(checkpoints(run)) >= step; });
  }

  static std::unique_ptr<TemporaryFolder> corpus_;
  static bool possible_;
  TemporaryFolder folder_;
  std::string config_;
  std::set<pid_t> running_;  // started and not waited for
};
std::unique_ptr<TemporaryFolder> Ranks::corpus_;
bool Ranks::possible_ = false;

// Only the order of float32 sums differs: nothing to see after two steps. Later a ReLU near zero may open in one run
// and stay shut in the other, on some machines and not on others, and training makes that grow; next to a batch that is
// lost or counted twice it stays small.
TEST_F(Ranks, TrainAsOneProcessThatAccumulatesAsManyBatches) {
  const std::vector<std::string> usual = {"training.max_steps=30", "training.learning_rate_scale=0.1",
                                          "training.checkpoint_every=2", "training.keep_checkpoints=20",
                                          "training.clip_norm=0.5"};
  for (const int ranks : {2, 3}) {
    const std::string name = std::to_string(ranks);
    EXPECT_THAT(messages_of(train(ranks, "together" + name, usual)), HasSubstr(name + " ranks"));
    std::vector<std::string> accumulating = usual;
    accumulating.push_back("training.accumulate_batches=" + name);
    ASSERT_EQ(train(1, "alone" + name, accumulating).exit_code, 0);
  }
  for (const char* step : {"000000002", "000000030"}) {
    const double another_batch =
        root_mean_square_difference(numbers_in(weights("alone2", step)), numbers_in(weights("alone3", step)));
    EXPECT_GT(another_batch, 1e-5) << "or the comparison would not see a lost batch";
    for (const std::string name : {"2", "3"}) {
      const auto together = numbers_in(weights("together" + name, step));
      const auto alone = numbers_in(weights("alone" + name, step));
      EXPECT_LT(root_mean_square_difference(together, alone), 0.02 * another_batch) << name << " at step " << step;
      if (step == std::string("000000002")) {
        EXPECT_LT(largest_difference(together, alone), 1e-6) << name;
      }
    }
  }
}

TEST_F(Ranks, ARunKilledAtRandomMomentsEndsWithTheWeightsOfOneThatWasNot) {
  const std::vector<std::string> usual = {"training.max_steps=60", "training.checkpoint_every=1",
                                          "validation.every=25"};
  ASSERT_EQ(train(2, "whole", usual).exit_code, 0);
  std::mt19937 random(11);
  for (int kills = 1; kills <= 5; ++kills) {
    // A step that is still to come, or the kill would fall into the start.
    const int wanted = std::max(10 * kills, newest_checkpoint(checkpoints("run")) + 1);
    const pid_t launcher = start(command(2, "run", usual));
    const auto is_time = [&] {
      return newest_checkpoint(checkpoints("run")) >= wanted && ranks_of(launcher).size() == 2;
    };
    ASSERT_TRUE(wait_until(is_time)) << "step " << wanted << ": " << errors();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 12000));
    const std::vector<pid_t> ranks = ranks_of(launcher);
    ASSERT_EQ(ranks.size(), 2U);
    kill(std::vector<pid_t>{launcher, ranks[0], ranks[1]}.at(static_cast<size_t>(kills % 3)), SIGKILL);
    EXPECT_EQ(exit_code_of(launcher), 128 + SIGKILL) << errors();
  }
  EXPECT_THAT(messages_of(train(2, "run", usual)), HasSubstr("resuming after step"));
  EXPECT_EQ(checkpoint_bytes("run", "000000060"), checkpoint_bytes("whole", "000000060"));
  EXPECT_EQ(read_text(folder_ / "run/model/weights.safetensors"),
            read_text(folder_ / "whole/model/weights.safetensors"));
}

TEST_F(Ranks, OthersInNumberGoOnFromTheSamePlaceInTheText) {
  const std::vector<std::string> gentle = {"training.learning_rate_scale=0.1"};
  ASSERT_EQ(train(2, "whole", gentle).exit_code, 0);
  ASSERT_EQ(train(2, "run", {gentle[0], "training.max_steps=13"}).exit_code, 0);
  const Outcome warned = train(3, "run", {gentle[0], "training.max_steps=14"});
  EXPECT_THAT(warned.errors, HasSubstr("a step had 2 batches and now has 3"));
  std::filesystem::remove_all(folder_ / "run/checkpoints/step-000000014");
  std::filesystem::copy(folder_ / "run", folder_ / "other", std::filesystem::copy_options::recursive);
  EXPECT_THAT(messages_of(train(1, "run", {gentle[0], "training.accumulate_batches=2"})),
              HasSubstr("resuming after step 13"));
  ASSERT_EQ(train(1, "other", {gentle[0], "training.accumulate_batches=1"}).exit_code, 0);
  const auto expected = numbers_in(weights("whole", "000000030"));
  const double other_text = root_mean_square_difference(numbers_in(weights("other", "000000030")), expected);
  EXPECT_GT(other_text, 1e-4) << "or the comparison would not see another place in the text";
  EXPECT_LT(root_mean_square_difference(numbers_in(weights("run", "000000030")), expected), 0.02 * other_text);
}

TEST_F(Ranks, ALostOneIsNamedAndEndsAll) {
  const pid_t launcher = start(command(3, "run", {"training.max_steps=1000000"}));
  ASSERT_TRUE(comes_to("run", 10)) << errors();
  const std::vector<pid_t> ranks = ranks_of(launcher);
  ASSERT_EQ(ranks.size(), 3U);
  kill(ranks[1], SIGKILL);
  EXPECT_EQ(exit_code_of(launcher), 128 + SIGKILL);
  EXPECT_THAT(errors(), AllOf(HasSubstr("rank 1 (process " + std::to_string(ranks[1]) + ") was ended by signal 9"),
                              HasSubstr("train: error: rank 2: rank 1"), HasSubstr("train: error: rank 1"),
                              HasSubstr("continues from the newest checkpoint")));
  for (const pid_t rank : ranks) EXPECT_NE(kill(rank, 0), 0) << "nobody stays behind";
}

TEST_F(Ranks, AFrozenOneIsNamedAndEndsAllButAPauseOfAllDoesNot) {
  std::vector<std::string> words = command(2, "run", {"training.max_steps=1000000"});
  words.insert(words.end(), {"--rank-timeout", "8"});
  const pid_t launcher = start(words);
  ASSERT_TRUE(comes_to("run", 10)) << errors();
  const std::vector<pid_t> ranks = ranks_of(launcher);
  for (const pid_t rank : ranks) kill(rank, SIGSTOP);
  const int paused_at = newest_checkpoint(checkpoints("run"));
  std::this_thread::sleep_for(std::chrono::seconds(9));
  for (const pid_t rank : ranks) kill(rank, SIGCONT);
  ASSERT_TRUE(comes_to("run", paused_at + 10)) << errors();
  kill(ranks.at(1), SIGSTOP);
  EXPECT_EQ(exit_code_of(launcher), 1);
  EXPECT_THAT(errors(), HasSubstr("is lost: no sign of life for 8 seconds"));
}

TEST_F(Ranks, ASignalToAnyOfThemSavesACheckpointAndIsTheExitCode) {
  for (const bool to_launcher : {false, true}) {
    const std::string run = to_launcher ? "first" : "second";
    const pid_t launcher = start(command(2, run, {"training.max_steps=1000000", "training.checkpoint_every=1000000"}));
    // With a line of metrics, all ranks have made steps; before them, a signal ends each at once.
    const std::string metrics = folder_ / (run + "/metrics.jsonl");
    ASSERT_TRUE(wait_until([&] { return exists(metrics) && std::filesystem::file_size(metrics) > 0; })) << errors();
    kill(to_launcher ? launcher : ranks_of(launcher).at(1), SIGTERM);
    EXPECT_EQ(exit_code_of(launcher), 128 + SIGTERM) << errors();
    EXPECT_THAT(read_text(folder_ / (run + "/train.log")), HasSubstr("stopped after step"));
    EXPECT_EQ(names_in(checkpoints(run)).size(), 1U);
    EXPECT_THAT(errors(), AllOf(Not(HasSubstr("c10d")), Not(HasSubstr("InitGoogleLogging")))) << "nobody was lost";
  }
}

TEST_F(Ranks, OfDifferentConfigsSayWhichDiffers) {
  const std::string port = "MASTER_PORT=" + std::to_string(free_loopback_port());
  const auto start_rank = [&](const char* rank, const char* steps) {
    std::vector<std::string> words = train_command(config_, folder_ / "run", {steps});
    words.insert(words.begin(), {"env", rank, "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", port});
    return start(words);
  };
  const pid_t first = start_rank("RANK=0", "training.max_steps=30");
  const pid_t second = start_rank("RANK=1", "training.max_steps=31");
  EXPECT_EQ(exit_code_of(first), 1);
  EXPECT_EQ(exit_code_of(second), 1);
  EXPECT_THAT(errors(), HasSubstr("rank 1 differs from rank 0 in the config"));
}

TEST_F(Ranks, OnAnInterfaceThatIsNotThereSayWhichVariableNamesIt) {
  setenv("GLOO_SOCKET_IFNAME", "nope0", 1);
  const Outcome outcome = train(2, "run", {});
  unsetenv("GLOO_SOCKET_IFNAME");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("GLOO_SOCKET_IFNAME=nope0: this machine has no such network interface"));
}

TEST_F(Ranks, BadUsageIsSaidOnce) {
  const Outcome outcome = train(2, "run", {"training.warmup_steps=many"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.errors.find("needs a whole number"), outcome.errors.rfind("needs a whole number"));
  EXPECT_EQ(run_program_with(command(0, "run", {})).exit_code, 2);
}

TEST_F(Ranks, AMissingFileIsSaidOnce) {
  const Outcome outcome = train(2, "run", {"data.train_source=nothing.en"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.errors.find("nothing.en: cannot be opened"), outcome.errors.rfind("nothing.en: cannot be opened"));
  EXPECT_THAT(outcome.errors, Not(HasSubstr("checkpoint"))) << "there is none, and another run does not help";
}

}  // namespace
}  // namespace transmute::testing

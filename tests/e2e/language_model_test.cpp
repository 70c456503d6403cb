// SPDX-License-Identifier: Apache-2.0
// From plain text to a language model: a small network learns it, and the programs continue and score text with it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/tests/e2e/programs.h>
#include <transmute/tokenizer/tokenizer.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include <nlohmann/json.hpp>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The config of a language model that trains in seconds on `data/train.de`.
std::string write_language_model_config(const TemporaryFolder& folder) {
  const std::string path = folder / "tiny.yaml";
  write_text(path, "data:\n  folder: " + (folder / "data") +
                       "\n  train_text: train.de\n  valid_text: valid.de\n"
                       "tokenizer:\n  algorithm: unigram\n  vocab_size: 150\n"
                       "model:\n  architecture: decoder_only\n  num_decoder_layers: 1\n  d_model: 32\n  num_heads: 2\n"
                       "  d_ff: 64\n"
                       "training:\n  batch_tokens: 512\n  max_steps: 30\n  warmup_steps: 50\n  log_every: 10\n"
                       "  checkpoint_every: 10\n"
                       "validation:\n  every: 10\n");
  return path;
}

class LanguageModelTraining : public ::testing::Test {
 protected:
  LanguageModelTraining() {
    make_corpus(folder_ / "data", 400);
    config_ = write_language_model_config(folder_);
  }

  Outcome train(const std::string& run, const std::vector<std::string>& assignments = {}) const {
    return run_program_with(train_command(config_, folder_ / run, assignments));
  }

  std::string last_checkpoint(const std::string& run) const {
    const std::string checkpoint = folder_ / (run + "/checkpoints/step-000000030");
    return read_text(checkpoint + "/weights.safetensors") + read_text(checkpoint + "/optimizer.safetensors");
  }

  TemporaryFolder folder_;
  std::string config_;
};

TEST_F(LanguageModelTraining, NeedsNoMoreThanAText) {
  std::vector<std::string> command{
      program("train"), "--text", folder_ / "data/train.de", "--run-folder", folder_ / "run", "--threads", "2",
      "--minutes",      "0.1"};
  EXPECT_THAT(messages_of(run_program_with(command)),
              AllOf(HasSubstr("chosen for "), HasSubstr(" lines: "), HasSubstr("transmute generate")));
  EXPECT_THAT(read_text(folder_ / "run/config.yaml"),
              AllOf(HasSubstr("architecture: decoder_only"), HasSubstr("run/text/train.de"),
                    HasSubstr("run/text/valid.de"), HasSubstr("max_minutes: 0.1")));
  const std::string kept = read_text(folder_ / "run/text/train.de"),
                    held_out = read_text(folder_ / "run/text/valid.de");
  EXPECT_GT(held_out.size(), 0U);
  EXPECT_EQ(kept.size() + held_out.size(), read_text(folder_ / "data/train.de").size()) << "each line is on one side";
  EXPECT_EQ(run("generate", {"--model", folder_ / "run", "--prompt", "Mo"}).exit_code, 0);
  EXPECT_THAT(messages_of(run_program_with(command)), HasSubstr("resuming after step"));
  command[2] = folder_ / "data/train.en";
  EXPECT_THAT(refusal(run_program_with(command), 1),
              HasSubstr("was begun with another text than " + (folder_ / "data/train.en")));
  EXPECT_EQ(run("train", {"--text", "a", "--source", "b", "--target", "c"}).exit_code, 2);
}

TEST_F(LanguageModelTraining, LeavesWhatATrainingLeavesAndReportsPerplexity) {
  const Outcome outcome = train("run");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("training text: 400 lines"), HasSubstr("validation perplexity"),
                                    HasSubstr("generate --model"), Not(HasSubstr("BLEU"))));
  EXPECT_EQ(names_in(folder_ / "run"),
            (std::vector<std::string>{"best", "cache", "checkpoints", "config.yaml", "fingerprints.json", "lock",
                                      "metrics.jsonl", "model", "recommended", "report.html", "tensorboard",
                                      "text_profile.yaml", "tokenizer.model", "train.log"}));
  int validations = 0;
  for (const auto& line : split_lines(read_text(folder_ / "run/metrics.jsonl"))) {
    const Json record = parse_json(line);
    EXPECT_FALSE(record.contains("bleu") || record.contains("source_tokens_per_second")) << line;
    if (record.at("type") != "validation") continue;
    ++validations;
    EXPECT_NEAR(record.at("perplexity").get<double>(), std::exp(record.at("loss").get<double>()), 1e-9);
  }
  EXPECT_EQ(validations, 3);
  EXPECT_THAT(read_text(folder_ / "run/report.html"),
              AllOf(HasSubstr("400 lines"), HasSubstr("Loss per target token"), HasSubstr("best loss")));

  // The same number from the finished model, by the program that scores text.
  const Outcome scored = run("score", {"--model", folder_ / "run/model", "--text", folder_ / "data/valid.de"});
  ASSERT_EQ(scored.exit_code, 0) << scored.errors;
  double sum = 0;
  for (const auto& line : split_lines(scored.output)) sum += std::stod(line);
  const Tokenizer tokenizer = Tokenizer::load(folder_ / "run");
  double tokens = 0;
  for (const auto& line : split_lines(read_text(folder_ / "data/valid.de")))
    tokens += static_cast<double>(tokenizer.target().encode(line).size()) + 1;
  const double perplexity = std::exp(-sum / tokens);
  std::smatch told, trained;
  ASSERT_TRUE(std::regex_search(scored.errors, told, std::regex("perplexity ([0-9.]+)")));
  ASSERT_TRUE(std::regex_search(outcome.errors, trained, std::regex("validation perplexity ([0-9.]+)")));
  EXPECT_NEAR(std::stod(told[1]), perplexity, 1e-3 * perplexity);
  EXPECT_NEAR(std::stod(trained[1]), perplexity, 1e-3 * perplexity);
}

TEST_F(LanguageModelTraining, ResumesBitForBitAndWithSeveralRanks) {
  ASSERT_EQ(train("whole").exit_code, 0);
  ASSERT_EQ(train("halved", {"training.max_steps=17"}).exit_code, 0);
  EXPECT_THAT(messages_of(train("halved", {"training.max_steps=30"})), HasSubstr("resuming after step 17"));
  EXPECT_TRUE(last_checkpoint("halved") == last_checkpoint("whole"));

  std::vector<std::string> words = train_command(config_, folder_ / "ranks", {"data.train_weights=[2]"});
  words.insert(words.end(), {"--local-ranks", "2"});
  const Outcome ranks = run_program_with(words);
  EXPECT_EQ(ranks.exit_code, 0) << ranks.errors;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "ranks/model/weights.safetensors"));
}

TEST_F(LanguageModelTraining, TrainsInBfloat16WithSampledSegmentationsAnAverageAndEarlyStopping) {
  EXPECT_THAT(messages_of(train("run", {"training.precision=bfloat16", "data.target_sampling=0.1",
                                        "training.ema_decay=0.9", "validation.patience=2", "training.keep_best=1",
                                        "model.norm_position=pre", "model.embedding_tying=none",
                                        "model.positional_encoding=learned", "model.max_positions=64"})),
              HasSubstr("moving average with decay 0.9: validation perplexity"));
}

TEST_F(LanguageModelTraining, LeavesOutLongAndEmptyLinesAndCountsThem) {
  write_text(folder_ / "data/train.de", read_text(folder_ / "data/train.de") + "\n  \n");
  EXPECT_THAT(messages_of(train("run", {"data.max_target_tokens=10", "training.max_steps=1"})),
              ContainsRegex("lines left out: 2 empty, [1-9][0-9]* of over 10 tokens"));
  EXPECT_THAT(refusal(train("none", {"data.max_target_tokens=1"}), 1), HasSubstr("no usable line"));
}

TEST_F(LanguageModelTraining, NamesKeysThatHaveNoMeaning) {
  const auto refusal = [&](const std::vector<std::string>& assignments) {
    const Outcome outcome = train("refused", assignments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.errors;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "refused"));
    return outcome.errors;
  };
  EXPECT_THAT(refusal({"data.train_source=train.en"}),
              AllOf(HasSubstr("data.train_source has no meaning"), HasSubstr("data.train_text")));
  EXPECT_THAT(refusal({"data.train_text=[]"}),
              AllOf(HasSubstr("data.train_text is empty"), HasSubstr("--set data.train_text=FILE")));
  EXPECT_THAT(refusal({"validation.metric=bleu"}),
              AllOf(HasSubstr("validation.metric: bleu"), HasSubstr("set it to loss")));
  EXPECT_THAT(refusal({"tokenizer.vocabulary=separate"}), HasSubstr("leave it at shared"));
  EXPECT_THAT(refusal({"tokenizer.normalization=nmt_nfkc_tc"}), HasSubstr("decoder_only use nmt_nfkc"));
  EXPECT_THAT(refusal({"training.guided_alignment=1"}), HasSubstr("training.guided_alignment has no meaning"));
  EXPECT_THAT(refusal({"data.valid_text=[]", "validation.patience=2"}), HasSubstr("data.valid_text"));
  EXPECT_THAT(refusal({"model.architecture=encoder_decoder"}),
              AllOf(HasSubstr("data.train_text is for a language model"), HasSubstr("data.train_source")));
}

class TrainedLanguageModel : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    make_corpus(*folder_ / "data", 6000);
    const std::string config = write_language_model_config(*folder_);
    const Outcome trained = run_program_with(
        train_command(config, *folder_ / "run",
                      {"model.num_decoder_layers=2", "model.d_model=96", "model.num_heads=4", "model.d_ff=256",
                       "training.label_smoothing=0", "training.batch_tokens=1024", "training.max_steps=1000",
                       "training.warmup_steps=300", "training.checkpoint_every=100", "training.learning_rate_scale=0.5",
                       "training.precision=auto", "training.log_every=100", "validation.every=500"}));
    if (trained.exit_code != 0) throw std::runtime_error(trained.errors);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static Outcome generate(const std::string& input, const std::vector<std::string>& flags = {}) {
    std::vector<std::string> words{program("generate"), "--model", *folder_ / "run/model"};
    words.insert(words.end(), flags.begin(), flags.end());
    return run_program_with(words, input);
  }

  static std::unique_ptr<TemporaryFolder> folder_;
};
std::unique_ptr<TemporaryFolder> TrainedLanguageModel::folder_;

TEST_F(TrainedLanguageModel, KnowsHeldOutTextBetterThanASmoothedTrigramModelOfTheSameText) {
  constexpr double kOfTrigrams = 5.046;  // see docs/experiments.md
  const Outcome scored = run("score", {"--model", *folder_ / "run/model", "--text", *folder_ / "data/test.de"});
  std::smatch words;
  ASSERT_TRUE(std::regex_search(scored.errors, words, std::regex("perplexity ([0-9.]+)"))) << scored.errors;
  EXPECT_LT(std::stod(words[1]), kOfTrigrams);
}

TEST_F(TrainedLanguageModel, ContinuesEachPromptInOrderAndBySeed) {
  const std::string prompts = "Montag\n\ndrei\n12. M\n";
  const Outcome outcome = generate(prompts);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  const auto lines = split_lines(outcome.output);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[0], StartsWith("Montag"));
  EXPECT_NE(lines[1], "") << "an empty line begins a text";
  EXPECT_THAT(lines[2], StartsWith("drei"));
  EXPECT_THAT(lines[3], StartsWith("12. M"));
  EXPECT_EQ(generate(prompts).output, outcome.output);
  EXPECT_NE(generate(prompts, {"--seed", "2"}).output, outcome.output);
  for (const auto& flags :
       std::vector<std::vector<std::string>>{{"--batch-size", "1"}, {"--threads", "1"}, {"--buffer-lines", "3"}})
    EXPECT_EQ(generate(prompts, flags).output, outcome.output);
  EXPECT_EQ(generate("", {"--prompt", "drei"}).output, lines[2] + "\n");
  EXPECT_EQ(split_lines(generate("", {"--prompt", "drei", "--prompt", "Montag"}).output).back(), lines[0]);
}

TEST_F(TrainedLanguageModel, AnswersInTheFormsOfTranslate) {
  const auto best = split_lines(generate("Montag\n", {"--beam-size", "4", "--n-best", "3"}).output);
  ASSERT_EQ(best.size(), 3U);
  for (const auto& line : best) EXPECT_THAT(line, StartsWith("0 ||| Montag"));
  EXPECT_EQ(split_lines(generate("Montag\n", {"--n-best", "5"}).output).size(), 5U);
  const Json object = parse_json(generate("Montag\n", {"--format", "json", "--max-new-tokens", "3"}).output);
  EXPECT_THAT(object.at("hypotheses")[0].at("text").get<std::string>(), StartsWith("Montag"));
  EXPECT_LE(object.at("hypotheses")[0].at("tokens").size(), object.at("source_tokens").size() + 3);
  write_text(*folder_ / "in.txt", "Montag\n");
  EXPECT_EQ(generate("", {"--input", *folder_ / "in.txt", "--output", *folder_ / "out.txt"}).output, "");
  EXPECT_EQ(read_text(*folder_ / "out.txt"), generate("Montag\n").output);
}

TEST_F(TrainedLanguageModel, IsExportedConvertedAndAveraged) {
  const std::string wanted = generate("Montag\nzwei\n").output;
  const auto made = [&](const std::vector<std::string>& words) {
    const Outcome outcome = run_program_with(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    return run("generate", {"--model", *folder_ / "made"}, "Montag\nzwei\n").output;
  };
  const std::string model = *folder_ / "run/model", to = *folder_ / "made";
  EXPECT_EQ(made({program("export_torchscript"), "--model", model, "--output", to}), wanted);
  std::filesystem::remove(to);
  EXPECT_EQ(made({program("convert"), "--model", model, "--to", "safetensors", "--output", to}), wanted);
  EXPECT_EQ(made({program("average_checkpoints"), "--output", to, model, model}), wanted);
  EXPECT_EQ(split_lines(generate("Montag\n", {"--precision", "int8"}).output).size(), 1U);
}

TEST_F(TrainedLanguageModel, IsRefusedByWhatNeedsASourceAndSaysWhatItIsFor) {
  const std::string model = *folder_ / "run/model", text = *folder_ / "data/test.de";
  for (const auto& words : std::vector<std::vector<std::string>>{
           {program("translate"), "--model", model},
           {program("score"), "--model", model, "--source", text, "--target", text},
           {program("embed"), "--model", model, "--input", text},
           {program("visualize"), "--model", model, "--input", text, "--output", *folder_ / "page.html"}}) {
    const Outcome outcome = run_program_with(words, "Montag\n");
    EXPECT_EQ(outcome.exit_code, 2) << words.front();
    EXPECT_THAT(outcome.errors, AllOf(HasSubstr("is a language model"), HasSubstr("generate"))) << words.front();
  }
  EXPECT_THAT(refusal("score", {"--model", model}), HasSubstr("--text for a language model"));
  EXPECT_EQ(generate("", {"--prompt", "a", "--temperature", "-1"}).exit_code, 2);
  EXPECT_EQ(generate("", {"--prompt", "a", "--beam-size", "2", "--seed", "3"}).exit_code, 2);
  EXPECT_EQ(generate("caf\xe9\n").exit_code, 1);
}

TEST_F(TrainedLanguageModel, ScoresEachTokenAndPassesOverEmptyLines) {
  write_text(*folder_ / "score.txt", "Montag\n\nMontag\n");
  const Outcome outcome =
      run("score", {"--model", *folder_ / "run/model", "--per-token", "--text", *folder_ / "score.txt"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  const auto lines = split_lines(outcome.output);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], lines[2]);
  EXPECT_EQ(lines[1], "0.000000") << "an empty line has no tokens, not even an end";
  const auto tabs = std::count(lines[0].begin(), lines[0].end(), '\t');  // tokens and the end
  EXPECT_THAT(outcome.errors, HasSubstr("3 lines, " + std::to_string(2 * tabs) + " tokens with the ends"));

  write_text(*folder_ / "score.txt", "Montag\n\nMontag\n\xff\nMontag\n");
  const Outcome failed =
      run("score", {"--model", *folder_ / "run/model", "--per-token", "--text", *folder_ / "score.txt"});
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_EQ(failed.output, outcome.output) << "the lines before the bad one";
  EXPECT_THAT(failed.errors, HasSubstr("score.txt:4: not valid UTF-8"));
}

}  // namespace
}  // namespace transmute::testing

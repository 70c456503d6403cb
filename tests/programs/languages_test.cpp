// SPDX-License-Identifier: Apache-2.0
// Trainings in several languages, and on back-translations, from their text to the translations of their models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/e2e/programs.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::vector<std::string> kBothDirections{"data.train_source=[train.en, train.de]",
                                               "data.train_target=[train.de, train.en]",
                                               "data.train_languages=[en-de, de-en]",
                                               "data.valid_source=[valid.en, valid.de]",
                                               "data.valid_target=[valid.de, valid.en]",
                                               "data.valid_languages=[en-de, de-en]",
                                               "validation.max_sentences=20",
                                               "validation.every=15"};

class Languages : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_ = std::make_unique<TemporaryFolder>();
    make_corpus(*shared_ / "data", 300);
    trained_ = run_program_with(train_command(write_config(*shared_), *shared_ / "both", kBothDirections));
  }
  static void TearDownTestSuite() { shared_.reset(); }

  void SetUp() override {
    ASSERT_EQ(trained_.exit_code, 0) << trained_.errors;
    std::filesystem::copy(*shared_ / "data", folder_ / "data");
    config_ = write_config(folder_);
  }
  // The model of both directions.
  static std::string model() { return *shared_ / "both/model"; }
  // Translates mono.de by a model of both directions.
  Outcome backtranslate(const std::string& output, std::vector<std::string> more = {}) const {
    std::vector<std::string> words{program("backtranslate"),
                                   "--model",
                                   model(),
                                   "--target-language",
                                   "en",
                                   "--text",
                                   folder_ / "mono.de",
                                   "--config",
                                   config_,
                                   "-o",
                                   folder_ / output};
    words.insert(words.end(), more.begin(), more.end());
    return run_program_with(words);
  }

  static inline std::unique_ptr<TemporaryFolder> shared_;
  static inline Outcome trained_;
  TemporaryFolder folder_;
  std::string config_;
};

int64_t lines_of(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

TEST_F(Languages, OfOneModelAreToldApartByTheirNames) {
  EXPECT_THAT(trained_.errors, HasSubstr("an epoch reads 300 pairs of de-en, 300 pairs of en-de"));
  EXPECT_THAT(trained_.errors, HasSubstr("; BLEU en-de "));
  EXPECT_THAT(read_text(*shared_ / "both/metrics.jsonl"), HasSubstr(R"("languages":{"en-de":{"bleu":)"));
  const auto translated = [&](std::vector<std::string> more) {
    std::vector<std::string> words{program("translate"), "--model", model()};
    words.insert(words.end(), more.begin(), more.end());
    words.emplace_back("Monday, March 3, 2025");
    return run_program_with(words);
  };
  const Outcome german = translated({"--target-language", "de"});
  EXPECT_EQ(german.exit_code, 0) << german.errors;
  EXPECT_EQ(lines_of(german.output), 1);
  EXPECT_THAT(translated({"--target-language", "fr"}).errors, HasSubstr("no language \"fr\"; it has de, en"));
}

TEST_F(Languages, WithLessTextAreReadMoreOften) {
  write_text(folder_ / "data/few.de", "Montag\nDienstag\nMittwoch\n");
  write_text(folder_ / "data/few.en", "Monday\nTuesday\nWednesday\n");
  std::vector<std::string> assignments = kBothDirections;
  assignments[0] = "data.train_source=[train.en, few.de]";
  assignments[1] = "data.train_target=[train.de, few.en]";
  assignments.insert(assignments.end(), {"data.language_temperature=2", "training.max_steps=1"});
  const Outcome trained = run_program_with(train_command(config_, folder_ / "few", assignments));
  // 300 * sqrt(3 / 300)
  EXPECT_THAT(trained.errors, HasSubstr("an epoch reads 30 pairs of de-en, 300 pairs of en-de"));
}

TEST_F(Languages, BacktranslationsBecomeTextOfATraining) {
  const std::string text = read_text(folder_ / "data/train.de");
  const size_t half = text.find('\n', text.size() / 2) + 1;
  write_text(folder_ / "mono.de", text.substr(half));
  // A model of 30 steps translates badly, but its translations are pairs; --min-confidence 0 keeps all of them.
  const Outcome made = backtranslate("bt", {"--beam-size", "1"});
  ASSERT_EQ(made.exit_code, 0) << made.errors;
  EXPECT_THAT(made.errors, HasSubstr("train --config " + (folder_ / "bt/config.yaml")));
  const std::string translated = read_text(folder_ / "bt/translated.tsv"), pairs = read_text(folder_ / "bt/pairs.tsv");
  EXPECT_EQ(lines_of(translated), lines_of(text.substr(half)));
  EXPECT_THAT(pairs, StartsWith("<BT> "));
  const std::string config = read_text(folder_ / "bt/config.yaml");
  EXPECT_THAT(config, AllOf(HasSubstr("bt/pairs.tsv"), HasSubstr("<BT>"), HasSubstr("train.en")));
  EXPECT_THAT(messages_of(run_program_with(train_command(folder_ / "bt/config.yaml", folder_ / "with"))),
              HasSubstr(std::to_string(300 + lines_of(pairs)) + " sentence pairs"));

  // Run again, only what depends on the new flags is made anew.
  EXPECT_THAT(messages_of(backtranslate("bt", {"--beam-size", "1", "--tag", "", "--weight", "2"})),
              HasSubstr("has the translations of an earlier run"));
  EXPECT_THAT(read_text(folder_ / "bt/pairs.tsv"), Not(HasSubstr("<BT>")));
  EXPECT_THAT(read_text(folder_ / "bt/config.yaml"), HasSubstr("[1, 2]"));
  const Outcome other = backtranslate("bt", {"--beam-size", "2"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.errors, HasSubstr("made from another text, or with another model or other flags"));
  EXPECT_EQ(read_text(folder_ / "bt/translated.tsv"), translated);

  write_text(folder_ / "mono.de", "Montag\nDienst\xff\n");
  const Outcome broken = backtranslate("broken");
  EXPECT_EQ(broken.exit_code, 1);
  EXPECT_THAT(broken.errors, HasSubstr("mono.de:2"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "broken/translated.tsv")) << "which would pass for the whole";
}

TEST_F(Languages, BacktranslationsRepeatNoColumnOfTheValidationText) {
  write_text(folder_ / "mono.de", read_text(folder_ / "data/valid.de"));
  write_text(config_, "data:\n  folder: " + (folder_ / "data") +
                          "\n  train_source: train.en\n  train_target: train.de\n  valid_pairs: valid.tsv\n");
  ASSERT_EQ(shell("cd " + (folder_ / "data") + " && paste valid.en valid.de > valid.tsv").exit_code, 0);
  EXPECT_THAT(refusal(backtranslate("bt", {"--beam-size", "1"}), 1),
              HasSubstr("none of the 60 back-translations is left"));
}

TEST_F(Languages, BacktranslationsAreForATrainingThatContinuesAModelToo) {
  write_text(folder_ / "mono.de", read_text(folder_ / "data/train.de"));
  write_text(config_, "data:\n  folder: " + (folder_ / "data") +
                          "\n  train_source: train.en\n  train_target: train.de\n  train_languages: [en-de]\n"
                          "training:\n  max_steps: 2\n  initialize_from: " +
                          model() + "\n");
  const Outcome made = backtranslate("bt", {"--beam-size", "1", "--languages", "en-de"});
  ASSERT_EQ(made.exit_code, 0) << made.errors;
  EXPECT_THAT(read_text(folder_ / "bt/pairs.tsv"), StartsWith("<BT> "));
  const Outcome trained = run_program_with(train_command(folder_ / "bt/config.yaml", folder_ / "with"));
  EXPECT_EQ(trained.exit_code, 0) << trained.errors;
}

TEST_F(Languages, BacktranslationsNeedAConfigurationThatCanTakeThem) {
  write_text(folder_ / "mono.de", "Montag\n");
  EXPECT_THAT(backtranslate("bt", {"--languages", "en-de"}).errors,
              HasSubstr("--languages is for a configuration with data.train_languages"));
  write_text(folder_ / "lm.yaml", "model: {architecture: decoder_only}\ndata: {train_text: a.txt}\n");
  config_ = folder_ / "lm.yaml";
  EXPECT_THAT(refusal(backtranslate("bt")), HasSubstr("is of a language model"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "bt/translated.tsv"));
}

}  // namespace
}  // namespace transmute::testing

// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/folder_fixture.h>
#include <transmute/training/automatic_config.h>
#include <transmute/training/step_timing.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <set>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using testing::write_text;
using HoldOut = testing::InFolder;
using MeasureText = testing::InFolder;

constexpr int64_t kWordsPerPair = 12;

TextSize size_of(int64_t pairs) {
  return {pairs, kWordsPerPair * pairs};
}

TEST(AutomaticConfig, IsValidAndGrowsWithTheTextFromHundredsOfPairsToMillions) {
  int64_t vocabulary = 0, width = 0, steps = 0;
  for (const int64_t pairs : {100, 500, 3'000, 29'000, 200'000, 1'000'000, 10'000'000}) {
    SCOPED_TRACE(pairs);
    TrainingConfig config = config_for(size_of(pairs));
    config.data.train_source = config.data.train_target = config.data.valid_source = config.data.valid_target = {"x"};
    EXPECT_NO_THROW(config.check());
    EXPECT_GE(config.model.tokenizer.vocab_size, vocabulary);
    EXPECT_GE(config.model.model.d_model, width);
    EXPECT_GE(config.training.max_steps, steps);
    EXPECT_LE(config.training.warmup_steps * 2, config.training.max_steps) << "never ends inside the warm-up";
    EXPECT_LE(config.validation.every * 4, config.training.max_steps);
    vocabulary = config.model.tokenizer.vocab_size;
    width = config.model.model.d_model;
    steps = config.training.max_steps;
  }
}

TEST(AutomaticConfig, HasTheShapeOfMulti30ksSmallNetworkForItsText) {
  const TrainingConfig config = config_for(size_of(29'000));  // configs/multi30k_en_de_small.yaml
  EXPECT_EQ(config.model.model.num_encoder_layers, 4);
  EXPECT_EQ(config.model.model.d_model, 128);
  EXPECT_EQ(config.model.model.d_ff, 256);
  EXPECT_EQ(config.model.model.dropout, 0.3);
  EXPECT_EQ(config.training.batch_tokens, 4096);
  EXPECT_EQ(config.model.tokenizer.vocab_size, 7'700 + 256);
  EXPECT_TRUE(config.model.tokenizer.byte_fallback);
  EXPECT_NEAR(static_cast<double>(config.training.max_steps), 10'000, 5'000);
}

TEST(AutomaticConfig, OffersSmallerShapesForLittleTime) {
  EXPECT_EQ(smaller_shapes(size_of(500)), 0);
  ASSERT_EQ(smaller_shapes(size_of(29'000)), 2);
  const TrainingConfig whole = config_for(size_of(29'000)), smallest = config_for(size_of(29'000), 2);
  EXPECT_EQ(smallest.model.model.num_encoder_layers, config_for(size_of(500)).model.model.num_encoder_layers);
  EXPECT_LT(smallest.training.batch_tokens, whole.training.batch_tokens);
  EXPECT_GT(smallest.training.max_steps, whole.training.max_steps) << "as many passes, of smaller batches";
  EXPECT_EQ(smallest.model.tokenizer.vocab_size, whole.model.tokenizer.vocab_size);
}

TEST(AutomaticConfig, ChoosesTheBestWeightsByChrfWhereFewSentencesAreHeldOut) {
  EXPECT_EQ(config_for(size_of(500)).validation.metric, ValidationMetric::chrf);
  EXPECT_EQ(config_for(size_of(9'999)).validation.metric, ValidationMetric::chrf);
  EXPECT_EQ(config_for(size_of(10'000)).validation.metric, ValidationMetric::automatic);
}

TEST(AutomaticConfig, DropsOutLessWhereTheTextIsSeenFewTimes) {
  const auto dropout = [](double share) {
    TrainingConfig config = config_for(size_of(29'000));  // 102 passes
    const double seconds = 0.1;
    const double steps = share * static_cast<double>(config.training.max_steps);
    limit_time(config, size_of(29'000), steps * seconds / 60 / 0.85, seconds);
    return config.model.model.dropout;
  };
  EXPECT_EQ(dropout(1.1), 0.3);
  EXPECT_EQ(dropout(0.7), 0.3);
  EXPECT_EQ(dropout(0.4), 0.2);
  EXPECT_EQ(dropout(0.1), 0.1);
  EXPECT_EQ(config_for(size_of(1'000'000), 3).model.model.dropout, 0.1) << "a small shape for a large text";
}

TEST(AutomaticConfig, MakesMoreAndSmallerStepsWithFewerPiecesWhereTimeIsShort) {
  const TextSize size = size_of(300'000);
  const auto within = [&](double steps) {
    TrainingConfig config = config_for(size);
    limit_time(config, size, steps / 60 / 0.85, 1);
    return config;
  };
  const TrainingConfig whole = config_for(size), half = within(5000), little = within(100), enough = within(6100);
  ASSERT_EQ(whole.training.batch_tokens, 4096);
  EXPECT_EQ(enough.training.batch_tokens, 4096);
  EXPECT_EQ(half.training.batch_tokens, 2048);
  EXPECT_EQ(half.training.max_steps, 2 * whole.training.max_steps) << "the same passes over the text";
  EXPECT_EQ(half.training.warmup_steps, 10'000 / 5);
  EXPECT_EQ(little.training.batch_tokens, 2048);
  EXPECT_EQ(little.model.tokenizer.vocab_size, 8000);
  EXPECT_GT(half.model.tokenizer.vocab_size, 8000);
  EXPECT_LT(half.model.tokenizer.vocab_size, enough.model.tokenizer.vocab_size);
  EXPECT_LT(enough.model.tokenizer.vocab_size, whole.model.tokenizer.vocab_size);
  TrainingConfig begun = config_for(size);
  begun.training.initialize_from = "a model, whose vocabulary it has";
  limit_time(begun, size, 1, 1);
  EXPECT_EQ(begun.model.tokenizer.vocab_size, whole.model.tokenizer.vocab_size);
  EXPECT_EQ(begun.training.batch_tokens, 4096);
}

TEST(AutomaticConfig, FitsTheStepsIntoTheTimeAndTheWarmUpIntoTheSteps) {
  for (const double minutes : {0.05, 1.0, 10.0, 60.0, 10'000.0})
    for (const double seconds_per_step : {0.01, 0.3, 5.0}) {
      TrainingConfig config = config_for(size_of(29'000));
      const auto tokens = [&] { return config.training.max_steps * config.training.batch_tokens; };
      const int64_t worth = tokens(), batch = config.training.batch_tokens;
      limit_time(config, size_of(29'000), minutes, seconds_per_step);
      EXPECT_EQ(config.training.max_minutes, minutes);
      EXPECT_EQ(tokens(), worth) << "the time ends the training before";
      const auto steps_of_time =
          static_cast<double>(batch / config.training.batch_tokens) * 0.85 * 60 * minutes / seconds_per_step;
      const double steps = std::min(static_cast<double>(config.training.max_steps), steps_of_time);
      const auto warmup = static_cast<double>(config.training.warmup_steps);
      constexpr double kRounding = 1.06;
      EXPECT_LE(warmup, std::max(1.0, steps / 2 * kRounding));
      EXPECT_GE(warmup, std::min(std::floor(steps / 2 / kRounding), 350.0));
      EXPECT_LE(warmup, std::max(steps / 5 * kRounding, 350.0));
      EXPECT_LE(static_cast<double>(config.validation.every), std::max(1.0, steps * kRounding / 1.5)) << "one at least";
      EXPECT_GE(static_cast<double>(config.validation.every) * kRounding * std::max(1.5, minutes / 2) + 20,
                std::min(steps, steps * minutes / 40))
          << "one in two minutes at most";
    }
}

TEST(AutomaticConfig, IsTimedWithAPairAtLeast) {
  TrainingConfig config = config_for(size_of(100));
  config.training.batch_tokens = 1;
  config.training.precision = Precision::float32;
  TrainerOptions options;
  options.threads = 1;
  EXPECT_GT(measure_seconds_per_step(config, size_of(100), options, 20), 0);
  EXPECT_GT(measure_seconds_per_step(config, size_of(0), options, 20), 0);
  config.data.max_source_tokens = 1;
  EXPECT_GT(measure_seconds_per_step(config, size_of(100), options, 20), 0);
  config = config_for(size_of(100));
  config.model.model.positional_encoding = PositionalEncodingKind::learned;
  config.model.model.max_positions = 4;
  EXPECT_GT(measure_seconds_per_step(config, size_of(100), options, 20), 0);
}

TEST(AutomaticConfig, IsTimedByOneStepWhereTimeIsShort) {
  TrainingConfig config = config_for(size_of(100));
  config.training.precision = Precision::float32;
  TrainerOptions options;
  options.threads = 1;
  const auto seconds_to_measure = [&](double most_seconds) {
    const auto begin = std::chrono::steady_clock::now();
    measure_seconds_per_step(config, size_of(100), options, most_seconds);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const double six_steps = seconds_to_measure(60), one_step = seconds_to_measure(0);
  EXPECT_LT(one_step, six_steps);
}

std::vector<std::string> lines_in(const std::string& path) {
  return testing::split_lines(testing::read_text(path));
}

TEST_F(HoldOut, PutsEverySourceOnOneSideAndIsTheSameAgain) {
  std::string source, target;
  for (int i = 0; i < 4000; ++i) {
    source += "source " + std::to_string(i % 3000) + "\n";  // some twice
    target += "target " + std::to_string(i) + "\n";
  }
  write_text(folder_ / "a", source);
  write_text(folder_ / "b", target);
  const PairOfFiles files{folder_ / "a", folder_ / "b"};
  const AutomaticText text = hold_out(files, measure_text(files), folder_ / "text");
  const auto train = lines_in(text.train.source), valid = lines_in(text.valid.source);
  EXPECT_EQ(train.size() + valid.size(), 4000U);
  EXPECT_EQ(lines_in(text.valid.target).size(), valid.size());
  EXPECT_NEAR(static_cast<double>(valid.size()), 200, 60);
  const std::set<std::string> trained(train.begin(), train.end());
  for (const std::string& line : valid) EXPECT_EQ(trained.count(line), 0U);
  EXPECT_EQ(measure_text(text.train).words, 2 * static_cast<int64_t>(train.size()));
  const std::string first = testing::read_text(text.valid.target);
  write_text(text.train.source + ".partial-0123abcd", "a crash's");
  hold_out(files, measure_text(files), folder_ / "text");
  EXPECT_EQ(testing::read_text(text.valid.target), first);
  EXPECT_FALSE(std::filesystem::exists(text.train.source + ".partial-0123abcd"));
}

TEST_F(HoldOut, RefusesTextWhoseSourcesAreTooMuchAlike) {
  const std::string different = "one\ntwo\nthree\n";
  std::string target;
  for (int i = 0; i < 23; ++i) target += "target " + std::to_string(i) + "\n";
  write_text(folder_ / "target", target);
  const auto refusal_of = [&](const std::string& first, const std::string& second) {
    std::string source = first;
    for (int i = 0; i < 20; ++i) source += second + "\n";
    write_text(folder_ / "source", source);
    const PairOfFiles files{folder_ / "source", folder_ / "target"};
    return message_of<std::runtime_error>([&] { hold_out(files, measure_text(files), folder_ / "text"); });
  };
  for (int i = 0; i < 60; ++i) {  // some belong into the one part by their hash, most into the other
    const std::string line = "alike " + std::to_string(i);
    EXPECT_THAT(refusal_of(line + "\n" + line + "\n" + line + "\n", line),
                AllOf(HasSubstr("source: its lines are too much alike"), HasSubstr("--valid-source")));
  }
  EXPECT_THAT(refusal_of(different, "three"), HasSubstr("too much alike"));
  EXPECT_EQ(testing::names_in(folder_ / "text"), std::vector<std::string>{});
}

TEST_F(HoldOut, HoldsOutANewLastLineWhereNoHashDoes) {
  std::string source;
  for (int i = 0; i < 22; ++i) source += "alike\n";
  write_text(folder_ / "source", source + "new\n");
  const PairOfFiles files{folder_ / "source", folder_ / "source"};
  EXPECT_EQ(testing::read_text(hold_out(files, measure_text(files), folder_ / "text").valid.source), "new\n");
}

TEST_F(HoldOut, NamesFilesThatDoNotFitAndTextThatIsTooLittle) {
  write_text(folder_ / "three", "a\nb\nc\n");
  write_text(folder_ / "two", "a\nb\n");
  EXPECT_THAT(message_of<std::runtime_error>([&] {
                measure_text({folder_ / "three", folder_ / "two"});
              }),
              HasSubstr("three has 3 lines, but"));
  EXPECT_THAT(message_of<std::runtime_error>([&] {
                const PairOfFiles three{folder_ / "three", folder_ / "three"};
                hold_out(three, measure_text(three), folder_ / "x");
              }),
              HasSubstr("has 3 lines; give at least 20"));
  const auto refusal_of = [&](const AutomaticText& text, const TextSize& size) {
    return message_of<std::runtime_error>([&] { check_enough_text(text, size); });
  };
  const PairOfFiles pair{"a", "b"}, plain{"", "b"};
  EXPECT_THAT(refusal_of({pair, {}}, {3, 9, false, 1000}),
              HasSubstr("a has 1,000 lines, of which 3 have text on both sides; give at least 20"));
  EXPECT_THAT(refusal_of({plain, {}}, {1, 9, true, 1000}),
              HasSubstr("b has 1,000 lines, of which 1 has text; give at least 20"));
  EXPECT_THAT(refusal_of({pair, pair}, {0, 0, false, 1000}), HasSubstr("of which 0 have text on both sides"));
  EXPECT_NO_THROW(check_enough_text({pair, pair}, {1, 9, false, 1000}));
}

TEST_F(HoldOut, ReplacesNothingThatIsNotTheRuns) {
  std::filesystem::create_directory(folder_ / "text");
  for (const char* name : {"text/train.en", "text/train.de", "a.en", "a.de"}) write_text(folder_ / name, "a\n");
  const auto refusal = [&](const std::string& name, bool is_begun) {
    return message_of<std::runtime_error>([&] {
      check_free_to_hold_out({folder_ / (name + ".en"), folder_ / (name + ".de")}, folder_ / "text", is_begun);
    });
  };
  EXPECT_THAT(refusal("text/train", true), AllOf(HasSubstr("text/train.en"), HasSubstr("--run-folder")));
  EXPECT_THAT(refusal("a", false), HasSubstr("already exists"));
  check_free_to_hold_out({folder_ / "a.en", folder_ / "a.de"}, folder_ / "text", true);
  check_free_to_hold_out({folder_ / "a.en", folder_ / "a.de"}, folder_ / "nowhere", false);
  std::filesystem::create_directory(folder_ / "links");
  std::filesystem::create_symlink(folder_ / "victim", folder_ / "links/train.en");
  EXPECT_THAT(message_of<std::runtime_error>([&] {
                check_free_to_hold_out({folder_ / "a.en", folder_ / "a.de"}, folder_ / "links", true);
              }),
              HasSubstr("links/train.en already exists"));
}

TEST_F(HoldOut, IsFoundAgainInAFolderThatWasMoved) {
  const std::string old_text = folder_ / "old/text", new_text = folder_ / "new/text";
  std::filesystem::create_directories(new_text);
  for (const char* name : {"train.en", "train.de", "valid.en", "valid.de"}) write_text(new_text + "/" + name, "a\n");
  DataOptions data;
  data.train_source = {old_text + "/train.en"};
  data.train_target = {old_text + "/train.de"};
  data.valid_source = {old_text + "/valid.en"};
  data.valid_target = {old_text + "/valid.de"};
  DataOptions moved = data;
  name_held_out_in(new_text, moved);
  EXPECT_EQ(moved.train_source, std::vector<std::string>{new_text + "/train.en"});
  EXPECT_EQ(moved.valid_target, std::vector<std::string>{new_text + "/valid.de"});
  // Files of the user's stay.
  DataOptions own = data;
  own.valid_source = {"/elsewhere/text/valid.en"};
  const DataOptions before = own;
  name_held_out_in(new_text, own);
  EXPECT_EQ(own.train_source, before.train_source);
  EXPECT_EQ(own.valid_source, before.valid_source);
  std::filesystem::remove(new_text + "/valid.de");
  own = data;
  name_held_out_in(new_text, own);
  EXPECT_EQ(own.train_source, data.train_source) << "there is no whole text";
}

TEST_F(MeasureText, CountsWhatHasTextOnBothSidesAndAllLines) {
  write_text(folder_ / "a", "a b\n\nc d e\n \nf\n\n");
  write_text(folder_ / "b", "x\ny z\n\nz\nw v u\n\n");
  const TextSize pairs = measure_text({folder_ / "a", folder_ / "b"}), plain = measure_text({"", folder_ / "a"});
  EXPECT_EQ(pairs.pairs, 2);
  EXPECT_EQ(pairs.words, 4);
  EXPECT_EQ(pairs.lines, 6);
  EXPECT_EQ(plain.pairs, 3);
  EXPECT_EQ(plain.words, 6);
  EXPECT_EQ(plain.lines, 6);
}

TEST_F(MeasureText, CountsWordsOfScriptsWithoutBlanks) {
  write_text(folder_ / "ja", "赤い家は近くにあります。\n");
  write_text(folder_ / "th", "บ้านสีแดงอยู่ใกล้\n");
  EXPECT_NEAR(static_cast<double>(measure_text({folder_ / "ja", folder_ / "ja"}).words), 6, 1);
  EXPECT_NEAR(static_cast<double>(measure_text({folder_ / "th", folder_ / "th"}).words), 9, 2);
}

TEST_F(MeasureText, FindsTheFrequentMarksThatNormalizationWouldReplace) {
  std::string english, other;
  for (int i = 0; i < 10; ++i) {
    english += "It is 5 ℃, isn't it?\n";
    other += "５\u00A0℃，是吗？？ ทำ № 1…\n";
  }
  write_text(folder_ / "en", english + "rare\n");
  write_text(folder_ / "other", other + "ﬁ！\n");
  const TextSize size = measure_text({folder_ / "en", folder_ / "other"});
  EXPECT_THAT(size.replaced_marks, ::testing::UnorderedElementsAre("℃", "，", "？", "ำ", "№"))
      << "… is not in the source";
  EXPECT_THAT(measure_text({folder_ / "other", folder_ / "other"}).replaced_marks, ::testing::Contains("…"));
  EXPECT_EQ(config_for(size).model.tokenizer.user_defined_symbols, size.replaced_marks);
  EXPECT_THAT(measure_text({folder_ / "other", folder_ / "en"}).replaced_marks, ::testing::ElementsAre("℃"));
}

}  // namespace
}  // namespace transmute

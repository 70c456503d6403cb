// SPDX-License-Identifier: Apache-2.0
// The warnings about values of a configuration that have no effect.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include <transmute/training/config.h>

namespace transmute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TrainingConfig config_of_pairs() {
  TrainingConfig config;
  config.data.train_source = {"a.en", "b.en"};
  config.data.train_target = {"a.de", "b.de"};
  return config;
}

// The warnings about a config with these values.
std::vector<std::string> unused_with(const std::vector<std::string>& assignments) {
  TrainingConfig config = config_of_pairs();
  ConfigSchema schema;
  config.declare(schema);
  for (const auto& assignment : assignments) schema.set(assignment);
  return config.unused_values();
}

TEST(TrainingConfig, NamesValuesWithoutEffect) {
  EXPECT_THAT(unused_with({"training.learning_rate=0.001"}),
              ElementsAre("training.learning_rate has no effect with training.schedule: noam; set training.schedule to "
                          "another one, or use training.learning_rate_scale"));
  EXPECT_THAT(unused_with({"training.min_learning_rate=0.001"}),
              ElementsAre("training.min_learning_rate has no effect without training.schedule: cosine or linear"));
  EXPECT_THAT(unused_with({"training.schedule=cosine", "training.learning_rate_scale=2"}),
              ElementsAre(HasSubstr("training.learning_rate_scale has no effect without training.schedule: noam")));
  EXPECT_THAT(unused_with({"training.consistency_weight=2", "training.cut_probability=0.1"}),
              ElementsAre(HasSubstr("consistency_weight has no effect without training.consistency"),
                          HasSubstr("cut_probability has no effect without training.consistency: simcut")));
  EXPECT_THAT(unused_with({"training.guided_layer=2", "training.guided_head=2", "data.train_alignments=[a, b]"}),
              ElementsAre(HasSubstr("training.guided_layer"), HasSubstr("training.guided_head"),
                          HasSubstr("data.train_alignments has no effect without training.guided_alignment")));
}

TEST(TrainingConfig, NamesAMetricOfTranslationsWhereNothingIsTranslated) {
  for (const std::string metric : {"bleu", "chrf", "chrf++"})
    EXPECT_THAT(unused_with({"validation.metric=" + metric, "validation.max_sentences=0"}),
                ElementsAre("validation.metric has no effect with validation.max_sentences: 0, which translates "
                            "nothing; the loss decides"));
  for (const std::string metric : {"auto", "loss"})
    EXPECT_THAT(unused_with({"validation.metric=" + metric, "validation.max_sentences=0"}), IsEmpty());
  EXPECT_THAT(unused_with({"validation.metric=chrf"}), IsEmpty());
}

TEST(TrainingConfig, NamesSettingsOfTheSearchWhereNothingIsTranslated) {
  const std::vector<std::string> search{"validation.beam_size=4", "validation.length_alpha=1"};
  EXPECT_THAT(unused_with(search), IsEmpty());
  EXPECT_THAT(
      unused_with({search[0], search[1], "validation.max_sentences=0"}),
      ElementsAre("validation.beam_size has no effect with validation.max_sentences: 0, which translates nothing",
                  HasSubstr("validation.length_alpha has no effect with validation.max_sentences: 0")));
  EXPECT_THAT(unused_with({search[0], search[1], "model.architecture=decoder_only"}),
              ElementsAre("validation.beam_size has no effect with model.architecture: decoder_only, which translates "
                          "nothing",
                          HasSubstr("validation.length_alpha has no effect with model.architecture")));
}

TEST(TrainingConfig, NamesSettingsOfTheOtherKindOfPositions) {
  const std::vector<std::string> sinusoids{"model.position_layout=halves", "model.position_frequencies=tensor2tensor",
                                           "model.first_position=2"};
  EXPECT_THAT(unused_with(sinusoids), IsEmpty());
  EXPECT_THAT(
      unused_with({"model.max_positions=64"}),
      ElementsAre("model.max_positions has no effect without model.positional_encoding: learned; sinusoids have "
                  "no limit"));
  EXPECT_THAT(unused_with({"model.positional_encoding=learned", "model.max_positions=64"}), IsEmpty());
  EXPECT_THAT(unused_with({"model.positional_encoding=learned", sinusoids[0], sinusoids[1], sinusoids[2]}),
              ElementsAre("model.position_layout has no effect with model.positional_encoding: learned",
                          HasSubstr("model.position_frequencies has no effect"),
                          HasSubstr("model.first_position has no effect")));
  EXPECT_THAT(unused_with({"model.max_positions=512", "training.initialize_from=model"}), IsEmpty())
      << "values of a finished model";
}

TEST(TrainingConfig, SaysNothingOfValuesThatCount) {
  EXPECT_THAT(unused_with({}), IsEmpty());
  EXPECT_THAT(unused_with({"training.learning_rate_scale=2"}), IsEmpty());
  EXPECT_THAT(unused_with({"training.schedule=linear", "training.learning_rate=1", "training.min_learning_rate=0.1"}),
              IsEmpty());
  EXPECT_THAT(
      unused_with({"training.consistency=simcut", "training.consistency_weight=2", "training.cut_probability=0.1"}),
      IsEmpty());
  EXPECT_THAT(unused_with({"training.guided_alignment=1", "training.guided_layer=2", "data.train_alignments=[a, b]"}),
              IsEmpty());
}

TEST(TrainingConfig, SaysNothingOfValuesThatWereChosenForIt) {
  TrainingConfig config = config_of_pairs();
  config.training.learning_rate = 0.001;
  const TrainingOptions chosen = config.training;
  EXPECT_THAT(config.unused_values(), SizeIs(1));
  EXPECT_THAT(config.unused_values(chosen), IsEmpty());
  config.training.learning_rate = 0.002;
  EXPECT_THAT(config.unused_values(chosen), ElementsAre(HasSubstr("training.learning_rate has no effect")));
}
TEST(TrainingConfig, OfConfigsHasNoValuesWithoutEffect) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TRANSMUTE_CONFIGS)) {
    if (entry.path().extension() != ".yaml") continue;
    TrainingConfig config;
    ConfigSchema schema;
    config.declare(schema);
    schema.read_file(entry.path().string());
    EXPECT_THAT(config.unused_values(), IsEmpty()) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 20);
}

}  // namespace
}  // namespace transmute

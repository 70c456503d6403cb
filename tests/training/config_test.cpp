// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/training/config.h>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using ::testing::SizeIs;
using testing::TemporaryFolder;
using testing::write_text;

TrainingConfig sound_config() {
  TrainingConfig config;
  config.data.train_source = {"a.en", "b.en"};
  config.data.train_target = {"a.de", "b.de"};
  return config;
}

// Why a config is refused.
std::string refusal(const TrainingConfig& config) {
  return message_of<std::invalid_argument>([&] { config.check(); });
}

// The keys of a config, by which a test reads and changes it.
ConfigSchema schema_of(TrainingConfig& config) {
  ConfigSchema schema;
  config.declare(schema);
  return schema;
}

TEST(TrainingConfig, IsSoundWithTextToLearnFrom) {
  EXPECT_NO_THROW(sound_config().check());
}

TEST(TrainingConfig, NeedsTextToLearnFrom) {
  EXPECT_THAT(refusal(TrainingConfig()),
              AllOf(HasSubstr("data.train_source is empty"), HasSubstr("--set data.train_source=FILE")));
}

// Before the text is tokenized, which may take an hour.
TEST(TrainingConfig, RefusesANetworkThatCannotBe) {
  TrainingConfig config = sound_config();
  config.model.model.d_model = 15;
  EXPECT_THAT(refusal(config), HasSubstr("model.d_model 15"));
  config = sound_config();
  config.model.model.num_encoder_layers = 1'000'000'000;
  EXPECT_THAT(refusal(config), HasSubstr("num_encoder_layers must be at most"));
  config = sound_config();
  config.model.format_version = 7;
  EXPECT_THAT(refusal(config), HasSubstr("format_version is 7"));
}

bool is_real(ConfigSchema& schema, const std::string& key) {
  try {
    schema.set(key + "=0.5");  // lies within the bounds of all of them
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

// Each key that is a number, with numbers that no sum or product could take.
TEST(TrainingConfig, HasBoundsForEveryNumber) {
  TrainingConfig config;
  ConfigSchema schema = schema_of(config);
  for (const auto& [key, value] : schema.values()) {
    const bool is_number = value.find_first_not_of("-.0123456789e") == std::string::npos && key != "format_version";
    if (!is_number) continue;
    for (const char* beyond : {"-9223372036854775808", "1e300", "-1", "nan", "inf"})
      EXPECT_THROW(schema.set(key + "=" + beyond), std::invalid_argument) << key << "=" << beyond;
    if (is_real(schema, key) || key == "training.seed") continue;
    EXPECT_THROW(schema.set(key + "=9223372036854775807"), std::invalid_argument) << key;
  }
}

// Adam divides by it where a gradient is 0, in float32.
TEST(TrainingConfig, NeedsAnEpsilonThatFloat32Holds) {
  TrainingConfig config;
  ConfigSchema schema = schema_of(config);
  for (const char* value : {"0", "1e-60"})
    EXPECT_THROW(schema.set(std::string("training.adam_epsilon=") + value), std::invalid_argument) << value;
  EXPECT_NO_THROW(schema.set("training.adam_epsilon=1e-9"));
}

TEST(TrainingConfig, TiesNoPiecesOfDifferentVocabularies) {
  TrainingConfig config = sound_config();
  config.model.tokenizer.vocabulary = VocabularySharing::separate;
  EXPECT_THAT(refusal(config), HasSubstr("separate needs model.embedding_tying: target_output or none"));
  config.training.initialize_from = "a model that has such tables";
  EXPECT_NO_THROW(config.check());
  config.training.initialize_from.clear();
  for (const EmbeddingTying tying : {EmbeddingTying::target_output, EmbeddingTying::none}) {
    config.model.model.embedding_tying = tying;
    EXPECT_NO_THROW(config.check());
  }
}

TEST(TrainingConfig, NeedsATargetForEachSource) {
  TrainingConfig config = sound_config();
  config.data.train_target.pop_back();
  EXPECT_THAT(refusal(config), AllOf(HasSubstr("data.train_source names 2 files"), HasSubstr("data.train_target 1")));
  config = sound_config();
  config.data.train_source.pop_back();
  EXPECT_THAT(refusal(config), HasSubstr("data.train_source names 1 file and data.train_target 2;"));
  config = sound_config();
  config.data.valid_target = {"v.de"};
  EXPECT_THAT(refusal(config), AllOf(HasSubstr("data.valid_source names 0 files"), HasSubstr("data.valid_target 1")));
}

TEST(TrainingConfig, LeavesOutNoPairForLengthsThatAreEqual) {
  TrainingConfig config = sound_config();
  config.data.max_length_ratio = 0.2;
  EXPECT_THAT(refusal(config), HasSubstr("data.max_length_ratio: 0.2"));
  config.data.max_length_ratio = 1;
  EXPECT_NO_THROW(config.check());
}

TEST(TrainingConfig, OfALanguageModelNeedsPlainTextAndNothingOfASource) {
  TrainingConfig sound;
  sound.model.model.architecture = Architecture::decoder_only;
  sound.data.train_text = {"a.txt", "b.txt"};
  EXPECT_NO_THROW(sound.check());
  const auto refusal_with = [&](const std::function<void(TrainingConfig&)>& spoil) {
    TrainingConfig config = sound;
    spoil(config);
    return refusal(config);
  };
  EXPECT_THAT(refusal_with([](auto& c) { c.data.train_text.clear(); }), HasSubstr("--set data.train_text=FILE"));
  for (const char* key : {"train_source", "train_target", "valid_source", "valid_target", "train_alignments"})
    EXPECT_THAT(refusal_with([&](TrainingConfig& c) {
                  ConfigSchema schema = schema_of(c);
                  schema.set("data." + std::string(key) + "=[x]");
                }),
                AllOf(HasSubstr("data." + std::string(key) + " has no meaning"), HasSubstr("data.train_text")));
  EXPECT_THAT(refusal_with([](auto& c) { c.data.source_sampling = 0.1; }), HasSubstr("data.target_sampling"));
  EXPECT_THAT(refusal_with([](auto& c) { c.training.guided_alignment = 1; }), HasSubstr("training.guided_alignment"));
  EXPECT_THAT(refusal_with([](auto& c) { c.data.train_weights = {1}; }),
              HasSubstr("one number for each file of data.train_text, of which there are 2; it has 1"));
  EXPECT_THAT(refusal_with([](auto& c) { c.validation.metric = ValidationMetric::chrf; }), HasSubstr("metric: chrf"));
  EXPECT_THAT(refusal_with([](auto& c) { c.training.keep_best = 1; }), HasSubstr("data.valid_text"));
  EXPECT_THAT(refusal_with([](auto& c) { c.model.model.architecture = Architecture::encoder_decoder; }),
              AllOf(HasSubstr("data.train_text is for a language model"), HasSubstr("data.train_source")));

  TrainingConfig validated = sound;
  validated.data.valid_text = {"v.txt"};
  validated.validation.patience = 3;
  validated.validation.metric = ValidationMetric::loss;
  validated.validation.max_sentences = 0;
  EXPECT_NO_THROW(validated.check());
  EXPECT_TRUE(validated.has_validation_text());
}

TEST(TrainingConfig, NeedsAWeightForEachCorpus) {
  TrainingConfig config = sound_config();
  config.data.train_weights = {0.5, 2};
  EXPECT_NO_THROW(config.check());
  for (const std::vector<double>& weights :
       std::vector<std::vector<double>>{{1}, {1, 1, 1}, {1, -1}, {0, 0}, {1, NAN}}) {
    config.data.train_weights = weights;
    EXPECT_THAT(refusal(config), HasSubstr("data.train_weights"));
  }
}

TEST(TrainingConfig, NeedsLanguagesForEachCorpus) {
  TrainingConfig config = sound_config();
  config.data.train_languages = {"en-de", "de-en"};
  EXPECT_NO_THROW(config.check());
  EXPECT_THAT(config.data.target_languages(), ElementsAre("de", "en"));
  for (const std::vector<std::string>& languages : std::vector<std::vector<std::string>>{{"en-de"},
                                                                                         {"en-de", "de"},
                                                                                         {"en-de", "en-en"},
                                                                                         {"en-de", "de-e<<n"},
                                                                                         {"en-de", "pt-BR-en"},
                                                                                         {"en-de", ""}}) {
    config.data.train_languages = languages;
    EXPECT_THAT(refusal(config), HasSubstr("data.train_languages"));
  }
  config.data.train_languages = {"en-de", "en-de"};
  config.data.valid_source = {"v.en"};
  config.data.valid_target = {"v.de"};
  EXPECT_THAT(refusal(config), HasSubstr("need each other"));
  config.data.valid_languages = {"de-en"};
  EXPECT_THAT(refusal(config), HasSubstr("no pair of data.train_languages"));
  config.data.valid_languages = {"fr-de"};
  EXPECT_NO_THROW(config.check()) << "a pair that nothing was trained on may be measured";
}

TEST(TrainingConfig, TakesConsistencyWithDropoutAndWithoutGuidance) {
  TrainingConfig config = sound_config();
  config.training.consistency = Consistency::r_drop;
  EXPECT_NO_THROW(config.check());
  EXPECT_EQ(consistency_of(config.training).weight, 5);
  config.model.model.dropout = 0;
  EXPECT_THAT(refusal(config), HasSubstr("model.dropout is 0"));
  config.training.consistency = Consistency::simcut;
  EXPECT_NO_THROW(config.check());
  EXPECT_EQ(consistency_of(config.training).weight, 3);
  config.training.consistency_weight = 0.5;
  EXPECT_EQ(consistency_of(config.training).weight, 0.5);
  config.training.guided_alignment = 1;
  config.data.train_alignments = {"a", "b"};
  EXPECT_THAT(refusal(config), HasSubstr("training.consistency"));
}

TEST(TrainingConfig, GuidesNoUniformAttention) {
  TrainingConfig config = sound_config();
  config.training.guided_alignment = 1;
  config.data.train_alignments = {"a", "b"};
  EXPECT_NO_THROW(config.check());
  config.model.model.score_function = ScoreFunction::uniform;
  EXPECT_THAT(refusal(config), HasSubstr("cannot be combined with model.score_function: uniform"));
}

TEST(TrainingConfig, NeedsAFloorBelowThePeakWhereTheScheduleHasOne) {
  TrainingConfig config = sound_config();
  config.training.min_learning_rate = 0.001;
  EXPECT_NO_THROW(config.check());
  for (const Schedule schedule : {Schedule::cosine, Schedule::linear}) {
    config.training.schedule = schedule;
    EXPECT_THAT(refusal(config),
                HasSubstr("training.min_learning_rate (0.001) is more than training.learning_rate (0.0005)"));
  }
}

TEST(TrainingConfig, KnowsTheTokenizersOptions) {
  TrainingConfig config = sound_config();
  config.model.tokenizer.normalization = "nfkc_fc";
  EXPECT_THAT(refusal(config), AllOf(HasSubstr("tokenizer.normalization must be one of"), HasSubstr("not 'nfkc_fc'")));
}

TEST(TrainingConfig, AveragesNoMoreCheckpointsThanItKeeps) {
  TrainingConfig config = sound_config();
  config.training.keep_checkpoints = 3;
  config.training.average_checkpoints = 3;
  EXPECT_NO_THROW(config.check());
  config.training.average_checkpoints = 4;
  EXPECT_THAT(refusal(config),
              AllOf(HasSubstr("training.average_checkpoints (4)"), HasSubstr("training.keep_checkpoints (3)")));
  config.training.ema_decay = 0.999;  // which is the model, whatever the checkpoints are
  EXPECT_NO_THROW(config.check());
}

TEST(TrainingConfig, DocumentsEveryKey) {
  TrainingConfig config;
  ConfigSchema schema = schema_of(config);
  const std::string markdown = schema.to_markdown();
  const auto values = schema.values();
  EXPECT_GT(values.size(), 50u);
  std::set<std::string> names;
  for (const auto& [name, value] : values) {
    EXPECT_TRUE(names.insert(name).second) << name << " is declared twice";
    // A row of the section's own table, with a meaning of some words.
    const size_t dot = name.find('.');
    const std::string heading = dot == std::string::npos ? "Top level" : "`" + name.substr(0, dot) + "`";
    const size_t table = markdown.find(heading);
    ASSERT_NE(table, std::string::npos) << heading;
    const size_t end = markdown.find("\n\n", markdown.find("|---", table));
    const std::string rows = markdown.substr(table, end - table);
    const size_t row = rows.find("\n| `" + name.substr(dot + 1) + "` | `" + value + "` | ");
    ASSERT_NE(row, std::string::npos) << name;
    const std::string line = rows.substr(row + 1, rows.find('\n', row + 1) - row - 1);
    EXPECT_TRUE(std::regex_search(line, std::regex(R"(\| [^|]{10,} \|$)"))) << line;
  }
}

// Some other value that the key may have.
std::string another_value(ConfigSchema& schema, const std::string& name, const std::string& value) {
  if (value == "true" || value == "false") return value == "true" ? "false" : "true";
  if (value.front() == '[') return name == "data.train_weights" ? "[7]" : "[\"another\"]";
  if (value.front() == '"') return "\"another\"";
  for (const char* number : {"7", "0.7", "0.99", "101"}) {
    try {
      schema.set(name + "=" + number);
      return number;
    } catch (const std::invalid_argument& error) {
      // A choice: the message lists the words.
      std::cmatch words;
      if (std::regex_search(error.what(), words, std::regex("must be one of (\\w+), (\\w+)")))
        return words[1].str() == value ? words[2].str() : words[1].str();
    }
  }
  return "";
}

// A field that is bound to two keys, or a key that is bound to another's field, would show.
TEST(TrainingConfig, KnowsTheFilesOfEveryKeyThatNamesSome) {
  TrainingConfig config;
  ConfigSchema schema = schema_of(config);
  const DataOptions& data = config.data;
  for (const auto& [key, value] : schema.values()) {
    if (key.rfind("data.", 0) != 0 || value != "[]" || key == "data.train_weights") continue;
    if (key == "data.train_languages" || key == "data.valid_languages") continue;
    schema.set(key + "=named by " + key);
    const auto files = data.files();
    const auto found = std::find_if(files.begin(), files.end(), [&](const auto& one) { return one.key == key; });
    ASSERT_NE(found, files.end()) << key;
    EXPECT_THAT(found->files, ElementsAre("named by " + key));
    EXPECT_EQ(found->is_plain_text, key == "data.train_text" || key == "data.valid_text") << key;
  }
  EXPECT_THAT(data.files(), SizeIs(9));
}

TEST(TrainingConfig, EveryKeyHasAFieldOfItsOwn) {
  TrainingConfig config;
  ConfigSchema schema = schema_of(config);
  const auto defaults = schema.values();
  for (const auto& [name, value] : defaults) {
    TrainingConfig changed;
    ConfigSchema other = schema_of(changed);
    const std::string different = another_value(other, name, value);
    ASSERT_NO_THROW(other.set(name + "=" + different)) << name;
    const auto values = other.values();
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(values[i].second, values[i].first == name ? different : defaults[i].second)
          << "setting " << name << " and looking at " << values[i].first;
  }
}

TEST(TrainingConfig, ComesBackFromItsYaml) {
  TrainingConfig config = sound_config();
  config.model.model.num_heads = 4;
  config.model.tokenizer.user_defined_symbols = {"<2de>", "a: b"};
  config.training.adam_epsilon = 1e-9;
  config.training.learning_rate_scale = 1.0 / 3;
  config.validation.length_alpha = 0;
  config.data.train_weights = {0.1, 2};
  ConfigSchema schema = schema_of(config);
  const TemporaryFolder folder;
  write_text(folder / "config.yaml", schema.to_yaml());
  TrainingConfig again;
  ConfigSchema other = schema_of(again);
  other.read_file(folder / "config.yaml");
  EXPECT_EQ(other.to_yaml(), schema.to_yaml());
  EXPECT_EQ(again.training.learning_rate_scale, 1.0 / 3);
  EXPECT_EQ(again.data.train_source, config.data.train_source);
  EXPECT_EQ(again.data.train_weights, config.data.train_weights);
}

// The change by one assignment in a run that was begun with `begun_with`.
ConfigChange change_by(const std::string& assignment, const std::vector<std::string>& begun_with = {}) {
  TrainingConfig config = sound_config();
  ConfigSchema schema = schema_of(config);
  for (const auto& earlier : begun_with) schema.set(earlier);
  const TemporaryFolder folder;
  write_text(folder / "config.yaml", schema.to_yaml());
  schema.set(assignment);
  const std::vector<ConfigChange> changes = changes_since(folder / "config.yaml", schema);
  EXPECT_EQ(changes.size(), 1U) << assignment;
  EXPECT_EQ(changes.at(0).key, assignment.substr(0, assignment.find('=')));
  return changes.at(0);
}

// docs/training.md, "Interrupting and resuming".
TEST(TrainingConfig, OfAResumedRunKeepsTheNetworkAndThePlaceInTheText) {
  for (const char* assignment :
       {"model.d_ff=1024", "tokenizer.vocab_size=8000", "data.max_source_tokens=100", "data.train_weights=[1, 2]",
        "data.source_sampling=0.1", "training.seed=2", "training.batch_tokens=1000",
        "training.initialize_from=elsewhere", "training.guided_alignment=0.5"})
    EXPECT_TRUE(change_by(assignment).refused) << assignment;
  EXPECT_TRUE(change_by("training.guided_alignment=0", {"training.guided_alignment=0.5"}).refused);
}

TEST(TrainingConfig, OfAResumedRunMayChangeEverythingElse) {
  for (const char* assignment : {"data.cache_folder=elsewhere", "data.prefetch_threads=5", "training.max_steps=7",
                                 "training.clip_norm=1", "search.beam_size=7", "validation.every=7"})
    EXPECT_FALSE(change_by(assignment).refused) << assignment;
  EXPECT_FALSE(change_by("training.guided_alignment=1", {"training.guided_alignment=0.5"}).refused);
}

// Section 5 and 6.1, and the base model of Table 3.
TEST(TrainingConfig, IsThePapersByDefault) {
  const TrainingConfig config;
  EXPECT_EQ(config.model.model.num_encoder_layers, 6);
  EXPECT_EQ(config.model.model.num_decoder_layers, 6);
  EXPECT_EQ(config.model.model.d_model, 512);
  EXPECT_EQ(config.model.model.d_ff, 2048);
  EXPECT_EQ(config.model.model.num_heads, 8);
  EXPECT_EQ(config.model.model.dropout, 0.1);
  EXPECT_EQ(config.model.tokenizer.algorithm, SubwordAlgorithm::bpe);
  EXPECT_EQ(config.model.tokenizer.vocabulary, VocabularySharing::shared);
  EXPECT_EQ(config.model.tokenizer.vocab_size, 37000);
  EXPECT_EQ(config.training.batch_tokens, 25000);
  EXPECT_EQ(config.training.max_steps, 100000);
  EXPECT_EQ(config.training.warmup_steps, 4000);
  EXPECT_EQ(config.training.adam_beta1, 0.9);
  EXPECT_EQ(config.training.adam_beta2, 0.98);
  EXPECT_EQ(config.training.adam_epsilon, 1e-9);
  EXPECT_EQ(config.training.label_smoothing, 0.1);
  EXPECT_EQ(config.training.average_checkpoints, 5);
  EXPECT_THAT(config.data.train_source, IsEmpty());
}

}  // namespace
}  // namespace transmute

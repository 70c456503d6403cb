// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/loaded_modules.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/training/data/parallel_text.h>
#include <transmute/training/initial_model.h>
#include <transmute/training/run_folder.h>
#include <transmute/training/trainer.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using testing::modules_of;
using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

class InitialModel : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::copy(TRANSMUTE_TEST_DATA "/formats/marian", initial_, fs::copy_options::recursive);
    std::string source, target;
    for (const auto& [english, german] : {std::pair{"old", "alte"}, {"red", "rote"}, {"blue", "blaue"}})
      for (const auto& [place, ort] : {std::pair{"near", "nah"}, {"gone", "weg"}, {"here", "hier"}}) {
        source += std::string("the ") + english + " train is " + place + ".\n";
        target += std::string("das ") + german + " Zug ist " + ort + ".\n";
      }
    write_text(folder_ / "en", source);
    write_text(folder_ / "de", target);
  }

  // Trains as the program does.
  void train(const std::string& run, const std::vector<std::string>& assignments = {}) {
    TrainingConfig config;
    ConfigSchema schema;
    config.declare(schema);
    std::vector<std::string> all{"data.folder=" + folder_.path(), "data.train_source=en",
                                 "data.train_target=de",          "training.initialize_from=" + initial_,
                                 "training.precision=float32",    "training.batch_tokens=128",
                                 "training.log_every=1",          "model.dropout=0",
                                 "training.label_smoothing=0"};
    all.insert(all.end(), assignments.begin(), assignments.end());
    for (const auto& assignment : all) schema.set(assignment);
    TrainerOptions options;
    options.run_folder = folder_ / run;
    options.threads = 1;
    take_network_of_initial_model(config, schema, RunFolder(options.run_folder).begun_config());
    config.check();
    ASSERT_EQ(Trainer(config, schema.to_yaml(), options).run([] { return 0; }), 0);
  }

  TemporaryFolder folder_;
  std::string initial_ = folder_ / "initial";
};

TEST_F(InitialModel, IsWhatARunBeginsWith) {
  // A step at this learning rate changes nothing that a float32 comparison sees.
  train("run", {"training.max_steps=1", "training.warmup_steps=100000000"});
  const LoadedModel expected = load_model(initial_);
  const LoadedModel found = load_model(folder_ / "run/model");
  EXPECT_EQ(found.options.activation, Activation::swish);
  EXPECT_EQ(found.options.dropout, 0);
  EXPECT_EQ(found.tokenizer.source().serialized(), expected.tokenizer.source().serialized());
  EXPECT_EQ(found.tokenizer.target().serialized(), expected.tokenizer.target().serialized());
  const auto weights = modules_of(found)->named_parameters();
  for (const auto& weight : modules_of(expected)->named_parameters())
    EXPECT_TRUE(torch::allclose(weight.value(), weights[weight.key()], 1e-6, 1e-7)) << weight.key();
}

TEST_F(InitialModel, WithoutDropoutKeepsThatUnlessTheConfigGivesIt) {
  train("run", {"training.max_steps=1"});
  const auto dropout = [](const std::vector<std::string>& assignments) {
    TrainingConfig config;
    ConfigSchema schema;
    config.declare(schema);
    for (const std::string& assignment : assignments) schema.set(assignment);
    take_network_of_initial_model(config, schema);
    return config.model.model.dropout;
  };
  const std::string from = "training.initialize_from=", model = folder_ / "run/model";
  EXPECT_EQ(dropout({from + model}), 0);
  EXPECT_EQ(dropout({from + model, "model.dropout=0.2"}), 0.2);
  EXPECT_EQ(dropout({from + initial_}), 0.1);
}

TEST_F(InitialModel, IsFineTunedAndNeededOnlyAtTheBeginning) {
  const std::vector<std::string> schedule{"training.schedule=constant", "training.learning_rate=0.01",
                                          "training.warmup_steps=1"};
  auto first = schedule, second = schedule;
  first.emplace_back("training.max_steps=20");
  second.emplace_back("training.max_steps=40");
  train("run", first);
  fs::remove_all(initial_);
  train("run", second);
  std::istringstream lines(read_text(folder_ / "run/metrics.jsonl"));
  std::vector<double> losses;
  for (std::string line; std::getline(lines, line);) losses.push_back(Json::parse(line).at("loss").get<double>());
  ASSERT_EQ(losses.size(), 40);
  EXPECT_LT(losses[19], 0.9 * losses[0]);
  EXPECT_LT(losses[39], losses[19]);
}

TEST_F(InitialModel, PassesItsSearchOnButForTheKeysThatTheConfigGives) {
  write_text(initial_ + "/generation_config.json", R"({"num_beams": 6})");
  train("run", {"training.max_steps=1"});
  const SearchOptions kept = load_model(folder_ / "run/model").search;
  EXPECT_EQ(kept.beam_size, 6);
  EXPECT_EQ(kept.length_penalty, LengthPenalty::power);
  train("other", {"training.max_steps=1", "search.beam_size=4"});
  const SearchOptions own = load_model(folder_ / "other/model").search;
  EXPECT_EQ(own.beam_size, 4) << "the default, but given";
  EXPECT_EQ(own.length_penalty, LengthPenalty::power);
}

TEST_F(InitialModel, ReplacesNoTokenizerThatWasNotLearnedInTheRun) {
  TokenizerOptions options;
  options.vocab_size = 40;
  const std::string run = folder_ / "run";
  fs::create_directory(run);
  train_tokenizer(options, lines_of({folder_ / "en"}), lines_of({folder_ / "de"})).save(run);
  const std::string before = read_text(run + "/tokenizer.model");
  EXPECT_THAT(message_of<std::invalid_argument>([&] { train("run"); }),
              AllOf(HasSubstr(run), HasSubstr("training.initialize_from brings its own")));
  EXPECT_EQ(read_text(run + "/tokenizer.model"), before);
}

TEST_F(InitialModel, RefusesAConfigThatSaysSomethingElse) {
  const std::string message = message_of<std::invalid_argument>([&] {
    train("run", {"model.d_model=512", "model.activation=gelu"});
  });
  EXPECT_THAT(message, AllOf(HasSubstr("model.d_model is 8, not 512"), HasSubstr("model.activation is swish, not gelu"),
                             HasSubstr("leave these keys out")));
}

TEST_F(InitialModel, OfManyLanguagesOnBothSidesIsRefused) {
  initial_ = TRANSMUTE_TEST_DATA "/formats/m2m";
  EXPECT_THAT(message_of<std::invalid_argument>([&] { train("run"); }), HasSubstr("many languages on both sides"));
}

}  // namespace
}  // namespace transmute

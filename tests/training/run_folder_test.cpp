// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/log_capture.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/training/fingerprints.h>
#include <transmute/training/run_folder.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::LogCapture;
using testing::message_of;
using testing::names_in;
using ::testing::Not;
using testing::read_text;
using testing::TemporaryFolder;
using ::testing::UnorderedElementsAre;
using testing::write_text;

class KeptConfig : public ::testing::Test {
 protected:
  // Returns what is wrong, or nothing.
  std::string keep(const std::vector<std::string>& assignments) {
    TrainingConfig config;
    ConfigSchema schema;
    config.declare(schema);
    for (const auto& assignment : assignments) schema.set(assignment);
    const auto lock = run_.lock();
    try {
      std::string yaml = schema.to_yaml();
      run_.describe_given_vocabulary(config, yaml);
      run_.keep_config(config, yaml);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder_;
  RunFolder run_{folder_ / "run"};
};

TEST_F(KeptConfig, IsWrittenAndMayChangeWhereTheTrainingStaysTheSame) {
  EXPECT_EQ(keep({"training.max_steps=100"}), "");
  EXPECT_EQ(keep({"training.max_steps=200"}), "");
  EXPECT_THAT(read_text(folder_ / "run/config.yaml"), HasSubstr("max_steps: 200"));
}

TEST_F(KeptConfig, NamesEveryValueThatCannotChangeAndStaysAsItIs) {
  EXPECT_EQ(keep({"model.d_model=32"}), "");
  EXPECT_EQ(keep({"model.d_model=64", "training.seed=1"}), "");  // no run has begun
  const std::filesystem::path checkpoint = run_.checkpoints() + "/step-000000001";
  std::filesystem::create_directories(checkpoint);
  std::filesystem::copy_file(folder_ / "run/config.yaml", checkpoint / "config.yaml");
  EXPECT_THAT(
      keep({"model.d_model=128", "training.seed=2"}),
      AllOf(HasSubstr("/run: model.d_model (it was 64; the config now says 128), "),
            HasSubstr("training.seed (it was 1; the config now says 2) cannot change after training has started. Use "
                      "another --run-folder, or restore the old values")));
  EXPECT_THAT(keep({"model.d_model=64", "training.seed=2"}),
              HasSubstr("another --run-folder (--set training.initialize_from=" + checkpoint.string() +
                        " starts it with these weights), or restore"));
  EXPECT_THAT(read_text(folder_ / "run/config.yaml"), HasSubstr("d_model: 64"));
}

TEST_F(KeptConfig, NamesTheRemedyWhereThatOfTheNewestCheckpointIsLostOrDamaged) {
  EXPECT_EQ(keep({}), "");
  const std::string checkpoint = run_.checkpoints() + "/step-000000001";
  std::filesystem::create_directories(checkpoint);
  const auto refusal = [&] { return message_of<std::runtime_error>([&] { keep({}); }); };
  const auto names_remedy =
      AllOf(HasSubstr("cannot resume: " + checkpoint + "/config.yaml:"), HasSubstr("remove the folder " + checkpoint));
  EXPECT_THAT(refusal(), names_remedy);
  for (const char* damaged : {"model: [", "modle: {}", "training: {warmup_steps: x}"}) {
    write_text(checkpoint + "/config.yaml", damaged);
    EXPECT_THAT(refusal(), names_remedy) << damaged;
  }
}

TEST_F(KeptConfig, MayNameTheOwnTextInTheFolderThatTheRunWasMovedFrom) {
  const auto text_in = [](const std::string& folder) {
    return std::vector<std::string>{
        "data.train_source=[" + folder + "/text/train.en]", "data.train_target=[" + folder + "/text/train.de]",
        "data.valid_source=[" + folder + "/text/valid.en]", "data.valid_target=[" + folder + "/text/valid.de]"};
  };
  EXPECT_EQ(keep(text_in("/before")), "");
  const std::filesystem::path checkpoint = run_.checkpoints() + "/step-000000001";
  std::filesystem::create_directories(checkpoint);
  std::filesystem::copy_file(folder_ / "run/config.yaml", checkpoint / "config.yaml");
  std::filesystem::create_directory(folder_ / "run/text");
  for (const char* name : {"train.en", "train.de", "valid.en", "valid.de"})
    write_text(folder_ / ("run/text/" + std::string(name)), "a\n");
  EXPECT_THAT(keep(text_in(folder_ / "run")), HasSubstr("data.train_source (it was")) << "who knows whose text that is";
  Fingerprints kept;
  kept.divided = true;
  kept.write(run_.path());
  EXPECT_EQ(keep(text_in(folder_ / "run")), "");
  EXPECT_EQ(keep(text_in("/before")), "");
  EXPECT_THAT(keep({"data.train_source=[/other/train.en]", "data.train_target=[/other/train.de]"}),
              HasSubstr("data.train_source (it was"));
}

class GivenVocabulary : public KeptConfig {
 protected:
  void SetUp() override {
    TokenizerOptions options = testing::tiny_tokenizer_options();
    options.normalization = "identity";
    std::filesystem::create_directory(run_.path());
    testing::tiny_tokenizer(options).save(run_.path());
  }

  // The text of a config that describes the vocabulary.
  std::string described(const std::vector<std::string>& assignments) const {
    TrainingConfig config;
    ConfigSchema schema;
    config.declare(schema);
    for (const auto& assignment : assignments) schema.set(assignment);
    std::string yaml = schema.to_yaml();
    run_.describe_given_vocabulary(config, yaml);
    EXPECT_EQ(yaml, schema.to_yaml());
    return yaml;
  }
};

TEST_F(GivenVocabulary, IsDescribedByTheConfig) {
  const LogCapture log;
  EXPECT_THAT(described({"tokenizer.vocab_size=500"}),
              AllOf(HasSubstr("vocab_size: 80\n"), HasSubstr("normalization: \"identity\"\n")));
  EXPECT_THAT(log.text(), AllOf(HasSubstr("config: tokenizer.vocab_size is 80, as in the vocabulary in "),
                                HasSubstr("/run; the config said 500"),
                                HasSubstr("tokenizer.normalization is \"identity\", as"), Not(HasSubstr("algorithm"))));
}

TEST_F(GivenVocabulary, LeavesTheConfigAloneWhereItWasLearnedHere) {
  Fingerprints kept;
  kept.vocabulary = 1;
  kept.write(run_.path());
  EXPECT_THAT(described({"tokenizer.vocab_size=500"}), HasSubstr("vocab_size: 500\n"));
}

TEST_F(GivenVocabulary, GoesOnWithTheConfigThatTheRunBeganWith) {
  const std::filesystem::path checkpoint = run_.checkpoints() + "/step-000000001";
  std::filesystem::create_directories(checkpoint);
  write_text((checkpoint / "config.yaml").string(), described({"tokenizer.vocab_size=500"}));
  EXPECT_EQ(keep({"tokenizer.vocab_size=500"}), "");
  EXPECT_EQ(keep({"tokenizer.vocab_size=80", "tokenizer.normalization=identity"}), "");
  EXPECT_THAT(keep({"model.d_model=64"}), HasSubstr("model.d_model (it was 512; the config now says 64)"));
}

// Two vocabularies cannot be tied, and its own config.yaml must not keep the run from continuing.
TEST_F(GivenVocabulary, DoesNotMakeTheConfigInvalid) {
  std::filesystem::rename(run_.path() + "/tokenizer.model", run_.path() + "/tokenizer.source.model");
  std::filesystem::copy_file(run_.path() + "/tokenizer.source.model", run_.path() + "/tokenizer.target.model");
  EXPECT_THAT(described({}), AllOf(HasSubstr("vocab_size: 80\n"), HasSubstr("vocabulary: shared\n")));
  EXPECT_THAT(described({"model.embedding_tying=none"}), HasSubstr("vocabulary: separate\n"));
}

TEST(RunFolder, IsRidOfUnfinishedModelsAndOfNothingElse) {
  const TemporaryFolder folder;
  const std::vector<std::string> kept{"best", "best.partial", "best.partial-0123ABCD", "best.partial-0123abcd0",
                                      "mine.partial-0123abcd"};
  for (const auto& name : kept) std::filesystem::create_directory(folder / name);
  for (const char* rest : {"best.partial-0123abcd", "model.partial-89abcdef"}) {
    std::filesystem::create_directory(folder / rest);
    write_text(folder / (rest + std::string("/weights.safetensors")), "half");
  }
  const auto lock = RunFolder(folder.path()).lock();
  if (!lock->is_held()) GTEST_SKIP() << "a file system without locks";
  EXPECT_THAT(names_in(folder.path()),
              UnorderedElementsAre("lock", "fingerprints.json", kept[0], kept[1], kept[2], kept[3], kept[4]));
}

TEST(RunFolder, LeavesWhatIsNotOfATrainingAlone) {
  for (const bool has_lock : {false, true})  // some other program's
    for (const char* name : {"config.yaml", "best/notes.txt", "model/thesis.cpp", "metrics.jsonl", "report.html"}) {
      const TemporaryFolder folder;
      if (has_lock) write_text(folder / "lock", "");
      const std::string file = folder / name;
      std::filesystem::create_directories(std::filesystem::path(file).parent_path());
      write_text(file, "precious");
      const std::string error = message_of<std::invalid_argument>([&] { RunFolder(folder.path()).lock(); });
      EXPECT_THAT(error, AllOf(HasSubstr("already exists"), HasSubstr("another --run-folder"))) << name;
      EXPECT_EQ(read_text(file), "precious");
      EXPECT_EQ(std::filesystem::exists(folder / "lock"), has_lock);
      EXPECT_FALSE(std::filesystem::exists(folder / "fingerprints.json"));
    }
}

TEST(RunFolder, IsNotWrittenThroughLinks) {
  for (const char* name :
       {"config.yaml", "metrics.jsonl", "report.html", "fingerprints.json", "train.log", "cache/contents.json"}) {
    const TemporaryFolder folder;
    const std::string run = folder / "run", victim = folder / "victim";
    RunFolder(run).lock();  // a training was here
    std::filesystem::create_directory(run + "/cache");
    std::filesystem::remove(run + "/" + name);
    std::filesystem::create_symlink(victim, run + "/" + name);
    for (const bool exists : {false, true}) {
      if (exists) write_text(victim, "precious");
      EXPECT_THAT(message_of<std::invalid_argument>([&] { RunFolder(run).lock(); }),
                  AllOf(HasSubstr(run + "/" + name), HasSubstr("symbolic link")));
      EXPECT_EQ(std::filesystem::exists(victim), exists);
    }
    EXPECT_EQ(read_text(victim), "precious");
  }
}

TEST(RunFolder, MayBeALinkAndHaveFoldersAndATokenizerThatAreLinks) {
  const TemporaryFolder folder;
  for (const char* name : {"run", "checkpoints", "cache"}) std::filesystem::create_directory(folder / name);
  write_text(folder / "mine.model", "precious");
  std::filesystem::create_symlink(folder / "mine.model", folder / "run/tokenizer.model");
  for (const char* name : {"checkpoints", "cache"})
    std::filesystem::create_symlink(folder / name, folder / ("run/" + std::string(name)));
  std::filesystem::create_symlink(folder / "run", folder / "linked");
  EXPECT_NO_THROW(RunFolder(folder / "linked").lock());
}

TEST(RunFolder, ServesAgainWhereAStartEndedBeforeItLearnedAnything) {
  const TemporaryFolder folder;
  RunFolder(folder.path()).lock();
  write_text(folder / "config.yaml", "an earlier start's");
  EXPECT_NO_THROW(RunFolder(folder.path()).lock());
}

TEST(RunFolder, LeavesWhatWasPutIntoItsModelAlone) {
  const TemporaryFolder folder;
  RunFolder(folder.path()).lock();  // a training was here
  std::filesystem::create_directory(folder / "model");
  for (const char* name : {"config.yaml", "weights.safetensors", "notes.txt"})
    write_text(folder / "model/" + name, "x");
  EXPECT_THAT(message_of<std::invalid_argument>([&] { RunFolder(folder.path()).lock(); }),
              AllOf(HasSubstr("'notes.txt'"), HasSubstr("another --run-folder")));
}

TEST(Fingerprints, KeepWhetherTheTextWasDividedAndDoNotGuessIt) {
  const TemporaryFolder folder;
  Fingerprints kept;
  kept.given = 7;
  kept.write(folder.path());
  EXPECT_FALSE(Fingerprints::read(folder.path()).divided);
  kept.divided = true;
  kept.write(folder.path());
  EXPECT_TRUE(Fingerprints::read(folder.path()).divided);
  EXPECT_EQ(Fingerprints::read(folder.path()).given, 7U);
}

TEST(RunFolder, HasTheNameOfItsLastPart) {
  EXPECT_EQ(RunFolder("/data/runs/english").name(), "english");
  EXPECT_EQ(RunFolder("/data/runs/english/").name(), "english");
  EXPECT_EQ(RunFolder("/data/runs/../runs/./english").name(), "english");
}

}  // namespace
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
// A trained model in other forms: shortlists, conversions, averaged checkpoints.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/tests/e2e/trained_model.h>

#include <filesystem>

#include <nlohmann/json.hpp>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(TrainedModel, TranslatesAsWellFromAShortlist) {
  const std::string table = *folder_ / "shortlist.txt";
  EXPECT_THAT(messages_of(run("make_shortlist",
                              {"--model", *folder_ / "run/model", "--source", *folder_ / "data/train.en", "--target",
                               *folder_ / "data/train.de", "--output", table, "--shortlist-best", "20"})),
              HasSubstr(" lines from 6,000 sentence pairs"));
  const std::string input = read_text(*folder_ / "data/test.en");
  const auto wanted = split_lines(read_text(*folder_ / "data/test.de"));
  const auto right_of = [&](const std::vector<std::string>& flags) {
    const auto got = split_lines(translate(input, flags).output);
    int right = 0;
    for (size_t i = 0; i < wanted.size(); ++i) right += got.at(i) == wanted[i] ? 1 : 0;
    return right;
  };
  const std::vector<std::string> flags{"--shortlist", table, "--shortlist-frequent", "5"};
  const int with = right_of(flags), without = right_of({});
  std::cout << with << " of " << wanted.size() << " right with a shortlist, " << without << " without\n";
  EXPECT_GE(with, without - 4);
  const std::string reference = translate(input, flags).output;
  for (const auto& more : std::vector<std::vector<std::string>>{{"--batch-size", "1"}, {"--threads", "1"}}) {
    auto both = flags;
    both.insert(both.end(), more.begin(), more.end());
    EXPECT_EQ(translate(input, both).output, reference);
  }
  // So few tokens that it cannot.
  EXPECT_LT(right_of({"--shortlist", table, "--shortlist-best", "1", "--shortlist-frequent", "0"}), with);
}

TEST_F(TrainedModel, SaysWhatIsWrongWithAShortlist) {
  const auto errors_of = [](const std::vector<std::string>& flags) {
    const Outcome outcome = translate("seven\n", flags);
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_EQ(outcome.output, "");
    return outcome.errors;
  };
  EXPECT_THAT(errors_of({"--shortlist", *folder_ / "nothing"}), HasSubstr("nothing"));
  EXPECT_THAT(errors_of({"--shortlist", *folder_ / "data/test.en"}), HasSubstr("test.en:1: a line of a lexical table"));
  EXPECT_THAT(errors_of({"--shortlist-best", "3"}), HasSubstr("--shortlist"));
  const auto make = [](const std::vector<std::string>& flags) {
    std::vector<std::string> words{program("make_shortlist"), "--output", *folder_ / "unmade"};
    words.insert(words.end(), flags.begin(), flags.end());
    const Outcome outcome = run_program_with(words);
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_FALSE(std::filesystem::exists(*folder_ / "unmade"));
    return outcome.errors;
  };
  const std::string model = *folder_ / "run/model", source = *folder_ / "data/train.en",
                    target = *folder_ / "data/train.de";
  EXPECT_THAT(make({"--model", *folder_ / "data", "--source", source, "--target", target}),
              AllOf(HasSubstr("has no tokenizer"), HasSubstr("convert --to folder")));
  EXPECT_THAT(make({"--model", model, "--source", source, "--target", *folder_ / "data/test.de"}), HasSubstr("6,000"));
  EXPECT_THAT(make({"--model", model, "--source", source, "--target", target, "--shortlist-best", "0"}),
              HasSubstr("--shortlist-best: must be at least 1"));
  EXPECT_THAT(make({"--model", model, "--source", source, "--target", target, "--iterations", "0"}),
              HasSubstr("--iterations: must be at least 1"));
}

TEST_F(TrainedModel, ComesBackUnchangedFromTheOtherForms) {
  const auto convert = [](const std::string& from, const std::string& form, const std::string& to) {
    const Outcome outcome = run("convert", {"--model", from, "--to", form, "--output", to});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  };
  convert(*folder_ / "run/model", "safetensors", *folder_ / "neutral");
  EXPECT_THAT(names_in(*folder_ / "neutral"),
              ::testing::ElementsAre("checksums.txt", "config.yaml", "model.safetensors", "text_profile.yaml",
                                     "tokenizer.model"));
  convert(*folder_ / "neutral", "folder", *folder_ / "back");
  for (const char* file : {"config.yaml", "tokenizer.model", "weights.safetensors"})
    EXPECT_EQ(read_text(*folder_ / "back" + "/" + file), read_text(*folder_ / "run/model" + "/" + file)) << file;
}

TEST_F(TrainedModel, StoredInFewerBitsSaysTheSameInThatPrecision) {
  const std::string original = *folder_ / "run/model";
  const std::string text = read_text(*folder_ / "data/test.en");
  for (const std::string precision : {"bfloat16", "int8"}) {
    const std::string narrow = *folder_ / precision;
    const Outcome converted =
        run("convert", {"--model", original, "--to", "folder", "--output", narrow, "--precision", precision});
    ASSERT_EQ(converted.exit_code, 0) << converted.errors;
    const auto weights = [](const std::string& model) {
      return std::filesystem::file_size(model + "/weights.safetensors");
    };
    EXPECT_LT(static_cast<double>(weights(narrow)),
              (precision == "int8" ? 0.5 : 0.7) * static_cast<double>(weights(original)));
    const auto translation_by = [&](const std::string& model, const std::string& in) {
      return output_of(run("translate", {"--model", model, "--precision", in}, text));
    };
    EXPECT_EQ(translation_by(narrow, precision), translation_by(original, precision));
    if (precision == "int8") {
      EXPECT_EQ(translation_by(narrow, "stored"), translation_by(original, precision));
    }
  }
  EXPECT_EQ(run("convert",
                {"--model", original, "--to", "safetensors", "--output", *folder_ / "refused", "--precision", "int8"})
                .exit_code,
            2);
}

TEST_F(TrainedModel, ConvertReplacesNoFolderOfOtherThings) {
  EXPECT_THAT(refusal("convert", {"--model", *folder_ / "run/model", "--to", "folder", "--output", *folder_ / "data"}),
              HasSubstr("is not a model folder"));
  EXPECT_EQ(run("convert", {"--model", *folder_ / "run/model", "--to", "onnx", "--output", "x"}).exit_code, 2);
}

TEST_F(TrainedModel, ACheckpointIsAModelFolder) {
  const Outcome outcome = run("translate", {"--model", *folder_ / "run/checkpoints/step-000001200"}, "seven\n");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
}

TEST_F(TrainedModel, AveragingCheckpointsGivesTheFinishedModel) {
  std::vector<std::string> words{program("average_checkpoints"), "--output", *folder_ / "mean"};
  for (const char* step : {"0800", "0900", "1000", "1100", "1200"})
    words.push_back(*folder_ / ("run/checkpoints/step-00000" + std::string(step)));
  const Outcome outcome = run_program_with(words);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(read_text(*folder_ / "mean/weights.safetensors"), read_text(*folder_ / "run/model/weights.safetensors"));
}

TEST_F(TrainedModel, AveragingRefusesModelsOfDifferentNetworks) {
  const std::string first = *folder_ / "run/model", other = *folder_ / "other_network";
  std::filesystem::copy(first, other);
  std::string config = read_text(other + "/config.yaml");
  config.replace(config.find("activation: relu"), 16, "activation: gelu");
  write_text(other + "/config.yaml", config);
  std::filesystem::remove(other + "/checksums.txt");
  EXPECT_THAT(refusal("average_checkpoints", {"--output", *folder_ / "no_mean", first, other}),
              HasSubstr("other_network has a different network from "));
  EXPECT_FALSE(std::filesystem::exists(*folder_ / "no_mean"));
}

TEST_F(TrainedModel, AveragingReplacesNoFolderOfOtherThings) {
  for (const char* taken : {"data", "run"}) {
    EXPECT_THAT(
        refusal("average_checkpoints", {"--output", *folder_ / taken, *folder_ / "run/checkpoints/step-000001200"}),
        HasSubstr("is not a model folder"));
  }
  EXPECT_TRUE(std::filesystem::exists(*folder_ / "run/metrics.jsonl"));
}

}  // namespace
}  // namespace transmute::testing

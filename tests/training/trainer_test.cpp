// SPDX-License-Identifier: Apache-2.0
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/formats/tensor_file.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/module_weights.h>
#include <transmute/tests/support/default_dtype.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/training/small_training.h>
#include <transmute/training/trainer.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::read_text;
using testing::SmallTraining;
using testing::write_text;

// Settings of an application for its own thread, or for the process, stay.
class TrainingInAnApplication : public SmallTraining {};

TEST_F(TrainingInAnApplication, IsTheSameInEveryModeOfTheCallersThread) {
  const std::vector<std::string> settings{"training.max_steps=10"};
  ASSERT_EQ(train("plain", false, settings), 0);
  const std::string expected = checkpoint_bytes("plain", "000000010");
  {
    const torch::NoGradGuard no_grad;
    EXPECT_EQ(train("no_grad", false, settings), 0);
    EXPECT_FALSE(torch::GradMode::is_enabled());
  }
  {
    const c10::InferenceMode inference;
    EXPECT_EQ(train("inference", false, settings), 0);
    EXPECT_TRUE(c10::InferenceMode::is_enabled());
  }
  {
    c10::impl::tls_set_dispatch_key_excluded(c10::DispatchKey::AutocastCPU, false);
    EXPECT_EQ(train("autocast", false, settings), 0);
    EXPECT_FALSE(c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutocastCPU));
    c10::impl::tls_set_dispatch_key_excluded(c10::DispatchKey::AutocastCPU, true);
  }
  for (const char* run : {"no_grad", "inference", "autocast"})
    EXPECT_TRUE(checkpoint_bytes(run, "000000010") == expected) << run;
}

TEST_F(TrainingInAnApplication, IsTheSameWhateverTheDefaultTypeIs) {
  const std::vector<std::string> settings{"training.max_steps=10"};
  ASSERT_EQ(train("plain", false, settings), 0);
  for (const torch::Dtype dtype : testing::kDefaultDtypes) {
    const std::string run = torch::toString(dtype);
    const testing::DefaultDtype of_the_application(dtype);
    EXPECT_EQ(train(run, false, settings), 0);
    EXPECT_TRUE(checkpoint_bytes(run, "000000010") == checkpoint_bytes("plain", "000000010")) << run;
  }
}

// Another program may have learned it.
class VocabularyOfAnotherRun : public SmallTraining {};

TEST_F(VocabularyOfAnotherRun, IsWhatTheConfigsOfTheRunAndItsModelDescribe) {
  ASSERT_EQ(train("first", false, {"tokenizer.vocab_size=22", "tokenizer.normalization=identity"}), 0);
  std::filesystem::create_directory(folder_ / "run");
  std::filesystem::copy_file(folder_ / "first/tokenizer.model", folder_ / "run/tokenizer.model");
  ASSERT_EQ(train("run", false), 0);
  ASSERT_EQ(train("run", false, {"training.max_steps=50"}), 0) << "the config that it began with continues with it";
  for (const char* part : {"run/config.yaml", "run/model/config.yaml", "run/checkpoints/step-000000050/config.yaml"})
    EXPECT_THAT(read_text(folder_ / part),
                AllOf(HasSubstr("vocab_size: 22\n"), HasSubstr("normalization: \"identity\"\n")))
        << part;
}

class OverlappingSteps : public SmallTraining {};

TEST_F(OverlappingSteps, TrainTheSameWeightsAndReportTheSameNumbers) {
  ASSERT_EQ(train("waiting", false, {"training.ema_decay=0.9"}), 0);
  ASSERT_EQ(train("overlapping", true, {"training.ema_decay=0.9"}), 0);
  const auto expected = metrics("waiting"), found = metrics("overlapping");
  ASSERT_EQ(found.size(), expected.size());
  ASSERT_EQ(found.size(), 5);  // after 7, 14 … 35
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i]["step"], expected[i]["step"]);
    EXPECT_EQ(found[i]["target_tokens"], expected[i]["target_tokens"]);
    for (const char* key : {"loss", "gradient_norm", "learning_rate"})
      EXPECT_NEAR(found[i][key].get<double>() / expected[i][key].get<double>(), 1, 1e-3) << key << " of line " << i;
  }
  for (const char* part : {"checkpoints/step-000000040", "model"}) {
    const auto weights = [&](const char* run) {
      return to_tensors(read_tensor_file(folder_ / (std::string(run) + "/" + part + "/weights.safetensors")));
    };
    const NamedTensors of_one = weights("waiting"), of_other = weights("overlapping");
    ASSERT_EQ(of_one.size(), of_other.size());
    for (size_t p = 0; p < of_one.size(); ++p)
      EXPECT_TRUE(torch::allclose(of_one[p].second, of_other[p].second, 1e-3, 1e-4)) << part << " " << of_one[p].first;
  }
}

TEST_F(OverlappingSteps, AreTheSameBitsAfterAStopInTheirMiddle) {
  ASSERT_EQ(train("whole", true), 0);
  for (const int stop : {13, 20}) {
    const std::string run = "stopped-" + std::to_string(stop);
    int steps = 0;
    ASSERT_EQ(train(run, true, {}, [&] { return ++steps == stop ? 15 : 0; }), 15);
    ASSERT_EQ(train(run, true), 0);
    EXPECT_EQ(checkpoint_bytes(run, "000000040"), checkpoint_bytes("whole", "000000040"));
  }
}

// A stop leaves no trace: neither in the mean of the checkpoints, nor in what was validated.
TEST_F(OverlappingSteps, EndWithTheSameModelAfterStops) {
  std::vector<std::string> settings{"data.valid_source=text",     "data.valid_target=text",
                                    "validation.every=20",        "validation.metric=loss",
                                    "validation.max_sentences=8", "training.average_checkpoints=3",
                                    "training.keep_checkpoints=3"};
  const auto weights = [&](const std::string& run) {
    return read_text(folder_ / (run + "/model/weights.safetensors"));
  };
  ASSERT_EQ(train("whole", false, settings), 0);
  EXPECT_THAT(validated("whole"), ElementsAre(20, 40));
  for (const std::vector<int>& stops : {std::vector<int>{32, 36}, {20}, {40}}) {
    const std::string run = "stopped-" + std::to_string(stops.front());
    int steps = 0;
    for (const int stop : stops) ASSERT_EQ(train(run, false, settings, [&] { return ++steps == stop ? 15 : 0; }), 15);
    ASSERT_EQ(train(run, false, settings), 0);
    ASSERT_EQ(train(run, false, settings), 0);  // nothing is left to do, nor to validate
    EXPECT_EQ(validated(run), validated("whole")) << run;
    EXPECT_EQ(weights(run), weights("whole")) << run;
  }
  // A validation that keeps a checkpoint keeps it too where a stop delays it.
  settings.insert(settings.end(), {"training.keep_best=1", "validation.every=18"});
  ASSERT_EQ(train("kept", false, settings), 0);
  int steps = 0;
  ASSERT_EQ(train("kept-36", false, settings, [&] { return ++steps == 36 ? 15 : 0; }), 15);
  ASSERT_EQ(train("kept-36", false, settings), 0);
  EXPECT_EQ(weights("kept-36"), weights("kept"));
  EXPECT_EQ(checkpoints("kept-36"), checkpoints("kept"));
}

TEST_F(OverlappingSteps, TellOfAStepThatDivergedAndKeepTheWeightsBeforeIt) {
  // Weights of 1e30 give no finite loss.
  const std::vector<std::string> steep{"training.learning_rate_scale=1e30", "training.checkpoint_every=1000"};
  const auto message = [&](const std::string& run, bool overlaps_steps) {
    return message_of<std::runtime_error>([&] { train(run, overlaps_steps, steep); });
  };
  const std::string waiting = message("waiting", false), overlapping = message("overlapping", true);
  EXPECT_THAT(overlapping, AllOf(HasSubstr("step 2 (epoch 1, before batch "), HasSubstr("diverged: loss"),
                                 HasSubstr("training.learning_rate_scale")));
  EXPECT_EQ(overlapping.substr(0, overlapping.find(';')), waiting.substr(0, waiting.find(';')));
}

TEST_F(OverlappingSteps, GoOnCountingAfterOneThatWasPassedOver) {
  // Every later step diverges too: the run passes over three and ends with the fourth, still as the second step.
  const std::string message = message_of<std::runtime_error>([&] {
    train("run", true,
          {"training.learning_rate_scale=1e30", "training.max_skipped_steps=3", "training.log_every=1000"});
  });
  EXPECT_THAT(message, HasSubstr("step 2 (epoch "));
}

TEST_F(OverlappingSteps, NeedOneWorker) {
  threads_ = 2;
  EXPECT_THAT(message_of<std::invalid_argument>([&] { train("run", true); }),
              HasSubstr("overlaps_steps is for one process with one worker"));
}

// The config's numbers are passed on by position: values that differ show which of them arrives where. A training
// without overlapping steps updates its weights by FusedAdam, one with them in LibTorch's operations.
class TrainerSettings : public SmallTraining {
 protected:
  std::map<std::string, torch::Tensor> after_first_step(const std::string& run, const std::string& file) const {
    const NamedTensors named = to_tensors(read_tensor_file(folder_ / (run + "/checkpoints/step-000000001/" + file)));
    return std::map<std::string, torch::Tensor>(named.begin(), named.end());
  }
};

// After the first step the moments are (1 - beta1) g and (1 - beta2) g², where g is the clipped gradient.
TEST_F(TrainerSettings, ReachTheMomentsTheClippingAndTheSchedule) {
  const std::vector<std::string> settings{"training.adam_beta1=0.8",     "training.adam_beta2=0.96",
                                          "training.clip_norm=0.001",    "training.schedule=linear",
                                          "training.learning_rate=0.01", "training.min_learning_rate=0.004",
                                          "training.warmup_steps=1",     "training.max_steps=2",
                                          "training.log_every=1",        "training.checkpoint_every=1"};
  for (const bool overlaps_steps : {false, true}) {
    const std::string run = overlaps_steps ? "overlapping" : "waiting";
    SCOPED_TRACE(run);
    ASSERT_EQ(train(run, overlaps_steps, settings), 0);
    const auto state = after_first_step(run, "optimizer.safetensors");
    double squares = 0;
    for (const auto& [name, tensor] : state) {
      const size_t dot = name.rfind('.');
      if (name.substr(dot) != ".mean") continue;
      const torch::Tensor mean = tensor.to(torch::kDouble);
      const torch::Tensor variance = state.at(name.substr(0, dot) + ".variance").to(torch::kDouble);
      // (0.2 g)² = 0.04 g². Seven roundings of float32, which has fewer digits below 1e-37.
      EXPECT_TRUE(torch::allclose(mean.square(), variance, 1e-6, 1e-37)) << name;
      squares += (mean / 0.2).square().sum().item<double>();
    }
    EXPECT_NEAR(std::sqrt(squares) / 0.001, 1, 1e-5);
    const auto lines = metrics(run);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_GT(lines[0]["gradient_norm"].get<double>(), 0.001) << "or nothing is clipped";
    EXPECT_NEAR(lines[0]["learning_rate"].get<double>(), 0.01, 1e-12);
    EXPECT_NEAR(lines[1]["learning_rate"].get<double>(), 0.004, 1e-12);
  }
}

TEST_F(TrainerSettings, LowerTheLearningRateToTheEndOfTheTime) {
  const std::vector<std::string> settings{"training.schedule=cosine",    "training.max_steps=1000000",
                                          "training.max_minutes=0.06",   "training.warmup_steps=5",
                                          "training.learning_rate=0.01", "training.log_every=1"};
  ASSERT_EQ(train("run", false, settings), 0);
  const auto rates_after = [&](int64_t first) {
    std::vector<double> rates;
    for (const Json& record : metrics("run"))
      if (record["step"] > first) rates.push_back(record["learning_rate"]);
    return rates;
  };
  const std::vector<double> rates = rates_after(5);
  ASSERT_GT(rates.size(), 20U);
  EXPECT_LT(rates.back(), 0.05 * *std::max_element(rates.begin(), rates.end()));
  // More minutes continue a finished run, with the rate that the longer time has there.
  const auto steps = metrics("run").back()["step"].get<int64_t>();
  std::vector<std::string> longer = settings;
  longer[2] = "training.max_minutes=0.12";
  ASSERT_EQ(train("run", false, longer), 0);
  const std::vector<double> later = rates_after(steps);
  ASSERT_GT(later.size(), 20U);
  EXPECT_NEAR(later.front(), 0.005, 0.002) << "in the middle of the cosine";
  EXPECT_LT(later.back(), 0.0005);
}

TEST_F(TrainerSettings, ArePlannedAgainWhileTheWarmUpLasts) {
  std::vector<int64_t> planned;
  plan_ = [&](TrainingConfig& config, int64_t steps) {
    planned.push_back(steps);
    config.training.warmup_steps = 40;
  };
  const std::vector<std::string> settings{"training.schedule=cosine", "training.max_steps=1000000",
                                          "training.max_minutes=0.03", "training.warmup_steps=100000"};
  ASSERT_EQ(train("run", false, settings), 0);
  const auto steps = metrics("run").back()["step"].get<int64_t>();
  ASSERT_GT(steps, 40);
  ASSERT_FALSE(planned.empty());
  EXPECT_LE(planned.size(), 40U) << "not after the warm-up";
  EXPECT_THAT(read_text(folder_ / "run/config.yaml"), HasSubstr("warmup_steps: 40"));
}

TEST_F(TrainerSettings, DecayMatricesByTheLearningRateAndLeaveVectors) {
  // Beside this epsilon the gradient's share of an update vanishes.
  const std::vector<std::string> settings{"training.adam_epsilon=1e25",  "training.schedule=linear",
                                          "training.learning_rate=0.01", "training.min_learning_rate=0.004",
                                          "training.warmup_steps=1",     "training.max_steps=1"};
  for (const bool overlaps_steps : {false, true}) {
    const auto weights_with = [&](const std::string& decay) {
      const std::string run = (overlaps_steps ? "overlapping-" : "waiting-") + decay;
      std::vector<std::string> all = settings;
      all.push_back("training.weight_decay=" + decay);
      EXPECT_EQ(train(run, overlaps_steps, all), 0);
      return after_first_step(run, "weights.safetensors");
    };
    const auto kept = weights_with("0"), decayed = weights_with("0.5");
    ASSERT_EQ(decayed.size(), kept.size());
    int matrices = 0, vectors = 0;
    for (const auto& [name, weight] : kept) {
      const torch::Tensor& after = decayed.at(name);
      if (weight.dim() > 1) {
        ++matrices;
        // Three roundings of float32; the gradient's share is below 1e-25.
        EXPECT_TRUE(torch::allclose(after, weight * (1 - 0.01 * 0.5), 1e-6, 1e-20)) << name;
      } else {
        ++vectors;
        EXPECT_TRUE(torch::equal(after, weight)) << name;
      }
    }
    EXPECT_GT(matrices, 10);
    EXPECT_GT(vectors, 10);
  }
}

TEST_F(TrainerSettings, ChooseTheHeadThatLearnsTheAlignments) {
  std::string alignments;
  for (int line = 0; line < 200; ++line) alignments += "0-0\n";
  write_text(folder_ / "alignments", alignments);
  std::vector<std::string> settings{"data.train_alignments=alignments", "training.guided_alignment=0.5",
                                    "model.num_decoder_layers=3", "training.max_steps=1"};
  EXPECT_THAT(log_of("default", settings), HasSubstr("decoder layer 2, head 1 learns the given alignments"));
  settings.insert(settings.end(), {"training.guided_layer=3", "training.guided_head=2"});
  EXPECT_THAT(log_of("chosen", settings), HasSubstr("decoder layer 3, head 2 learns the given alignments"));
}

}  // namespace
}  // namespace transmute

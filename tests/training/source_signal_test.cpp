// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/new_transformer.h>
#include <transmute/training/source_signal.h>

namespace transmute {
namespace {

using testing::new_transformer;
using testing::options_of;

// A batch of random ids, sentences of 5 to 20 tokens.
Batch random_batch() {
  torch::manual_seed(5);
  Batch batch;
  batch.source = torch::randint(4, 200, {16, 20}, torch::kLong);
  for (int64_t row = 0; row < 16; ++row) batch.source[row].narrow(0, 5 + row % 16, 15 - row % 16).zero_();
  batch.target_in = batch.target_out = torch::randint(4, 200, {16, 12}, torch::kLong);
  return batch;
}

TEST(SourceSignal, MeasuresWhatItSays) {
  Transformer transformer = new_transformer(options_of(2));
  const Batch batch = random_batch();
  const SourceSignal fresh = source_signal(transformer, batch);
  EXPECT_GT(fresh.attention_entropy, 0.8);
  EXPECT_LE(fresh.attention_entropy, 1 + 1e-5);
  EXPECT_LE(fresh.sharpest_head, fresh.attention_entropy);
  {
    const torch::NoGradGuard no_grad;
    for (auto& item : transformer->named_parameters())
      if (item.key().find("cross_attention.key") != std::string::npos) item.value().zero_();
  }
  const SourceSignal uniform = source_signal(transformer, batch);
  EXPECT_NEAR(uniform.attention_entropy, 1, 1e-5) << "whatever the lengths of the sources";
  EXPECT_TRUE(uniform.is_collapsed());
  {
    const torch::NoGradGuard no_grad;
    for (auto& item : transformer->named_parameters())
      if (item.key().find("feed_forward_norm.weight") != std::string::npos) item.value().zero_();
  }
  EXPECT_NEAR(source_signal(transformer, batch).position_variance, 0, 1e-6) << "every position has the norm's bias";
}

TEST(SourceSignal, SeesASharpHead) {
  Transformer transformer = new_transformer(options_of(2));
  {
    const torch::NoGradGuard no_grad;
    for (auto& item : transformer->named_parameters())
      if (item.key() == "decoder.layers.1.cross_attention.key.weight") item.value().narrow(0, 16, 16).mul_(100);
  }
  const SourceSignal signal = source_signal(transformer, random_batch());
  EXPECT_LT(signal.sharpest_head, 0.3);
  EXPECT_FALSE(signal.is_collapsed());
}

TEST(SourceSignal, LeavesTheNetworkInItsMode) {
  Transformer transformer = new_transformer(options_of(1));
  transformer->train();
  source_signal(transformer, random_batch());
  EXPECT_TRUE(transformer->is_training());
}

TEST(SourceSignal, HasNothingToSayOfSourcesOfOneToken) {
  Transformer transformer = new_transformer(options_of(1));
  Batch batch = random_batch();
  batch.source = batch.source.narrow(1, 0, 1);
  EXPECT_FALSE(source_signal(transformer, batch).is_collapsed());
}

TEST(SourceSignal, NamesTheRemediesThatAreLeft) {
  TransformerOptions options = options_of(4, NormPosition::post, Initialization::xavier);
  options.dropout = 0.3;
  EXPECT_THAT(collapse_warning({0.01, 1, 0.99}, options),
              ::testing::AllOf(::testing::HasSubstr("model.initialization: scaled"), ::testing::HasSubstr("below 0.3"),
                               ::testing::HasSubstr("norm_position: deep"), ::testing::HasSubstr("99.0%")));
  options.initialization = Initialization::scaled;
  options.norm_position = NormPosition::deep;
  options.dropout = 0.1;
  const std::string left = collapse_warning({0.01, 1, 0.99}, options);
  EXPECT_THAT(left, ::testing::Not(::testing::HasSubstr("model.")));
  EXPECT_THAT(left, ::testing::HasSubstr("training.warmup_steps"));
}

}  // namespace
}  // namespace transmute

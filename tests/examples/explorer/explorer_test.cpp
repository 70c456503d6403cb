// SPDX-License-Identifier: Apache-2.0
// The page that shows what a model attends to: its numbers against loops, its data against the modules.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/examples/explorer/attention_trace.h>
#include <transmute/examples/explorer/embedding_map.h>
#include <transmute/examples/explorer/page.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/positional_encoding.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/explorer.h>
#include <transmute/tests/support/loaded_modules.h>
#include <transmute/tests/support/subprocess.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/translation/translator.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace transmute::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Explorer : public ::testing::Test {
 protected:
  const LoadedModel model = tiny_model();
};

TEST_F(Explorer, StoresTheModulesWeightsToHalfAStep) {
  const std::string source = "the red house is near.";
  const std::string target = "das rote Haus ist nah.";
  const Json sentence = data_of(model, {{source, target}})["sentences"][0];
  const auto expected =
      weights_of_modules(model, model.tokenizer.source().encode(source), model.tokenizer.target().encode(target));
  for (const auto& [kind, layers] : expected) {
    const std::vector<double> stored = unpacked(sentence["weights"][kind]);
    const torch::Tensor all = torch::stack(layers).contiguous();  // [layers,1,H,T,S]
    ASSERT_EQ(static_cast<int64_t>(stored.size()), all.numel()) << kind;
    for (int64_t i = 0; i < all.numel(); ++i)
      ASSERT_NEAR(stored[static_cast<size_t>(i)], all.data_ptr<float>()[i], kHalfStep) << kind << " weight " << i;
  }
  EXPECT_EQ(sentence["source"].back(), "</s>");
  EXPECT_EQ(sentence["target_in"].front(), "<s>");
  EXPECT_EQ(sentence["target_out"].back(), "</s>");
  EXPECT_EQ(sentence["forced"], true);
}

TEST_F(Explorer, SaysHowProbableEachTargetTokenIs) {
  const Ids source = model.tokenizer.source().encode("the old train is here.");
  const Ids target = model.tokenizer.target().encode("der alte Zug");
  const AttentionTrace trace = trace_attention(modules_of(model), source, target);
  ASSERT_EQ(trace.probabilities.size(), target.size() + 1);
  // Step by step on the cache instead of all at once.
  Transformer transformer = modules_of(model);
  DecoderCache cache = transformer->start_decoding(transformer->encode(torch::tensor(trace.source).unsqueeze(0)));
  for (size_t t = 0; t < trace.target_in.size(); ++t) {
    DecoderStep step = transformer->step(torch::full({1, 1}, trace.target_in[t], torch::kLong), cache);
    cache = step.cache;
    const torch::Tensor logits = transformer->project(step.states).flatten().to(torch::kDouble);
    const double expected = torch::softmax(logits, 0)[trace.target_out[t]].item<double>();
    EXPECT_NEAR(trace.probabilities[t], expected, 1e-5);  // float32 sums in another order
  }
}

TEST_F(Explorer, ShowsTheTranslatorsWholeTranslationWhereNoTargetIsGiven) {
  const TemporaryFolder folder;
  save_model_folder(folder.path(), model.config, model.tokenizer, model.weights);
  const std::string source = "the green bridge is closed.";
  ExplorerOptions options;
  options.search.max_extra_length = 6;
  options.max_tokens = static_cast<int64_t>(model.tokenizer.source().encode(source).size());
  TranslationOptions translation;
  translation.guard = Guard::off;  // the explorer searches once
  translation.search.max_extra_length = 6;
  const Json sentence = data_of(model, {{source}}, options)["sentences"][0];
  EXPECT_EQ(sentence["forced"], false);
  EXPECT_EQ(sentence["target_text"], Translator(folder.path()).translate(source, translation));
  Ids target = sentence["target_in_ids"].get<Ids>();
  target.erase(target.begin());
  EXPECT_GT(static_cast<int64_t>(target.size()), options.max_tokens);
  const AttentionTrace trace = trace_attention(modules_of(model), model.tokenizer.source().encode(source), target);
  EXPECT_EQ(sentence["target_text"], model.tokenizer.target().decode(target));
  EXPECT_EQ(sentence["probabilities"].get<std::vector<double>>(), trace.probabilities);
}

TEST_F(Explorer, HeadStatisticsAreWhatTheyAreByHand) {
  // Query 0 looks at both keys alike, query 1 at key 0 alone, query 2 at key 1 alone.
  const torch::Tensor weights = torch::tensor({0.5F, 0.5F, 1.0F, 0.0F, 0.0F, 1.0F}).view({3, 2});
  const HeadStatistics statistics = head_statistics(weights);
  EXPECT_NEAR(statistics.entropy, 1.0 / 3, 1e-12);
  EXPECT_NEAR(statistics.distance, (0.5 + 1 + 1) / 3, 1e-12);
  EXPECT_NEAR(statistics.diagonal, 0.5 / 3, 1e-12);
}

TEST_F(Explorer, DivergenceIsZeroForTheSameAndOneBitForNothingInCommon) {
  const torch::Tensor left = torch::tensor({1.0F, 0.0F}).view({1, 2});
  const torch::Tensor right = torch::tensor({0.0F, 1.0F}).view({1, 2});
  const torch::Tensor both = torch::tensor({0.5F, 0.5F}).view({1, 2});
  EXPECT_NEAR(head_divergence(left, left), 0.0, 1e-12);
  EXPECT_NEAR(head_divergence(left, right), 1.0, 1e-12);
  // H(3/4, 1/4) - H(1/2, 1/2) / 2
  EXPECT_NEAR(head_divergence(left, both), 0.811278124459133 - 0.5, 1e-12);
  EXPECT_NEAR(head_divergence(both, left), head_divergence(left, both), 1e-15);
}

TEST_F(Explorer, ThePageHoldsTheStatisticsOfEachHeadAndItsNearestFirst) {
  const Json sentence = data_of(model, {{"the blue river is far.", "der blaue Fluss ist fern."}})["sentences"][0];
  const AttentionTrace trace =
      trace_attention(modules_of(model), model.tokenizer.source().encode("the blue river is far."),
                      model.tokenizer.target().encode("der blaue Fluss ist fern."));
  const Json& statistics = sentence["statistics"]["cross"];
  ASSERT_EQ(statistics.size(), 2U);
  for (size_t layer = 0; layer < 2; ++layer)
    for (int64_t head = 0; head < 2; ++head) {
      const Json& said = statistics[layer][static_cast<size_t>(head)];
      const HeadStatistics expected = head_statistics(trace.cross[layer][head]);
      EXPECT_DOUBLE_EQ(said["entropy"].get<double>(), expected.entropy);
      EXPECT_DOUBLE_EQ(said["distance"].get<double>(), expected.distance);
      EXPECT_DOUBLE_EQ(said["diagonal"].get<double>(), expected.diagonal);
      ASSERT_EQ(said["similar"].size(), 3U);
      double last = 0;
      for (const auto& [other_layer, other_head, divergence] :
           said["similar"].get<std::vector<std::tuple<size_t, int64_t, double>>>()) {
        EXPECT_FALSE(other_layer == layer && other_head == head);
        EXPECT_DOUBLE_EQ(divergence, head_divergence(trace.cross[layer][head], trace.cross[other_layer][other_head]));
        EXPECT_GE(divergence, last);
        last = divergence;
      }
    }
}

TEST_F(Explorer, PositionsAreTheModels) {
  TransformerOptions learned = tiny_transformer_options();
  learned.positional_encoding = PositionalEncodingKind::learned;
  learned.max_positions = 40;
  for (const auto& [options, tables] :
       std::vector<std::pair<TransformerOptions, size_t>>{{tiny_transformer_options(), 1}, {learned, 2}}) {
    const LoadedModel model = tiny_model(tiny_tokenizer_options(), options);
    const Json positions = data_of(model, {{"the red house is near."}})["positions"];
    ASSERT_EQ(positions.size(), tables);
    const Json& table = positions.back();
    const auto rows = table["rows"].get<int64_t>();
    EXPECT_EQ(rows, tables == 1 ? 64 : 40);
    const torch::Tensor expected = tables == 1 ? sinusoidal_positions(0, rows, 16)
                                               : modules_of(model)->named_parameters()["target_positions.weight"];
    const std::vector<double> stored = unpacked(table["values"]);
    const auto scale = table["scale"].get<double>();
    ASSERT_EQ(static_cast<int64_t>(stored.size()), expected.numel());
    for (int64_t i = 0; i < expected.numel(); ++i)
      ASSERT_NEAR((stored[static_cast<size_t>(i)] * 2 - 1) * scale, expected.contiguous().data_ptr<float>()[i],
                  2 * scale * (kHalfStep + 1e-6));
  }
}

TEST_F(Explorer, NeighborsAreThoseOfALoopOverAllPairs) {
  torch::manual_seed(3);
  const torch::Tensor table = torch::randn({30, 5});
  const auto found = nearest_neighbors(table, {9, 4, 29}, 6);
  ASSERT_EQ(found.size(), 3U);
  size_t row = 0;
  for (const int64_t id : {9, 4, 29}) {
    std::vector<std::pair<double, int64_t>> all;
    for (int64_t other = special_ids::kCount; other < 30; ++other) {
      if (other == id) continue;
      double dot = 0, own = 0, others = 0;
      for (int64_t d = 0; d < 5; ++d) {
        const double a = table[id][d].item<double>();
        const double b = table[other][d].item<double>();
        dot += a * b;
        own += a * a;
        others += b * b;
      }
      all.emplace_back(dot / std::sqrt(own * others), other);
    }
    std::sort(all.rbegin(), all.rend());
    ASSERT_EQ(found[row].size(), 6U);
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(found[row][i].id, all[i].second);
      EXPECT_NEAR(found[row][i].cosine, all[i].first, 1e-6);
    }
    ++row;
  }
  EXPECT_EQ(nearest_neighbors(table.slice(0, 0, 6), {4}, 9).front().size(), 1U) << "no more than there are";
}

TEST_F(Explorer, ThePlaneIsTheOneOfLargestVariance) {
  // Points along two known directions of D = 3, three times as far along the first: variances 9 : 1 : 0.
  const torch::Tensor first = torch::tensor({0.6, 0.8, 0.0}, torch::kDouble);
  const torch::Tensor second = torch::tensor({-0.8, 0.6, 0.0}, torch::kDouble);
  const torch::Tensor offset = torch::tensor({5.0, -2.0, 1.0}, torch::kDouble);
  const torch::Tensor rows = torch::stack({3 * first, -3 * first, second, -second}) + offset;
  const PrincipalPlane plane = principal_plane(rows);
  EXPECT_NEAR(plane.explained[0], 0.9, 1e-12);
  EXPECT_NEAR(plane.explained[1], 0.1, 1e-12);
  const double sign = plane.points[2][1] > 0 ? 1 : -1;
  const std::vector<std::array<double, 2>> expected{{3, 0}, {-3, 0}, {0, sign}, {0, -sign}};
  for (size_t i = 0; i < 4; ++i)
    for (size_t c = 0; c < 2; ++c) EXPECT_NEAR(plane.points[i][c], expected[i][c], 1e-9) << i;
  EXPECT_EQ(sign, -1) << "the second axis' largest coefficient, -0.8, is made positive";
}

TEST_F(Explorer, OnePointAndNoVarianceAreNoError) {
  EXPECT_EQ(principal_plane(torch::ones({1, 4})).points.size(), 1U);
  const PrincipalPlane plane = principal_plane(torch::ones({3, 4}));
  EXPECT_NEAR(plane.points[2][0], 0, 1e-12);
}

TEST_F(Explorer, SeparateVocabulariesHaveAMapEach) {
  TokenizerOptions separate = tiny_tokenizer_options();
  separate.vocabulary = VocabularySharing::separate;
  separate.vocab_size = 60;
  TransformerOptions options = tiny_transformer_options();
  options.embedding_tying = EmbeddingTying::target_output;
  ExplorerOptions explorer;
  explorer.map_tokens = 25;
  const LoadedModel model = tiny_model(separate, options);
  const Json maps = data_of(model, {{"the red house is near.", "das rote Haus ist nah."}}, explorer)["embeddings"];
  ASSERT_EQ(maps.size(), 2U);
  EXPECT_EQ(maps[0]["name"], "source");
  EXPECT_EQ(maps[1]["name"], "target");
  EXPECT_EQ(maps[1]["tokens"].size(), 25U);
  const Json& token = maps[1]["tokens"][0];
  EXPECT_EQ(token["id"], model.tokenizer.target().encode("das rote Haus ist nah.").front());
  EXPECT_EQ(token["piece"], model.tokenizer.target().piece(token["id"]));
  const auto near =
      nearest_neighbors(modules_of(model)->named_parameters()["target_embedding.weight"], {token["id"]}, 8);
  EXPECT_EQ(token["near"][0][2], near[0][0].id);
}

TEST_F(Explorer, TextCannotEndItsElement) {
  ExplorerOptions options;
  options.title = "</title><script>alert(1)</script> /* data */";
  const std::string hostile = "</script><img src=x onerror=alert(1)><!-- \" ' & \xE2\x80\xA8";
  const std::string page = explorer_page(model, modules_of(model), {{hostile, "/* script */ </SCRIPT>"}}, options);
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("</SCRIPT")));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  size_t scripts = 0;
  for (size_t at = page.find("</script"); at != std::string::npos; at = page.find("</script", at + 1)) ++scripts;
  EXPECT_EQ(scripts, 2U);
  const Json data = data_in_page(page);
  EXPECT_EQ(data["sentences"][0]["source_text"], hostile);
  EXPECT_EQ(data["title"], options.title);
}

TEST_F(Explorer, ThePageAsksForNothingFromOutside) {
  const std::string page = explorer_page(model, modules_of(model), {{"the red house is near."}});
  for (const char* outside : {"http:", "https:", "src=", "@import", "url(", "fetch(", "XMLHttpRequest"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST_F(Explorer, WhatCannotBeShownIsNamed) {
  const auto fault = [&](const std::vector<ExplorerSentence>& sentences, const ExplorerOptions& options = {}) {
    return message_of<std::invalid_argument>([&] { explorer_data(model, modules_of(model), sentences, options); });
  };
  EXPECT_THAT(fault({}), HasSubstr("no sentence was given"));
  EXPECT_THAT(fault({{"the house"}, {"  "}}), HasSubstr("sentence 2 is empty"));
  EXPECT_THAT(fault({{"the house", ""}}), HasSubstr("target 1 is empty"));
  EXPECT_THAT(fault({{"the house"}, {"ab\xff"}}), HasSubstr("sentence 2 is not valid UTF-8 (byte 3)"));
  EXPECT_THAT(fault({{"the house", "\xc3"}}), HasSubstr("target 1 is not valid UTF-8 (byte 1)"));
  ExplorerOptions few;
  few.max_sentences = 1;
  EXPECT_THAT(fault({{"the house"}, {"the river"}}, few),
              HasSubstr("max_sentences must be raised for more than 1 sentences"));
  ExplorerOptions short_ones;
  short_ones.max_tokens = 3;
  EXPECT_THAT(fault({{"the red house is near."}}, short_ones), HasSubstr("tokens, 3 may be shown"));
}

}  // namespace
}  // namespace transmute::testing

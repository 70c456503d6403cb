// SPDX-License-Identifier: Apache-2.0
// configs/paper: a config for every row of the paper's Table 3, with the paper's values.

#include <gtest/gtest.h>
#include <transmute/tests/support/files.h>
#include <transmute/training/config.h>

#include <algorithm>
#include <map>

namespace transmute {
namespace {

using testing::names_in;

// A row as the paper prints it. What it leaves blank is the base model's.
struct Row {
  int64_t layers = 6, d_model = 512, d_ff = 2048, heads = 8, d_k = 64, d_v = 64;
  double dropout = 0.1, smoothing = 0.1;
  int64_t steps = 100000;
  bool learned = false;
};

std::map<std::string, Row> table3() {
  std::map<std::string, Row> rows;
  const auto add = [&](const char* name, auto change) {
    Row row;
    change(row);
    rows[name] = row;
  };
  const auto heads = [](int64_t count, int64_t width) {
    return [=](Row& r) { r.heads = count, r.d_k = width, r.d_v = width; };
  };
  add("base", [](Row&) {});
  add("a_heads_1", heads(1, 512));
  add("a_heads_4", heads(4, 128));
  add("a_heads_16", heads(16, 32));
  add("a_heads_32", heads(32, 16));
  add("b_d_k_16", [](Row& r) { r.d_k = 16; });
  add("b_d_k_32", [](Row& r) { r.d_k = 32; });
  add("c_layers_2", [](Row& r) { r.layers = 2; });
  add("c_layers_4", [](Row& r) { r.layers = 4; });
  add("c_layers_8", [](Row& r) { r.layers = 8; });
  add("c_d_model_256", [](Row& r) { r.d_model = 256, r.d_k = 32, r.d_v = 32; });
  add("c_d_model_1024", [](Row& r) { r.d_model = 1024, r.d_k = 128, r.d_v = 128; });
  add("c_d_ff_1024", [](Row& r) { r.d_ff = 1024; });
  add("c_d_ff_4096", [](Row& r) { r.d_ff = 4096; });
  add("d_dropout_0", [](Row& r) { r.dropout = 0; });
  add("d_dropout_20", [](Row& r) { r.dropout = 0.2; });
  add("d_smoothing_0", [](Row& r) { r.smoothing = 0; });
  add("d_smoothing_20", [](Row& r) { r.smoothing = 0.2; });
  add("e_learned_positions", [](Row& r) { r.learned = true; });
  add("big", [](Row& r) { r.d_model = 1024, r.d_ff = 4096, r.heads = 16, r.dropout = 0.3, r.steps = 300000; });
  return rows;
}

TrainingConfig read_config(const std::string& path) {
  TrainingConfig config;
  ConfigSchema schema;
  config.declare(schema);
  schema.read_file(path);
  return config;
}

TrainingConfig config_of(const std::string& row) {
  return read_config(TRANSMUTE_CONFIGS + ("/paper/" + row + ".yaml"));
}

TEST(PaperConfigs, ThereIsOneForEveryRowOfTable3AndTheParser) {
  std::vector<std::string> expected{"README.md", "parsing_wsj.yaml"};
  for (const auto& [name, row] : table3()) expected.push_back(name + ".yaml");
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(names_in(TRANSMUTE_CONFIGS "/paper"), expected);
}

TEST(PaperConfigs, EveryRowHasThePapersValues) {
  for (const auto& [name, row] : table3()) {
    const TrainingConfig config = config_of(name);
    EXPECT_NO_THROW(config.check()) << name;
    const TransformerOptions model = validated(config.model.model);
    EXPECT_EQ(model.num_encoder_layers, row.layers) << name;
    EXPECT_EQ(model.num_decoder_layers, row.layers) << name;
    EXPECT_EQ(model.d_model, row.d_model) << name;
    EXPECT_EQ(model.d_ff, row.d_ff) << name;
    EXPECT_EQ(model.num_heads, row.heads) << name;
    EXPECT_EQ(model.d_k, row.d_k) << name;
    EXPECT_EQ(model.d_v, row.d_v) << name;
    EXPECT_DOUBLE_EQ(model.dropout, row.dropout) << name;
    EXPECT_DOUBLE_EQ(config.training.label_smoothing, row.smoothing) << name;
    EXPECT_EQ(config.training.max_steps, row.steps) << name;
    EXPECT_EQ(model.positional_encoding,
              row.learned ? PositionalEncodingKind::learned : PositionalEncodingKind::sinusoidal)
        << name;
    // Sections 5.1, 5.3 and 6.1, the same for all rows.
    EXPECT_EQ(config.model.tokenizer.vocab_size, 37000) << name;
    EXPECT_EQ(config.model.tokenizer.vocabulary, VocabularySharing::shared) << name;
    EXPECT_EQ(config.training.batch_tokens * config.training.accumulate_batches, 25000) << name;
    EXPECT_EQ(config.training.warmup_steps, 4000) << name;
    EXPECT_EQ(config.training.average_checkpoints, name == "big" ? 20 : 5) << name;
    if (name == "base" || name == "big") {  // every ten minutes, of steps that took 0.4 and 1.0 s (sections 5.2, 6.1)
      EXPECT_EQ(config.training.checkpoint_every, name == "big" ? 600 : 1500) << name;
    }
  }
}

// Section 6.3; what it does not name is the base model's.
TEST(PaperConfigs, TheParserHasThePapersValues) {
  const TrainingConfig config = config_of("parsing_wsj"), base = config_of("base");
  EXPECT_NO_THROW(config.check());
  const TransformerOptions model = validated(config.model.model);
  EXPECT_EQ(model.num_encoder_layers, 4);
  EXPECT_EQ(model.num_decoder_layers, 4);
  EXPECT_EQ(model.d_model, 1024);
  EXPECT_EQ(config.model.tokenizer.vocab_size, 16000);
  EXPECT_EQ(model.num_heads, base.model.model.num_heads);
  EXPECT_EQ(model.d_ff, base.model.model.d_ff);
  EXPECT_EQ(config.training.max_steps, base.training.max_steps);
  EXPECT_NO_THROW(read_config(TRANSMUTE_CONFIGS "/parsing/craft.yaml").check());
}

// The claims of configs/table3_small/base.yaml about itself, where the paper's own rows say it too.
TEST(PaperConfigs, TheSmallTableHasARowForEachOfThePapersInItsProportions) {
  const std::map<std::string, std::string> names{{"b_d_k_16", "b_d_k_4"},
                                                 {"b_d_k_32", "b_d_k_8"},
                                                 {"c_layers_2", "c_layers_1"},
                                                 {"c_layers_4", "c_layers_2"},
                                                 {"c_layers_8", "c_layers_4"},
                                                 {"c_d_model_256", "c_d_model_64"},
                                                 {"c_d_model_1024", "c_d_model_256"},
                                                 {"c_d_ff_1024", "c_d_ff_256"},
                                                 {"c_d_ff_4096", "c_d_ff_1024"}};
  size_t rows = 0;
  for (const auto& [name, row] : table3()) {
    const auto found = names.find(name);
    const std::string small = found == names.end() ? name : found->second;
    const TrainingConfig config = read_config(TRANSMUTE_CONFIGS + ("/table3_small/" + small + ".yaml"));
    EXPECT_NO_THROW(config.check()) << small;
    const TransformerOptions model = validated(config.model.model);
    EXPECT_EQ(2 * model.num_encoder_layers, row.layers) << small;
    EXPECT_EQ(2 * model.num_decoder_layers, row.layers) << small;
    EXPECT_EQ(4 * model.d_model, row.d_model) << small;
    EXPECT_EQ(4 * model.d_ff, row.d_ff) << small;
    EXPECT_EQ(model.num_heads, row.heads) << small;
    EXPECT_EQ(4 * model.d_k, row.d_k) << small;
    EXPECT_EQ(4 * model.d_v, row.d_v) << small;
    EXPECT_DOUBLE_EQ(model.dropout, name == "big" ? 0.1 : row.dropout) << small;
    EXPECT_DOUBLE_EQ(config.training.label_smoothing, row.smoothing) << small;
    EXPECT_EQ(50 * config.training.max_steps, row.steps) << small;
    EXPECT_EQ(model.positional_encoding == PositionalEncodingKind::learned, row.learned) << small;
    ++rows;
  }
  EXPECT_EQ(names_in(TRANSMUTE_CONFIGS "/table3_small").size(), rows);
}

}  // namespace
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
// configs/paper: a config for every row of the paper's Table 3, with the paper's values and the paper's size.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>
#include <transmute/tests/support/files.h>
#include <transmute/training/config.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace transmute {
namespace {

using testing::names_in;
using testing::read_text;

// A row as the paper prints it. What it leaves blank is the base model's; parameters in millions, 0 where blank.
struct Row {
  int64_t layers = 6, d_model = 512, d_ff = 2048, heads = 8, d_k = 64, d_v = 64;
  double dropout = 0.1, smoothing = 0.1;
  int64_t steps = 100000, millions = 0;
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
  add("base", [](Row& r) { r.millions = 65; });
  add("a_heads_1", heads(1, 512));
  add("a_heads_4", heads(4, 128));
  add("a_heads_16", heads(16, 32));
  add("a_heads_32", heads(32, 16));
  add("b_d_k_16", [](Row& r) { r.d_k = 16, r.millions = 58; });
  add("b_d_k_32", [](Row& r) { r.d_k = 32, r.millions = 60; });
  add("c_layers_2", [](Row& r) { r.layers = 2, r.millions = 36; });
  add("c_layers_4", [](Row& r) { r.layers = 4, r.millions = 50; });
  add("c_layers_8", [](Row& r) { r.layers = 8, r.millions = 80; });
  add("c_d_model_256", [](Row& r) { r.d_model = 256, r.d_k = 32, r.d_v = 32, r.millions = 28; });
  add("c_d_model_1024", [](Row& r) { r.d_model = 1024, r.d_k = 128, r.d_v = 128, r.millions = 168; });
  add("c_d_ff_1024", [](Row& r) { r.d_ff = 1024, r.millions = 53; });
  add("c_d_ff_4096", [](Row& r) { r.d_ff = 4096, r.millions = 90; });
  add("d_dropout_0", [](Row& r) { r.dropout = 0; });
  add("d_dropout_20", [](Row& r) { r.dropout = 0.2; });
  add("d_smoothing_0", [](Row& r) { r.smoothing = 0; });
  add("d_smoothing_20", [](Row& r) { r.smoothing = 0.2; });
  add("e_learned_positions", [](Row& r) { r.learned = true; });
  add("big", [](Row& r) {
    r.d_model = 1024, r.d_ff = 4096, r.heads = 16, r.dropout = 0.3, r.steps = 300000, r.millions = 213;
  });
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

TransformerOptions with_pieces(TransformerOptions options, int64_t pieces) {
  options.source_vocab_size = options.target_vocab_size = pieces;
  return options;
}

int64_t parameters(const std::string& row, int64_t pieces) {
  return parameter_count(with_pieces(config_of(row).model.model, pieces));
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

// The vocabularies with which the formula gives what the paper rounded.
std::pair<int64_t, int64_t> vocabularies(const std::string& name, int64_t millions) {
  const int64_t without = parameters(name, 1) - config_of(name).model.model.d_model;
  const auto width = static_cast<double>(config_of(name).model.model.d_model);
  return {static_cast<int64_t>(
              std::ceil((static_cast<double>(millions) * 1e6 - 5e5 - static_cast<double>(without)) / width)),
          static_cast<int64_t>(
              std::floor((static_cast<double>(millions) * 1e6 + 5e5 - static_cast<double>(without)) / width))};
}

TEST(PaperConfigs, ThePapersSizesFitAVocabularyOf41ThousandAndTheBigModelsOneOf36) {
  std::pair<int64_t, int64_t> all{0, 1000000};
  for (const auto& [name, row] : table3()) {
    if (row.millions == 0 || name == "big") continue;
    EXPECT_EQ(std::lround(static_cast<double>(parameters(name, 41100)) / 1e6), row.millions) << name;
    const auto [low, high] = vocabularies(name, row.millions);
    all = {std::max(all.first, low), std::min(all.second, high)};
  }
  // The range that configs/paper/README.md names.
  EXPECT_EQ(std::lround(static_cast<double>(all.first) / 100), 410);
  EXPECT_EQ(std::lround(static_cast<double>(all.second) / 100), 412);
  const auto [low, high] = vocabularies("big", 213);
  EXPECT_EQ(std::lround(static_cast<double>(low) / 100), 354);
  EXPECT_EQ(std::lround(static_cast<double>(high) / 100), 363);
  EXPECT_LT(high, all.first) << "one vocabulary would do for all";
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

std::string with_commas(int64_t value) {
  std::string digits = std::to_string(value);
  for (auto i = static_cast<int64_t>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<size_t>(i), 1, ',');
  return digits;
}

TEST(PaperConfigs, TheTableOfTheReadmeIsCounted) {
  const std::string readme = read_text(TRANSMUTE_CONFIGS "/paper/README.md");
  for (const auto& [name, row] : table3()) {
    const size_t begin = readme.find("| [" + name + "](" + name + ".yaml) |");
    ASSERT_NE(begin, std::string::npos) << name;
    const std::string line = readme.substr(begin, readme.find('\n', begin) - begin);
    EXPECT_THAT(line, ::testing::EndsWith(
                          fmt::format("| {} | {} | {} |", row.millions ? std::to_string(row.millions) : "",
                                      with_commas(parameters(name, 41100)), with_commas(parameters(name, 37000)))));
  }
}

}  // namespace
}  // namespace transmute

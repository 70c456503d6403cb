// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/initial_model.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <transmute/common/files.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/model/module_weights.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

const char* kind(Architecture architecture) {
  return architecture == Architecture::decoder_only ? "language" : "translation";
}

LoadedModel load_initial_model(const TrainingConfig& config) {
  const std::string& path = config.training.initialize_from;
  LoadedModel model = load_model(path);
  if (model.options.architecture != config.model.model.architecture)
    throw std::invalid_argument(
        fmt::format("training.initialize_from: {} is a {} model, but this run trains a {} model (model.architecture)",
                    path, kind(model.options.architecture), kind(config.model.model.architecture)));
  // Each line of the text would have to name its languages.
  if (model.tokenizer.source().languages() == LanguagePieces::both_sides)
    throw std::invalid_argument(fmt::format(
        "training.initialize_from: {} has many languages on both sides, which cannot be trained further", path));
  return model;
}

std::vector<std::pair<std::string, std::string>> values_of(ModelConfig config) {
  ConfigSchema schema;
  config.declare(schema);
  return schema.values();
}

bool is_of_search(const std::string& key) {
  return begins_with(key, "search.");
}

bool is_the_runs_own(const std::string& key) {
  return key == "format_version" || key == "model.dropout" || key == "model.attention_dropout" ||
         key == "model.activation_dropout" || is_of_search(key);
}

void require_nothing_else(const ModelConfig& asked, const ModelConfig& initial, const ConfigSchema& schema,
                          const std::string& path) {
  const auto values = values_of(asked), found = values_of(initial);
  std::string differences;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto& [key, value] = values[i];
    if (is_the_runs_own(key) || !schema.is_given(key) || value == found[i].second) continue;
    differences += fmt::format("{}{} is {}, not {}", differences.empty() ? "" : "; ", key, found[i].second, value);
  }
  if (!differences.empty())
    throw std::invalid_argument(
        fmt::format("training.initialize_from: in {}, {}; leave these keys out of the config", path, differences));
}

void take_given_search(const ModelConfig& asked, const ConfigSchema& schema, ModelConfig& model) {
  ConfigSchema of_model;
  model.declare(of_model);
  for (const auto& [key, value] : values_of(asked))
    if (is_of_search(key) && schema.is_given(key)) of_model.set(key + "=" + value);
}

// The sections `model` and `tokenizer` of a config, of a model or of a run.
ModelConfig read_model_config(const std::string& yaml, const std::string& name) {
  TrainingConfig config;
  ConfigSchema schema;
  config.declare(schema);
  schema.read_text(yaml, name);
  return config.model;
}

}  // namespace

void take_network_of_initial_model(TrainingConfig& config, const ConfigSchema& schema,
                                   const std::string& begun_config) {
  const std::string& path = config.training.initialize_from;
  if (path.empty()) return;
  ModelConfig initial = begun_config.empty() ? read_model_config(load_initial_model(config).config, path)
                                             : read_model_config(read_file(begun_config), begun_config);
  require_nothing_else(config.model, initial, schema, path);
  // Dropout destroys the function of a network that was trained without it, such as Firefox's.
  if (initial.model.dropout > 0 || schema.is_given("model.dropout")) initial.model.dropout = config.model.model.dropout;
  initial.model.attention_dropout = config.model.model.attention_dropout;
  initial.model.activation_dropout = config.model.model.activation_dropout;
  take_given_search(config.model, schema, initial);
  config.model = initial;
}

Tokenizer tokenizer_of_initial_model(const TrainingConfig& config) {
  return load_initial_model(config).tokenizer;
}

void take_weights_of_initial_model(Transformer& transformer, const TrainingConfig& config) {
  assign_parameters(transformer, load_initial_model(config).weights.arrays(), config.training.initialize_from);
  spdlog::info("the run begins with the weights of {}", config.training.initialize_from);
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
// average_checkpoints: one model whose weights are the mean of several. See --help.

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/formats/model_config.h>
#include <transmute/formats/model_output.h>
#include <transmute/formats/model_store.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/module_weights.h>
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/line_stream.h>
#include <transmute/programs/shared/program.h>
#include <transmute/training/checkpoint.h>
#include <transmute/translation/open_models.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace {

namespace fs = std::filesystem;

// The settings of a network that give its weights their meaning, as YAML.
std::string settings_of(transmute::TransformerOptions options) {
  options.dropout = options.attention_dropout = options.activation_dropout = 0;
  options.initialization = {};
  transmute::ModelConfig config;
  config.model = options;
  transmute::ConfigSchema schema;
  config.declare(schema);
  return schema.to_yaml();
}

transmute::Transformer network_of(const transmute::LoadedModel& model) {
  return transmute::make_transformer(model.weights, torch::kCPU);
}

// Networks that were trained apart have different meanings in the same place, and their mean has none. Measured: 0.98
// between the last checkpoints of a training, 0.58 between 40% and all of its steps, 0.49 between two short trainings
// on different text that began with the same weights, 0 if they began with others.
void warn_of_strangers(const transmute::LoadedModel& first, const std::string& first_path,
                       const transmute::LoadedModel& other, const std::string& path) {
  constexpr double kOneTraining = 0.3, kRelated = 0.8;
  const double similarity = transmute::similarity_of(network_of(first), network_of(other));
  if (similarity >= (first.config == other.config ? kOneTraining : kRelated)) return;
  transmute::note(
      "warning: " + path + " and " + first_path +
      fmt::format(" seem to come from different trainings (the cosine of their matrices is {:.2f}); the mean "
                  "of such models translates nothing. Average checkpoints of one training, or models that "
                  "were fine-tuned from one",
                  similarity));
}

// The mean of weights means nothing if one of them belongs to another network or vocabulary.
void check_same_model(const transmute::LoadedModel& first, const std::string& first_path, const std::string& path) {
  const transmute::LoadedModel other = transmute::load_model_folder(path);
  transmute::check_same_tokenizer(first.tokenizer, first_path, other.tokenizer, path);
  if (settings_of(first.options) != settings_of(other.options))
    throw std::invalid_argument(path + " has a different network from " + first_path +
                                " (section \"model\" of their config.yaml); average the checkpoints of one training");
  warn_of_strangers(first, first_path, other, path);
}

// Other models cannot be averaged as they are, though load_model would read them.
void check_is_model_folder(const std::string& path) {
  std::error_code ignored;
  const fs::path folder = fs::path(path) / "";
  for (const fs::path& checkpoints : {folder / "checkpoints", folder.parent_path()})
    if (checkpoints.filename() == "checkpoints" && fs::is_directory(checkpoints, ignored) &&
        !fs::exists(checkpoints / transmute::kConfigFile, ignored))
      throw std::runtime_error(fmt::format("{}: has several checkpoints; name those to average, such as {}/step-*",
                                           path, checkpoints.string()));
  if (fs::exists(path, ignored) && !fs::exists(transmute::path_in(path, transmute::kConfigFile), ignored))
    throw std::runtime_error(path +
                             ": is no model folder: it has no config.yaml; convert --to folder makes one of an "
                             "exported file or of another program's model");
}

int average(std::vector<std::string> models, const std::string& output) {
  std::vector<transmute::NamedInput> inputs;
  for (std::string& model : models) {
    model = transmute::model_path(model);
    inputs.push_back({"a model to average", model});
  }
  transmute::check_output_is_no_input(output, inputs);
  transmute::check_folder_is_in_no_input(output, inputs);
  transmute::check_may_replace_model(output);
  for (const std::string& model : models) check_is_model_folder(model);
  transmute::LoadedModel model = transmute::load_model_folder(models.front());
  for (size_t i = 1; i < models.size(); ++i) check_same_model(model, models.front(), models[i]);
  transmute::Transformer network = network_of(model);
  transmute::average_parameters(models, network);
  transmute::write_folder_atomically(output, [&](const std::string& folder) {
    transmute::save_model_folder(folder, model.config, model.tokenizer, transmute::weights_of(network),
                                 transmute::kWeightsFile, model.profile);
  });
  transmute::note("wrote the mean of " + transmute::counted(static_cast<int64_t>(models.size()), "model") + " to " +
                  output);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Averages the weights of several checkpoints or model folders of one training run (section 6.1 of the paper) and "
      "writes a model folder. Config, tokenizer and text profile come from the first one.",
      "average_checkpoints");
  app.footer("{} -o mean runs/demo/checkpoints/step-*");
  std::vector<std::string> models;
  std::string output;
  app.add_option("-o,--output", output, "model folder to write")
      ->type_name("FOLDER")
      ->check(transmute::not_standard_output())
      ->required();
  app.add_option("models", models, "model folders or checkpoints, one or more")->type_name("FOLDER");
  return transmute::run_program(app, argc, argv, [&] {
    if (models.empty())
      throw std::invalid_argument(
          "name the model folders or checkpoints to average, for example runs/demo/checkpoints/*");
    return average(models, output);
  });
}

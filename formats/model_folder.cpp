// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/model_folder.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/config_schema.h>
#include <transmute/common/files.h>
#include <transmute/formats/model_checksums.h>
#include <transmute/formats/model_store.h>
#include <transmute/formats/shortlist_file.h>
#include <transmute/tokenizer/tokenizer_files.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace fs = std::filesystem;

namespace {

// A model in a folder of run folders or models, by name the first; empty if there is none.
std::string model_below(const std::string& folder) {
  constexpr int kMostEntries = 1000;
  std::string first;
  std::error_code error;
  int entries = 0;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end && ++entries < kMostEntries;
       entry.increment(error))
    for (const char* inner : {"model", ""}) {
      const std::string model = inner[0] == '\0' ? entry->path().string() : (entry->path() / inner).string();
      std::error_code ignored;
      if (fs::exists(fs::path(model) / kWeightsFile, ignored) && (first.empty() || model < first)) first = model;
    }
  return first;
}

// The last checkpoint of a training run, or "". The names, such as step-000000050, are as long as each other.
std::string newest_checkpoint(const std::string& run) {
  std::string newest;
  std::error_code error;
  for (fs::directory_iterator entry(fs::path(run) / "checkpoints", error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    const bool is_whole = entry->path().extension().empty();  // others are step-….partial-…
    if (is_whole && fs::exists(entry->path() / kWeightsFile, ignored))
      newest = std::max(newest, entry->path().string());
  }
  return newest;
}

// A run folder looks like a model folder but has its weights one level down.
std::string find_weights(const std::string& folder) {
  if (folder.empty()) throw std::runtime_error("the path of the model is empty");
  if (!fs::is_directory(folder))
    throw std::runtime_error(fmt::format("{}: no such model folder{}", folder,
                                         is_model_name(folder)
                                             ? "; 'transmute get' (not in the Python package) downloads models, and "
                                               "'transmute models' lists what is there"
                                             : ""));
  for (const char* file : {kWeightsFile, kNeutralWeightsFile})
    if (fs::exists(fs::path(folder) / file)) return path_in(folder, file);
  const bool has_model = fs::exists(fs::path(folder) / "model" / kWeightsFile);
  const bool has_best = fs::exists(fs::path(folder) / "best" / kWeightsFile);
  if (has_model || has_best)
    throw std::runtime_error(
        fmt::format("{0}: is the folder of a training run; {1}{2}{3}", folder,
                    has_model ? "its finished model is " + folder + "/model" : "it has not finished",
                    has_best ? "; " : "", has_best ? "the best on the validation text is " + folder + "/best" : ""));
  if (!fs::exists(fs::path(folder) / kConfigFile)) {
    const std::string below = model_below(folder);
    throw std::runtime_error(fmt::format(
        "{}: no model: it has neither a config.yaml with {} (transmute), nor a config.json with a model_type "
        "(Hugging Face), a model.bin (CTranslate2) or an .npz or .bin (Marian, Firefox){}",
        folder, kWeightsFile, below.empty() ? "" : "; did you mean " + below + "?"));
  }
  if (fs::is_directory(fs::path(folder) / "checkpoints")) {
    const std::string newest = newest_checkpoint(folder);
    throw std::runtime_error(fmt::format(
        "{}: is the folder of a training run that has not finished; {}", folder,
        newest.empty() ? "it has no checkpoint yet" : "its newest checkpoint, a model as well, is " + newest));
  }
  throw std::runtime_error(fmt::format("{}: no model folder, {} is missing", folder, path_in(folder, kWeightsFile)));
}

// The recommended model of a finished training's folder; another folder is itself.
std::string recommended_in(const std::string& folder) {
  for (const char* file : {kWeightsFile, kNeutralWeightsFile})
    if (fs::exists(fs::path(folder) / file)) return folder;
  const std::string recommended = path_in(folder, kRecommendedModel);
  return fs::exists(fs::path(recommended) / kWeightsFile) ? recommended : folder;
}

ModelConfig read_config(const std::string& text, const std::string& path) {
  ModelConfig config;
  ConfigSchema schema;
  config.declare(schema);
  double guided = 0;
  int64_t layer = 0, head = 1;
  schema.section("training", "");
  schema.add("guided_alignment", &guided, "");
  schema.add("guided_layer", &layer, "");
  schema.add("guided_head", &head, "");
  for (const char* section : {"data", "training", "validation"}) schema.ignore_section(section);
  std::string fault;
  try {
    schema.read_text(text, path);
  } catch (const std::invalid_argument& error) {
    fault = error.what();
  }
  // Another version may well have other keys: its number is what to tell.
  if (config.format_version != ModelConfig::kFormatVersion)
    throw std::runtime_error(
        fmt::format("{}: the model has format version {}, this build reads version {}; use the transmute that wrote "
                    "it, or train again",
                    path, config.format_version, ModelConfig::kFormatVersion));
  if (!fault.empty()) throw std::runtime_error(fault);
  layer = guided_layer(layer, config.model.num_decoder_layers);
  const bool exists = layer <= config.model.num_decoder_layers && head >= 1 && head <= config.model.num_heads;
  if (guided > 0 && exists) {
    config.search.alignment_layer = layer;
    config.search.alignment_head = head;
  }
  return config;
}

}  // namespace

TransformerOptions with_vocabulary(TransformerOptions options, const Tokenizer& tokenizer) {
  options.source_vocab_size = tokenizer.source().size();
  options.target_vocab_size = tokenizer.target().size();
  options.padding_id = special_ids::kPad;
  return options;
}

namespace {

// The model without its weights.
LoadedModel describe_model(Tokenizer tokenizer, std::string config, const std::string& config_name,
                           uint64_t weight_bytes) {
  const ModelConfig read = read_config(config, config_name);
  LoadedModel model{with_vocabulary(read.model, tokenizer), {}, std::move(tokenizer), std::move(config), read.search};
  try {
    model.options = validated(model.options);
  } catch (const std::invalid_argument& error) {
    // A config that describes no network is damage of the file, not a mistake in using the program.
    throw std::runtime_error(fmt::format("{}: describes no network: {}", config_name, error.what()));
  }
  const auto parameters = static_cast<uint64_t>(parameter_count(model.options));
  if (parameters > weight_bytes)
    throw std::runtime_error(
        fmt::format("{}: the model has {} parameters, but the file of its weights only {} bytes; the two do not belong "
                    "together",
                    config_name, parameters, weight_bytes));
  return model;
}

}  // namespace

LoadedModel make_model(Tokenizer tokenizer, std::string config, const std::string& config_name,
                       const NamedArrays& weights, const std::string& weights_name, uint64_t weight_bytes) {
  LoadedModel model = describe_model(std::move(tokenizer), std::move(config), config_name, weight_bytes);
  model.weights = Weights(model.options, weights, weights_name);
  return model;
}

namespace {

void check_tokenizer(const Tokenizer& tokenizer, const ModelChecksums& checksums) {
  for (const auto& [file, model] : tokenizer.files()) checksums.check(file, model->serialized());
}

}  // namespace

LoadedModel load_model_folder(const std::string& path, const ParallelFor& parallel_for, WeightMemory memory) {
  const std::string folder = recommended_in(path);
  const std::string weights_path = find_weights(folder);
  const std::string config_path = path_in(folder, kConfigFile);
  const uint64_t weight_bytes = InputFile(weights_path).size();
  const ModelChecksums checksums(folder);
  for (const char* file : {kConfigFile, kSharedTokenizerFile, kSourceTokenizerFile, kTargetTokenizerFile})
    checksums.file_exists(file);  // throws if a file of the model is missing
  // The weights are read while the config and the tokenizer are.
  auto weights = std::async(std::launch::async, [&] { return read_weights(folder, parallel_for, memory); });
  std::string config = read_regular_file(config_path, kMaxConfigBytes);
  checksums.check(kConfigFile, config);
  TextProfile profile = load_text_profile(folder);
  Tokenizer tokenizer = Tokenizer::load(folder);
  check_tokenizer(tokenizer, checksums);
  LoadedModel model = describe_model(std::move(tokenizer), std::move(config), config_path, weight_bytes);
  model.profile = std::move(profile);
  model.shortlist = load_shortlist(folder, model.tokenizer);
  model.weights = Weights(model.options, weights.get(), weights_path);
  return model;
}

NamedArrays read_weights(const std::string& folder, const ParallelFor& parallel_for, WeightMemory memory) {
  const std::string path = find_weights(folder);
  const ModelChecksums checksums(folder);
  const std::string name = fs::path(path).filename().string();
  const std::string other = name == kWeightsFile ? kNeutralWeightsFile : kWeightsFile;  // it may have been renamed
  return read_tensor_file(path, parallel_for,
                          {checksums.of(!checksums.has(name) && checksums.has(other) ? other : name), true, memory});
}

uint32_t write_weights(const std::string& path, const Weights& weights) {
  return write_tensor_file(path, weights.arrays());
}

void save_model_folder(const std::string& folder, const std::string& config, const Tokenizer& tokenizer,
                       const Weights& weights, const char* weights_file, const TextProfile& profile) {
  ModelChecksums checksums;
  tokenizer.save(folder);
  for (const auto& [file, model] : tokenizer.files()) checksums.set(file, checksum_of(model->serialized()));
  checksums.set(weights_file, write_weights(path_in(folder, weights_file), weights));
  write_file_atomically(path_in(folder, kConfigFile), config);
  checksums.set(kConfigFile, checksum_of(config));
  if (const std::string yaml = profile.to_yaml(); !yaml.empty()) {
    write_file_atomically(path_in(folder, kTextProfileFile), yaml);
    checksums.set(kTextProfileFile, checksum_of(yaml));
  } else {
    std::filesystem::remove(path_in(folder, kTextProfileFile));  // an earlier model's
  }
  std::filesystem::remove(path_in(folder, kShortlistFile));  // likewise; add_shortlist() writes it
  checksums.save(folder);
}

}  // namespace v0
}  // namespace transmute

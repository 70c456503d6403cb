// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/model_folder.h>

#include <c10/core/InferenceMode.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/config_schema.h>
#include <transmute/common/files.h>
#include <transmute/formats/finite.h>
#include <transmute/formats/int8_weights.h>
#include <transmute/formats/model_checksums.h>
#include <transmute/libtorch/dtype.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/initialization.h>
#include <transmute/network/weight_names.h>
#include <transmute/tokenizer/tokenizer_files.h>

#include <filesystem>
#include <future>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

namespace transmute {
inline namespace v0 {

namespace fs = std::filesystem;

namespace {

// A model in a folder of run folders or models, by name the first; empty where there is none.
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

// A run folder looks like a model folder but has its weights one level down.
std::string find_weights(const std::string& folder) {
  if (folder.empty()) throw std::runtime_error("the path of the model is empty");
  if (!fs::is_directory(folder)) throw std::runtime_error(fmt::format("{}: no such model folder", folder));
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
        "(Hugging Face), a model.bin (CTranslate2) or an .npz (Marian){}",
        folder, kWeightsFile, below.empty() ? "" : "; did you mean " + below + "?"));
  }
  throw std::runtime_error(fmt::format("{}: no model folder, {} is missing", folder, path_in(folder, kWeightsFile)));
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

NamedTensors parameters_of(const Transformer& transformer) {
  NamedTensors named;
  for (const auto& item : transformer->named_parameters()) named.emplace_back(item.key(), item.value());
  return named;
}

namespace {

constexpr const char* kScaleSuffix = "_scale";  // of the tensor beside an int8 matrix

// What belongs to a parameter.
struct StoredValue {
  torch::Tensor numbers;
  torch::Tensor scales;  // of int8

  torch::Tensor in_type(torch::Dtype type) const {
    return scales.defined() ? to_float32({numbers, scales}).to(type) : numbers.detach().to(type);
  }
};

// Values by name, each of which can be taken once.
class StoredValues {
 public:
  StoredValues(const NamedTensors& values, const std::string& path)
      : by_name_(values.begin(), values.end()), path_(path) {}

  StoredValue take_for(const std::string& name, const torch::Tensor& parameter) {
    StoredValue value{take(name, parameter.sizes(), "the config's model"), {}};
    if (value.numbers.scalar_type() == torch::kChar && value.numbers.dim() == 2)
      value.scales =
          take(name + kScaleSuffix, value.numbers.sizes().slice(0, 1), "the int8 matrix beside it").to(torch::kFloat);
    if (!value.numbers.is_floating_point() && !value.scales.defined())
      throw std::runtime_error(fmt::format("{}: \"{}\" has numbers of type {}, which weights cannot be", path_, name,
                                           torch::toString(value.numbers.scalar_type())));
    return value;
  }

  void check_all_taken() const {
    if (by_name_.empty()) return;
    throw std::runtime_error(
        fmt::format("{}: holds \"{}\", which the config's model does not have; the two do not belong together", path_,
                    by_name_.begin()->first));
  }

 private:
  torch::Tensor take(const std::string& name, at::IntArrayRef sizes, const char* needed_by) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end())
      throw std::runtime_error(
          fmt::format("{}: has no \"{}\", which {} needs; the two do not belong together", path_, name, needed_by));
    const torch::Tensor value = found->second;
    if (value.sizes() != sizes)
      throw std::runtime_error(fmt::format("{}: \"{}\" has shape [{}], {} needs [{}]", path_, name,
                                           fmt::join(value.sizes(), ","), needed_by, fmt::join(sizes, ",")));
    by_name_.erase(found);
    return value;
  }

  std::unordered_map<std::string, torch::Tensor> by_name_;
  const std::string& path_;
};

std::unordered_set<std::string> product_matrices(const Transformer& transformer) {
  const std::vector<std::string> names = WeightNames(transformer->options).product_matrices();
  return {names.begin(), names.end()};
}

Precision precision_of(torch::Dtype stored) {
  switch (stored) {
    case torch::kChar:
      return Precision::int8;
    case torch::kBFloat16:
      return Precision::bfloat16;
    case torch::kHalf:
      return Precision::half;
    default:
      return Precision::float32;
  }
}

// Embeddings, positions and vectors stay as they are: they are looked up and added, not multiplied.
NamedTensors stored_in(Precision precision, const Transformer& transformer) {
  const std::unordered_set<std::string> products = product_matrices(transformer);
  NamedTensors stored;
  for (const auto& [name, parameter] : parameters_of(transformer)) {
    if (precision == Precision::float32 || products.count(name) == 0) {
      stored.emplace_back(name, parameter);
    } else if (precision == Precision::int8) {
      const Int8Matrix matrix = to_int8(parameter);
      stored.emplace_back(name, matrix.numbers);
      stored.emplace_back(name + kScaleSuffix, matrix.scales);
    } else {
      const torch::Tensor rounded = parameter.to(dtype_of(precision)).contiguous();
      if (!all_finite(rounded.data_ptr(), static_cast<size_t>(rounded.numel()), rounded.scalar_type()))
        throw std::runtime_error(fmt::format("\"{}\" has numbers that are too large for the precision {}; choose {}",
                                             name, precision_name(precision),
                                             precision == Precision::half ? "bfloat16" : "float32"));
      stored.emplace_back(name, rounded);
    }
  }
  return stored;
}

}  // namespace

void assign_parameters(Transformer& transformer, const NamedTensors& values, const std::string& path) {
  const torch::NoGradGuard no_grad;
  StoredValues stored(values, path);
  for (auto& [name, parameter] : parameters_of(transformer))
    parameter.copy_(stored.take_for(name, parameter).in_type(parameter.scalar_type()));
  stored.check_all_taken();
}

namespace {

// A config that describes no network is damage of the file, not a mistake in using the program.
uint64_t parameters_of_config(const TransformerOptions& options, const std::string& config_name) {
  try {
    return static_cast<uint64_t>(parameter_count(options));
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(fmt::format("{}: describes no network: {}", config_name, error.what()));
  }
}

}  // namespace

LoadedModel make_model(Tokenizer tokenizer, std::string config, const std::string& config_name, uint64_t weight_bytes) {
  const UndrawnWeights undrawn;
  const ModelConfig read = read_config(config, config_name);
  const TransformerOptions options = with_vocabulary(read.model, tokenizer);
  const uint64_t parameters = parameters_of_config(options, config_name);
  if (parameters > weight_bytes)
    throw std::runtime_error(
        fmt::format("{}: the model has {} parameters, but the file of its weights only {} bytes; the two do not belong "
                    "together",
                    config_name, parameters, weight_bytes));
  Transformer transformer(options);
  return {std::move(transformer), std::move(tokenizer), std::move(config), read.search};
}

Precision give_weights(Transformer& transformer, const NamedTensors& weights, const std::string& weights_name,
                       torch::Device device, Int8Weights int8) {
  const torch::NoGradGuard no_grad;
  StoredValues values(weights, weights_name);
  const std::unordered_set<std::string> products = product_matrices(transformer);
  Precision stored = Precision::float32;
  for (auto& [name, parameter] : parameters_of(transformer)) {
    const StoredValue value = values.take_for(name, parameter);
    if (products.count(name) > 0) stored = precision_of(value.numbers.scalar_type());
    if (value.scales.defined() && int8 == Int8Weights::kept) {
      keep_int8(transformer, name, {value.numbers, value.scales});
    } else {
      // The memory that it was read into, so that it is there once.
      parameter.set_data(value.in_type(parameter.scalar_type()).contiguous());
    }
  }
  values.check_all_taken();
  transformer->to(device);
  transformer->eval();
  for (auto& parameter : transformer->parameters()) parameter.set_requires_grad(false);
  return stored;
}

namespace {

void check_tokenizer(const Tokenizer& tokenizer, const ModelChecksums& checksums) {
  for (const auto& [file, model] : tokenizer.files()) checksums.check(file, model->serialized());
}

}  // namespace

LoadedModel load_model_folder(const std::string& folder, torch::Device device, Int8Weights int8,
                              const ParallelFor& parallel_for) {
  const c10::InferenceMode normal(false);  // tensors that are made in it can be used in it only
  const std::string weights_path = find_weights(folder);
  const std::string config_path = path_in(folder, kConfigFile);
  const uint64_t weight_bytes = InputFile(weights_path).size();
  const ModelChecksums checksums(folder);
  // The file is read while the network is made.
  auto weights = std::async(std::launch::async, [&] { return read_weights(folder, parallel_for); });
  std::string config = read_regular_file(config_path, kMaxConfigBytes);
  checksums.check(kConfigFile, config);
  TextProfile profile = load_text_profile(folder);
  Tokenizer tokenizer = Tokenizer::load(folder);
  check_tokenizer(tokenizer, checksums);
  LoadedModel model = make_model(std::move(tokenizer), std::move(config), config_path, weight_bytes);
  model.profile = std::move(profile);
  model.stored = give_weights(model.transformer, weights.get(), weights_path, device, int8);
  return model;
}

NamedTensors read_weights(const std::string& folder, const ParallelFor& parallel_for) {
  const std::string path = find_weights(folder);
  const ModelChecksums checksums(folder);
  const std::string name = fs::path(path).filename().string();
  const std::string other = name == kWeightsFile ? kNeutralWeightsFile : kWeightsFile;  // it may have been renamed
  return read_tensor_file(path, parallel_for,
                          {checksums.of(!checksums.has(name) && checksums.has(other) ? other : name), true});
}

uint32_t write_weights(const std::string& path, const Transformer& transformer, Precision stored) {
  return write_tensor_file(path, stored_in(stored, transformer));
}

void save_model_folder(const std::string& folder, const std::string& config, const Tokenizer& tokenizer,
                       const Transformer& transformer, const char* weights_file, Precision stored,
                       const TextProfile& profile) {
  ModelChecksums checksums;
  tokenizer.save(folder);
  for (const auto& [file, model] : tokenizer.files()) checksums.set(file, checksum_of(model->serialized()));
  checksums.set(weights_file, write_weights(path_in(folder, weights_file), transformer, stored));
  write_file_atomically(path_in(folder, kConfigFile), config);
  checksums.set(kConfigFile, checksum_of(config));
  if (const std::string yaml = profile.to_yaml(); !yaml.empty()) {
    write_file_atomically(path_in(folder, kTextProfileFile), yaml);
    checksums.set(kTextProfileFile, checksum_of(yaml));
  } else {
    std::filesystem::remove(path_in(folder, kTextProfileFile));  // an earlier model's
  }
  checksums.save(folder);
}

Transformer twin_of(const Transformer& original, const torch::TensorOptions& numbers) {
  const c10::InferenceMode normal(false);  // as in load_model_folder
  const torch::NoGradGuard no_grad;
  const UndrawnWeights undrawn;
  Transformer twin(original->options);
  twin->to(numbers.device());
  const auto from = original->parameters();
  const auto to = twin->parameters();
  for (size_t p = 0; p < from.size(); ++p) {
    const torch::Tensor values = from[p].detach();
    torch::Tensor(to[p]).set_data(values.dim() > 1 ? values.to(numbers) : values.to(numbers.device()));
  }
  return twin;
}

}  // namespace v0
}  // namespace transmute

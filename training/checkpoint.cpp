// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/checkpoint.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/json.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/module_weights.h>
#include <transmute/network/weight_names.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace fs = std::filesystem;

namespace {

constexpr const char* kOptimizerFile = "optimizer.safetensors";
constexpr const char* kAverageFile = "ema.safetensors";
constexpr const char* kStateFile = "state.json";
constexpr int kStateVersion = 3;

// A count. The JSON library would convert 1.5 to one, too.
int64_t count_at(const Json& json, const char* key) {
  const Json& value = json.at(key);
  if (!value.is_number_integer()) throw std::runtime_error(fmt::format("\"{}\" is not a whole number", key));
  const auto count = value.get<int64_t>();
  constexpr int64_t kMost = int64_t{1} << 60;
  if (count < 0 || count > kMost) throw std::runtime_error(fmt::format("\"{}\" cannot be {}", key, count));
  return count;
}

Json json_of(const std::optional<double>& score) {
  return score ? Json(*score) : Json();
}

std::optional<double> score_at(const Json& json, const char* key) {
  const Json& value = json.at(key);
  if (value.is_null()) return std::nullopt;
  return value.get<double>();
}

TrainState state_of(const Json& json) {
  TrainState state;
  state.step = count_at(json, "step");
  state.epoch = count_at(json, "epoch");
  state.window = count_at(json, "window");
  state.batch = count_at(json, "batch");
  state.target_tokens = count_at(json, "target_tokens");
  state.seconds = json.at("seconds");
  state.metric = json.at("metric");
  state.conditions = json.at("conditions");
  state.best_score = score_at(json, "best_score");
  state.validations_since_best = count_at(json, "validations_since_best");
  state.score = score_at(json, "score");
  state.batches_per_step = count_at(json, "batches_per_step");
  state.validation_due = json.at("validation_due");
  state.is_interim = json.at("interim");
  return state;
}

TrainState state_in(const std::string& checkpoint) {
  const std::string file = path_in(checkpoint, kStateFile);
  return state_from_json(read_file(file), file);
}

}  // namespace

std::string to_json(const TrainState& state) {
  const Json json{{"version", kStateVersion},
                  {"step", state.step},
                  {"epoch", state.epoch},
                  {"window", state.window},
                  {"batch", state.batch},
                  {"target_tokens", state.target_tokens},
                  {"seconds", state.seconds},
                  {"metric", state.metric},
                  {"conditions", state.conditions},
                  {"best_score", json_of(state.best_score)},
                  {"validations_since_best", state.validations_since_best},
                  {"score", json_of(state.score)},
                  {"batches_per_step", state.batches_per_step},
                  {"validation_due", state.validation_due},
                  {"interim", state.is_interim}};
  return json_text(json, 2) + "\n";
}

TrainState state_from_json(const std::string& text, const std::string& path) {
  try {
    const Json json = parse_json(text);
    const int64_t version = count_at(json, "version");
    if (version == kStateVersion) return state_of(json);
    throw std::runtime_error(fmt::format(
        "version {}, this build reads version {}; continue with the transmute that wrote it", version, kStateVersion));
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("{}: damaged, or written by another version ({})", path, error.what()));
  }
}

CheckpointStore::CheckpointStore(std::string folder) : folder_(std::move(folder)) {}

std::vector<std::string> CheckpointStore::list() const {
  std::vector<std::string> paths;
  if (!fs::is_directory(folder_)) return paths;
  static const std::regex kName("step-\\d{9}");
  for (const auto& entry : fs::directory_iterator(folder_))
    if (std::regex_match(entry.path().filename().string(), kName)) paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

void CheckpointStore::save(const TrainState& state, const TrainedWith& with, const TrainedParts& parts,
                           const KeepPolicy& policy) const {
  ensure_writable_folder(folder_);
  remove_rests_of_crashes();
  write_folder_atomically(path_in(folder_, fmt::format("step-{:09d}", state.step)), [&](const std::string& folder) {
    save_model_folder(folder, with.config, with.tokenizer, weights_of(parts.transformer), kWeightsFile, with.profile);
    write_tensor_file(path_in(folder, kOptimizerFile), to_arrays(parts.optimizer.state()));
    if (parts.average != nullptr) write_tensor_file(path_in(folder, kAverageFile), to_arrays(parts.average->values()));
    write_file_atomically(path_in(folder, kStateFile), to_json(state));
  });
  prune(policy);
}

// Unfinished and partly removed checkpoints have names that nothing else in this folder has.
void CheckpointStore::remove_rests_of_crashes() const {
  static const std::regex kRest("step-\\d{9}\\.partial-[0-9a-f]{8}");
  std::vector<fs::path> rests;
  for (const auto& entry : fs::directory_iterator(folder_))
    if (std::regex_match(entry.path().filename().string(), kRest)) rests.push_back(entry.path());
  for (const auto& rest : rests) fs::remove_all(rest);
}

void CheckpointStore::prune(const KeepPolicy& policy) const {
  const std::vector<std::string> paths = list();
  std::vector<std::pair<double, std::string>> scored;  // sorted best first; of equal scores the older checkpoint first
  std::set<std::string> kept;
  int64_t newest = 0;
  for (auto path = paths.rbegin(); path != paths.rend(); ++path) {
    TrainState state;
    try {
      state = state_in(*path);
    } catch (const std::runtime_error&) {  // neither score nor step is known
      if (policy.best > 0 || policy.every > 0) kept.insert(*path);
    }
    if (path == paths.rbegin()) kept.insert(*path);
    if (state.is_interim) continue;
    if (newest++ < policy.newest) kept.insert(*path);
    if (policy.every > 0 && state.step % policy.every == 0) kept.insert(*path);
    const bool comparable = state.metric == policy.metric && state.conditions == policy.conditions;
    if (state.score && comparable) scored.emplace_back(-*state.score, *path);
  }
  std::sort(scored.begin(), scored.end());
  for (size_t i = 0; i < scored.size() && static_cast<int64_t>(i) < policy.best; ++i) kept.insert(scored[i].second);
  for (const auto& path : paths)
    if (kept.count(path) == 0) remove_folder_atomically(path);
}

TrainState CheckpointStore::newest_state() const {
  const std::vector<std::string> paths = list();
  if (paths.empty()) return {};
  try {
    return state_in(paths.back());
  } catch (const std::runtime_error& error) {
    throw cannot_resume(paths.back(), error.what());
  }
}

TrainState CheckpointStore::restore(const TrainedParts& parts) const {
  const std::vector<std::string> paths = list();
  if (paths.empty()) return {};
  remove_rests_of_crashes();
  const std::string& newest = paths.back();
  try {
    const TrainState state = state_in(newest);
    const std::string weights = path_in(newest, kWeightsFile);
    const std::string moments = path_in(newest, kOptimizerFile);
    assign_parameters(parts.transformer, read_weights(newest), weights);
    parts.optimizer.restore(to_tensors(read_tensor_file(moments)), state.step, moments);
    const std::string average = path_in(newest, kAverageFile);
    if (parts.average != nullptr)
      parts.average->restore(to_tensors(read_tensor_file(fs::exists(average) ? average : weights)), average);
    return state;
  } catch (const std::runtime_error& error) {
    throw cannot_resume(newest, error.what());
  }
}

std::runtime_error cannot_resume(const std::string& checkpoint, const std::string& why) {
  return std::runtime_error(
      fmt::format("cannot resume: {}. If it is damaged, remove the folder {} to continue from the checkpoint before it",
                  why, checkpoint));
}

void average_parameters(const std::vector<std::string>& model_folders, Transformer& transformer) {
  if (model_folders.empty()) throw std::invalid_argument("there is no model to average");
  const torch::NoGradGuard no_grad;
  NamedTensors sums;
  for (const auto& folder : model_folders) {
    const std::string path = path_in(folder, kWeightsFile);
    assign_parameters(transformer, read_weights(folder), path);
    const NamedTensors parameters = parameters_of(transformer);
    for (size_t p = 0; p < parameters.size(); ++p) {
      const torch::Tensor value = parameters[p].second.detach().to(torch::kCPU, torch::kDouble);
      if (sums.size() <= p) {
        sums.emplace_back(parameters[p].first, value);
      } else {
        sums[p].second.add_(value);
      }
    }
  }
  for (auto& sum : sums) sum.second.div_(static_cast<double>(model_folders.size()));
  assign_parameters(transformer, to_arrays(sums), model_folders.front());
}

double similarity_of(const Transformer& one, const Transformer& other) {
  const auto a = one->named_parameters(), b = other->named_parameters();
  double product = 0, squares_a = 0, squares_b = 0;
  const auto dot = [](const torch::Tensor& x, const torch::Tensor& y) {
    return (x.detach().flatten() * y.detach().flatten()).sum(torch::kDouble).item<double>();
  };
  for (const std::string& name : WeightNames(one->options).product_matrices()) {
    product += dot(a[name], b[name]);
    squares_a += dot(a[name], a[name]);
    squares_b += dot(b[name], b[name]);
  }
  const double lengths = std::sqrt(squares_a) * std::sqrt(squares_b);
  return lengths > 0 ? product / lengths : 1;
}

}  // namespace v0
}  // namespace transmute

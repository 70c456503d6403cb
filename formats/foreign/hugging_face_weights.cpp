// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/hugging_face_weights.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/json.h>
#include <transmute/formats/foreign/json_config.h>
#include <transmute/formats/state_dict.h>

#include <filesystem>
#include <functional>
#include <set>
#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSafetensors = "model.safetensors";
constexpr const char* kPyTorch = "pytorch_model.bin";

std::string index_of(const std::string& path) {
  return path + ".index.json";
}

// The names of the files that an index lists, each once.
std::set<std::string> shards_of(const std::string& index_path) {
  const JsonConfig index(index_path);
  if (!index.has("weight_map") || !index.json().at("weight_map").is_object())
    throw std::runtime_error(fmt::format("{}: damaged (it has no weight_map); restore the file", index_path));
  std::set<std::string> shards;
  for (const auto& [tensor, file] : index.json().at("weight_map").items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    // A shard is beside its index, whoever wrote it.
    if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos)
      throw std::runtime_error(fmt::format("{}: \"{}\" is in no file of this folder", index_path, tensor));
    shards.insert(name);
  }
  return shards;
}

}  // namespace

std::string downloaded_file(const std::string& folder, const std::string& name) {
  const std::string path = path_in(folder, name);
  if (!fs::exists(path))
    throw std::runtime_error(fmt::format("{}: no such file; download it with the model's other files", path));
  return path;
}

bool has_hugging_face_weights(const std::string& folder) {
  for (const char* name : {kSafetensors, kPyTorch})
    if (const std::string path = path_in(folder, name); fs::exists(path) || fs::exists(index_of(path))) return true;
  return false;
}

NamedArrays read_hugging_face_weights(const std::string& folder, const ParallelFor& parallel_for) {
  using Read = std::function<NamedArrays(const std::string&)>;
  const Read safe = [&](const std::string& path) { return read_tensor_file(path, parallel_for); };
  for (const auto& [name, read] : {std::pair<const char*, Read>{kSafetensors, safe}, {kPyTorch, read_state_dict}}) {
    if (fs::exists(path_in(folder, name))) return read(downloaded_file(folder, name));
    const std::string index = index_of(path_in(folder, name));
    if (!fs::exists(index)) continue;
    NamedArrays all;
    for (const std::string& shard : shards_of(index))
      for (auto& tensor : read(downloaded_file(folder, shard))) all.push_back(std::move(tensor));
    return all;
  }
  throw std::runtime_error(fmt::format(
      "{}: has neither model.safetensors nor pytorch_model.bin; download one of them beside config.json", folder));
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/files/formats/hugging_face_weights.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/json.h>
#include <transmute/common/zip_archive.h>
#include <transmute/translation/files/formats/json_config.h>
#include <transmute/translation/files/torchscript_weights.h>

#include <filesystem>
#include <functional>
#include <set>
#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

namespace fs = std::filesystem;

NamedTensors read_pickled(const std::string& path) {
  try {
    return read_state_dict(ZipArchive(path));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format(
        "{}: {}; files of PyTorch before 1.6 must be saved again, best as model.safetensors", path, error.what()));
  }
}

// The names of the files that an index lists, each once.
std::set<std::string> shards_of(const std::string& index_path) {
  const JsonConfig index(index_path);
  if (!index.has("weight_map") || !index.json().at("weight_map").is_object())
    throw std::runtime_error(fmt::format("{}: damaged (it has no weight_map); restore the file", index_path));
  std::set<std::string> shards;
  for (const auto& [tensor, file] : index.json().at("weight_map").items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    // A shard stands beside its index, whoever wrote it.
    if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos)
      throw std::runtime_error(fmt::format("{}: \"{}\" is in no file of this folder", index_path, tensor));
    shards.insert(name);
  }
  return shards;
}

}  // namespace

NamedTensors read_hugging_face_weights(const std::string& folder, const ParallelFor& parallel_for) {
  using Read = std::function<NamedTensors(const std::string&)>;
  const Read safe = [&](const std::string& path) { return read_tensor_file(path, parallel_for); };
  for (const auto& [name, read] :
       {std::pair<const char*, Read>{"model.safetensors", safe}, {"pytorch_model.bin", read_pickled}}) {
    const std::string path = path_in(folder, name);
    if (fs::exists(path)) return read(path);
    const std::string index = path + ".index.json";
    if (!fs::exists(index)) continue;
    NamedTensors all;
    for (const std::string& shard : shards_of(index))
      for (auto& tensor : read(path_in(folder, shard))) all.push_back(std::move(tensor));
    return all;
  }
  throw std::runtime_error(fmt::format(
      "{}: has neither model.safetensors nor pytorch_model.bin; download one of them beside config.json", folder));
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/model_store.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/files.h>
#include <transmute/common/json.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

namespace transmute {
inline namespace v0 {

namespace fs = std::filesystem;

namespace {

constexpr const char* kOriginFile = "download.json";
constexpr uint64_t kMaxOriginBytes = 1 << 20;

// The value of a variable that holds an absolute path; the XDG specification tells to ignore others.
std::string absolute_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value && *value == '/' ? value : "";
}

std::string text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::string model_store() {
  std::string data = absolute_variable("XDG_DATA_HOME");
  if (data.empty()) {
    const std::string home = absolute_variable("HOME");
    if (home.empty()) return "";
    data = path_in(home, ".local/share");
  }
  return path_in(data, "transmute/models");
}

std::string required_model_store() {
  std::string store = model_store();
  if (store.empty()) throw std::runtime_error("neither XDG_DATA_HOME nor HOME names a folder for downloaded models");
  return store;
}

bool is_model_name(const std::string& name) {
  return !name.empty() && name.size() <= 100 && is_ascii_alphanumeric(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_ascii_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

std::string model_path(const std::string& name) {
  std::error_code ignored;
  if (!is_model_name(name) || fs::exists(fs::symlink_status(name, ignored))) return name;
  const std::string store = model_store();
  if (store.empty()) return name;
  std::string stored = path_in(store, name);
  return fs::is_directory(stored, ignored) ? stored : name;
}

std::vector<StoredModel> stored_models() {
  std::vector<StoredModel> models;
  const std::string store = model_store();
  std::error_code ignored;
  if (store.empty() || !fs::is_directory(store, ignored)) return models;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(store)) {
      const std::string name = entry.path().filename().string();
      if (!is_model_name(name) || !entry.is_directory()) continue;
      const std::string folder = entry.path().string();
      models.push_back({name, folder, bytes_in(folder), read_model_origin(folder)});
    }
  } catch (const fs::filesystem_error& error) {
    throw std::runtime_error(error.path1().string() + ": cannot be read: " + error.code().message());
  }
  std::sort(models.begin(), models.end(), [](const StoredModel& a, const StoredModel& b) { return a.name < b.name; });
  return models;
}

std::optional<ModelOrigin> read_model_origin(const std::string& folder) {
  const std::string path = path_in(folder, kOriginFile);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  const std::optional<Json> json = parse_json_if_valid(read_regular_file(path, kMaxOriginBytes));
  if (!json || !json->is_object()) return std::nullopt;
  ModelOrigin origin{text_at(*json, "source"), text_at(*json, "revision"), text_at(*json, "license"), {}};
  if (const auto languages = json->find("languages"); languages != json->end())
    for (const Json& language : *languages)
      if (language.is_string()) origin.languages.push_back(language);
  return origin;
}

void write_model_origin(const std::string& folder, const ModelOrigin& origin) {
  Json json;
  json["source"] = origin.source;
  json["revision"] = origin.revision;
  json["license"] = origin.license;
  json["languages"] = origin.languages;
  write_file_atomically(path_in(folder, kOriginFile), json_text(json, 2) + "\n");
}

uint64_t bytes_in(const std::string& folder) {
  uint64_t bytes = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    std::error_code ignored;
    if (entry.is_regular_file(ignored)) bytes += entry.file_size();
  }
  return bytes;
}

std::string size_text(uint64_t bytes) {
  double size = static_cast<double>(bytes);
  const char* unit = "bytes";
  for (const char* larger : {"kB", "MB", "GB"}) {
    if (size < 1000) break;
    size /= 1000;
    unit = larger;
  }
  return bytes < 1000 ? fmt::format("{} {}", bytes, unit) : fmt::format("{:.{}f} {}", size, size < 9.95 ? 1 : 0, unit);
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/json.h>
#include <transmute/network/options.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace transmute {
inline namespace v0 {
namespace formats {

/// A JSON file of another program; null if it is no JSON.
/// @throws std::runtime_error if the file cannot be read, or has more values than any of them
Json read_json(const std::string& path);

/// The settings in a JSON file of another program.
class JsonConfig {
 public:
  /// @throws std::runtime_error if the file cannot be read or is no JSON object
  explicit JsonConfig(const std::string& path);
  /// The settings that something else than JSON has in the file.
  JsonConfig(std::string path, Json json) : path_(std::move(path)), json_(std::move(json)) {}

  bool has(const std::string& key) const { return json_.contains(key) && !json_.at(key).is_null(); }
  /// These throw std::runtime_error, naming file and key, where the value is of another kind, and those without a
  /// default also where there is none.
  int64_t integer(const std::string& key) const;
  int64_t integer(const std::string& key, int64_t otherwise) const { return has(key) ? integer(key) : otherwise; }
  double number(const std::string& key, double otherwise) const;
  bool boolean(const std::string& key, bool otherwise) const;
  std::string text(const std::string& key, const std::string& otherwise) const;

  const Json& json() const { return json_; }
  const std::string& path() const { return path_; }

 private:
  [[noreturn]] void wrong(const std::string& key, const char* kind) const;

  std::string path_;
  Json json_;
};

/// The activation that a setting names, one of `known`; `otherwise` is the name where there is no such setting.
/// @throws std::runtime_error naming the file, the key and the name if it is none of them
Activation activation_in(const JsonConfig& config, const std::string& key, const std::string& otherwise,
                         const std::map<std::string, Activation>& known);

/// @throws std::runtime_error that names the file of the settings and what they ask for
[[noreturn]] void unsupported(const JsonConfig& config, const std::string& what);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

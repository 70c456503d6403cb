// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/json_config.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/json.h>
#include <transmute/formats/foreign/vocabulary.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace formats {

Json read_json(const std::string& path) {
  JsonLimits limits;
  limits.values = size_t{1} << 23;  // NLLB-200 has millions in its tokenizer.json, most of them in merges
  try {
    return parse_json(read_model_text(path), limits);
  } catch (const Json::exception&) {
    return nullptr;
  } catch (const JsonLimitError& error) {
    throw std::runtime_error(fmt::format("{}: {}; is it the right file?", path, error.what()));
  }
}

JsonConfig::JsonConfig(const std::string& path) : path_(path), json_(read_json(path)) {
  if (!json_.is_object()) throw std::runtime_error(fmt::format("{}: damaged (no JSON object); restore the file", path));
}

void JsonConfig::wrong(const std::string& key, const char* kind) const {
  throw std::runtime_error(
      fmt::format("{}: \"{}\" {} {}", path_, key, has(key) ? "is not" : "is missing; it should be", kind));
}

int64_t JsonConfig::integer(const std::string& key) const {
  if (!has(key) || !json_.at(key).is_number_integer()) wrong(key, "a whole number");
  return json_.at(key).get<int64_t>();
}

double JsonConfig::number(const std::string& key, double otherwise) const {
  if (!has(key)) return otherwise;
  if (!json_.at(key).is_number()) wrong(key, "a number");
  return json_.at(key).get<double>();
}

bool JsonConfig::boolean(const std::string& key, bool otherwise) const {
  if (!has(key)) return otherwise;
  if (!json_.at(key).is_boolean()) wrong(key, "true or false");
  return json_.at(key).get<bool>();
}

std::string JsonConfig::text(const std::string& key, const std::string& otherwise) const {
  if (!has(key)) return otherwise;
  if (!json_.at(key).is_string()) wrong(key, "a text");
  return json_.at(key).get<std::string>();
}

Activation activation_in(const JsonConfig& config, const std::string& key, const std::string& otherwise,
                         const std::map<std::string, Activation>& known) {
  const std::string name = config.text(key, otherwise);
  const auto found = known.find(name);
  if (found == known.end()) unsupported(config, fmt::format("its {} is \"{}\"", key, name));
  return found->second;
}

void unsupported(const JsonConfig& config, const std::string& what) {
  throw std::runtime_error(fmt::format("{}: {}, which is not supported", config.path(), what));
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute

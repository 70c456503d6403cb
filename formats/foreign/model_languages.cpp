// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/model_languages.h>

#include <transmute/common/ascii_case.h>
#include <transmute/common/config_schema.h>
#include <transmute/common/files.h>
#include <transmute/common/json.h>
#include <transmute/common/text_file.h>
#include <transmute/common/yaml.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <stdexcept>
#include <system_error>

namespace transmute {
inline namespace v0 {

namespace {

// "de" of "train.de" and "train.de.gz"; empty if there is none.
std::string language_of_file(const std::string& name) {
  const std::string code = text_file_ending(name);
  return is_language_code(code) ? code : "";
}

std::string language_of_key(const YAML::Node& data, const char* key) {
  const YAML::Node files = data[key];
  if (!files || files.size() == 0) return files && files.IsScalar() ? language_of_file(files.as<std::string>()) : "";
  return language_of_file(files[0].as<std::string>());
}

LanguagePair languages_of_text(const std::string& folder) {
  const std::string config = path_in(folder, "config.yaml");
  if (!std::filesystem::exists(config)) return {};
  const YAML::Node data = parse_yaml(read_regular_file(config, kMaxConfigBytes), config)["data"];
  if (const YAML::Node pairs = data["train_languages"]; pairs && pairs.size() > 0) return {};
  return {language_of_key(data, "train_source"), language_of_key(data, "train_target")};
}

LanguagePair languages_in_json(const std::string& path, const char* source, const char* target) {
  if (!std::filesystem::exists(path)) return {};
  const std::optional<Json> json = parse_json_if_valid(read_regular_file(path, kMaxConfigBytes));
  if (!json || !json->is_object()) return {};
  const auto language = [&](const char* key) {
    const auto code = json->find(key);
    return code != json->end() && code->is_string() && is_language_code(code->get<std::string>())
               ? code->get<std::string>()
               : "";
  };
  return {language(source), language(target)};
}

// The languages in the name of a model of Firefox, or of the one in a folder: model.enpt.intgemm.alphas.bin.
LanguagePair languages_in_name(const std::string& path) {
  static const std::regex kName(R"(model\.([a-z]{2})([a-z]{2})\..*bin)");
  LanguagePair languages;
  const auto take = [&](const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    std::smatch found;
    if (std::regex_match(name, found, kName)) languages = {found[1], found[2]};
  };
  take(path);
  std::error_code no_folder;
  for (const auto& entry : std::filesystem::directory_iterator(path, no_folder)) take(entry.path());
  return languages;
}

}  // namespace

bool is_language_code(const std::string& code) {
  const size_t letters =
      static_cast<size_t>(std::find_if_not(code.begin(), code.end(), is_ascii_letter) - code.begin());
  return (letters == 2 || letters == 3) && (letters == code.size() || code[letters] == '-' || code[letters] == '_');
}

LanguagePair languages_in_files(const std::string& model) {
  LanguagePair languages;
  try {
    languages = languages_of_text(model);
    if (languages.source.empty())
      languages = languages_in_json(path_in(model, "metadata.json"), "from_code", "to_code");
    if (languages.source.empty())
      languages = languages_in_json(path_in(model, "tokenizer_config.json"), "source_lang", "target_lang");
    if (languages.source.empty()) languages = languages_in_name(model);
  } catch (const YAML::Exception&) {  // opening the model says what is wrong with it
  } catch (const std::invalid_argument&) {
  } catch (const std::runtime_error&) {
  }
  return languages;
}

}  // namespace v0
}  // namespace transmute

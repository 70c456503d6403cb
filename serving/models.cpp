// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/models.h>

#include <transmute/common/files.h>
#include <unicode/uloc.h>
#include <unicode/unistr.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

bool is_language(const std::string& code) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const size_t letters = static_cast<size_t>(std::find_if_not(code.begin(), code.end(), is_letter) - code.begin());
  return (letters == 2 || letters == 3) && (letters == code.size() || code[letters] == '-' || code[letters] == '_');
}

// "de" of "train.de" and "train.de.gz"; empty where there is none.
std::string language_of_file(const std::string& name) {
  std::filesystem::path path(name);
  if (path.extension() == ".gz") path = path.stem();
  const std::string extension = path.extension().string();
  const std::string code = extension.empty() ? "" : extension.substr(1);
  return is_language(code) ? code : "";
}

std::string language_of_key(const YAML::Node& data, const char* key) {
  const YAML::Node files = data[key];
  if (!files || files.size() == 0) return files && files.IsScalar() ? language_of_file(files.as<std::string>()) : "";
  return language_of_file(files[0].as<std::string>());
}

ModelSource with_languages_of_its_text(const std::string& folder) {
  ModelSource model{"", "", folder};
  const std::string config = path_in(folder, "config.yaml");
  if (!std::filesystem::exists(folder))
    throw std::invalid_argument("--model " + folder + ": there is no such folder or file");
  try {
    if (std::filesystem::exists(config)) {
      const YAML::Node data = YAML::Load(read_file(config))["data"];
      model.source = language_of_key(data, "train_source");
      model.target = language_of_key(data, "train_target");
    }
  } catch (const YAML::Exception&) {  // says no languages; opening it says what is wrong with it
  }
  if (model.source.empty() || model.target.empty() || model.source == model.target)
    throw std::invalid_argument("--model " + folder +
                                ": the names of the files that it was trained on do not tell its languages; say them: "
                                "--model en-de=" +
                                folder);
  return model;
}

}  // namespace

ModelSource parse_model_source(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) return with_languages_of_its_text(text);
  const std::string languages = text.substr(0, equals);
  const size_t colon = languages.find(':');
  const size_t separator = colon == std::string::npos ? languages.find('-') : colon;
  ModelSource model{"", "", text.substr(equals + 1)};
  if (separator != std::string::npos) {
    model.source = languages.substr(0, separator);
    model.target = languages.substr(separator + 1);
  }
  const bool is_clear = colon != std::string::npos || std::count(languages.begin(), languages.end(), '-') == 1;
  if (!is_clear || !is_language(model.source) || !is_language(model.target) || model.source == model.target)
    throw std::invalid_argument("--model " + text + ": \"" + languages +
                                "\" names no two languages; write en-de=FOLDER, or pt-BR:en=FOLDER");
  return model;
}

std::string model_name(const ModelSource& model) {
  return model.source + "-" + model.target;
}

ModelSet::ModelSet(const std::vector<ModelSource>& models, const TranslatorOptions& options, std::string pivot)
    : pivot_(std::move(pivot)) {
  for (const ModelSource& model : models) {
    const auto languages = std::make_pair(model.source, model.target);
    if (models_.count(languages) != 0) throw std::invalid_argument("two models are given for " + model_name(model));
    models_[languages] = std::make_shared<const Translator>(model.path, options);
  }
  std::set<std::string> all;
  for (const auto& [languages, model] : models_) {
    targets_[languages.first];
    all.insert(languages.second);
  }
  if (!pivot_.empty() && (all.count(pivot_) == 0 || targets_.count(pivot_) == 0))
    throw std::invalid_argument("--pivot " + pivot_ + ": a model into this language and one from it are needed");
  for (auto& [source, targets] : targets_) {
    targets.insert(source);  // as LibreTranslate has it: such text stays as it is
    for (const std::string& target : all)
      if (!route(source, target).empty()) targets.insert(target);
  }
}

std::shared_ptr<const Translator> ModelSet::find(const std::string& source, const std::string& target) const {
  const auto found = models_.find({source, target});
  return found == models_.end() ? nullptr : found->second;
}

ModelSet::Route ModelSet::route(const std::string& source, const std::string& target) const {
  if (const auto direct = find(source, target)) return {direct};
  if (pivot_.empty()) return {};
  const auto first = find(source, pivot_), second = find(pivot_, target);
  if (first && second) return {first, second};
  return {};
}

bool ModelSet::has_target(const std::string& language) const {
  return std::any_of(targets_.begin(), targets_.end(),
                     [&](const auto& targets) { return targets.second.count(language) != 0; });
}

Models::Models(std::vector<ModelSource> models, TranslatorOptions options, std::string pivot)
    : models_(std::move(models)),
      options_(std::move(options)),
      pivot_(std::move(pivot)),
      current_(std::make_shared<const ModelSet>(models_, options_, pivot_)) {}

std::shared_ptr<const ModelSet> Models::current() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return current_;
}

void Models::reload() {
  auto fresh = std::make_shared<const ModelSet>(models_, options_, pivot_);
  const std::lock_guard<std::mutex> lock(mutex_);
  current_.swap(fresh);
}

std::string language_name(const std::string& code) {
  UErrorCode error = U_ZERO_ERROR;
  UChar name[128];
  const int32_t length = uloc_getDisplayName(code.c_str(), "en", name, 128, &error);
  if (U_FAILURE(error) || length == 0) return code;
  std::string text;
  icu::UnicodeString(name, length).toUTF8String(text);
  return text;
}

}  // namespace v0
}  // namespace transmute

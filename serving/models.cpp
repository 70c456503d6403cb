// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/models.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/config_schema.h>
#include <transmute/common/files.h>
#include <transmute/common/yaml.h>
#include <transmute/formats/foreign/model_languages.h>
#include <transmute/formats/model_store.h>
#include <transmute/serving/detection.h>
#include <transmute/text/language_codes.h>
#include <transmute/tokenizer/tokenizer.h>
#include <unicode/uloc.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

ModelSource with_languages_of_its_own(const std::string& folder) {
  const LanguagePair languages = languages_in_files(folder);
  if (!languages.source.empty() && !languages.target.empty() && languages.source != languages.target)
    return {languages.source, languages.target, folder};
  const auto has = [&](const char* file) { return std::filesystem::exists(path_in(folder, file)); };
  if (!has("config.yaml") && !has("metadata.json"))
    const Translator opened(folder, TranslatorOptions{});  // its message explains why something is no model
  throw std::invalid_argument("--model " + folder +
                              ": the names of the files that it was trained on do not tell its languages; say them: "
                              "--model en-de=" +
                              folder);
}

// Takes "/arb_Arab" off "ar/arb_Arab", and returns the name.
std::string take_name(std::string& code) {
  const size_t slash = code.find('/');
  if (slash == std::string::npos) return "";
  std::string name = code.substr(slash + 1);
  code.resize(slash);
  return name;
}

// Reads "en-de", "pt-BR:en" or "ar/arb_Arab:en"; false if these are not two languages.
bool take_languages(const std::string& languages, ModelSource& model) {
  const size_t colon = languages.find(':');
  const size_t separator = colon == std::string::npos ? languages.find('-') : colon;
  if (separator == std::string::npos) return false;
  model.source = languages.substr(0, separator);
  model.target = languages.substr(separator + 1);
  model.source_name = take_name(model.source);
  model.target_name = take_name(model.target);
  const bool is_clear = colon != std::string::npos || std::count(languages.begin(), languages.end(), '-') == 1;
  return is_clear && is_language_code(model.source) && is_language_code(model.target) && model.source != model.target;
}

// The language pairs of a model that was trained on several, each once; none if it was not.
std::vector<ModelSource> trained_pairs(const std::string& folder) {
  const std::string config = path_in(folder, "config.yaml");
  std::vector<ModelSource> models;
  if (!std::filesystem::exists(config)) return models;
  try {
    const YAML::Node data = parse_yaml(read_regular_file(config, kMaxConfigBytes), config)["data"];
    if (!data || !data.IsMap() || !data["train_languages"] || !data["train_languages"].IsSequence()) return models;
    for (const YAML::Node& pair : data["train_languages"]) {
      ModelSource model{"", "", folder};
      const std::string languages = pair.as<std::string>();
      const bool is_known = std::any_of(models.begin(), models.end(),
                                        [&](const ModelSource& other) { return model_name(other) == languages; });
      if (!is_known && take_languages(languages, model)) models.push_back(std::move(model));
    }
  } catch (const YAML::Exception&) {  // opening the model reports what is wrong with it
  } catch (const std::invalid_argument&) {
  }
  return models;
}

ModelSet::Hop open(const ModelSource& source, std::shared_ptr<const Translator> model) {
  ModelSet::Hop hop{std::move(model)};
  const SubwordModel& from = hop.model->tokenizer().source();
  const auto name = [&](const std::string& given, const std::string& code, const SubwordModel& tokenizer) {
    try {
      return given.empty() ? language_in_vocabulary(code, tokenizer.language_names()) : given;
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument("--model " + model_name(source) + "=" + source.path + ": " + error.what());
    }
  };
  if (from.languages() == LanguagePieces::both_sides)
    hop.source_language = name(source.source_name, source.source, from);
  if (from.languages() != LanguagePieces::none)
    hop.target_language = name(source.target_name, source.target,
                               from.languages() == LanguagePieces::tags ? from : hop.model->tokenizer().target());
  TranslationOptions options;
  options.source_language = hop.source_language;
  options.target_language = hop.target_language;
  hop.model->check(options);
  return hop;
}

}  // namespace

std::vector<ModelSource> parse_model_sources(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) {
    const std::string path = model_path(text);
    std::vector<ModelSource> trained = trained_pairs(path);
    return trained.empty() ? std::vector<ModelSource>{with_languages_of_its_own(path)} : trained;
  }
  const std::string languages = text.substr(0, equals);
  ModelSource model{"", "", model_path(text.substr(equals + 1))};
  if (!take_languages(languages, model))
    throw std::invalid_argument("--model " + text + ": \"" + languages +
                                "\" names no two languages; write en-de=FOLDER, pt-BR:en=FOLDER, or "
                                "ar/arb_Arab:en/eng_Latn=FOLDER with the names of a multilingual model");
  return {model};
}

std::string doubt_about(const ModelSource& model) {
  if (!trained_pairs(model.path).empty()) return "";  // the vocabulary names its languages itself
  const LanguagePair known = languages_in_files(model.path);
  const auto are_alike = [](const std::string& a, const std::string& b) {
    return std::string_view(uloc_getISO3Language(a.c_str())) == uloc_getISO3Language(b.c_str());
  };
  const auto is_named = [](const std::string& code) {
    return *uloc_getISO3Language(code.c_str()) != 0;
  };  // "txt" is not
  if (!is_named(known.source) || !is_named(known.target) || are_alike(known.source, known.target)) return "";
  if (are_alike(known.source, model.source) && are_alike(known.target, model.target)) return "";
  return fmt::format(
      "--model {0}={1}: the folder says that its model translates from {2} to {3}; if that is right, write {2}:{3}={1}",
      model_name(model), model.path, known.source, known.target);
}

void give_shortlists(const std::vector<std::string>& shortlists, std::vector<ModelSource>& models) {
  for (const std::string& text : shortlists) {
    const auto refuse = [&](const std::string& why) {
      throw std::invalid_argument("--shortlist " + text + ": " + why);
    };
    const size_t equals = text.find('=');
    auto of = models.begin();
    if (equals != std::string::npos) {
      ModelSource wanted;
      if (!take_languages(text.substr(0, equals), wanted) || !wanted.source_name.empty() || !wanted.target_name.empty())
        refuse("write en-de=FILE");
      of = std::find_if(models.begin(), models.end(), [&](const ModelSource& model) {
        return model.source == wanted.source && model.target == wanted.target;
      });
      if (of == models.end()) refuse("no --model is given for " + model_name(wanted));
    } else if (models.size() != 1) {
      refuse("there are several models; say whose it is: --shortlist en-de=" + text);
    }
    if (!of->shortlist.empty()) refuse("another one is given for " + model_name(*of));
    of->shortlist = equals == std::string::npos ? text : text.substr(equals + 1);
    if (of->shortlist.empty()) refuse("needs a file");
  }
}

std::string model_name(const ModelSource& model) {
  return model.source + "-" + model.target;
}

std::string language_in_vocabulary(const std::string& code, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), code) != names.end()) return code;
  const std::string language = uloc_getISO3Language(code.c_str());
  const std::string two_letters = code.substr(0, code.find_first_of("-_"));
  const std::string with_script = language + "_" + likely_locale(code).getScript();
  std::vector<std::string> meant;
  for (const std::string& name : names)
    if (name == two_letters || (!language.empty() && (name == language || name == with_script))) meant.push_back(name);
  if (meant.empty())  // mBART's de_DE
    std::copy_if(names.begin(), names.end(), std::back_inserter(meant),
                 [&](const std::string& name) { return name.compare(0, name.find('_'), two_letters) == 0; });
  if (meant.size() == 1) return meant.front();
  throw std::invalid_argument(fmt::format("its vocabulary has {} \"{}\"; write {}/NAME with one of these names: {}",
                                          meant.empty() ? "no language" : "several languages for", code, code,
                                          fmt::join(names, ", ")));
}

ModelSet::ModelSet(const std::vector<ModelSource>& models, const TranslatorOptions& options, std::string pivot)
    : pivot_(std::move(pivot)) {
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const Translator>> opened;
  for (const ModelSource& model : models) {
    const auto languages = std::make_pair(model.source, model.target);
    if (hops_.count(languages) != 0) throw std::invalid_argument("two models are given for " + model_name(model));
    std::shared_ptr<const Translator>& translator = opened[{model.path, model.shortlist}];
    if (!translator) {
      TranslatorOptions own = options;
      own.shortlist.table = model.shortlist;
      own.map_weights = false;  // a server must survive that its models are overwritten before a reload
      translator = std::make_shared<const Translator>(model.path, own);
    }
    hops_[languages] = open(model, translator);
  }
  std::set<std::string> from, into;
  for (const auto& [languages, hop] : hops_) {
    from.insert(languages.first);
    into.insert(languages.second);
  }
  if (!pivot_.empty() && (into.count(pivot_) == 0 || from.count(pivot_) == 0))
    throw std::invalid_argument("--pivot " + pivot_ + ": a model into this language and one from it are needed");
  // A language that no model translates from is listed too, and text that is to be translated into its own language
  // stays as it is: LibreTranslate does so.
  for (const std::set<std::string>& languages : {from, into})
    for (const std::string& language : languages) targets_[language].insert(language);
  for (const std::string& source : from)
    for (const std::string& target : into)
      if (!route(source, target).empty()) targets_[source].insert(target);
}

ModelSet::Route ModelSet::route(const std::string& source, const std::string& target) const {
  const auto direct = hops_.find({source, target});
  if (direct != hops_.end()) return {direct->second};
  if (pivot_.empty()) return {};
  const auto first = hops_.find({source, pivot_}), second = hops_.find({pivot_, target});
  if (first == hops_.end() || second == hops_.end()) return {};
  return {first->second, second->second};
}

std::string ModelSet::language(const std::string& code) const {
  if (targets_.count(code) != 0) return code;
  // Clients of LibreTranslate also write Argos Translate's codes, which name languages that have no such code.
  const auto usual = [](const std::string& some) {
    const std::string standard = lower_case(standard_code(lower_case(some)));
    return standard == "zh-hans" ? "zh" : standard;
  };
  for (const auto& form : {std::function<std::string(std::string)>(lower_case), {usual}}) {
    const auto same = std::find_if(targets_.begin(), targets_.end(), [&, wanted = form(code)](const auto& language) {
      return form(language.first) == wanted;
    });
    if (same != targets_.end()) return same->first;
  }
  return "";
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

}  // namespace v0
}  // namespace transmute

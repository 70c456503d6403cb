// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/translation/translator.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A model and the languages that it translates between.
struct ModelSource {
  std::string source;         ///< a language's code: "en", "pt-BR"
  std::string target;         ///< likewise
  std::string path;           ///< a model folder, or a file of export_torchscript
  std::string source_name{};  ///< in a multilingual model's vocabulary, where the code does not tell it: "arb_Arab"
  std::string target_name{};  ///< likewise
  std::string shortlist{};    ///< a table of make_shortlist; empty: none
};

/// Reads "en-de=FOLDER", "pt-BR:en=FOLDER", "ar/arb_Arab:en=FOLDER" or "FOLDER" alone. In the last case, the languages
/// are all pairs of data.train_languages, else those that its files name; see languages_in_files().
/// @throws std::invalid_argument if the languages cannot be told; std::runtime_error if FOLDER is no model
std::vector<ModelSource> parse_model_sources(const std::string& text);

/// A warning if the names of the folder's training files, or its package, say other languages than the source; else
/// empty. Names are hints only: the model may be right.
std::string doubt_about(const ModelSource& model);

/// Gives each "en-de=FILE", or "FILE" where there is one model, to the model of those languages.
/// @throws std::invalid_argument if it is no model's, or the model has one already.
void give_shortlists(const std::vector<std::string>& shortlists, std::vector<ModelSource>& models);

/// "en-de".
std::string model_name(const ModelSource& model);

/// The language of a multilingual vocabulary that a code means: the one of that name, or of the same language and
/// script ("deu_Latn", "deu" and "de_DE" for "de").
/// @throws std::invalid_argument, listing the vocabulary's languages, if none or several could be meant
std::string language_in_vocabulary(const std::string& code, const std::vector<std::string>& names);

/// The models of one moment. They stay open while somebody holds them.
class ModelSet {
 public:
  /// A model, and what TranslationOptions tells it of the languages.
  struct Hop {
    std::shared_ptr<const Translator> model;
    std::string source_language{}, target_language{};
  };
  using Route = std::vector<Hop>;

  /// Opens a multilingual model once, however many languages it serves, but once for each shortlist.
  /// @throws as Translator's constructor; std::invalid_argument for two models of the same languages, and for a
  /// language that a multilingual model does not have.
  ModelSet(const std::vector<ModelSource>& models, const TranslatorOptions& options, std::string pivot);

  /// The models that lead from one language to the other, in the order of use: one, or two by way of the pivot.
  /// Empty if none do.
  Route route(const std::string& source, const std::string& target) const;
  /// A language's code as the models' owner writes it; empty if no model has the language. `code` may have capitals,
  /// and may be Argos Translate's: "pb", "zh" and "zt" are "pt-BR", "zh-Hans" and "zh-Hant".
  std::string language(const std::string& code) const;
  /// The languages that each one can be translated to, itself included.
  const std::map<std::string, std::set<std::string>>& targets() const { return targets_; }

 private:
  std::map<std::pair<std::string, std::string>, Hop> hops_;
  std::map<std::string, std::set<std::string>> targets_;
  std::string pivot_;
};

/// The models that a server currently uses. reload() replaces them.
class Models {
 public:
  /// @throws as ModelSet's constructor.
  Models(std::vector<ModelSource> models, TranslatorOptions options, std::string pivot);

  std::shared_ptr<const ModelSet> current() const;
  const std::vector<ModelSource>& sources() const { return models_; }

  /// Opens the files again. Where that fails, the present models stay.
  /// @throws as ModelSet's constructor.
  void reload();

 private:
  const std::vector<ModelSource> models_;
  const TranslatorOptions options_;
  const std::string pivot_;
  mutable std::mutex mutex_;
  std::shared_ptr<const ModelSet> current_;
};

}  // namespace v0
}  // namespace transmute

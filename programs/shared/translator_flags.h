// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/programs/shared/line_stream.h>
#include <transmute/translation/language_model.h>
#include <transmute/translation/translator.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace transmute {

/// The flags that say which models a program uses, and on what: --model, --device, --precision, --threads.
/// Lives as long as the CLI::App that it added them to.
class TranslatorFlags {
 public:
  void add_to(CLI::App& app);
  /// The same for a program of language models.
  void add_language_model_to(CLI::App& app);
  /// Texts as words of the command line, which texts() returns.
  CLI::Option* add_texts_to(CLI::App& app, const std::string& description);
  /// The texts of the command line, one for each of their lines.
  /// @throws std::invalid_argument as checked_line(), and for a single text that seems to be the path of a model or an
  /// input file, unless "--" precedes it
  std::vector<std::string> texts(const LineRules& rules) const;
  /// --shortlist and what belongs to it.
  void add_shortlist_to(CLI::App& app);
  /// --rerank, which is returned, and what belongs to it. `rerank` counts only where --rerank is given.
  CLI::Option* add_rerank_to(CLI::App& app, RerankOptions& rerank);
  /// The inputs that these flags name, for check_output_is_no_input().
  std::vector<NamedInput> inputs() const;
  /// @throws as Translator's constructor.
  Translator open() const;
  /// @throws as LanguageModel's constructor.
  LanguageModel open_language_model() const;

 private:
  void add_to(CLI::App& app, const std::string& kinds);
  TranslatorOptions options() const;

  std::vector<std::string> models_, texts_;
  TranslatorOptions options_;
  std::string precision_{};
};

/// A line of text from the command line, with its invalid bytes replaced if the rules say so.
/// @throws std::invalid_argument naming `what` if it is not UTF-8 or too long
std::string checked_line(const std::string& line, const std::string& what, const LineRules& rules);

/// The flags that every program with a model has, in the same words.
void add_device_flag(CLI::App& app, std::string& device);
void add_precision_flag(CLI::App& app, std::string& precision);
/// Nothing for the flag's default, the type in which a model is stored.
std::optional<Precision> precision_of_flag(const std::string& precision);
void add_threads_flag(CLI::App& app, int& threads);
/// --source-language and --target-language.
void add_language_flags(CLI::App& app, std::string& source, std::string& target);

/// Says on standard error why a model is slow, if there is a reason (Translator::slow_reason).
void warn_if_slow(const std::string& reason);

}  // namespace transmute

#pragma once

#include <transmute/scripts/program.h>
#include <transmute/translation/translator.h>

#include <string>
#include <vector>

namespace transmute {

/// The flags that say with which models a program translates, and on what: --model, --device, --precision, --threads.
/// Lives as long as the CLI::App that it added them to.
class TranslatorFlags {
 public:
  void add_to(CLI::App& app);
  /// --shortlist and what belongs to it.
  void add_shortlist_to(CLI::App& app);
  /// @throws as Translator's constructor.
  Translator open() const;

 private:
  std::vector<std::string> models_;
  TranslatorOptions options_;
  std::string precision_ = inference_precision_name(TranslatorOptions{}.precision);
};

}  // namespace transmute

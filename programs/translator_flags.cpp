// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/threading.h>
#include <transmute/programs/translator_flags.h>

#include <iostream>

namespace transmute {

void TranslatorFlags::add_to(CLI::App& app) {
  app.add_option(
         "--model", models_,
         "a model folder, as train makes it, a file of export_torchscript, or a folder of Hugging Face's MarianMT, "
         "M2M-100, NLLB-200 or mBART-50; several with one tokenizer make an ensemble: their probabilities are averaged")
      ->required();
  app.add_option("--device", options_.device, "cpu, cuda, cuda:N or auto")->capture_default_str();
  app.add_option("--precision", precision_,
                 "of matrix products: float32; bfloat16 (half the memory, fast on GPUs and with AVX512-BF16 or AMX); "
                 "on CPUs int8 (a quarter, fast with VNNI or AMX); on GPUs half; stored: what the model's matrices are "
                 "stored in (convert --precision), where the device is made for it, else float32")
      ->capture_default_str();
  app.add_option("--threads", options_.threads, "workers on the CPU; 0: one per core")->capture_default_str();
}

void TranslatorFlags::add_shortlist_to(CLI::App& app) {
  ShortlistOptions& shortlist = options_.shortlist;
  CLI::Option* const table =
      app.add_option("--shortlist", shortlist.table,
                     "a table of make_shortlist: translations are made of what it gives for a line's tokens, of the "
                     "line's own and of frequent ones")
          ->group("Shortlist");
  app.add_option("--shortlist-best", shortlist.best, "translations of each token at most")
      ->capture_default_str()
      ->needs(table)
      ->group("Shortlist");
  app.add_option("--shortlist-frequent", shortlist.frequent, "and so many of the vocabulary's first tokens")
      ->capture_default_str()
      ->needs(table)
      ->group("Shortlist");
}

void TranslatorFlags::add_languages_to(CLI::App& app, TranslationOptions& options) {
  app.add_option("--source-language", options.source_language,
                 "of a model of many languages: the source's, as the model calls it (eng_Latn, en)")
      ->group("Languages");
  app.add_option("--target-language", options.target_language,
                 "of a model of many languages: the translation's (deu_Latn, de, deu)")
      ->group("Languages");
}

TranslatorOptions TranslatorFlags::options() const {
  TranslatorOptions options = options_;
  if (precision_ != kAsStored) options.precision = precision_from_name(precision_);
  options.ensemble.assign(models_.begin() + 1, models_.end());
  return options;
}

Translator TranslatorFlags::open() const {
  return Translator(models_.front(), options());
}

LanguageModel TranslatorFlags::open_language_model() const {
  return LanguageModel(models_.front(), options());
}

void warn_if_slow(const std::string& program, const std::string& reason) {
  if (reason.empty()) return;
  std::cerr << program << ": this model runs several times slower on the CPU than others: " << reason << '\n';
  if (const std::string warning = slow_blas_warning(); !warning.empty())  // of others no BLAS is asked
    std::cerr << program << ": " << warning << '\n';
}

}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <transmute/engine/device_backend.h>
#include <transmute/formats/model_store.h>
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/program.h>
#include <transmute/programs/shared/translator_flags.h>
#include <transmute/text/shortlist.h>

#include <filesystem>
#include <sstream>
#include <stdexcept>

namespace transmute {

namespace {

constexpr const char* kAsStored = "stored";

// A path that was meant for a flag. A word such as "docs" is a text, although a folder may have this name.
void refuse_path(const std::string& text) {
  const bool is_like_a_path =
      text.find('/') != std::string::npos || std::filesystem::path(text).extension().string().size() > 1;
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(text, ignored);
  if (!is_like_a_path || !(is_folder || std::filesystem::is_regular_file(text, ignored))) return;
  throw std::invalid_argument(
      fmt::format("'{0}' is a {1}, not a text; did you mean {2} {0}? If it is a text, write -- before it", text,
                  is_folder ? "folder" : "file", is_folder ? "--model" : "--input"));
}

}  // namespace

void TranslatorFlags::add_to(CLI::App& app) {
  add_to(app,
         "a model folder written by train, a file written by export_torchscript, or a translation model of Hugging "
         "Face, CTranslate2, Marian, Firefox, fairseq, OpenNMT-py or JoeyNMT");
}

void TranslatorFlags::add_language_model_to(CLI::App& app) {
  add_to(app, "a language model: a folder written by train, or a file written by export_torchscript");
}

void TranslatorFlags::add_to(CLI::App& app, const std::string& kinds) {
  repeatable(app.add_option("-m,--model", models_,
                            kinds + "; several models with the same tokenizer, each after its own --model, form an "
                                    "ensemble, whose probabilities are averaged"))
      ->type_name("MODEL")
      ->required();
  add_device_flag(app, options_.device);
  add_precision_flag(app, precision_);
  add_threads_flag(app, options_.threads);
}

CLI::Option* TranslatorFlags::add_texts_to(CLI::App& app, const std::string& description) {
  return takes_all_words(app.add_option("TEXT", texts_, description))->type_name("TEXT");
}

std::vector<std::string> TranslatorFlags::texts(const LineRules& rules) const {
  std::vector<std::string> lines;
  if (texts_.size() == 1 && !has_end_of_flags()) refuse_path(texts_.front());
  for (const std::string& word : texts_) {
    std::istringstream text(word + "\n");
    for (std::string line; std::getline(text, line);)
      lines.push_back(checked_line(line, "the text on the command line", rules));
  }
  return lines;
}

std::string checked_line(const std::string& line, const std::string& what, const LineRules& rules) {
  const std::string valid = rules.invalid == InvalidUtf8::replace ? with_valid_utf8(line) : line;
  if (const size_t bad = find_invalid_utf8(valid); bad != std::string::npos)
    throw std::invalid_argument(
        fmt::format("{} is not valid UTF-8 (byte {}); --invalid-utf8 replace puts U+FFFD in the place of such bytes",
                    what, bad + 1));
  if (line.size() > rules.max_bytes)
    throw std::invalid_argument(
        fmt::format("{} has a line of {} bytes, more than --max-line-bytes {}", what, line.size(), rules.max_bytes));
  return valid;
}

void TranslatorFlags::add_shortlist_to(CLI::App& app) {
  ShortlistOptions& shortlist = options_.shortlist;
  CLI::Option* const table =
      app.add_option("--shortlist", shortlist.table,
                     "a table written by make_shortlist; restricts output to the table's translations of the line's "
                     "tokens, tokens of the line itself, digits, punctuation and frequent tokens; none: no shortlist, "
                     "not even the model's own")
          ->type_name("FILE")
          ->group("Shortlist");
  app.add_option("--shortlist-best", shortlist.best, "maximum number of translations per source token")
      ->check(at_least(0))
      ->capture_default_str()
      ->needs(table)
      ->group("Shortlist");
  app.add_option("--shortlist-frequent", shortlist.frequent,
                 "number of frequent tokens to allow always, from the start of the vocabulary")
      ->check(at_least(0))
      ->capture_default_str()
      ->needs(table)
      ->group("Shortlist");
}

CLI::Option* TranslatorFlags::add_rerank_to(CLI::App& app, RerankOptions& rerank) {
  CLI::Option* const model =
      app.add_option("--rerank", options_.reverse_model,
                     "a model of the opposite direction; of the best translations (with --sample, of samples), print "
                     "the one with the best combined score; if --beam-size is not given, raises it")
          ->type_name("MODEL")
          ->group("Search");
  rerank.candidates = 8;
  app.add_option("--rerank-candidates", rerank.candidates, "number of translations that --rerank compares")
      ->check(whole_between(2, kMaxCandidates))
      ->capture_default_str()
      ->needs(model)
      ->group("Search");
  app.add_option("--rerank-weight", rerank.weight,
                 "weight of the opposite direction's score; the model's own has weight 1")
      ->check(not_negative())
      ->capture_default_str()
      ->needs(model)
      ->group("Search");
  app.add_option("--rerank-source-language", rerank.source_language,
                 "for a multilingual model of --rerank: its name for the language of the translations; default: "
                 "--target-language")
      ->type_name("LANGUAGE")
      ->needs(model)
      ->group("Search");
  app.add_option("--rerank-target-language", rerank.target_language,
                 "its name for the language of the input; default: --source-language")
      ->type_name("LANGUAGE")
      ->needs(model)
      ->group("Search");
  return model;
}

TranslatorOptions TranslatorFlags::options() const {
  TranslatorOptions options = options_;
  options.precision = precision_of_flag(precision_);
  options.ensemble.assign(models_.begin() + 1, models_.end());
  return options;
}

std::vector<NamedInput> TranslatorFlags::inputs() const {
  std::vector<NamedInput> inputs{{"--rerank", model_path(options_.reverse_model)}};
  if (options_.shortlist.table != kNoShortlist) inputs.push_back({"--shortlist", options_.shortlist.table});
  for (const std::string& model : models_) inputs.push_back({"--model", model_path(model)});
  return inputs;
}

Translator TranslatorFlags::open() const {
  return Translator(models_.front(), options());
}

LanguageModel TranslatorFlags::open_language_model() const {
  return LanguageModel(models_.front(), options());
}

void add_device_flag(CLI::App& app, std::string& device) {
  app.add_option("--device", device, "cpu, cuda, cuda:N or auto")->type_name("DEVICE")->capture_default_str();
}

void add_precision_flag(CLI::App& app, std::string& precision) {
  precision = kAsStored;
  app.add_option(
         "--precision", precision,
         "number format of matrix products: float32; bfloat16 (half of the weights' memory; fast on GPUs and with AMX, "
         "BFDOT or, except on Intel's CPUs since Sapphire Rapids, AVX512-BF16); int8 (a quarter of it; CPUs only, fast "
         "with AVX2, VNNI, AMX or SDOT); half (GPUs only); stored: the format in which the model is stored (see "
         "convert --precision) if the device is fast at it, else float32")
      ->check(one_of({kAsStored, "float32", "bfloat16", "int8", "half"}))
      ->capture_default_str();
}

std::optional<Precision> precision_of_flag(const std::string& precision) {
  if (precision == kAsStored) return std::nullopt;
  return precision_from_name(precision);
}

void add_threads_flag(CLI::App& app, int& threads) {
  app.add_option("--threads", threads, "CPU worker threads; 0: one per core")
      ->check(whole_between(0, 4096))
      ->capture_default_str();
}

void add_language_flags(CLI::App& app, std::string& source, std::string& target) {
  app.add_option("--source-language", source,
                 "for multilingual models: the source language by the model's own name (eng_Latn, en)")
      ->type_name("LANGUAGE")
      ->group("Languages");
  app.add_option("--target-language", target, "for multilingual models: the target language (deu_Latn, de, deu)")
      ->type_name("LANGUAGE")
      ->group("Languages");
}

void warn_if_slow(const std::string& reason) {
  if (reason.empty()) return;
  note("this model runs several times slower on the CPU than others: " + reason);
  const DeviceBackend& backend = device_backend_for("this model");
  backend.configure_process();
  if (const std::string warning = backend.slow_blas_warning(); !warning.empty()) note(warning);
}

}  // namespace transmute

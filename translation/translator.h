#pragma once

#include <transmute/translation/search_options.h>

#include <memory>
#include <string>
#include <vector>

namespace transmute {

/// How a model is opened.
struct TranslatorOptions {
  std::string device = "cpu";  ///< cpu, cuda, cuda:N or auto
  int threads = 0;             ///< workers on the CPU, each with a batch of its own; 0 means one per core
};

struct TranslationOptions {
  SearchOptions search;
  int64_t batch_size = 64;          ///< sentences that a worker decodes together
  int64_t batch_tokens = 4096;      ///< and their padded source tokens at most
  int64_t max_source_tokens = 256;  ///< longer input is split at sentence, clause or word ends and rejoined
};

struct Hypothesis {
  std::string text;
  double score = 0;            ///< ranks the hypotheses: log P / length penalty
  double log_probability = 0;  ///< natural logarithm of P(text | source)
};

/// The hypotheses of one input line, best first. An input without content has one, empty, with probability 1.
struct Translation {
  std::vector<Hypothesis> hypotheses;
  int parts = 1;  ///< into how many an over-long input was split; then there is one hypothesis
};

/// A trained model, ready to translate. For applications: needs no LibTorch header.
class Translator {
 public:
  /// Opens a model folder, or a file that export_torchscript made.
  /// @throws std::runtime_error where it is missing or damaged; std::invalid_argument for options that cannot
  /// be met.
  explicit Translator(const std::string& model_folder, const TranslatorOptions& options = {});
  ~Translator();
  Translator(Translator&&) noexcept;
  Translator& operator=(Translator&&) noexcept;

  /// The best translation of one text.
  std::string translate(const std::string& text, const TranslationOptions& options = {}) const;

  /// One result per text, in order. May be called from several threads; calls take turns.
  /// @throws std::invalid_argument where an option is out of range.
  std::vector<Translation> translate_batch(const std::vector<std::string>& texts,
                                           const TranslationOptions& options = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/translation/types.h>

#include <memory>
#include <string>
#include <vector>

/// The C++ interface.
namespace transmute {
/// Version of the binary interface; code that uses transmute does not name it.
inline namespace v0 {

class Tokenizer;

/// A trained model, ready to translate. For applications: needs no LibTorch header.
///
/// Safe to use from many threads at once: calls share the translator's own threads, which take batches from the waiting
/// calls in turn. The settings of the application's threads, OpenMP's and LibTorch's among them, are left alone. Memory
/// beyond the texts themselves is bounded by the batch of each thread.
class TRANSMUTE_API Translator {
 public:
  /// Opens a model folder, or a file that export_torchscript made.
  /// @throws std::runtime_error where it is missing or damaged; std::invalid_argument for options that cannot
  /// be met.
  explicit Translator(const std::string& model, const TranslatorOptions& options = {});
  /// No call may be under way.
  ~Translator();
  /// The moved-from translator may only be assigned to or destroyed.
  Translator(Translator&&) noexcept;
  /// No call may be under way.
  Translator& operator=(Translator&&) noexcept;

  /// The best translation of one text.
  std::string translate(const std::string& text, const TranslationOptions& options = {}) const;

  /// One result per text, in order.
  /// @throws std::invalid_argument where an option is out of range or a text is not UTF-8; Cancelled.
  std::vector<Translation> translate_batch(const std::vector<std::string>& texts,
                                           const TranslationOptions& options = {},
                                           const TranslationHooks& hooks = {}) const;

  /// How probable each target is, given the source of the same number: one hypothesis each, with the target's text,
  /// tokens, token scores and alignment. Nothing is split.
  /// @throws std::invalid_argument where there are not as many targets as sources, or one is not UTF-8.
  std::vector<Hypothesis> score_batch(const std::vector<std::string>& sources, const std::vector<std::string>& targets,
                                      const TranslationOptions& options = {}) const;

  /// What its texts are made of, for a SearchOptions::constraint.
  const Tokenizer& tokenizer() const;

  /// Why this model runs several times slower on the CPU than others do; empty where it does not.
  std::string slow_reason() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace v0
}  // namespace transmute

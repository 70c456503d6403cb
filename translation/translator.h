// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/text/types.h>

#include <memory>
#include <string>
#include <vector>

/// The C++ interface.
namespace transmute {
/// Version of the binary interface; code that uses transmute does not name it.
inline namespace v0 {

class SentenceSplitter;
class Tokenizer;

/// A trained model, ready to translate. For applications: needs no LibTorch header.
///
/// Safe to use from many threads at once. Calls share the translator's own threads, which take batches from the waiting
/// calls in turn. The settings of the application's threads, including those of OpenMP and LibTorch, do not change.
/// Apart from the texts and their results, memory is bounded by one batch per thread. An alignment takes a number for
/// each pair of tokens. SearchOptions::alignments keeps those of whole texts; where only word alignments or inline tags
/// need them, those of the parts of a text last until its translation is complete.
class TRANSMUTE_API Translator {
 public:
  /// Opens a model folder, a file written by export_torchscript, or a model of Hugging Face, CTranslate2, Marian,
  /// Firefox, fairseq, OpenNMT-py or JoeyNMT.
  /// @throws std::runtime_error if the model is missing or damaged; std::invalid_argument if an option cannot be
  /// satisfied.
  explicit Translator(const std::string& model, const TranslatorOptions& options = {});
  /// No call may be in progress.
  ~Translator();
  /// A moved-from translator may only be assigned to or destroyed.
  Translator(Translator&&) noexcept;
  /// No call may be in progress.
  Translator& operator=(Translator&&) noexcept;

  /// The best translation of one text, by the default options and the search that the model recommends
  /// (default_search()).
  std::string translate(const std::string& text) const;
  /// The same by these options.
  std::string translate(const std::string& text, const TranslationOptions& options) const;

  /// One result per text, in order, by the default options and the search that the model recommends.
  std::vector<Translation> translate_batch(const std::vector<std::string>& texts) const;
  /// The same by these options.
  /// @throws std::invalid_argument if an option is out of range or a text is not UTF-8, as BadText if a text exceeds a
  /// limit or begins with the tag of a language that the model lacks; Cancelled if a hook stopped the call.
  std::vector<Translation> translate_batch(const std::vector<std::string>& texts, const TranslationOptions& options,
                                           const TranslationHooks& hooks = {}) const;

  /// Checks options as translate_batch() does, before there is a text.
  /// @throws std::invalid_argument if an option is out of range, excludes another, or asks for what the model does not
  /// have.
  void check(const TranslationOptions& options) const;

  /// Scores targets[i] as a translation of sources[i]. Returns one hypothesis per target, with its text, tokens, token
  /// scores and alignment. Long texts are not split.
  /// Calls only should_stop of `hooks`, for each batch.
  /// @throws std::invalid_argument if the numbers of sources and targets differ or a text is not UTF-8; BadText if one
  /// exceeds kMaxWholeTokens or the model's learned positions, or a source begins with the tag of a language that the
  /// model lacks; Cancelled if should_stop stopped the call.
  std::vector<Hypothesis> score_batch(const std::vector<std::string>& sources, const std::vector<std::string>& targets,
                                      const TranslationOptions& options, const TranslationHooks& hooks = {}) const;
  /// The same by the default options and the search that the model recommends, whose length penalty the scores have.
  std::vector<Hypothesis> score_batch(const std::vector<std::string>& sources,
                                      const std::vector<std::string>& targets) const;

  /// The search options that the model's files recommend: the section `search` of its configuration, Marian's
  /// decoder.yml, or Hugging Face's generation_config.json. Options that these files leave out have the defaults of
  /// SearchOptions. The programs and the server search with them. Where a method of this class is given options, it
  /// uses only those.
  SearchOptions default_search() const;

  /// The model's tokenizer, for implementing a SearchOptions::constraint.
  const Tokenizer& tokenizer() const;

  /// The languages that the model's files name, such as "en" and "de"; empty if they name none, as those of
  /// multilingual models do. They are hints.
  LanguagePair languages() const;

  /// True if SentenceSplitting::automatic translates the sentences of a text separately, that is, unless the model was
  /// trained on lines with several sentences.
  bool splits_sentences() const;

  /// The splitter for texts in this language; see TranslationOptions::text_language.
  SentenceSplitter sentence_splitter(const std::string& language) const;

  /// Why this model runs several times slower on the CPU than others of its size; empty if it does not.
  std::string slow_reason() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/model_folder.h>
#include <transmute/model/transformer.h>
#include <transmute/network/search_options.h>

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A sentence to look into. Without a target the model translates it.
struct ExplorerSentence {
  std::string source;
  std::optional<std::string> target{};  ///< the translation to follow instead
};

struct ExplorerOptions {
  std::string title = "transmute";  ///< heads the page
  SearchOptions search{};           ///< for sentences without a target
  int64_t max_sentences = 32;       ///< more are an error: each adds to the page
  /// Likewise of a sentence or a given translation; the page grows with the square. The model's own translations are
  /// shown whole, up to SearchOptions::max_extra_length tokens longer than their sentences.
  int64_t max_tokens = 128;
  int64_t map_tokens = 400;   ///< on the map of the embeddings: the sentences' own, then the vocabulary's frequent ones
  int64_t num_neighbors = 8;  ///< listed for each of them
  /// For multilingual models, see TranslationOptions. The page shows the languages' pieces: the model attends to them.
  std::string source_language{};
  std::string target_language{};  ///< see source_language
};

/// Thrown for a sentence, or the translation given for it, that cannot be shown.
class UnshownText : public std::invalid_argument {
 public:
  enum class Side { source, target };
  /// `sentence`: its index in the call. `reason`: what is said of it.
  UnshownText(Side side, size_t sentence, const std::string& reason)
      : std::invalid_argument((side == Side::source ? "sentence " : "target ") + std::to_string(sentence + 1) + " " +
                              reason),
        side_(side),
        sentence_(sentence),
        reason_(reason) {}
  Side side() const { return side_; }
  size_t sentence() const { return sentence_; }
  /// The message without the number, for applications that name the text in their own way.
  const std::string& reason() const { return reason_; }

 private:
  Side side_;
  size_t sentence_;
  std::string reason_;
};

/// Thrown for one of more tokens than ExplorerOptions::max_tokens and the model's positions allow.
class UnshownLongText : public UnshownText {
 public:
  using UnshownText::UnshownText;
};

/// One HTML page, without anything outside it, that shows what a model attends to: every layer and head of encoder
/// self-attention, masked decoder self-attention and encoder-decoder attention for each sentence, with statistics of
/// the heads; the positional encodings; and the embeddings with their neighbors. Weights are stored as multiples of
/// 1/65535. See web/. `network`: the model's modules, in eval mode.
/// @throws UnshownText for a text that is empty or too long; std::invalid_argument for one that is not UTF-8, naming
/// its number, for too many, and if a language is missing or unknown; BadText as check_tag().
std::string explorer_page(const LoadedModel& model, const Transformer& network,
                          const std::vector<ExplorerSentence>& sentences, const ExplorerOptions& options = {});

/// The data of that page, as the JSON that is in it; web/data.js says how to read it.
std::string explorer_data(const LoadedModel& model, const Transformer& network,
                          const std::vector<ExplorerSentence>& sentences, const ExplorerOptions& options = {});

}  // namespace v0
}  // namespace transmute

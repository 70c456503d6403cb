// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/tokenizer.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A change to a training pair that imitates how users write.
enum class Augmentation {
  upper,        ///< both sides in capitals
  title,        ///< both sides with a capital at each word
  punctuation,  ///< both sides without their final punctuation mark
  typos,        ///< the source with a mistyped letter in one word of ten, and in one at least
};

/// The share of an epoch's pairs that each of TrainingOptions::augment changes. No pair is changed twice.
constexpr double kAugmentedShare = 0.05;

/// The augmentations of these names.
/// @throws std::invalid_argument naming training.augment, for an unknown name or one that is given twice.
std::vector<Augmentation> augmentations_of(const std::vector<std::string>& names);

/// Changes tokenized pairs. The text is that of the tokens, which are made anew: the tokenized text in the cache serves
/// trainings with and without it. Safe to use from many threads at once.
class Augmenter {
 public:
  Augmenter(Tokenizer tokenizer, std::vector<Augmentation> augmentations);

  struct Pair {
    Ids source, target;
  };
  /// The pair after the augmentation that `key` draws; a function of the arguments alone. Without a value if none is
  /// drawn, if it changes nothing, or if the pair contains unknown tokens.
  std::optional<Pair> augment(const Ids& source, const Ids& target, uint64_t key) const;

 private:
  Tokenizer tokenizer_;
  std::vector<Augmentation> augmentations_;
  std::vector<std::string> symbols_;  // user-defined symbols, which augmentations preserve
};

/// The text with a mistyped letter in one word of ten, and in one at least if a word has four letters: two neighbors
/// change places, or one letter is missing, doubled, or another one of the text.
std::string with_typos(const std::string& text, uint64_t key);

/// The text without the full stops, question marks, exclamation marks and their like at its end; unchanged if it has
/// none, or nothing else.
std::string without_final_mark(const std::string& text);

}  // namespace v0
}  // namespace transmute

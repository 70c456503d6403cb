// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/threads.h>
#include <transmute/preparation/alignment_score.h>
#include <transmute/preparation/pair_reader.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The words of two texts that belong together: pairs (source word, target word), counted from 0, ascending.
using WordLinks = std::vector<std::pair<size_t, size_t>>;

/// Weights of the jumps in the source from one linked target word to the next, by their length in words. All jumps
/// beyond kFarthest weigh the same.
class Jumps {
 public:
  static constexpr std::ptrdiff_t kFarthest = 16;
  double& operator[](std::ptrdiff_t jump) { return weights_[place_of(jump)]; }
  double operator[](std::ptrdiff_t jump) const { return weights_[place_of(jump)]; }

 private:
  static size_t place_of(std::ptrdiff_t jump) {
    return static_cast<size_t>(std::clamp(jump, -kFarthest, kFarthest) + kFarthest);
  }
  std::array<double, 2 * kFarthest + 1> weights_{};
};

/// The hidden Markov model of Vogel et al., "HMM-Based Word Alignment in Statistical Translation", 1996, with an empty
/// word that keeps the place in the source (Och and Ney, 2003): makes the probabilities of target words given source
/// words, at [target * (sources + 1) + source] with the empty word last, those of their links.
/// @param found if given, gets the expected number of each jump added
void link_posteriors(size_t targets, size_t sources, const Jumps& jumps, std::vector<double>& values,
                     Jumps* found = nullptr);

/// Finds the words of a pair that belong together. Words are what white space separates.
class WordAligner {
 public:
  /// Learns link_posteriors' probabilities in both directions by expectation maximization from IBM Model 1 on, with
  /// variational Bayes, so that rare words do not attract what nothing else explains.
  WordAligner(const std::vector<TextPair>& sample, WorkerCrew& workers);

  /// The links of any pair, of the sample or not, whose posterior probabilities in the two directions have a mean above
  /// 1/2 (Liang et al., "Alignment by Agreement", 2006, have their product); none if a side has more than 400 words
  /// and marks. A word that the sample does not have goes to its equal on the other side, or else by its place.
  WordLinks align(const TextPair& pair) const;

 private:
  using Vocabulary = std::unordered_map<std::string, int32_t>;
  struct Direction {
    TranslationTable words;
    Jumps jumps;
  };
  static Vocabulary vocabulary_of(const std::vector<TextPair>& sample, std::string TextPair::*side);
  struct Tokens {
    std::vector<std::string> texts;
    std::vector<int32_t> ids;   // kUnknown for those that the sample does not have
    std::vector<size_t> words;  // of which they are parts
  };
  static Tokens tokens_of(const Vocabulary& vocabulary, const std::string& text);
  static std::vector<double> posteriors(const Tokens& explaining, const Tokens& explained, const Direction& direction);

  Vocabulary source_, target_;
  std::array<Direction, 2> directions_;  // the target given the source, and the reverse
};

}  // namespace v0
}  // namespace transmute

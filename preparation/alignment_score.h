// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/random.h>
#include <transmute/common/threads.h>
#include <transmute/preparation/pair_reader.h>
#include <transmute/training/data/lexical_model.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The logarithm of how much more probable the words of each side are given the other side than by their frequency
/// alone, on average over the words of both sides: about 0 or less for texts that have nothing to do with each other.
struct AlignmentScore {
  double value = 0;  ///< the mean
  size_t words = 0;  ///< words of the side that has fewer known ones; those that the sample has once are not known
};

/// Shorter pairs have no thresholds: a free translation of a few words scores as a wrong pair does.
constexpr size_t kFewestAlignedWords = 5;

/// Number of lengths that the thresholds tell apart: pairs of 5 to 8 words, of 9 to 16, and of more.
constexpr size_t kAlignmentClasses = 3;

/// The class of a pair of at least kFewestAlignedWords.
size_t alignment_class(const AlignmentScore& score);

/// The limits that an AlignmentScorer found in its sample.
struct AlignmentThresholds {
  /// The lowest score that pairs of each length may have; nothing if the sample has too few, or if pairs that
  /// translate each other cannot be told from others.
  std::array<std::optional<double>, kAlignmentClasses> least{};
  double mismatched = 0;  ///< share of the sample's pairs that seem not to translate each other
};

/// The probabilities of target words given source words that are worth keeping, of an IBM Model 1.
class TranslationTable {
 public:
  TranslationTable() = default;
  explicit TranslationTable(const LexicalModel& model);

  /// The probability of a target word given a source word; 0 if it is below 0.0001.
  double probability(int32_t source, int32_t target) const;

  /// Begins to load what probability() will read: the table is larger than the caches.
  void prefetch(int32_t source, int32_t target) const {
    __builtin_prefetch(&entries_[mix_bits(words_of(source, target)) & (entries_.size() - 1)]);
  }

 private:
  struct Entry {
    uint64_t words = 0;  // both; 0: free
    float probability = 0;
  };
  static uint64_t words_of(int32_t source, int32_t target) {
    return static_cast<uint64_t>(source) << 32U | static_cast<uint64_t>(target);
  }
  size_t place_of(uint64_t words) const;

  std::vector<Entry> entries_{1};  // as many as a power of two
};

/// Scores pairs by IBM Model 1 (Brown et al., 1993) in both directions. Each half of a sample has a model that was
/// learned from the other half, so that no pair of it is scored by a model that has seen the pair.
class AlignmentScorer {
 public:
  /// @param sample of pairs that break no other rule
  AlignmentScorer(const std::vector<TextPair>& sample, WorkerCrew& workers);

  /// The score of any pair, of the sample or not.
  AlignmentScore score(const TextPair& pair) const;

  /// The thresholds below which at least half of the sample's pairs would score as if their sides were paired by
  /// chance. Chance is shown by the sides of the sample's own pairs, paired anew.
  const AlignmentThresholds& thresholds() const { return thresholds_; }

 private:
  struct Side {
    std::unordered_map<std::string, int32_t> ids;
    std::vector<double> frequencies;  // by id
  };
  using Words = std::vector<int32_t>;
  struct PairWords {
    Words source, target;
  };
  static Side read_side(const std::vector<TextPair>& sample, std::string TextPair::*side);
  static Words words_of(const Side& side, std::string_view text);
  PairWords words_of(const TextPair& pair) const;
  AlignmentScore score(const Words& source, const Words& target, size_t half) const;
  AlignmentThresholds find_thresholds(const std::vector<TextPair>& sample, WorkerCrew& workers) const;

  Side source_, target_;
  std::array<TranslationTable, 2> forward_, backward_;  // by the half that they score
  AlignmentThresholds thresholds_;
};

}  // namespace v0
}  // namespace transmute

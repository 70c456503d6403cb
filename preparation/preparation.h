// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/threads.h>
#include <transmute/preparation/alignment_score.h>
#include <transmute/preparation/cross_entropy.h>
#include <transmute/preparation/pair_reader.h>
#include <transmute/preparation/rules.h>
#include <transmute/preparation/seen_texts.h>
#include <transmute/preparation/word_alignment.h>
#include <transmute/training/data/parallel_text.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The text to prepare, and how.
struct PreparationOptions {
  std::vector<PairInput> inputs;            ///< read one after the other
  PairReaderOptions reading;                ///< their languages and columns
  std::vector<TextFile> exclude;            ///< files of texts, one a line, that no pair may have on either side
  RuleOptions rules;                        ///< limits, and which rules are on
  std::optional<double> min_alignment;      ///< the lowest AlignmentScore; without one, the sample's thresholds
  PairCosts cross_entropy;                  ///< costs of pairs by models of both directions; none: that rule is off
  std::optional<double> max_cross_entropy;  ///< the highest of these costs; without one, the sample's limits
  size_t sample = 100'000;                  ///< pairs from which the thresholds are learned
  bool aligns = false;                      ///< align the words of the pairs that are kept
};

/// A pair that was left out.
struct DroppedPair {
  TextPair pair;       ///< with its encoding mended
  std::string detail;  ///< what breaks the rule
};

/// The pairs that one rule has left out.
struct RuleOutcome {
  int64_t count = 0;                  ///< pairs that were left out
  std::vector<DroppedPair> examples;  ///< some of them, drawn evenly from all
};

/// The result of a preparation.
struct PreparationOutcome {
  int64_t read = 0;                            ///< pairs of the inputs
  int64_t kept = 0;                            ///< pairs that were not left out
  int64_t mended = 0;                          ///< kept pairs whose encoding, or whose references of HTML, were mended
  int64_t untranslated = 0;                    ///< entries of TMX, XLIFF and catalogs without a finished translation
  int64_t other_languages = 0;                 ///< entries of TMX that lack one of the two languages, but have others
  std::array<RuleOutcome, kRules> rules{};     ///< by Rule
  std::vector<DroppedPair> mended_examples{};  ///< some of the mended pairs
};

/// Leaves out of parallel text what does not help a training. The first pass over the text draws a sample, from which
/// the thresholds are learned; the second applies the rules, in memory that does not grow but for a hash of each pair
/// that is kept. Results depend on the text and the options alone.
class Preparation {
 public:
  /// Is told how many pairs of how many (0: not known yet) are done.
  using Progress = std::function<void(int64_t done, int64_t all)>;

  /// Draws the sample and learns from it.
  /// @throws std::invalid_argument for an input that cannot be read twice; otherwise as open_pairs() and PairReader
  Preparation(PreparationOptions options, WorkerCrew& workers, Progress progress);

  /// Takes a pair that is kept, with its words aligned if PreparationOptions::aligns.
  using Keep = std::function<void(const TextPair&, const WordLinks&)>;
  /// Takes a pair that is left out.
  using Drop = std::function<void(Rule rule, const DroppedPair&)>;

  /// Goes through the text. Calls `keep` and `drop` in its order.
  PreparationOutcome run(const Keep& keep, const Drop& drop);

  /// The expectations that the sample raises about the text.
  const ExpectedText& expected() const { return expected_; }
  /// The thresholds of the alignment; null if that rule is off, or has its own limit.
  const AlignmentThresholds* alignment_thresholds() const;
  /// The limits of the models' costs; null if that rule is off, or has its own limit.
  const CostLimits* cost_limits() const;
  /// Messages to the user about the inputs.
  const std::vector<std::string>& notes() const { return notes_; }
  /// The options.
  const PreparationOptions& options() const { return options_; }

 private:
  struct CheckedPair;
  std::vector<TextPair> draw_sample();
  void learn(std::vector<TextPair> sample);
  void read_excluded();
  void check(CheckedPair& checked) const;
  std::optional<Violation> find_misalignment(const TextPair& pair) const;
  std::optional<Violation> find_repetition(const CheckedPair& checked);
  bool asks_models() const { return options_.cross_entropy && options_.rules.applies(Rule::cross_entropy); }
  void ask_models(std::vector<CheckedPair>& block) const;
  void finish(std::vector<CheckedPair>& block, PreparationOutcome& outcome, const Keep& keep, const Drop& drop);

  PreparationOptions options_;
  WorkerCrew& workers_;
  Progress progress_;
  int64_t pairs_ = 0;  // pairs of the text
  std::vector<std::string> notes_;
  ExpectedText expected_;
  std::unique_ptr<const AlignmentScorer> scorer_;  // null if nothing asks for it
  std::unique_ptr<const WordAligner> aligner_;     // the same
  CostLimits cost_limits_;
  HashSet excluded_, pairs_seen_, keys_seen_;
};

}  // namespace v0
}  // namespace transmute

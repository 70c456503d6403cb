// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/training/data/parallel_text.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace transmute {
inline namespace v0 {

/// For tables of translations: iterations of expectation maximization, and the least probability of a translation.
constexpr int64_t kShortlistIterations = 5;
constexpr double kLeastShortlistProbability = 1e-4;

/// Probabilities that a target token translates a source token: t(target | source) of Model 1 of Brown et al., "The
/// Mathematics of Statistical Machine Translation", 1993, by expectation maximization. The source's end is Model 1's
/// empty word, which is in every source.
class LexicalModel {
 public:
  /// Takes 16 bytes for each pair of tokens that are in one sentence pair, beside the text, and at most 256 MB more.
  /// @throws std::invalid_argument if there are no iterations.
  LexicalModel(const ParallelText& text, int64_t iterations);

  /// Makes the probabilities of a sentence pair, at [target token * (source tokens + 1) + source token] with the empty
  /// word last, the expected numbers of links.
  using Expectation = std::function<void(size_t targets, size_t sources, std::vector<double>& values)>;
  /// One more iteration on the same text, with the expectation of another model.
  /// @param prior the parameter of a symmetric Dirichlet distribution of each token's translations, for variational
  /// Bayes: below 1, a rare token gets few translations. 0: maximum likelihood
  void improve(const ParallelText& text, const Expectation& expectation, double prior);

  struct Translation {
    int64_t target;
    double probability;
  };
  /// The translations of a source token, most probable first: at most `count`, none under `least`.
  std::vector<Translation> best(int64_t source, size_t count, double least) const;

  /// Number of source tokens, including those that do not occur in the text.
  int64_t source_tokens() const { return static_cast<int64_t>(rows_.size()) - 1; }

 private:
  struct Entry {
    int32_t target;
    float probability;
    double count;  // float would lose small addends: millions of them are summed in an iteration
  };
  void find_pairs(const ParallelText& text);
  void set_probabilities(double prior);
  size_t find(int32_t source, int32_t target) const;

  std::vector<Entry> entries_;    // of each source token, by target
  std::vector<size_t> rows_{0};   // where those of each source token begin, and the end
  std::vector<uint32_t> places_;  // in entries_, of the tokens of the text in the order of an iteration
};

}  // namespace v0
}  // namespace transmute

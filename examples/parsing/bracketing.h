// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/examples/parsing/tree.h>

#include <cstdint>

namespace transmute {
inline namespace v0 {

/// Labeled brackets of trees, as evalb counts them with its COLLINS.prm (Black et al., 1991; Sekine and Collins):
/// commas, colons, quotes and periods are left out, ADVP and PRT are one label, the root does not count.
struct BracketCounts {
  int64_t sentences = 0;
  int64_t errors = 0;   ///< whose words, without punctuation, are not those of the reference; they count no further
  int64_t skipped = 0;  ///< without a word but punctuation; they count no further
  int64_t reference = 0, found = 0, matched = 0;  ///< brackets
  int64_t complete = 0;                           ///< sentences all of whose brackets match
  int64_t words = 0, correct_tags = 0;            ///< without punctuation

  BracketCounts& operator+=(const BracketCounts& other);
};

/// The counts of one sentence.
BracketCounts bracket_counts(const Tree& found, const Tree& reference);

/// Words of a reference, punctuation included, traces not: evalb's length, of which 40 is the usual limit.
int64_t length_of(const Tree& reference);

/// In percent.
struct BracketScores {
  double recall = 0, precision = 0, f1 = 0;
  double complete_match = 0;    ///< share of the sentences that are neither errors nor skipped
  double tagging_accuracy = 0;  ///< share of the words
};
BracketScores scores_of(const BracketCounts& counts);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/search/hypothesis.h>
#include <transmute/text/source_parts.h>
#include <transmute/text/types.h>
#include <transmute/tokenizer/tokenizer.h>

namespace transmute {
inline namespace v0 {

/// A part of a text with its translation, which the guard may replace if `may_change`.
struct TranslatedPart {
  const SourcePart& source;
  Translation& translation;
  bool may_change = true;
};

/// The decoded translation of a part, or the beginning of it, with the capital that a model which truecases leaves out.
/// Where a term of the part comes first, it stays as it is.
std::string in_written_case(std::string translation, const SourcePart& part, const SubwordModel& target);

/// The hypothesis that search found for a part, as text, without the forced tokens.
Hypothesis to_hypothesis(IdHypothesis&& found, const SourcePart& part, const SubwordModel& target);

/// The pairs of results of two parts of a text that become its results.
enum class JoinedResults {
  best,      ///< the combinations with the highest sums of scores; the first results of both come first
  in_order,  ///< those of the same number, as for samples
  of_first,  ///< each of the first part with the first of the others, as for alternatives
};

JoinedResults joined_results(const SearchOptions& search);

/// Appends the translation of the next part of a text. It has as many results as the longer of both lists, or as the
/// first (JoinedResults::of_first). `gap`: see space_between.
void append_translation(Translation& whole, Translation&& part, const std::string& gap, JoinedResults results);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/search/hypothesis.h>
#include <transmute/text/source_parts.h>
#include <transmute/text/types.h>
#include <transmute/tokenizer/tokenizer.h>

#include <optional>
#include <string>

namespace transmute {
inline namespace v0 {

/// A part of a text with its translation.
struct TranslatedPart {
  const SourcePart& source;
  Translation& translation;
  size_t number = 0;  ///< among the parts of its text
};

/// The decoded translation of a part, with the capital that a model which truecases leaves out. A term that comes first
/// gets one from any model, but stays as it is if its first word has capitals ("iPhone") or the source has it so
/// ("npm"); so does any other first word where SourcePart::lends_capital. The first word of a list's item, after its
/// number ("1. "), gets one from any model, too.
std::string in_written_case(std::string translation, const SourcePart& part, const SubwordModel& target);

/// The same for the beginning of a translation; none while it may become a term that decides about the capital.
std::optional<std::string> so_far_in_written_case(const Ids& certain, const SourcePart& part,
                                                  const SubwordModel& target);

/// The hypothesis that search found for a part, as text, without the forced tokens.
Hypothesis to_hypothesis(IdHypothesis&& found, const SourcePart& part, const SubwordModel& target);

/// Adds a word to Translation::unknown.
void add_unknown(const std::string& word, std::vector<std::string>& all);

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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/json.h>
#include <transmute/text/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Links (source token, target token), both from 0, in the order of the target: for each target token the source token
/// that it belongs to most, see balanced_alignment(). A token that belongs most to the end of the source has no link.
/// Needs a hypothesis with its alignment.
std::vector<std::pair<size_t, size_t>> hard_alignment(const Hypothesis& hypothesis);

/// Links (source, target) in Pharaoh's notation: "0-0 1-2".
std::string pharaoh_line(const std::vector<std::pair<size_t, size_t>>& links);

/// A hypothesis' links in Pharaoh's notation: Hypothesis::word_alignment, or, without it, the links of
/// hard_alignment().
std::string format_alignment(const Hypothesis& hypothesis);

/// True if the search was caught in a loop: one to eight tokens occur at least four times in a row, eight tokens or
/// more in all.
bool has_loop(const std::vector<std::string>& tokens);

/// Moses' n-best list, which counts lines from 0: a line "number ||| text ||| logprob= … ||| score" for each
/// hypothesis, and " ||| 0-0 1-2" where alignments were asked for.
/// @param line from 0
/// @param search what the translation was searched with
std::string format_n_best(const Translation& translation, int64_t line, const SearchOptions& search = {});

/// The warnings as a JSON array of objects: kind, message, and as `source` and `target` the first character of the
/// place in each text and the one after it, without those that are nowhere. `source`: the text that was translated.
Json warnings_json(const std::string& source, const Translation& translation);

/// Adds the members `confidence`, which is null if the model is not calibrated, and `words` if it is. Each word has its
/// `confidence` and, as `place`, its first character in the text and the one after it.
void add_confidence(const Hypothesis& hypothesis, Json& object);

/// One JSON object on one line: line, counted from 1 as in messages, source_tokens, parts, warnings, and of every
/// hypothesis all fields that were asked for. `source`: the text that was translated, needed for its warnings.
/// @param line from 0
std::string format_json(const Translation& translation, int64_t line, const SearchOptions& search = {},
                        const std::string& source = {});

}  // namespace v0
}  // namespace transmute

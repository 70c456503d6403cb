// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Ways to cut a segment into tokens before n-grams are counted. Each value is spelled on the command line and in the
/// signature as `bleu_tokenizer_name` says, which is sacreBLEU's spelling.
enum class BleuTokenizer {
  mteval_13a,     ///< "13a": the tokenization of WMT's mteval-v13a.pl, for text that has not been tokenized
  none,           ///< "none": split at whitespace only, for text that has been tokenized already
  international,  ///< "intl": mteval-v14.pl's, by Unicode's categories
  character,      ///< "char": every character is a token
  chinese,        ///< "zh": every Chinese character is a token, the rest as in 13a
};

/// Token borders as whitespace. `segment` must not end in whitespace.
std::string tokenize_for_bleu(BleuTokenizer tokenizer, std::string_view segment);

/// "13a", "none", "intl", "char" or "zh".
std::string bleu_tokenizer_name(BleuTokenizer tokenizer);

/// The inverse of `bleu_tokenizer_name`.
/// @throws std::invalid_argument that lists the known names.
BleuTokenizer bleu_tokenizer_from_name(const std::string& name);

/// The one that finds words, or what is closest to them, in these texts: 13a; where most of their letters are of
/// scripts without spaces between words, zh for Chinese alone and char for others, such as Japanese and Thai.
BleuTokenizer bleu_tokenizer_for(const std::vector<std::string>& texts);

/// @throws std::invalid_argument if there are no hypotheses, no reference sets, or a set of another size. `metric`
/// is its name in the message.
void check_segment_counts(const std::vector<std::string>& hypotheses,
                          const std::vector<std::vector<std::string>>& references, const std::string& metric);

/// The common part of 13a and TER's normalization: ASCII symbols apart; then, in the second, full stops and commas but
/// within numbers, and hyphens after digits.
std::string space_out_symbols(const std::string& line);
std::string space_out_periods_and_hyphens(const std::string& line);

/// Puts `with` for every `what`.
void replace_all(std::string& text, std::string_view what, std::string_view with);

// Text as Python's str sees it, so that counts are sacreBLEU's.

/// str.split(): the words between runs of whitespace, none of them empty. They point into `text`.
std::vector<std::string_view> split_at_space(std::string_view text);

/// str.rstrip().
std::string_view strip_right(std::string_view text);

/// str.lower(): full mappings of the root locale, a Greek capital sigma by its context.
std::string to_lower(const std::string& text);

}  // namespace v0
}  // namespace transmute

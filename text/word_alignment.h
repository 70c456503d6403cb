// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/tag_placement.h>
#include <transmute/text/types.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// For each token the word that it belongs to, from 0. Words are what is between blanks; a tag that names the
/// language is a word, but no token.
/// @param spans the bytes of the text that each token covers
std::vector<size_t> words_of_spans(const std::vector<ByteSpan>& spans, const std::string& text);

/// hard_alignment() between words: links (source word, target word) in the order of the target, each once. Needs a
/// hypothesis with its alignment.
std::vector<std::pair<size_t, size_t>> word_links(const Hypothesis& hypothesis, const std::vector<size_t>& source_words,
                                                  const std::vector<size_t>& target_words);

/// The links between a text and its translation for which `links` are without the spans that were taken out: each span
/// is linked with itself.
std::vector<std::pair<size_t, size_t>> links_with_spans(const std::vector<std::pair<size_t, size_t>>& links,
                                                        const TagSource& source, const std::string& translation,
                                                        const TaggedTranslation& restored);

}  // namespace v0
}  // namespace transmute

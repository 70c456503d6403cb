// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/tokenizer.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The words that alignments count: the parts of a text between white space.
std::vector<std::string_view> words_between_spaces(std::string_view text);

/// A word alignment, as pairs (source word, target word), counted from 0, from Pharaoh's notation "0-0 1-2".
/// @throws std::invalid_argument naming a part that is no such pair.
std::vector<std::pair<int64_t, int64_t>> parse_word_links(const std::string& line);

/// A text, and where its pieces are in it, as SubwordModel::segment has them.
struct PlacedPieces {
  const std::string& text;
  const std::vector<std::pair<size_t, size_t>>& spans;
};

/// The same between pieces: each piece of a source word with each of the target word's, as a flat, ordered list
/// target, source, target, source … Words are what white space separates.
/// @throws std::invalid_argument for a word that is not there.
Ids piece_links(const std::vector<std::pair<int64_t, int64_t>>& word_links, const PlacedPieces& source,
                const PlacedPieces& target);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/tokenizer.h>

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A translation, and how its tokens belong to those of the source.
struct AlignedTranslation {
  const std::string& text;
  const std::vector<ByteSpan>& source_tokens;        ///< S spans of the source
  const std::vector<ByteSpan>& target_tokens;        ///< T spans of the translation
  const std::vector<std::vector<float>>& alignment;  ///< [T,S]
  size_t prefix = 0;                                 ///< bytes of the translation that come before all tags
};

/// The end of the white space that begins at `begin`, at most `end`.
size_t space_end(const std::string& text, size_t begin, size_t end);

/// The beginning of the white space that ends at `end`, at least `begin`.
size_t space_begin(const std::string& text, size_t begin, size_t end);

/// A word of a translation: tokens without a space or a tag between them; a mark of punctuation is a word of its own.
struct AlignedWord {
  ByteSpan bytes;                  ///< bytes of the translation; all but white space belongs to a word
  std::pair<size_t, size_t> ends;  ///< the pieces that its first and its last token belong to
  size_t first = 0;                ///< the first piece that it gives anything to
  std::vector<float> row;   ///< what it gives to each piece from there on, up to the last: the mean of its tokens
  std::vector<float> most;  ///< likewise the most that one of its tokens gives to each of these pieces
  size_t tokens = 1;
  size_t largest = 0;  ///< the piece that it gives most to
  float sum = 0;       ///< sum of the row

  /// The most that one of its tokens gives to the piece.
  float most_to(size_t piece) const { return piece - first < most.size() ? most[piece - first] : 0; }
};

/// The words of a translation, and the pieces of its source that they attend to: the source's tokens without the spaces
/// around them, cut where a tag is within a token. White space that is a token of its own is no piece.
struct AlignedWords {
  std::vector<ByteSpan> pieces;  ///< in order, without overlap
  std::vector<AlignedWord> words;
};

/// @param source the text that was translated
/// @param cuts places of the source where tags are
AlignedWords align_words(const std::string& source, const std::set<size_t>& cuts,
                         const AlignedTranslation& translation);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/translation/text/aligned_words.h>

#include <cstddef>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A text and its tags, and the plain text that remains without them.
struct TagSource {
  struct Tag {
    ByteSpan opening;    ///< bytes of the text
    ByteSpan closing{};  ///< likewise; empty if the tag has no content
    ByteSpan content;    ///< bytes of the plain text between the two; empty if the tag has no content
    size_t parent = 0;   ///< 1 + the number of the tag around it; 0: none
  };
  std::string text, plain;
  std::vector<Tag> tags;           ///< in the order of the text
  std::vector<size_t> separators;  ///< spaces of the plain text that the text does not have: one<br>two
  std::vector<size_t> line_ends;   ///< bytes of the plain text at which a <br> stood, in order
};

/// Inserts the tags into the translation, each once, and nested as in the source. A tag with content surrounds the
/// translated words that attended to the content; other tags stand next to the word that attended to their neighbor. A
/// <br> stands between the words that attended to its two sides, if these are apart. Where two neighbors translate two
/// neighbors of the source, the spaces around the tags between them are the source's.
std::string place_tags(const TagSource& source, const AlignedTranslation& translation);

}  // namespace v0
}  // namespace transmute

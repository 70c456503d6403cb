// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/aligned_words.h>
#include <transmute/text/written_marks.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Pairs of a byte of one text and its place in another one, in order. The bytes up to the next pair follow there too.
using Places = std::vector<std::pair<size_t, size_t>>;

/// The place of that byte in the other text.
size_t place_in(const Places& places, size_t at);

/// The place of those bytes in the other text. An empty span stays as it is.
ByteSpan span_in(const Places& places, const ByteSpan& span);

/// The kind of a tag, which decides where it may be placed.
enum class TagRole {
  markup,       ///< <b> and the like, and placeholders that TranslationOptions::inline_tags takes out
  text,         ///< a word that is not translated, which is not glued to other words unless the source's is
  argument,     ///< likewise; arguments come in the order of the source
  marker,       ///< likewise; the marker of an item at the start of the text
  accelerator,  ///< the & of &File, which is before a letter or a digit
  mnemonic,     ///< a word with keys, E[x]tract, which come into the word that translates it: E[x]trair; or after: [x]
};

/// A text and its tags, and the plain text that remains without them.
struct TagSource {
  struct Tag {
    ByteSpan opening;                ///< bytes of the text
    ByteSpan closing{};              ///< likewise; empty if the tag has no content
    ByteSpan content;                ///< bytes of the plain text between the two; empty if the tag has no content
    size_t parent = 0;               ///< 1 + the number of the tag around it; 0: none
    TagRole role = TagRole::markup;  ///< role of a tag without content, and of a word with keys
  };
  std::string text, plain;
  std::vector<Tag> tags;           ///< in the order of the text
  std::vector<size_t> separators;  ///< spaces of the plain text that the text does not have: one<br>two
  std::vector<size_t> line_ends;   ///< bytes of the plain text at which a <br> was, in order
  Places places{};                 ///< places of the plain text in the text
  std::vector<AsciiMark> marks{};  ///< the marks that the plain text has in ASCII
};

/// A translation with its tags.
struct TaggedTranslation {
  std::string text;
  Places places;             ///< places of the translation without tags in `text`
  std::vector<size_t> tags;  ///< where each tag, or the first of its two, begins in `text`
};

/// Inserts the tags into the translation, each once, after its prefix, and nested as in the source. A tag with content
/// surrounds the translated words that attended to the content, or those of them that are a copy of it; other tags are
/// next to the word that attended to their neighbor. A <br> is between the words that attended to its two sides, if
/// these are apart. Where two neighbors translate two neighbors of the source, the spaces around the tags between them
/// are the source's.
TaggedTranslation place_tags(const TagSource& source, const AlignedTranslation& translation);

}  // namespace v0
}  // namespace transmute

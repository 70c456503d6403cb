// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/translation/text/tag_placement.h>

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// An inline tag: <b>, </b>, <br/> and the like, or a placeholder: {name} or {0}, also behind $, % or #, and whatever
/// is in two or three pairs of braces, such as {{ name }}.
struct InlineTag {
  enum class Kind {
    opening,
    closing,
    empty,  ///< without content: <br>, <br/>, {name}
  };
  size_t begin = 0, length = 0;  ///< bytes of the text
  Kind kind = Kind::empty;
};

/// Whether it is an element of HTML, in capitals or not, that has no content and needs no "/>", such as br.
bool is_void_element(const std::string& element);

/// True for a <br>, which ends a line.
bool ends_line(const std::string& text, const InlineTag& tag);

/// The tags of a text, in order; no two overlap. Takes linear time.
std::vector<InlineTag> inline_tags(const std::string& text);

/// A text with its inline tags taken out: <b>, </b>, <br/> and the like, and placeholders (see InlineTag).
class TaggedText {
 public:
  explicit TaggedText(const std::string& text);

  /// The text without them, which is what gets translated.
  const std::string& plain() const { return source_.plain; }
  bool has_tags() const { return !source_.tags.empty(); }
  /// The bytes of the plain text at which a <br> stood, in order.
  const std::vector<size_t>& line_ends() const { return source_.line_ends; }

  /// Puts the tags into a translation of the plain text; see place_tags.
  std::string restore(const std::string& translation, const std::vector<ByteSpan>& source_tokens,
                      const std::vector<ByteSpan>& target_tokens,
                      const std::vector<std::vector<float>>& alignment) const {
    return place_tags(source_, {translation, source_tokens, target_tokens, alignment});
  }

 private:
  TagSource source_;
};

}  // namespace v0
}  // namespace transmute

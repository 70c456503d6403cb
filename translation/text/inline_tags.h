// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Bytes of a text from `first` to before `second`.
using ByteSpan = std::pair<size_t, size_t>;

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

/// The tags of a text, in order; no two overlap. Takes linear time.
std::vector<InlineTag> inline_tags(const std::string& text);

/// A text with its inline tags taken out: <b>, </b>, <br/> and the like, and placeholders (see InlineTag).
class TaggedText {
 public:
  explicit TaggedText(const std::string& text);

  /// The text without them, which is what gets translated.
  const std::string& plain() const { return plain_; }
  bool has_tags() const { return !tags_.empty(); }

  /// Puts the tags into a translation of the plain text. What stood between an opening tag and its end embraces the
  /// translated words that attended there; other tags go before the word that attended to what followed them. The
  /// result nests as properly as the text does, and has each tag once.
  /// @param source_tokens where the S source tokens stand in plain()
  /// @param target_tokens where the T target tokens stand in `translation`
  /// @param alignment T rows of S weights: how much of a target token belongs to each source token
  std::string restore(const std::string& translation, const std::vector<ByteSpan>& source_tokens,
                      const std::vector<ByteSpan>& target_tokens,
                      const std::vector<std::vector<float>>& alignment) const;

 private:
  struct Tag {
    std::string text;       // as it was written
    size_t begin = 0;       // in the plain text
    size_t end = 0;         // likewise; of a tag without content the same
    std::string closing{};  // empty: nothing belongs to it
    size_t parent = 0;      // 1 + the number of the tag around it; 0: none
    bool space_before = false, space_after = false;
  };
  class Placement;

  std::string plain_;
  std::vector<Tag> tags_;  // in the order of the text
};

}  // namespace v0
}  // namespace transmute

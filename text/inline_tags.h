// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/protected_spans.h>
#include <transmute/text/sentences.h>
#include <transmute/text/tag_placement.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

/// An inline tag: <b>, </b>, <br/>, <1>…</1> and the like, or a placeholder: {name} or {0}, also after $, % or #, and
/// whatever is in two or three pairs of braces, such as {{ name }}.
struct InlineTag {
  enum class Kind {
    opening,
    closing,
    empty,     ///< without content: <br>, <br/>, {name}
    attached,  ///< likewise, and ends no word: <wbr>, the & of &File
    dropped,   ///< no tag, but an invisible character that the translation does without
    mnemonic,  ///< no tag, but a word with a key in brackets, which is read without these: E[x]tract
    ascii,     ///< no tag, but a mark that is read in ASCII (ascii_of)
  };
  size_t begin = 0, length = 0;  ///< bytes of the text
  Kind kind = Kind::empty;
  TagRole role = TagRole::markup;
  bool separates = false;  ///< it ends a line, as <br> does
};

/// True for an element of HTML, in capitals or not, that has no content and needs no "/>", such as br.
bool is_void_element(const std::string& element);

/// True for a <br>, which ends a line.
bool ends_line(const std::string& text, const InlineTag& tag);

/// The beginning of a tag without content, <var-1/>, that is a word of the sentence, such as a name in program code.
constexpr std::string_view kWordTag = "<var-";
bool is_word_tag(const std::string& text, const InlineTag& tag);

/// The tags of a text, in order; no two overlap. Takes linear time.
std::vector<InlineTag> inline_tags(const std::string& text);

/// The tags, the protected spans outside of tags, the marks of *emphasized* and _emphasized words_, which are tags with
/// content, words with keys, and lines that tell how a program is called, in order. Invisible characters are dropped,
/// and so are the brackets of "[t]he" in a quotation. If nothing else of the text has letters, or no part of it has
/// letters or digits, there is nothing to translate: the text is one span.
/// @param has_tags whether to look for tags
/// @param is_protected whether a span is to be protected
std::vector<InlineTag> tags_and_spans(const std::string& text, bool has_tags,
                                      const std::function<bool(const ProtectedSpan& span)>& is_protected,
                                      const IsUnknown& is_unknown);

/// A text with its inline tags taken out: <b>, </b>, <br/> and the like, and placeholders (see InlineTag).
class TaggedText {
 public:
  explicit TaggedText(const std::string& text) : TaggedText(text, inline_tags(text)) {}
  /// @param tags what to take out, in order
  /// @param unknown see unknown()
  TaggedText(const std::string& text, const std::vector<InlineTag>& tags, std::vector<std::string> unknown = {});

  /// The text without them, which is what gets translated.
  const std::string& plain() const { return source_.plain; }
  bool is_blank() const { return plain().find_first_not_of(' ') == std::string::npos; }
  /// True if the plain text is another one.
  bool is_changed() const { return has_tags() || source_.plain != source_.text; }
  /// True if anything was taken out that belongs into a translation.
  bool has_tags() const { return !source_.tags.empty(); }
  /// The bytes of the plain text at which a <br> was, in order.
  const std::vector<size_t>& line_ends() const { return source_.line_ends; }

  /// Puts the tags into a translation of the plain text; see place_tags.
  TaggedTranslation place(const AlignedTranslation& translation) const { return place_tags(source_, translation); }
  std::string restore(const std::string& translation, const std::vector<ByteSpan>& source_tokens,
                      const std::vector<ByteSpan>& target_tokens,
                      const std::vector<std::vector<float>>& alignment) const {
    return place({translation, source_tokens, target_tokens, alignment}).text;
  }

  /// The text and its tags.
  const TagSource& source() const { return source_; }
  /// The words and characters among the tags that the vocabulary lacks.
  const std::vector<std::string>& unknown() const { return unknown_; }

 private:
  TagSource source_;
  std::vector<std::string> unknown_;
};

/// The ends of a text's sentences, but for the last, that are outside of elements, each with the tags after it that
/// belong to it.
std::vector<size_t> sentence_ends(const std::string& text, bool has_tags, const SentenceSplitter& splitter,
                                  const Glossary& glossary);

}  // namespace v0
}  // namespace transmute

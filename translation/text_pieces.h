// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/glossary.h>
#include <transmute/text/sentences.h>
#include <transmute/text/types.h>

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Texts of which long ones are cut between sentences into texts of their own, so that tags and protected spans can be
/// taken out of each: an alignment of the whole would grow with the square of its length.
class TextPieces {
 public:
  /// Cuts no text within an inline tag or between the two tags of an element.
  /// @param cuts tells which texts may be cut
  /// @param glossary no text is cut within its source terms
  TextPieces(const std::vector<std::string>& texts, const std::vector<bool>& cuts, const SentenceSplitter& splitter,
             const Glossary& glossary, bool has_tags);

  const std::vector<std::string>& pieces() const { return pieces_; }

  /// Hooks for a call with the pieces. A text that was cut is streamed at the end, by joined().
  TranslationHooks hooks(const TranslationHooks& of_texts) const;
  /// The number of the text that a piece is of.
  size_t text_of(size_t piece) const { return origins_[piece].text; }
  /// The translations of the texts.
  std::vector<Translation> joined(std::vector<Translation>&& of_pieces, const SearchOptions& search,
                                  const TranslationHooks& hooks) const;

 private:
  struct Origin {
    size_t text, begin;  // a text and the piece's first byte in it
    std::string gap;     // before the piece
    bool is_whole;
  };

  size_t count_;  // of texts
  std::vector<std::string> pieces_;
  std::vector<Origin> origins_;  // of the pieces
};

}  // namespace v0
}  // namespace transmute

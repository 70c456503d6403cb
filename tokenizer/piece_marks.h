// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// SentencePiece's mark for a space, and so for the beginning of a word.
constexpr std::string_view kSpaceMark = "\u2581";

inline bool begins_word(std::string_view piece) {
  return piece.substr(0, kSpaceMark.size()) == kSpaceMark;
}

/// SentencePiece's names of the reserved ids, in their order, where a model does not say otherwise.
constexpr std::array<const char*, 4> kReservedPieces{"<pad>", "<unk>", "<s>", "</s>"};

/// True if the piece is one byte of a character that has no piece of its own, such as "<0x41>".
inline bool is_byte_piece(std::string_view piece) {
  return piece.size() == 6 && piece.substr(0, 3) == "<0x" && piece.back() == '>';
}

}  // namespace v0
}  // namespace transmute

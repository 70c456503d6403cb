// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/options.h>
#include <transmute/tokenizer/special_ids.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

// Models of other programs number pieces by a table of their own, beside the SentencePiece model that splits text.
namespace transmute {
inline namespace v0 {

/// Far more than any vocabulary has; more pieces in a file are damage.
constexpr int64_t kMostPieces = int64_t{1} << 21;

/// The pieces of a network's vocabulary, in the order of its ids.
struct PieceTable {
  std::vector<std::string> pieces;  ///< the first special_ids::kCount stand for the reserved ids, whatever their text
  std::set<std::string> control;    ///< pieces that no text is split into and that no text shows, such as language tags
  /// Text is split into the table's pieces and single characters alone, as after SentencePiece's SetVocabulary().
  bool limits_splitting = false;
};

/// Ends the pieces of a table that the SentencePiece model does not have, so that they do not take part in splitting:
/// a noncharacter of Unicode, which no text contains.
constexpr const char* kNotSplitInto = "\uFDD0";

/// A SentencePiece model that splits text as `serialized` does, and numbers the pieces as `table` does. What the
/// SentencePiece model has beyond the table keeps its part in splitting and comes after the table's ids;
/// table_size() says where. What the table has beyond the SentencePiece model ends with kNotSplitInto.
/// A table that `serialized` has already is replaced.
/// @param name what messages call the SentencePiece model
/// @throws std::runtime_error if it is damaged, or a piece of the table is empty or there twice
std::string with_piece_table(const std::string& serialized, const std::string& name, const PieceTable& table);

/// A SentencePiece model that takes text for a list of the table's pieces with spaces between them.
/// @param name what messages call the table
/// @throws std::runtime_error if they are SentencePiece's pieces, which mark spaces themselves
std::string model_of_spaced_pieces(const PieceTable& table, const std::string& name);

/// A piece that text is split into. A better score is higher.
struct ScoredPiece {
  std::string text;
  float score;
};

/// A SentencePiece model of those pieces. `character_map`: SentencePiece's compiled map of characters, which it applies
/// before splitting; empty for none.
std::string make_sentencepiece_model(const std::vector<ScoredPiece>& pieces, SubwordAlgorithm algorithm,
                                     const std::string& character_map);

/// True if the pieces of a SentencePiece model are the words between spaces, as those of model_of_spaced_pieces().
/// @throws std::runtime_error if the bytes are no SentencePiece model
bool has_whole_words(const std::string& serialized);

/// The number of ids in the table that with_piece_table() put into a SentencePiece model; nothing if there is none.
/// @throws std::runtime_error if the bytes are no SentencePiece model
std::optional<int64_t> table_size(const std::string& serialized);

/// The pieces of a SentencePiece model, in its own order.
/// @throws std::runtime_error if the bytes are no SentencePiece model
std::vector<std::string> pieces_of(const std::string& serialized, const std::string& name);

}  // namespace v0
}  // namespace transmute

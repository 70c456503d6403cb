// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/piece_table.h>
#include <transmute/tokenizer/tokenizer.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace formats {

constexpr int64_t kNoPiece = -1;  ///< in place of a piece's number: there is none

/// The vocabulary of another program's model: its pieces by its own numbers.
struct Vocabulary {
  std::vector<std::string> pieces;  ///< empty: a number that is not used
  std::set<std::string> control;    ///< language tags and the like
  int64_t padding = kNoPiece;
  int64_t unknown = kNoPiece;
  int64_t end = kNoPiece;
  /// The token with which the decoder starts; often the padding's number or the end's. kNoPiece: a vector of zeros.
  int64_t start = kNoPiece;
};

/// The order in which a vocabulary's rows become ours: the reserved ids first, then all others in their own order.
struct Renumbering {
  /// The number in the other program of each of our ids. An id that other numbers need too may occur twice.
  std::vector<int64_t> numbers;
  /// Reserved ids that no number of the other program is used for alone: they must never be predicted.
  std::vector<int64_t> unpredicted;
  PieceTable table;
};

/// The content of a file with settings, pieces or a SentencePiece model of another program.
/// @throws std::runtime_error if it is no regular file or far larger than any of those
std::string read_model_text(const std::string& path);

/// The number of a piece; kNoPiece where there is none.
int64_t find_piece(const std::vector<std::string>& pieces, const std::string& piece);
/// The same. @throws std::runtime_error naming the file `path` if there is none.
int64_t required_piece(const std::vector<std::string>& pieces, const std::string& piece, const std::string& path);

/// Puts a piece of the file `path` where its number says, making room as needed.
/// @throws std::runtime_error if another piece has that number
void give_number(std::vector<std::string>& pieces, size_t number, const std::string& piece, const std::string& path);

/// @throws std::runtime_error naming the first number of the file `path` that no piece has
void check_numbers_are_complete(const std::vector<std::string>& pieces, const std::string& path);

/// The SentencePiece model of a side ("source" or "target") in a folder: its own, or one of both sides. Empty if
/// there is none.
std::string find_sentencepiece(const std::string& folder, const std::string& side);

/// @param name what messages call the pieces
/// @throws std::runtime_error unless there are as many pieces as the model's embeddings have rows
void check_rows_have_pieces(const std::vector<std::string>& pieces, int64_t rows, const std::string& name);
/// The same for a file that is not read to its end, because it has more pieces.
[[noreturn]] void refuse_more_pieces(const std::string& name, int64_t rows);

/// True if it is a tag of OPUS-MT's models for a language, such as >>deu<<.
bool is_language_tag(const std::string& piece);

/// @param name what messages call the vocabulary
/// @throws std::runtime_error if a reserved number is outside it, or a piece is there twice
Renumbering renumber(const Vocabulary& vocabulary, const std::string& name);

/// A tokenizer that splits text as the SentencePiece model in `sentencepiece` does, and numbers as `renumbering` does.
std::shared_ptr<const SubwordModel> make_subword_model(const std::string& sentencepiece,
                                                       const Renumbering& renumbering);
/// The same where `sentencepiece` may be empty: text is then a list of the pieces with spaces between them. `name`:
/// what messages call the pieces.
std::shared_ptr<const SubwordModel> subword_model_or_pieces(const std::string& sentencepiece,
                                                            const Renumbering& renumbering, const std::string& name);
/// The same for a serialized SentencePiece model; `name`: what messages call it.
std::shared_ptr<const SubwordModel> make_subword_model(const std::string& serialized, const std::string& name,
                                                       const Renumbering& renumbering);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

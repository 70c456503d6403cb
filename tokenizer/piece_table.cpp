// SPDX-License-Identifier: Apache-2.0
#include <transmute/tokenizer/piece_table.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <transmute/tokenizer/message_reader.h>
#include <transmute/tokenizer/piece_marks.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr uint64_t kTableSize = field_tag(200, kVarint);  // of a model: the first field that extensions may use

void put_varint(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>((value & 0x7f) | 0x80);
  to += static_cast<char>(value);
}
void put_number(std::string& to, uint64_t tag, uint64_t value) {
  put_varint(to, tag);
  put_varint(to, value);
}
void put_bytes(std::string& to, uint64_t tag, std::string_view bytes) {
  put_varint(to, tag);
  put_varint(to, bytes.size());
  to += bytes;
}

struct Piece {
  std::string text;
  std::string_view score;  // four bytes, or none
  uint64_t type = kTypeNormal;
};

Piece read_piece(std::string_view message) {
  Piece piece;
  for (MessageReader field(message); field.next();) {
    if (field.tag == kPieceText) piece.text = field.bytes;
    if (field.tag == kPieceScore) piece.score = field.bytes;
    if (field.tag == kPieceType) piece.type = field.number;
  }
  return piece;
}

void put_piece(std::string& to, const Piece& piece) {
  std::string message;
  put_bytes(message, kPieceText, piece.text);
  if (piece.score.size() == 4) {
    put_varint(message, kPieceScore);
    message += piece.score;
  }
  put_number(message, kPieceType, piece.type);
  put_bytes(to, kModelPieces, message);
}

// A SentencePiece model taken apart.
struct Parts {
  std::vector<Piece> pieces;
  std::string others;  // fields besides the pieces
};

// The trainer's settings without the names of the reserved pieces, which then are the usual ones.
std::string with_usual_names(std::string_view trainer_spec) {
  std::string kept;
  for (MessageReader field(trainer_spec); field.next();)
    if (field.tag < kTrainerFirstPieceName || field.tag > kTrainerLastPieceName) kept += field.whole;
  return kept;
}

Parts take_apart(const std::string& serialized, const std::string& name) try {
  Parts parts;
  for (MessageReader field(serialized); field.next();) {
    if (field.tag == kModelPieces) {
      if (static_cast<int64_t>(parts.pieces.size()) == kMostPieces)
        throw std::runtime_error(fmt::format("it has more than {} pieces", kMostPieces));
      parts.pieces.push_back(read_piece(field.bytes));
    } else if (field.tag == kModelTrainerSpec) {
      put_bytes(parts.others, kModelTrainerSpec, with_usual_names(field.bytes));
    } else if (field.tag != kTableSize) {
      parts.others += field.whole;
    }
  }
  if (parts.pieces.empty()) throw std::runtime_error("it has no pieces");
  return parts;
} catch (const std::runtime_error& error) {
  throw std::runtime_error(
      fmt::format("{}: not a SentencePiece model, or damaged ({}); restore it", name, error.what()));
}

// Pieces with kNotSplitInto are of a table that the model has already.
bool splits_text(const Piece& piece) {
  return piece.type != kTypeUnknown && piece.type != kTypeControl &&
         piece.text.find(kNotSplitInto) == std::string::npos;
}

}  // namespace

std::string with_piece_table(const std::string& serialized, const std::string& name, const PieceTable& table) {
  const Parts parts = take_apart(serialized, name);
  std::unordered_map<std::string, const Piece*> known;
  for (const Piece& piece : parts.pieces)
    if (splits_text(piece)) known.emplace(piece.text, &piece);

  std::string result;
  std::set<std::string> taken(std::begin(kReservedPieces), std::end(kReservedPieces));
  for (int64_t id = 0; id < special_ids::kCount; ++id)
    put_piece(
        result,
        {kReservedPieces[static_cast<size_t>(id)], {}, id == special_ids::kUnknown ? kTypeUnknown : kTypeControl});
  for (size_t id = special_ids::kCount; id < table.pieces.size(); ++id) {
    const std::string& text = table.pieces[id];
    if (text.empty()) throw std::runtime_error(fmt::format("{}: piece {} of its vocabulary is empty", name, id));
    if (text.find(kNotSplitInto) != std::string::npos)
      throw std::runtime_error(fmt::format("{}: piece {} of its vocabulary has the noncharacter U+FDD0", name, id));
    if (!taken.insert(text).second)
      throw std::runtime_error(fmt::format("{}: its vocabulary has the piece \"{}\" twice", name, text));
    const auto found = known.find(text);
    if (table.control.count(text) > 0) {
      put_piece(result, {text, {}, kTypeControl});
    } else if (found != known.end()) {
      put_piece(result, *found->second);
    } else {
      put_piece(result, {text + kNotSplitInto, {}, kTypeUnused});
    }
  }
  for (Piece piece : parts.pieces) {
    if (!splits_text(piece) || !taken.insert(piece.text).second) continue;
    if (table.limits_splitting && piece.type == kTypeNormal && characters_in(piece.text) != 1) piece.type = kTypeUnused;
    put_piece(result, piece);
  }
  result += parts.others;
  put_number(result, kTableSize, table.pieces.size());
  return result;
}

std::string model_of_spaced_pieces(const PieceTable& table, const std::string& name) {
  const auto marked = std::count_if(table.pieces.begin(), table.pieces.end(), begins_word);
  if (constexpr int64_t kOneIn = 20; marked * kOneIn > static_cast<int64_t>(table.pieces.size()))
    throw std::runtime_error(
        fmt::format("{}: its pieces are those of a SentencePiece model, which is missing; put it beside the model as "
                    "source.spm and target.spm, or as sentencepiece.bpe.model where one serves both",
                    name));
  std::string trainer, normalizer, model;
  put_number(trainer, kTrainerModelType, kModelWord);
  put_bytes(normalizer, kNormalizerName, "identity");
  PieceTable spaced = table;
  for (size_t id = special_ids::kCount; id < table.pieces.size(); ++id) {
    const std::string& text = table.pieces[id];
    if (table.control.count(text) > 0) continue;
    spaced.pieces[id] = std::string(kSpaceMark) + text;
    put_piece(model, {spaced.pieces[id], {}, kTypeNormal});
  }
  put_piece(model, {"<unk>", {}, kTypeUnknown});
  put_bytes(model, kModelTrainerSpec, trainer);
  put_bytes(model, kModelNormalizerSpec, normalizer);
  return with_piece_table(model, "a list of pieces", spaced);
}

std::string make_sentencepiece_model(const std::vector<ScoredPiece>& pieces, SubwordAlgorithm algorithm,
                                     const std::string& character_map) {
  std::string trainer, normalizer, model;
  for (const ScoredPiece& piece : pieces) {
    char score[sizeof piece.score];
    std::memcpy(score, &piece.score, sizeof score);
    put_piece(model, {piece.text, {score, sizeof score}, kTypeNormal});
  }
  put_number(trainer, kTrainerModelType, algorithm == SubwordAlgorithm::bpe ? kModelBpe : kModelUnigram);
  if (character_map.empty()) {
    put_bytes(normalizer, kNormalizerName, "identity");
  } else {
    put_bytes(normalizer, kNormalizerRules, character_map);
  }
  put_bytes(model, kModelTrainerSpec, trainer);
  put_bytes(model, kModelNormalizerSpec, normalizer);
  return model;
}

bool has_whole_words(const std::string& serialized) {
  uint64_t model_type = kModelUnigram;
  for (MessageReader field(serialized); field.next();) {
    if (field.tag != kModelTrainerSpec) continue;
    for (MessageReader setting(field.bytes); setting.next();)
      if (setting.tag == kTrainerModelType) model_type = setting.number;
  }
  return model_type == kModelWord;
}

std::optional<int64_t> table_size(const std::string& serialized) {
  std::optional<int64_t> size;
  for (MessageReader field(serialized); field.next();)
    if (field.tag == kTableSize) size = static_cast<int64_t>(field.number);
  return size;
}

std::vector<std::string> pieces_of(const std::string& serialized, const std::string& name) {
  std::vector<std::string> pieces;
  for (Piece& piece : take_apart(serialized, name).pieces) pieces.push_back(std::move(piece.text));
  return pieces;
}

}  // namespace v0
}  // namespace transmute

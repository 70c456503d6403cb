// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// Walks the fields of one Protocol Buffers message. SentencePiece's interface does not tell a piece's type, nor the
/// model's.
class MessageReader {
 public:
  explicit MessageReader(std::string_view message) : rest_(message) {}

  bool next() {
    if (rest_.empty()) return false;
    const std::string_view begin = rest_;
    const uint64_t tag = varint();
    field = static_cast<int>(tag >> 3);
    switch (tag & 7) {
      case 0:
        number = varint();
        break;
      case 1:
        bytes = take(8);
        break;
      case 2:
        bytes = take(varint());
        break;
      case 5:
        bytes = take(4);
        break;
      default:
        fail();
    }
    whole = begin.substr(0, begin.size() - rest_.size());
    return true;
  }

  int field = 0;
  uint64_t number = 0;     // where the field is a number
  std::string_view bytes;  // where it is anything else
  std::string_view whole;  // the field as it stands in the message

 private:
  [[noreturn]] static void fail() {
    throw std::runtime_error("the tokenizer is not a SentencePiece model, or damaged");
  }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    fail();
  }

  std::string_view take(uint64_t count) {
    if (count > rest_.size()) fail();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
};

// Field numbers and values of sentencepiece_model.proto.
constexpr int kModelPieces = 1, kModelTrainerSpec = 2;
constexpr int kPieceText = 1, kPieceScore = 2, kPieceType = 3;
constexpr uint64_t kTypeNormal = 1, kTypeUnknown = 2, kTypeControl = 3, kTypeUnused = 5;
constexpr int kTrainerModelType = 3;
constexpr int kTrainerFirstPieceName = 45, kTrainerLastPieceName = 48;  // unk_piece, bos_piece, eos_piece, pad_piece
constexpr uint64_t kModelUnigram = 1, kModelBpe = 2, kModelWord = 3;

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// The types of values in a Protocol Buffers message.
constexpr uint64_t kVarint = 0, kEightBytes = 1, kBytes = 2, kFourBytes = 5;

constexpr uint64_t field_tag(int field, uint64_t type) {
  return static_cast<uint64_t>(field) << 3 | type;
}

/// Walks the fields of one Protocol Buffers message. SentencePiece's interface does not tell a piece's type, nor the
/// model's.
class MessageReader {
 public:
  explicit MessageReader(std::string_view message) : rest_(message) {}

  bool next() {
    if (rest_.empty()) return false;
    const std::string_view begin = rest_;
    tag = varint();
    if (tag > std::numeric_limits<uint32_t>::max()) fail();  // of which others read the low half only
    switch (tag & 7) {
      case kVarint:
        number = varint();
        break;
      case kEightBytes:
        bytes = take(8);
        break;
      case kBytes:
        bytes = take(varint());
        break;
      case kFourBytes:
        bytes = take(4);
        break;
      default:
        fail();
    }
    whole = begin.substr(0, begin.size() - rest_.size());
    return true;
  }

  uint64_t tag = 0;        // the field's number and the type of its value
  uint64_t number = 0;     // where the field is a number
  std::string_view bytes;  // where it is anything else
  std::string_view whole;  // the field as it is in the message

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

// Fields and values of sentencepiece_model.proto. A field with a value of another type is none of them.
constexpr uint64_t kModelPieces = field_tag(1, kBytes), kModelTrainerSpec = field_tag(2, kBytes);
constexpr uint64_t kModelNormalizerSpec = field_tag(3, kBytes), kModelSelfTest = field_tag(4, kBytes);
constexpr uint64_t kModelDenormalizerSpec = field_tag(5, kBytes);
constexpr uint64_t kNormalizerName = field_tag(1, kBytes), kNormalizerRules = field_tag(2, kBytes);
constexpr uint64_t kPieceText = field_tag(1, kBytes), kPieceScore = field_tag(2, kFourBytes);
constexpr uint64_t kPieceType = field_tag(3, kVarint);
constexpr uint64_t kTypeNormal = 1, kTypeUnknown = 2, kTypeControl = 3, kTypeUserDefined = 4, kTypeUnused = 5;
constexpr uint64_t kTrainerModelType = field_tag(3, kVarint), kTrainerSplitByScript = field_tag(21, kVarint);
constexpr uint64_t kTrainerSplitDigits = field_tag(25, kVarint), kTrainerByteFallback = field_tag(35, kVarint);
constexpr uint64_t kTrainerFirstPieceName = field_tag(45, kBytes);  // unk_piece, bos_piece, eos_piece, pad_piece
constexpr uint64_t kTrainerLastPieceName = field_tag(48, kBytes);
constexpr uint64_t kModelUnigram = 1, kModelBpe = 2, kModelWord = 3;

/// The name of a model's normalization; empty if it has none.
inline std::string_view normalization_of(std::string_view model) {
  std::string_view name;
  for (MessageReader field(model); field.next();) {
    if (field.tag != kModelNormalizerSpec) continue;
    for (MessageReader spec(field.bytes); spec.next();)
      if (spec.tag == kNormalizerName) name = spec.bytes;
  }
  return name;
}

}  // namespace v0
}  // namespace transmute

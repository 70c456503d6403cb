// SPDX-License-Identifier: Apache-2.0
#include <transmute/tokenizer/message_reader.h>
#include <transmute/tokenizer/model_check.h>

#include <cstdint>
#include <cstring>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kMostPieceBytes = 8192;

// The rules of a normalizer: the size of a double array of 32-bit units (Darts-clone's), the array, and the texts that
// its values are places in, each with a zero behind it. Any text is then looked up within the array and the texts.
bool is_sound(std::string_view rules) {
  if (rules.empty()) return true;
  uint32_t bytes = 0;
  if (rules.size() < sizeof bytes) return false;
  std::memcpy(&bytes, rules.data(), sizeof bytes);
  rules.remove_prefix(sizeof bytes);
  constexpr size_t kBlock = 256;  // units, which differ from each other in the byte that is looked up
  if (bytes >= rules.size() || bytes % (kBlock * sizeof(uint32_t)) != 0 || rules.back() != '\0') return false;
  const size_t units = bytes / sizeof(uint32_t), texts = rules.size() - bytes;
  const auto unit_at = [&](size_t place) {
    uint32_t unit = 0;
    std::memcpy(&unit, rules.data() + place * sizeof unit, sizeof unit);
    return unit;
  };
  constexpr uint32_t kIsValue = 1U << 31, kHasValue = 1U << 8, kIsFar = 1U << 9;
  for (size_t place = 0; place < units; ++place) {
    const uint32_t unit = unit_at(place);
    if ((unit & kIsValue) != 0) continue;
    const size_t next = place ^ (size_t{unit >> 10} << ((unit & kIsFar) != 0 ? 8 : 0));
    if (next >= units) return false;
    if ((unit & kHasValue) != 0 && (unit_at(next) & ~kIsValue) >= texts) return false;
  }
  return units > 0;
}

}  // namespace

bool is_safe_to_open(std::string_view serialized) {
  for (MessageReader model(serialized); model.next();) {
    if (model.tag == kModelPieces)
      for (MessageReader piece(model.bytes); piece.next();)
        if (piece.tag == kPieceText && piece.bytes.size() > kMostPieceBytes) return false;
    if (model.tag == kModelNormalizerSpec || model.tag == kModelDenormalizerSpec)
      for (MessageReader spec(model.bytes); spec.next();)
        if (spec.tag == kNormalizerRules && !is_sound(spec.bytes)) return false;
  }
  return true;
}

}  // namespace v0
}  // namespace transmute

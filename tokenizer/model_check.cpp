// SPDX-License-Identifier: Apache-2.0
#include <transmute/tokenizer/model_check.h>

#include <transmute/tokenizer/message_reader.h>
#include <transmute/tokenizer/piece_table.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kMostPieceBytes = 8192;
constexpr size_t kMostSelfTestBytes = 1 << 16;  // opening a model encodes them, in a time that grows with the square
constexpr size_t kMostTrainerBytes = 4 << 20;   // a name takes some 50 bytes of memory, however short it is
constexpr size_t kMostRuleUnits = 1 << 20;      // NFKC has some 60,000
constexpr size_t kMostReplacementBytes = 256;   // the longest of NFKC has 33
// SentencePiece has room for so many rules, and user-defined pieces, that begin at one place of a text.
constexpr int kMostNestedRules = 32;
constexpr size_t kMostNestedPieces = 64;

// The rules of a normalizer: the size of a double array of 32-bit units (Darts-clone's), the array, and the texts that
// its values are places in, each with a zero after it. Any text is then looked up within the array and the texts.
class Rules {
 public:
  explicit Rules(std::string_view rules) {
    uint32_t bytes = 0;
    if (rules.size() < sizeof bytes) return;
    std::memcpy(&bytes, rules.data(), sizeof bytes);
    rules.remove_prefix(sizeof bytes);
    constexpr size_t kBlock = 256;  // units, which differ from each other in the byte that is looked up
    if (bytes == 0 || bytes >= rules.size() || bytes % (kBlock * sizeof(uint32_t)) != 0 || rules.back() != '\0') return;
    units_.resize(bytes / sizeof(uint32_t));
    if (units_.size() > kMostRuleUnits) return;
    std::memcpy(units_.data(), rules.data(), bytes);
    texts_ = rules.substr(bytes);
    is_sound_ = stays_inside() && has_short_texts() && is_shallow();
  }

  bool is_sound() const { return is_sound_; }
  bool breaks_lines() const { return texts_.find_first_of("\n\r") != std::string_view::npos; }

 private:
  static constexpr uint32_t kIsValue = 1U << 31, kHasValue = 1U << 8, kIsFar = 1U << 9, kLabel = kIsValue | 0xff;

  size_t next_of(size_t place) const {
    const uint32_t unit = units_[place];
    return place ^ (size_t{unit >> 10} << ((unit & kIsFar) != 0 ? 8 : 0));
  }

  // Values are never followed, but for the root, at whose kind nobody looks.
  bool stays_inside() const {
    for (size_t place = 0; place < units_.size(); ++place) {
      if (place > 0 && (units_[place] & kIsValue) != 0) continue;
      const size_t next = next_of(place);
      if (next >= units_.size()) return false;
      if ((units_[place] & kHasValue) != 0 && (units_[next] & ~kIsValue) >= texts_.size()) return false;
    }
    return true;
  }

  bool has_short_texts() const {
    for (size_t begin = 0; begin < texts_.size();) {
      const size_t end = texts_.find('\0', begin);
      if (end - begin > kMostReplacementBytes) return false;
      begin = end + 1;
    }
    return true;
  }

  // The units of each state, as lists: the first one's place for each state, then the next one's for each unit. A state
  // is where its units begin, and every unit's label says of which state it would be.
  struct UnitsOfStates {
    static constexpr uint32_t kNone = ~0U;
    explicit UnitsOfStates(const std::vector<uint32_t>& units) : first(units.size(), kNone), next(units.size(), kNone) {
      for (size_t place = 0; place < units.size(); ++place) {
        if ((units[place] & kIsValue) != 0) continue;
        uint32_t& head = first[place ^ (units[place] & kLabel)];
        next[place] = head;
        head = static_cast<uint32_t>(place);
      }
    }
    std::vector<uint32_t> first, next;
  };

  // True if no text runs through more values than there is room for. A state is gone through again where a longer way
  // leads to it, as one that comes back to itself does until it is too long.
  bool is_shallow() const {
    const UnitsOfStates units(units_);
    std::vector<int8_t> values(units_.size(), -1);
    std::vector<size_t> waiting{next_of(0)};
    values[waiting.front()] = 0;
    while (!waiting.empty()) {
      const size_t state = waiting.back();
      waiting.pop_back();
      for (size_t place = units.first[state]; place != UnitsOfStates::kNone; place = units.next[place]) {
        const int count = values[state] + ((units_[place] & kHasValue) != 0 ? 1 : 0);
        if (count > kMostNestedRules) return false;
        const size_t next = next_of(place);
        if (count <= values[next]) continue;
        values[next] = static_cast<int8_t>(count);
        waiting.push_back(next);
      }
    }
    return true;
  }

  std::vector<uint32_t> units_;
  std::string_view texts_;
  bool is_sound_ = false;
};

bool has_sound_rules(std::string_view normalizer, bool writes_text) {
  for (MessageReader spec(normalizer); spec.next();) {
    if (spec.tag != kNormalizerRules || spec.bytes.empty()) continue;
    const Rules rules(spec.bytes);
    if (!rules.is_sound() || (writes_text && rules.breaks_lines())) return false;
  }
  return true;
}

// The text of a user-defined piece, empty for any other.
std::string_view user_defined(std::string_view piece, size_t& longest) {
  std::string_view text;
  bool is_user_defined = false;
  for (MessageReader field(piece); field.next();) {
    if (field.tag == kPieceText) text = field.bytes;
    if (field.tag == kPieceText) longest = std::max(longest, text.size());
    if (field.tag == kPieceType) is_user_defined = static_cast<uint32_t>(field.number) == kTypeUserDefined;
  }
  return is_user_defined ? text : std::string_view();
}

// True if more of the texts than there is room for are beginnings of one of them.
bool are_nested_too_deeply(std::vector<std::string_view> texts) {
  std::sort(texts.begin(), texts.end());
  std::vector<std::string_view> around;
  for (const std::string_view text : texts) {
    while (!around.empty() && text.substr(0, around.back().size()) != around.back()) around.pop_back();
    if (around.empty() || text != around.back()) around.push_back(text);
    if (around.size() > kMostNestedPieces) return true;
  }
  return false;
}

}  // namespace

bool is_safe_to_open(std::string_view serialized) {
  size_t longest_piece = 0, self_test_bytes = 0, trainer_bytes = 0;
  int64_t pieces = 0;
  std::vector<std::string_view> user_defined_texts;
  for (MessageReader model(serialized); model.next();) {
    if (model.tag == kModelPieces) {
      if (++pieces > kMostPieces) return false;
      if (const auto text = user_defined(model.bytes, longest_piece); !text.empty()) user_defined_texts.push_back(text);
    }
    if (model.tag == kModelSelfTest) self_test_bytes += model.bytes.size();
    if (model.tag == kModelTrainerSpec) trainer_bytes += model.bytes.size();
    const bool writes_text = model.tag == kModelDenormalizerSpec;
    if ((writes_text || model.tag == kModelNormalizerSpec) && !has_sound_rules(model.bytes, writes_text)) return false;
  }
  return longest_piece <= kMostPieceBytes && self_test_bytes <= kMostSelfTestBytes &&
         trainer_bytes <= kMostTrainerBytes && !are_nested_too_deeply(std::move(user_defined_texts));
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unicode/umachine.h>
#include <unicode/utf8.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// A character of a text: its code point, negative for a byte that is not UTF-8, and its bytes [begin, end).
struct Character {
  UChar32 code;
  size_t begin;
  size_t end;
};

/// The character that begins at a byte of the text.
inline Character character_at(std::string_view text, size_t begin) {
  auto end = static_cast<int64_t>(begin);
  UChar32 code = 0;
  U8_NEXT(text.data(), end, static_cast<int64_t>(text.size()), code);
  return {code, begin, static_cast<size_t>(end)};
}

/// The characters of a text, which must outlive this, in order.
class Characters {
 public:
  explicit Characters(std::string_view text) : text_(text) {}

  class Iterator {
   public:
    Iterator(std::string_view text, size_t at) : text_(text) { read(at); }
    const Character& operator*() const { return character_; }
    bool operator!=(const Iterator& other) const { return character_.begin != other.character_.begin; }
    Iterator& operator++() {
      read(character_.end);
      return *this;
    }

   private:
    void read(size_t at) { character_ = at < text_.size() ? character_at(text_, at) : Character{U_SENTINEL, at, at}; }

    std::string_view text_;
    Character character_{};
  };

  Iterator begin() const { return {text_, 0}; }
  Iterator end() const { return {text_, text_.size()}; }

 private:
  std::string_view text_;
};

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/tokenizer.h>

#include <cstdint>
#include <unordered_set>

namespace transmute {
inline namespace v0 {

/// The characters that a vocabulary lacks. A mark that ends sentences always counts as known.
class UnknownCharacters {
 public:
  /// `vocabulary` outlives it.
  explicit UnknownCharacters(const SubwordModel& vocabulary);

  /// True if there are any: with byte_fallback, the vocabulary lacks none.
  bool exist() const { return exist_; }
  /// True if this is one of them.
  bool contain(int32_t character) const;

 private:
  bool is_known(int32_t character) const;

  const SubwordModel& vocabulary_;
  bool exist_;
  std::unordered_set<int32_t> in_pieces_;  // a part of the known ones, which needs no tokenizer
};

}  // namespace v0
}  // namespace transmute

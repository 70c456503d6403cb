// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/letter_case.h>
#include <transmute/tokenizer/tokenizer.h>

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Replaces bytes of a text, none of them twice.
class Rewriting {
 public:
  /// @param text must live as long
  /// @param kept stays wherever the text has it
  Rewriting(const std::string& text, const std::vector<std::string>& kept);

  const std::string& text() const { return text_; }
  /// True if nothing of these bytes is kept or has been replaced.
  bool is_free(const ByteSpan& place) const;
  /// Replaces free bytes.
  void replace(const ByteSpan& place, const std::string& replacement);
  /// The text with all replacements.
  RecasedText rewritten() const;

 private:
  struct Replacement {
    ByteSpan place;
    std::string text;
  };

  const std::string& text_;
  std::vector<bool> is_taken_;  // of each byte
  std::vector<Replacement> replacements_;
};

}  // namespace v0
}  // namespace transmute

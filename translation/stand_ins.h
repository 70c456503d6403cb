// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/letter_case.h>
#include <transmute/text/protected_spans.h>
#include <transmute/text/types.h>

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Adds the runs of digits of a text.
void add_numbers(const std::string& text, std::unordered_set<std::string>& numbers);

/// A text in which numbers stand for its placeholders, addresses, paths and unknown words. Models copy numbers, and put
/// them where a name or a number belongs; without them, the sentence would lack a word.
class StandIns {
 public:
  StandIns() = default;
  /// @param spans all that are protected, in order. Those that touch become one. Emoji and marks stay, and what is
  /// glued to a letter or is beside a digit, where a number would not be a word; all, if an argument of a program is
  /// there.
  /// @param taken numbers that must not stand for anything
  StandIns(const std::string& text, const std::vector<ProtectedSpan>& spans,
           std::unordered_set<std::string> taken = {});

  /// True if a number stands for something.
  bool exist() const { return !replaced_.empty(); }
  /// The text with the numbers.
  const std::string& text() const { return read_.text; }

  /// Puts the spans in place of the numbers of a translation of text(), those that stand for the next argument of a
  /// program in their order; the tokens remain those that the model read and wrote. Returns false, and changes nothing,
  /// if one of the hypotheses does not have each number once as a word.
  bool restore(Translation& translation) const;

 private:
  struct Replaced {
    std::string number, text;
    bool is_argument;
  };

  std::optional<RecasedText> restored(const std::string& translation) const;

  RecasedText read_;                // text() and its places
  std::vector<Replaced> replaced_;  // in order
  std::vector<std::string> unknown_;
  bool is_emphasized_ = false;  // some words are: _so_
};

}  // namespace v0
}  // namespace transmute

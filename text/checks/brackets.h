// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/tokenizer.h>

#include <optional>
#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {
namespace checks {

/// A bracket of a translation that no translator would write.
struct BracketFault {
  ByteSpan target;
  std::string message;
};

/// The first bracket of a translation that is left open, closed without need, or empty, where those of the source are
/// not; the one after a repetition of the source, or at the end, where the source has none: "Foreground (a)" for
/// "Foreground"; or the last of its ASCII quotation marks, if it has an odd number of them and the source has not. None
/// where a translation has many more brackets than its source, as a parser's trees have.
std::optional<BracketFault> find_bracket_fault(std::string_view source, std::string_view target);

/// True if a translation begins with the whole source, in any case, and goes on with words or an opening bracket.
bool continues_source(std::string_view source, std::string_view target);

/// True if two texts have as many opening brackets.
bool has_as_many_brackets(std::string_view source, std::string_view target);

}  // namespace checks
}  // namespace v0
}  // namespace transmute

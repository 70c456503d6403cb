// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/types.h>
#include <transmute/tokenizer/tokenizer.h>

#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace checks {

/// A part of a text that its translation must contain unchanged.
struct KeptText {
  WarningKind kind;  ///< address, placeholder or emoji
  ByteSpan span;
};

/// The protected_spans() that a translation cannot write in another way, in their order: web and mail addresses,
/// placeholders such as %s and {name}, and emoji.
std::vector<KeptText> kept_text_in(std::string_view text);

}  // namespace checks
}  // namespace v0
}  // namespace transmute

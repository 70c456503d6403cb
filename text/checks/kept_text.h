// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/checks/utf8.h>
#include <transmute/text/types.h>

#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace checks {

/// A part of a text that its translation must contain unchanged.
struct KeptText {
  WarningKind kind;  ///< address, placeholder or emoji
  Span span;
};

/// Web and mail addresses, placeholders (%s, %1$s, %(name)s, {0}, {name}, {{x}}, ${x}) and emoji, in their order.
std::vector<KeptText> kept_text_in(std::string_view text);

}  // namespace checks
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace transmute {
inline namespace v0 {

/// The number that the whole text is, in every locale; nothing if it is anything else, such as a number with a plus,
/// with spaces around it, or beyond the type.
template <class Number>
std::optional<Number> parsed_number(std::string_view text) {
  Number number{};
  const char* const text_end = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), text_end, number);
  return error == std::errc() && end == text_end ? std::optional<Number>(number) : std::nullopt;
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/checks/kept_text.h>

#include <transmute/text/characters.h>
#include <transmute/text/protected_spans.h>

#include <optional>
#include <string>

namespace transmute {
inline namespace v0 {
namespace checks {

namespace {

// The kind of a warning without the span. Translations write names, escapes and signs in other ways, too.
std::optional<WarningKind> warning_kind(std::string_view text, const ProtectedSpan& span) {
  const auto is_one_of = [](char c, std::string_view set) { return set.find(c) != std::string_view::npos; };
  const char first = text[span.begin];
  switch (span.kind) {
    case ProtectedKind::address:
      return is_one_of(first, "@#") ? std::nullopt : std::optional(WarningKind::address);
    case ProtectedKind::placeholder:
    case ProtectedKind::argument: {
      const bool is_escape = text.substr(span.begin, span.length) == "%%";
      return is_one_of(first, "%{$") && !is_escape ? std::optional(WarningKind::placeholder) : std::nullopt;
    }
    case ProtectedKind::emoji:
      return u_hasBinaryProperty(characters::at(text, span.begin), UCHAR_EMOJI) != 0 && !U8_IS_SINGLE(first)
                 ? std::optional(WarningKind::emoji)
                 : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::vector<KeptText> kept_text_in(std::string_view text) {
  std::vector<KeptText> kept;
  for (const ProtectedSpan& span : protected_spans(std::string(text)))
    if (const auto kind = warning_kind(text, span)) kept.push_back({*kind, {span.begin, span.begin + span.length}});
  return kept;
}

}  // namespace checks
}  // namespace v0
}  // namespace transmute

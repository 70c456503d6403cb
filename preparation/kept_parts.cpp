// SPDX-License-Identifier: Apache-2.0
#include <transmute/preparation/kept_parts.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/documents/html_references.h>
#include <transmute/preparation/side.h>
#include <transmute/text/checks/kept_text.h>
#include <transmute/text/checks/numbers.h>
#include <transmute/text/protected_spans.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

using Parts = std::vector<std::string>;

// The first part that one sorted list has and the other does not.
std::optional<std::string> first_difference(const Parts& source, const Parts& target) {
  Parts missing, added;
  std::set_difference(source.begin(), source.end(), target.begin(), target.end(), std::back_inserter(missing));
  std::set_difference(target.begin(), target.end(), source.begin(), source.end(), std::back_inserter(added));
  if (!missing.empty()) return fmt::format("the target lacks {}", missing.front());
  if (!added.empty()) return fmt::format("the source has no {}", added.front());
  return {};
}

// "%1$s" as "%s": a translation that changes the order of arguments numbers them.
std::string without_number(std::string placeholder) {
  size_t digits = 1;
  while (digits < placeholder.size() && is_ascii_digit(placeholder[digits])) ++digits;
  if (placeholder.front() == '%' && digits > 1 && digits < placeholder.size() && placeholder[digits] == '$')
    placeholder.erase(1, digits);
  return placeholder;
}

Parts placeholders_of(const std::string& text) {
  Parts parts;
  for (const ProtectedSpan& span : protected_spans(text)) {
    if (span.kind != ProtectedKind::placeholder && span.kind != ProtectedKind::argument) continue;
    const char first = text[span.begin];
    // Braces after a word belong to code: "ENV{key}".
    const bool is_code = first == '{' && span.begin > 0 && is_ascii_letter(text[span.begin - 1]);
    if ((first == '%' || first == '$' || first == '{') && !is_code)
      parts.push_back(without_number(text.substr(span.begin, span.length)));
  }
  std::sort(parts.begin(), parts.end());
  return parts;
}

bool may_have_address(const std::string& text) {
  return text.find('@') != std::string::npos || text.find("://") != std::string::npos ||
         text.find("www.") != std::string::npos;
}

// The addresses of the web and of mail, without names of hosts, which are translated at times, and what only looks
// like one.
Parts addresses_of(const std::string& text) {
  Parts parts;
  for (const checks::KeptText& part : checks::kept_text_in(text)) {
    std::string address = text.substr(part.span.first, part.span.second - part.span.first);
    if (part.kind == WarningKind::address && address.find('.') != std::string::npos && may_have_address(address))
      parts.push_back(std::move(address));
  }
  return parts;
}

bool may_have(const TextPair& pair, char a, char b) {
  const auto is_one = [=](char c) { return c == a || c == b; };
  return std::any_of(pair.source.begin(), pair.source.end(), is_one) ||
         std::any_of(pair.target.begin(), pair.target.end(), is_one);
}

std::vector<ByteSpan> spans_of(std::string_view text) {
  std::vector<ByteSpan> spans;
  for (const checks::KeptText& part : checks::kept_text_in(text))
    if (part.kind != WarningKind::emoji) spans.push_back(part.span);
  return spans;
}

}  // namespace

bool mend_references(TextPair& pair) {
  if (!may_have(pair, '&', '&')) return false;
  constexpr std::string_view kEscapes = " &amp; &quot; &apos; &#39; &#039; &lt; &gt; &nbsp; ";
  const auto is_escape = [&](const std::string& part) { return kEscapes.find(" " + part + " ") != std::string::npos; };
  const Parts source = markup_in(pair.source), target = markup_in(pair.target);
  if (source.empty() == target.empty()) return false;
  const Parts& parts = source.empty() ? target : source;
  if (!std::all_of(parts.begin(), parts.end(), is_escape)) return false;
  std::string& side = source.empty() ? pair.target : pair.source;
  side = with_references_decoded(side);
  return true;
}

std::optional<std::string> find_other_markup(const TextPair& pair) {
  if (!may_have(pair, '<', '&')) return {};
  return first_difference(markup_in(pair.source), markup_in(pair.target));
}

std::optional<std::string> find_other_placeholders(const TextPair& pair) {
  if (!may_have(pair, '%', '{')) return {};
  return first_difference(placeholders_of(pair.source), placeholders_of(pair.target));
}

std::optional<std::string> find_other_addresses(const TextPair& pair) {
  if (may_have_address(pair.source) == may_have_address(pair.target)) return {};
  const Parts source = addresses_of(pair.source), target = addresses_of(pair.target);
  if (!source.empty()) return fmt::format("the target lacks {}", source.front());
  if (!target.empty()) return fmt::format("the source has no {}", target.front());
  return {};
}

std::optional<std::string> find_other_numbers(const TextPair& pair) {
  // Bytes that begin digits and raised digits, but few letters of Latin, Greek, Cyrillic and Hebrew.
  const auto may_be_of_digit = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return is_ascii_digit(c) || byte == 0xC2 || byte >= 0xD9;
  };
  if (std::none_of(pair.source.begin(), pair.source.end(), may_be_of_digit) &&
      std::none_of(pair.target.begin(), pair.target.end(), may_be_of_digit))
    return {};
  const auto faults = checks::compare_numbers(pair.source, pair.target, spans_of(pair.source), spans_of(pair.target));
  if (faults.empty()) return {};
  const auto part = [](const std::string& text, const ByteSpan& span) {
    return text.substr(span.first, span.second - span.first);
  };
  const std::string before = part(pair.source, faults.front().source), after = part(pair.target, faults.front().target);
  if (after.empty()) return fmt::format("the target lacks {}", before);
  if (before.empty()) return fmt::format("the source has no {}", after);
  return fmt::format("{} became {}", before, after);
}

}  // namespace v0
}  // namespace transmute

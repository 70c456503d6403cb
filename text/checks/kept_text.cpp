// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/checks/kept_text.h>

#include <transmute/common/ascii_case.h>
#include <transmute/text/host_names.h>

#include <algorithm>

namespace transmute {
inline namespace v0 {
namespace checks {

namespace {

bool is_name(char c) {
  return is_ascii_alphanumeric(c) || c == '_' || c == '.' || c == '-';
}

bool is_in(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

// The end of the characters from `at` on for which `holds`.
template <class Holds>
size_t skip(std::string_view text, size_t at, const Holds& holds) {
  while (at < text.size() && holds(text[at])) ++at;
  return at;
}

// The end of the conversion of printf that begins at `at`, or `at`. "100% of" has none.
size_t printf_end(std::string_view text, size_t at) {
  if (text[at] != '%' || (at > 0 && is_ascii_digit(text[at - 1]))) return at;
  size_t next = at + 1;
  if (next < text.size() && text[next] == '(') {
    next = skip(text, next + 1, is_name);
    if (next >= text.size() || text[next] != ')') return at;
    ++next;
  }
  next = skip(text, next, [](char c) { return is_in(c, "-+#0123456789.$*"); });
  next = skip(text, next, [](char c) { return is_in(c, "hlLqjzt"); });
  if (next >= text.size() || !is_in(text[next], "sdiufFeEgGxXocpn@")) return at;
  return next + 1 < text.size() && is_ascii_letter(text[next + 1]) ? at : next + 1;
}

// The end of {name}, {{name}} or ${name}, or `at`.
size_t braces_end(std::string_view text, size_t at) {
  size_t next = at;
  if (text[next] == '$') ++next;
  constexpr size_t kMostBraces = 2;
  // One brace too many tells enough, since the next brace asks again.
  const size_t open = skip(text.substr(0, next + kMostBraces + 1), next, [](char c) { return c == '{'; });
  const size_t braces = open - next;
  if (braces == 0 || braces > kMostBraces) return at;
  const size_t name = skip(text, open, is_name);
  const size_t close = skip(text, name, [](char c) { return c == '}'; });
  return close - name >= braces ? name + braces : at;
}

bool is_address(std::string_view word) {
  const size_t scheme = word.find("://");
  if (scheme != std::string_view::npos && scheme > 1 && scheme + 3 < word.size())
    return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(scheme), is_name);
  if (word.substr(0, 4) == "www.") return word.size() > 6;
  const size_t at = word.find('@');
  if (at == std::string_view::npos || at == 0) return false;
  const std::string_view host = word.substr(at + 1);
  const size_t dot = host.find('.');
  return dot != std::string_view::npos && dot > 0 && dot + 2 < host.size() &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(at),
                     [](char c) { return is_name(c) || c == '+'; }) &&
         std::all_of(host.begin(), host.end(), is_name);
}

// The end of the address that begins with the word at `at`, without the punctuation of the sentence; or `at`.
size_t address_end(std::string_view text, size_t at) {
  const bool begins_word = at == 0 || is_in(text[at - 1], " \t\n\r(<\"'[");
  if (!begins_word || !is_ascii_alphanumeric(text[at])) return at;
  size_t end = skip(text, at, [](char c) { return !is_in(c, " \t\n\r<>\"'()[]{}"); });
  while (end > at && is_in(text[end - 1], ".,;:!?")) --end;
  const size_t host_end = host_name_end(text, at);
  const bool has_host = host_end > at && (host_end == end || is_in(text[host_end], "/:"));
  return has_host || is_address(text.substr(at, end - at)) ? end : at;
}

bool is_emoji(UChar32 c) {
  return c >= 0x203C && (u_hasBinaryProperty(c, UCHAR_EXTENDED_PICTOGRAPHIC) != 0 ||
                         u_hasBinaryProperty(c, UCHAR_REGIONAL_INDICATOR) != 0);
}

bool continues_emoji(UChar32 c) {
  constexpr UChar32 kJoiner = 0x200D, kVariation = 0xFE0F;
  return c == kJoiner || c == kVariation || u_hasBinaryProperty(c, UCHAR_EMOJI_MODIFIER) != 0;
}

// The end of the emoji that begins at `at`, with its modifiers and what is joined to it; or `at`.
size_t emoji_end(std::string_view text, size_t at) {
  constexpr UChar32 kJoiner = 0x200D;
  Character last = character_at(text, at);
  if (!is_emoji(last.code)) return at;
  const bool is_flag = u_hasBinaryProperty(last.code, UCHAR_REGIONAL_INDICATOR) != 0;
  bool may_pair = is_flag;
  while (last.end < text.size()) {
    const Character next = character_at(text, last.end);
    const bool pairs = may_pair && u_hasBinaryProperty(next.code, UCHAR_REGIONAL_INDICATOR) != 0;
    if (!pairs && !continues_emoji(next.code) && !(last.code == kJoiner && is_emoji(next.code))) break;
    may_pair = false;
    last = next;
  }
  return last.end;
}

}  // namespace

std::vector<KeptText> kept_text_in(std::string_view text) {
  std::vector<KeptText> kept;
  const auto take = [&](WarningKind kind, size_t at, size_t end) {
    if (end > at) kept.push_back({kind, {at, end}});
    return end > at ? end : at;
  };
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    size_t end = at;
    if (byte >= 0xE2) {
      end = take(WarningKind::emoji, at, emoji_end(text, at));
    } else if (text[at] == '%') {
      end = take(WarningKind::placeholder, at, printf_end(text, at));
    } else if (text[at] == '{' || text[at] == '$') {
      end = take(WarningKind::placeholder, at, braces_end(text, at));
    } else if (byte < 0x80) {
      end = take(WarningKind::address, at, address_end(text, at));
    }
    at = end > at ? end : character_at(text, at).end;
  }
  return kept;
}

}  // namespace checks
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/html_references.h>

#include <transmute/common/ascii_case.h>
#include <transmute/common/text_file.h>
#include <transmute/text/sentence_characters.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>
#include <unordered_map>

namespace transmute {
inline namespace v0 {

namespace {

struct Named {
  std::u32string characters;
  bool needs_semicolon = true;
};
struct Names {
  std::unordered_map<std::string, Named> by_name;
  size_t longest = 0;
};

Names make_names() {
  Names names;
  std::istringstream words(kHtmlReferenceNames);
  for (std::string word; words >> word;) {
    Named named{{}, word.front() != '*'};
    const size_t begin = named.needs_semicolon ? 0 : 1, equals = word.find('=');
    for (size_t at = equals; at != std::string::npos; at = word.find('+', at + 1))
      named.characters += static_cast<char32_t>(std::stoul(word.substr(at + 1), nullptr, 16));
    names.longest = std::max(names.longest, equals - begin);
    names.by_name.emplace(word.substr(begin, equals - begin), named);
  }
  return names;
}

// Old pages number the characters of windows-1252 from 0x80 on, and browsers read them so.
constexpr std::array<char32_t, 32> kWindows1252{0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021,
                                                0x2C6,  0x2030, 0x160,  0x2039, 0x152,  0x8D,   0x17D,  0x8F,
                                                0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                                0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178};

constexpr const char* kDigits = "0123456789";
constexpr const char* kHexDigits = "0123456789abcdefABCDEF";
constexpr const char* kNameCharacters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

// The number of characters at the start of a text that are among these.
size_t leading(std::string_view text, const char* characters) {
  return std::min(text.find_first_not_of(characters), text.size());
}

// The character of a number, without its "#". Browsers replace numbers that are none.
char32_t numbered_character(std::string_view digits, uint32_t base) {
  constexpr uint32_t kLast = 0x10FFFF;
  constexpr char32_t kReplacement = 0xFFFD;
  uint32_t code = 0;
  for (const char c : digits) {
    const int digit = is_ascii_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10;
    code = code * base + static_cast<uint32_t>(digit);
    if (code > kLast) return kReplacement;
  }
  if (code >= 0x80 && code < 0xA0) return kWindows1252[code - 0x80];
  return code == 0 || (code >= 0xD800 && code < 0xE000) ? kReplacement : code;
}

}  // namespace

CharacterReference reference_at(std::string_view text, size_t at) {
  static const Names kNames = make_names();
  const std::string_view rest = text.substr(at + 1);
  const auto ends_with_semicolon = [&](size_t length) { return length < rest.size() && rest[length] == ';'; };
  if (!rest.empty() && rest.front() == '#') {
    const bool is_hex = rest.size() > 1 && (rest[1] == 'x' || rest[1] == 'X');
    const size_t begin = is_hex ? 2 : 1;
    const size_t digits = leading(rest.substr(begin), is_hex ? kHexDigits : kDigits), end = begin + digits;
    if (digits == 0) return {};
    return {{numbered_character(rest.substr(begin, digits), is_hex ? 16 : 10)},
            1 + end + (ends_with_semicolon(end) ? 1 : 0)};
  }
  const std::string name(rest.substr(0, leading(rest.substr(0, kNames.longest), kNameCharacters)));
  for (size_t length = name.size(); length > 0; --length) {
    const auto found = kNames.by_name.find(name.substr(0, length));
    if (found == kNames.by_name.end()) continue;
    if (ends_with_semicolon(length)) return {found->second.characters, 1 + length + 1};
    if (!found->second.needs_semicolon) return {found->second.characters, 1 + length};
  }
  return {};
}

std::string with_references_decoded(std::string_view text) {
  std::string decoded;
  for (size_t at = 0; at < text.size();) {
    const CharacterReference reference = text[at] == '&' ? reference_at(text, at) : CharacterReference{};
    for (const char32_t character : reference.characters) append_utf8(decoded, character);
    if (reference.length == 0) decoded += text[at];
    at += std::max<size_t>(1, reference.length);
  }
  return decoded;
}

size_t find_line_end(std::string_view text, size_t at) {
  for (at = text.find('&', at); at < text.size(); at = text.find('&', at + 1)) {
    const CharacterReference reference = reference_at(text, at);
    if (reference.length > 0 && (reference.characters.front() == '\n' || reference.characters.front() == '\r')) break;
  }
  return std::min(at, text.size());
}

std::string with_marks_escaped(const std::string& value, char mark) {
  std::string result;
  for (const char c : value) c == mark ? result += mark == '"' ? "&quot;" : "&#39;" : result += c;
  return result;
}

bool has_letters(std::string_view text) {
  return !sentence_characters::all_characters(with_references_decoded(text),
                                              [](UChar32 c) { return u_isalpha(c) == 0; });
}

}  // namespace v0
}  // namespace transmute

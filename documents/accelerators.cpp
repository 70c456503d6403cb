// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/utf8.h>
#include <transmute/documents/accelerators.h>
#include <transmute/documents/ascii_text.h>
#include <transmute/text/inline_tags.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace transmute {
inline namespace v0 {

namespace {

constexpr std::string_view kTag = "<accelerator/>";

// The character that has the byte; negative at the end.
UChar32 character_with(std::string_view text, size_t at) {
  UChar32 c = U_SENTINEL;
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  if (at < text.size()) U8_GET(bytes, 0, static_cast<int32_t>(at), static_cast<int32_t>(text.size()), c);
  return c;
}

bool is_word_at(std::string_view text, size_t at) {
  return u_isalnum(character_with(text, at)) != 0;
}

bool is_word_before(std::string_view text, size_t at) {
  return at > 0 && is_word_at(text, at - 1);
}

// Keyboards have letters of an alphabet, but not the thousands of a script such as Chinese.
bool is_key(UChar32 c) {
  UErrorCode status = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(c, &status);
  return c >= 0 && u_isalnum(c) != 0 && U_SUCCESS(status) && !uscript_breaksBetweenLetters(script) &&
         script != USCRIPT_HANGUL;
}

// True if the parts of a word before and after a sign are long enough for a name of two words, such as file_name.
bool joins_words(std::string_view message, size_t sign) {
  constexpr size_t kFewestLetters = 3;
  size_t before = 0, after = 0;
  while (before < kFewestLetters && before < sign && is_word_at(message, sign - before - 1)) ++before;
  while (after < kFewestLetters && is_word_at(message, sign + 1 + after)) ++after;
  return before == kFewestLetters && after == kFewestLetters;
}

// True if the sign is in a name such as file_name, MAX_SIZE or zh_CN, unlike that of "Fil_ename:" and "Na_me".
bool is_in_name(std::string_view message, size_t sign) {
  size_t begin = sign, end = sign + 1;
  while (is_word_before(message, begin)) --begin;
  while (is_word_at(message, end)) ++end;
  size_t small = 0, capitals = 0;
  for (size_t at = begin; at < end; ++at) {
    if (U8_IS_TRAIL(message[at])) continue;
    if (u_islower(character_with(message, at)) != 0) ++small;
    if (u_isupper(character_with(message, at)) != 0) ++capitals;
  }
  const auto is_capital = [&](size_t at) { return u_isupper(character_with(message, at)) != 0; };
  if (message.find(' ') == std::string_view::npos) return !is_capital(0) || (joins_words(message, sign) && small == 0);
  const bool is_capitalized = is_capital(begin) && small > 0 && capitals == 1;
  const bool is_locale = u_islower(character_with(message, sign - 1)) != 0 && is_capital(sign + 1);
  return is_locale || (joins_words(message, sign) && !is_capitalized);
}

// The place of the only sign that is not doubled.
std::optional<size_t> single_sign(std::string_view message, char sign) {
  std::optional<size_t> found;
  for (size_t at = message.find(sign); at != std::string_view::npos; at = message.find(sign, at + 1)) {
    if (at + 1 < message.size() && message[at + 1] == sign) {
      ++at;
    } else if (found) {
      return std::nullopt;
    } else {
      found = at;
    }
  }
  return found;
}

// The sign of the accelerator, and the bytes around it that have no other purpose: those of "(&F)", or itself.
struct Accelerator {
  size_t sign, begin, end;
  bool is_apart() const { return end - begin > 1; }
};

// True if the sign is in a tag, an address or a placeholder: <a target="_blank">, {ip_address}.
bool is_in_markup(const std::string& message, size_t sign) {
  const auto is_markup = [](const ProtectedSpan& span) {
    return span.kind == ProtectedKind::placeholder || span.kind == ProtectedKind::argument ||
           span.kind == ProtectedKind::address;
  };
  const std::vector<InlineTag> tags = tags_and_spans(message, true, is_markup, {});
  return std::any_of(tags.begin(), tags.end(),
                     [&](const InlineTag& tag) { return sign >= tag.begin && sign < tag.begin + tag.length; });
}

std::optional<Accelerator> find_accelerator(const std::string& message, char sign) {
  constexpr size_t kLongestEntry = 60;  // within words of a shorter text, a sign is not that of file_name
  const std::optional<size_t> found = sign == 0 ? std::nullopt : single_sign(message, sign);
  if (!found || !is_word_at(message, *found + 1)) return std::nullopt;
  const size_t at = *found;
  if ((at > 0 && message[at - 1] == '$') || is_in_markup(message, at)) return std::nullopt;  // $_NAME
  const size_t end = message.find_first_of(" \t\n;", at);
  if (sign == '&' && end != std::string_view::npos && message[end] == ';') return std::nullopt;  // &nbsp;
  if (at > 0 && at + 2 < message.size() && message[at - 1] == '(' && message[at + 2] == ')')
    return Accelerator{at, at - 1, at + 3};
  if (sign == '~' && !is_word_at(message, at + 2)) return std::nullopt;  // ~a of Lisp
  if (is_word_before(message, at)) {
    const bool is_abbreviation =
        u_isupper(character_with(message, at + 1)) != 0 && !is_word_at(message, at + 2);  // R&D
    if (message.size() > kLongestEntry || (sign == '_' && is_in_name(message, at)) || is_abbreviation)
      return std::nullopt;
  }
  return Accelerator{at, at, at + 1};
}

// True for "Save && close": where letters have a sign before them, a doubled one stands for itself.
bool has_doubled_signs(const std::string& message, char sign) {
  return sign == '&' && message.find("&&") != std::string::npos && doubled(undoubled(message, sign), sign) == message;
}

// The bytes at which words begin that are outside of tags and placeholders.
std::vector<size_t> words_for_keys(const std::string& text) {
  const auto spans =
      tags_and_spans(text, true, [](const ProtectedSpan& span) { return span.kind != ProtectedKind::accelerator; }, {});
  std::vector<size_t> words;
  auto span = spans.begin();
  bool is_in_word = false;
  for (size_t at = 0; at < text.size();) {
    if (span != spans.end() && at == span->begin) {
      at += span++->length;
      is_in_word = false;
      continue;
    }
    const auto [c, begin, end] = character_at(text, at);
    if (!is_in_word && is_key(c)) words.push_back(begin);
    is_in_word = u_isalnum(c) != 0;
    at = end;
  }
  return words;
}

}  // namespace

char accelerator_sign(const std::vector<std::string>& messages) {
  constexpr std::string_view kSigns = "&_~";
  constexpr size_t kFewest = 2, kOneOf = 50;
  std::array<size_t, kSigns.size()> counts{};
  for (const std::string& message : messages) {
    for (size_t i = 0; i < kSigns.size(); ++i) {
      const auto found = find_accelerator(message, kSigns[i]);
      if (found && !is_word_before(message, found->sign) && u_isalpha(character_with(message, found->sign + 1)) != 0)
        ++counts[i];
    }
  }
  const auto most = std::max_element(counts.begin(), counts.end());
  return *most >= kFewest && *most * kOneOf >= messages.size() ? kSigns[static_cast<size_t>(most - counts.begin())]
                                                               : '\0';
}

std::string without_accelerator(const std::string& message, char sign) {
  const auto found = find_accelerator(message, sign);
  if (!found) return has_doubled_signs(message, sign) ? undoubled(message, sign) : message;
  const std::string before = undoubled(message.substr(0, found->begin), sign);
  const std::string after = undoubled(message.substr(found->end), sign);
  if (found->is_apart()) return before + after;
  size_t word = before.size();
  while (word > 0 && is_word_before(before, word)) --word;
  return before.substr(0, word).append(kTag) + before.substr(word) + after;
}

std::string with_accelerator(const std::string& message, const std::string& translation, char sign) {
  const auto found = find_accelerator(message, sign);
  if (!found) return has_doubled_signs(message, sign) ? doubled(translation, sign) : translation;
  if (translation == without_accelerator(message, sign)) return message;
  std::string text = translation;
  size_t tag = text.find(kTag);
  if (tag == std::string::npos) {
    tag = 0;
  } else {
    text.erase(tag, kTag.size());
  }
  const std::vector<size_t> words = words_for_keys(text);
  if (!words.empty()) {
    const auto next = std::lower_bound(words.begin(), words.end(), tag);
    const size_t word = next == words.end() ? words.back() : *next;
    return doubled(text.substr(0, word), sign) + sign + doubled(text.substr(word), sign);
  }
  text = doubled(text, sign);
  size_t end = text.find_last_not_of(".: ") + 1;
  constexpr std::string_view kEllipsis = "…";
  if (end >= kEllipsis.size() && text.compare(end - kEllipsis.size(), kEllipsis.size(), kEllipsis) == 0)
    end -= kEllipsis.size();
  std::string key;
  icu::UnicodeString(u_toupper(character_with(message, found->sign + 1))).toUTF8String(key);
  return text.insert(end, std::string("(") + sign + key + ")");
}

}  // namespace v0
}  // namespace transmute

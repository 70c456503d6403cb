// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/protected_spans.h>

#include <transmute/common/ascii_case.h>
#include <transmute/text/characters.h>
#include <transmute/text/host_names.h>
#include <transmute/text/identifiers.h>
#include <transmute/text/sentence_characters.h>
#include <transmute/text/tag_end.h>
#include <transmute/text/written_forms.h>
#include <transmute/text/written_marks.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

using sentence_characters::is_written_without_spaces;

namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kNameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
constexpr std::string_view kHostBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
constexpr std::string_view kLocalBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+%";
constexpr std::string_view kPathBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+~@%=/";

// Longer ones are no addresses, paths, messages or names in code, so that the time is linear.
constexpr size_t kLongestToken = 4096, kLongestName = 512;

bool is_one_of(std::string_view text, size_t at, std::string_view characters) {
  return at < text.size() && characters.find(text[at]) != std::string_view::npos;
}

// The end of the run of these characters that begins at `at`.
size_t end_of(std::string_view text, size_t at, std::string_view characters) {
  return std::min(text.find_first_not_of(characters, at), text.size());
}

bool starts_with(std::string_view text, size_t at, std::string_view with) {
  return text.compare(at, with.size(), with) == 0;
}

bool is_letter_or_digit(std::string_view text, size_t at) {
  return characters::is_letter_or_digit(characters::at(text, at));
}

bool has(UChar32 c, UProperty property) {
  return c >= 0 && u_hasBinaryProperty(c, property) != 0;
}

// True if a character belongs to a word that has spaces around it.
bool is_of_word(UChar32 c) {
  const auto breaks = u_getIntPropertyValue(c, UCHAR_LINE_BREAK);
  return (u_isalnum(c) != 0 || has(c, UCHAR_GRAPHEME_EXTEND)) && breaks != U_LB_IDEOGRAPHIC &&
         breaks != U_LB_COMPLEX_CONTEXT && breaks != U_LB_CONDITIONAL_JAPANESE_STARTER;
}

// The end of a conversion of printf whose flags begin at `at`; `at` if there is none. A space is no flag here: "50 %
// of". A hyphen without a width may join two words: "50 %-Chance".
size_t conversion_end(std::string_view text, size_t at) {
  const size_t flags = end_of(text, at, "-+#0'");
  size_t end = is_one_of(text, flags, "*") ? flags + 1 : end_of(text, flags, kDigits);
  const bool may_be_hyphen = end == flags && flags > at && text[flags - 1] == '-';
  if (is_one_of(text, end, ".")) end = is_one_of(text, end + 1, "*") ? end + 2 : end_of(text, end + 1, kDigits);
  for (const std::string_view size : {"I64", "I32", "hh", "ll", "h", "l", "q", "j", "z", "t", "L"})
    if (starts_with(text, end, size) && is_one_of(text, end + size.size(), kLetters)) {
      end += size.size();
      break;
    }
  if (may_be_hyphen && is_letter_or_digit(text, end + 1)) return at;
  return is_one_of(text, end, "diouxXeEfFgGaAcCsSpn@") ? end + 1 : at;
}

// %(name)s and %(name)r of Python, %<name>s and %<name>b of Ruby.
size_t named_conversion_end(std::string_view text, size_t at) {
  const char closing = text[at] == '(' ? ')' : '>';
  const size_t end = end_of(text, at + 1, kNameBytes);
  if (end == at + 1 || end >= text.size() || text[end] != closing) return at;
  const size_t conversion = conversion_end(text, end + 1);
  if (conversion > end + 1) return conversion;
  return is_one_of(text, end + 1, "rbB") && !is_letter_or_digit(text, end + 2) ? end + 2 : at;
}

// %s of printf, %1 of Qt, %B of strftime, %NAME and %name% of others; no percentage: 100%ig.
size_t percent_length(std::string_view text, size_t at, size_t free) {
  const size_t first = at + 1;
  if (is_one_of(text, first, "%")) return 2;
  if (at > free && is_one_of(text, at - 1, kDigits))
    return is_one_of(text, first, "sdiu") && !is_letter_or_digit(text, first + 1) ? 2 : 0;
  if (is_one_of(text, first, "(<")) {
    const size_t end = named_conversion_end(text, first);
    return end == first ? 0 : end - at;
  }
  if (is_one_of(text, first, kLetters)) {
    const size_t word = end_of(text, first, kNameBytes);
    const bool is_name =
        word == first + 1 || end_of(text, first, kUpper) == word || (end_of(text, first, kLower) - first > 3);
    if (is_name) {
      const bool is_closed =
          is_one_of(text, word, "%") && !is_one_of(text, word + 1, "%({") && !is_letter_or_digit(text, word + 1);
      return word - at + (is_closed ? 1 : 0);
    }
  }
  const size_t digits = end_of(text, first, kDigits);
  if (digits > first && is_one_of(text, digits, "$")) {
    const size_t end = conversion_end(text, digits + 1);
    return end == digits + 1 ? 0 : end - at;
  }
  if (const size_t end = conversion_end(text, first); end > first) return end - at;
  const size_t number = is_one_of(text, first, "L") ? first + 1 : first;
  const size_t end = end_of(text, number, kDigits);
  return end > number && end - number <= 2 && text[number] != '0' ? end - at : 0;
}

// ~a, ~s, ~d and ~% of Lisp and Scheme, ~p, ~w and ~ts of Erlang; no "about": ~%d, ~5.
size_t tilde_length(std::string_view text, size_t at) {
  if (is_one_of(text, at + 1, "%")) {
    const bool ends_line = at + 2 == text.size() || is_one_of(text, at + 2, " \n~\"") ||
                           (is_one_of(text, at + 2, kLetters.substr(26)) && is_one_of(text, at + 3, kLower));
    return ends_line ? 2 : 0;
  }
  const size_t letter = is_one_of(text, at + 1, "t") ? at + 2 : at + 1;
  return is_one_of(text, letter, "aAsSdDpw") && !is_letter_or_digit(text, letter + 1) &&
                 !characters::is_letter_or_digit(characters::before(text, at))
             ? letter + 1 - at
             : 0;
}

// {count, plural, one {# file} other {# files}}
size_t icu_message_length(std::string_view text, size_t at) {
  constexpr std::array<std::string_view, 9> kTypes{"plural", "select", "selectordinal", "number", "date",
                                                   "time",   "choice", "spellout",      "ordinal"};
  const auto after_space = [&](size_t from) { return end_of(text, from, " "); };
  const size_t name = after_space(at + 1), comma = after_space(end_of(text, name, kNameBytes));
  if (comma == name || !is_one_of(text, comma, ",")) return 0;
  const size_t type = after_space(comma + 1), type_end = end_of(text, type, kLetters);
  if (std::find(kTypes.begin(), kTypes.end(), text.substr(type, type_end - type)) == kTypes.end()) return 0;
  const size_t end = closing_brace(text.substr(0, at + kLongestToken), at);
  return end == std::string_view::npos ? 0 : end - at;
}

// "{ name }" and "{ user.name }", as ICU allows.
size_t spaced_name_length(std::string_view text, size_t at) {
  constexpr std::string_view kBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
  const size_t name = end_of(text, at + 1, " "), name_end = end_of(text, name, kBytes);
  const size_t end = end_of(text, name_end, " ");
  return is_one_of(text, name, kNameBytes) && text[name_end - 1] != '.' && is_one_of(text, end, "}") ? end + 1 - at : 0;
}

// {% if user %} and <%= name %> of templates.
size_t command_length(std::string_view text, size_t at) {
  return is_one_of(text, at + 1, "%") ? command_end(text, at) - at : 0;
}

// {0}, {name}, {:.2f}, {}; more than one pair of braces may have spaces within.
size_t braces_length(std::string_view text, size_t at) {
  if (const size_t length = command_length(text, at); length > 0) return length;
  if (const size_t length = icu_message_length(text, at); length > 0) return length;
  if (const size_t length = spaced_name_length(text, at); length > 0) return length;
  constexpr std::string_view kClosing = "}}}";
  const size_t braces = end_of(text.substr(0, at + kClosing.size()), at, "{") - at;
  size_t format = end_of(text, at + braces, kNameBytes);  // {0:>5} and {name:*^10} of Python and fmt
  if (is_one_of(text, format, ":"))
    format += is_one_of(text, format + 2, "<>=^") ? 3 : is_one_of(text, format + 1, "<>=^") ? 2 : 0;
  const size_t end = text.find_first_of(braces == 1 ? "{}<> \t" : "{}<", braces == 1 ? format : at + braces);
  return end != std::string_view::npos && starts_with(text, end, kClosing.substr(0, braces)) ? end + braces - at : 0;
}

// %s, %-5.2f, %*d, ~a, {}, {:.2f}: without a name or a number.
bool is_argument(std::string_view placeholder) {
  if (placeholder.size() < 2) return false;
  if (placeholder[0] == '~') return placeholder[1] != '%';
  if (placeholder[0] == '{') return placeholder[1] == '}' || placeholder[1] == ':';
  return placeholder[0] == '%' && conversion_end(placeholder, 1) == placeholder.size();
}

// ${x}, #{x}, $(X), $HOME
size_t sigil_length(std::string_view text, size_t at) {
  if (is_one_of(text, at + 1, "{")) {
    const size_t length = braces_length(text, at + 1);
    return length == 0 ? 0 : length + 1;
  }
  if (text[at] != '$') return 0;
  if (is_one_of(text, at + 1, "(")) {
    const size_t end = end_of(text, at + 2, kNameBytes);
    return end > at + 2 && is_one_of(text, end, ")") ? end + 1 - at : 0;
  }
  const size_t end = end_of(text, at + 1, kUpper);
  return end > at + 3 && !is_one_of(text, at + 1, kDigits) && !is_letter_or_digit(text, end) ? end - at : 0;
}

// [X12X], which Weblate sends in place of the placeholders and tags of every format.
size_t weblate_length(std::string_view text, size_t at) {
  const size_t end = end_of(text, at + 2, kDigits);
  return starts_with(text, at, "[X") && end > at + 2 && starts_with(text, end, "X]") ? end + 2 - at : 0;
}

// The length of three or more keys that a program asks for, [y,n,q,?], also with a conversion of printf after one of
// them; 0 if there are none.
size_t keys_length(std::string_view text, size_t at) {
  const char separator = at + 2 < text.size() ? text[at + 2] : '\0';
  if (separator != ',' && separator != '/' && separator != '|') return 0;
  size_t keys = 0, letters = 0;
  for (size_t key = at + 1; key < text.size() && U8_IS_SINGLE(text[key]) && text[key] != '['; ++keys) {
    if (is_ascii_letter(text[key])) ++letters;
    const size_t end = key + 1 < text.size() && text[key + 1] == '%' ? conversion_end(text, key + 2) : key + 1;
    if (end == text.size()) return 0;
    if (text[end] == ']') return letters > 0 && keys > 1 ? end + 1 - at : 0;
    if (text[end] != separator) return 0;
    key = end + 1;
  }
  return 0;
}

// &nbsp; or &#160;
size_t entity_length(std::string_view text, size_t at) {
  constexpr size_t kLongest = 32;
  const bool is_number = is_one_of(text, at + 1, "#");
  const size_t begin = at + (is_number ? 2 : 1);
  const size_t end = end_of(text, begin, is_number ? kNameBytes.substr(0, kNameBytes.size() - 1) : kNameBytes);
  if (end - begin < (is_number ? 1U : 2U) || end - begin > kLongest || !is_one_of(text, end, ";")) return 0;
  return is_number || is_one_of(text, begin, kLetters) ? end + 1 - at : 0;
}

// True if the sign marks a letter of a menu's entry: &File, Save _As, E&xit, but not AT&T, R&D or file_name.
bool is_accelerator(std::string_view text, size_t at) {
  constexpr size_t kLongestEntry = 40, kMostBefore = 3, kLongestWord = 100;
  if (!is_one_of(text, at + 1, kNameBytes.substr(0, kNameBytes.size() - 1))) return false;
  const auto belongs_to_word = [&](size_t byte) {  // quotation marks do, too: “_name” has no accelerator
    return !U8_IS_SINGLE(text[byte]) || is_letter_or_digit(text, byte) || text[byte] == text[at];
  };
  size_t word = at;
  while (word > 0 && at - word < kLongestWord && belongs_to_word(word - 1)) --word;
  const size_t end = end_of(text.substr(0, at + kLongestWord), at + 1, kNameBytes);
  if (text.substr(word, end - word).find(text[at]) != at - word ||
      text.substr(at + 1, end - at - 1).find(text[at]) != std::string_view::npos || is_one_of(text, end, "&"))
    return false;  // __init__, _emphasis_
  if (word == at) return is_one_of(text, at + 1, kLetters) || is_one_of(text, at + 1, kDigits);
  return text.size() <= kLongestEntry && at - word <= kMostBefore && is_one_of(text, word, kUpper) &&
         end_of(text, at + 1, kLower) == end && end - at > 2;
}

// \n and the like, as programs write them.
size_t escape_length(std::string_view text, size_t at) {
  if (is_one_of(text, at + 1, "u") && end_of(text, at + 2, "0123456789abcdefABCDEF") >= at + 6) return 6;
  return is_one_of(text, at + 1, "ntr0\"'\\") ? 2 : 0;
}

// True for white space, angle brackets, quotation marks, backticks and the punctuation of East Asia, which end an
// address.
bool ends_token(UChar32 c) {
  constexpr UChar32 kKatakanaMiddleDot = 0x30FB;  // between the words of a name
  if (c < 0x80) return c >= 0 && std::string_view(" \t\r\n<>\"`").find(static_cast<char>(c)) != std::string_view::npos;
  const auto width = u_getIntPropertyValue(c, UCHAR_EAST_ASIAN_WIDTH);
  const bool is_east_asian = width == U_EA_FULLWIDTH || width == U_EA_HALFWIDTH || width == U_EA_WIDE;
  return u_isUWhiteSpace(c) != 0 || has(c, UCHAR_QUOTATION_MARK) ||
         (is_east_asian && u_ispunct(c) != 0 && c != kKatakanaMiddleDot);
}

// The end of what may be an address or a path at `at`. Entities end it, but for that of &, which an address contains,
// and so does a closing quotation mark, but no apostrophe within a word.
size_t end_of_token(std::string_view text, size_t at) {
  constexpr std::array<std::string_view, 4> kAmpersands{"&amp;", "&#38;", "&#038;", "&#x26;"};
  for (size_t next = at; next < text.size();) {
    const auto [c, place, end] = character_at(text, next);
    next = end;
    constexpr UChar32 kApostrophe = 0x2019;
    const bool is_in_word =
        c == kApostrophe && is_of_word(characters::before(text, place)) && is_of_word(characters::at(text, next));
    if (ends_token(c) && !is_in_word) return place;
    if (c != '&' || entity_length(text, place) == 0) continue;
    // Clang 14 captures a structured binding by name only.
    const auto is_here = [&text, place = place](std::string_view entity) { return starts_with(text, place, entity); };
    if (std::none_of(kAmpersands.begin(), kAmpersands.end(), is_here)) return place;
  }
  return text.size();
}

// The length of "@name", "@fig-red-house", "@eq:sum" and the like; 0 if there is none. After a colon, there may also be
// the next word or an address: "@name:https://a.b".
size_t mention_length(std::string_view text, size_t at) {
  constexpr size_t kLeast = 3;
  constexpr std::array<std::string_view, 9> kLabels{"alg", "app", "eq", "fig", "lst", "sec", "tab", "tbl", "thm"};
  if (!is_one_of(text, at, "@")) return 0;
  size_t end = end_of(text, at + 1, kNameBytes);
  if (end - at < kLeast) return 0;
  const bool is_label = std::count(kLabels.begin(), kLabels.end(), text.substr(at + 1, end - at - 1)) > 0;
  while (is_one_of(text, end, is_label ? "-.:" : "-.") && is_one_of(text, end + 1, kNameBytes))
    end = end_of(text, end + 1, kNameBytes);
  return end - at;
}

// The length of "#topic" or "#话题#"; 0 if there is none. "#1" is a number.
size_t hashtag_length(std::string_view text, size_t at) {
  if (u_isalpha(characters::at(text, at + 1)) == 0) return 0;
  const auto is_of_name = [&](size_t byte) {
    const UChar32 c = characters::at(text, byte);
    return u_isalnum(c) != 0 || c == '_' || has(c, UCHAR_GRAPHEME_EXTEND);
  };
  size_t end = at + 1;
  while (is_of_name(end) || (is_one_of(text, end, "-") && is_of_name(end + 1))) end = characters::end(text, end);
  // Weibo's #话题# has a sign at its end, after which the text goes on without a space.
  const bool is_closed = is_one_of(text, end, "#") && is_written_without_spaces(characters::before(text, end));
  return (is_closed ? end + 1 : end) - at;
}

// Without the punctuation that ends a sentence or a parenthesis around it, and without marks of direction.
size_t without_last_punctuation(std::string_view text, size_t begin, size_t end) {
  const auto count = [&](char c) { return std::count(text.begin() + begin, text.begin() + end, c); };
  auto unopened = count(')') - count('(');
  while (end > begin) {
    const UChar32 c = characters::before(text, end);
    const bool is_mark = c >= 0x80 ? u_ispunct(c) != 0 || has(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT)
                                   : is_one_of(text, end - 1, ".,;:!?'\")]}*");
    if (!is_mark || (c == ')' && unopened-- <= 0)) break;
    end = characters::begin(text, end);
  }
  return end;
}

// The length of a mail address whose @ is at a byte; 0 if it is none.
size_t mail_length(std::string_view token, size_t at) {
  const size_t host = at + 1, end = without_last_punctuation(token, host, end_of(token, host, kHostBytes));
  const size_t dot = token.substr(0, end).rfind('.');
  if (dot == std::string_view::npos || dot <= host || end - dot < 3 || token[host] == '.') return 0;
  return end_of(token.substr(0, end), dot + 1, kLetters) == end ? end : 0;
}

size_t address_length(std::string_view text, size_t at, size_t token_end) {
  const std::string_view token = text.substr(at, token_end - at);
  const size_t scheme = is_one_of(token, 0, kLetters) ? end_of(token, 0, kLocalBytes) : 0;  // git+ssh, s3
  const bool has_scheme = starts_with(token, scheme, "://") && scheme > 1 && token.size() > scheme + 3;
  const std::string beginning = lower_case(std::string(token.substr(0, 7)));
  if (has_scheme || starts_with(beginning, 0, "www.") || starts_with(beginning, 0, "mailto:")) {
    size_t end = token.size();
    // Among words without spaces, those after the address do not belong to it: "请访问https://example.com了解更多".
    if (is_written_without_spaces(characters::before(text, at)))
      for (end = 0; end < token.size() && !is_written_without_spaces(characters::at(token, end));)
        end = characters::end(token, end);
    return without_last_punctuation(token, 0, end);
  }
  size_t local = end_of(token, 0, kLocalBytes);
  while (characters::at(token, local) >= 0x80 && is_of_word(characters::at(token, local)))
    local = end_of(token, characters::end(token, local), kLocalBytes);
  if (is_one_of(token, local, "@")) return mail_length(token, local);
  const size_t end = host_name_end(text, at) - at;
  const bool is_in_name = is_one_of(token, end, "_") && is_letter_or_digit(token, end + 1);  // act.sa_handler
  if (end == 0 || is_in_name || is_of_word(characters::at(token, end))) return 0;
  return is_one_of(token, end, "/:") ? without_last_punctuation(token, 0, token.size()) : end;
}

// True if a name ends in an extension such as that of "a.txt", in letters of one case.
bool has_extension(std::string_view name) {
  constexpr size_t kLongest = 5;
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  const std::string_view extension = name.substr(dot + 1);
  return is_one_of(extension, 0, kLetters) && extension.size() <= kLongest &&
         (end_of(extension, 0, "abcdefghijklmnopqrstuvwxyz0123456789") == extension.size() ||
          end_of(extension, 0, kUpper) == extension.size());
}

bool begins_windows_path(std::string_view text, size_t at) {
  const bool has_drive = is_one_of(text, at, kLetters) && starts_with(text, at + 1, ":\\");
  return has_drive || (starts_with(text, at, "\\\\") && is_one_of(text, at + 2, kLetters));
}

// The end of a path whose first word ends at `end`, without the words after it: "C:\Program Files\a.txt and". A word
// belongs to it if a later one has a backslash, or if it has the extension of the file.
size_t end_of_windows_path(std::string_view text, size_t at, size_t end) {
  constexpr size_t kLongest = 260, kMostWords = 3, kAbbreviation = 3;  // "e.g"
  text = text.substr(0, at + std::max(kLongest, end - at) + 1);
  for (size_t words = 0, word_end = end; words < kMostWords; ++words) {
    const bool is_whole = without_last_punctuation(text, at, word_end) != word_end;
    if (is_whole || has_extension(text.substr(at, end - at)) || !is_one_of(text, word_end, " ")) break;
    const size_t word = word_end + 1;
    word_end = end_of_token(text, word);
    if (word_end == word || word_end - at > kLongest || begins_windows_path(text, word)) break;
    const std::string_view next = text.substr(word, without_last_punctuation(text, word, word_end) - word);
    const bool has_backslash = next.find('\\') != std::string_view::npos && next[0] != '\\';
    if (!has_backslash && (words > 0 || next.size() <= kAbbreviation || !has_extension(next))) continue;
    end = word_end;
    words = std::string_view::npos;  // the next one is the first again
  }
  return end;
}

// The closing quotation mark of a path that begins after an opening one; 0 if there is none.
size_t end_of_quoted_path(std::string_view text, size_t at) {
  constexpr size_t kLongest = 260;
  const auto is_mark = [](UChar32 c) { return c != '\'' && c != 0x2019 && (c == '`' || has(c, UCHAR_QUOTATION_MARK)); };
  if (!is_mark(characters::before(text, at))) return 0;
  for (size_t end = at; end < std::min(text.size(), at + kLongest); end = characters::end(text, end)) {
    if (is_mark(characters::at(text, end)))
      return without_last_punctuation(text, at, end) == end ? end : 0;  // no sentence
    if (is_one_of(text, end, "\n<>|*?,;")) break;
  }
  return 0;
}

// The length of "src\main.cpp" and the like; 0 if there is none. "one\ntwo\tthree" are words with escapes.
size_t relative_windows_path_length(std::string_view token) {
  size_t end = 0, backslashes = 0, escapes = 0;
  const auto is_of_name = [&](size_t at) {
    const UChar32 c = characters::at(token, at);
    return c < 0x80 ? is_one_of(token, at, kNameBytes) || is_one_of(token, at, "-.~@$") : is_of_word(c);
  };
  for (size_t name = 0;; name = end + 1) {
    if (!is_letter_or_digit(token, name) &&
        (name > 0 || (!starts_with(token, 0, ".\\") && !starts_with(token, 0, "..\\"))))
      return 0;
    for (end = name; is_of_name(end);) end = characters::end(token, end);
    if (name > 0) {
      ++backslashes;
      const bool may_be_escape = is_one_of(token, name, "abfnrtv0");
      if (may_be_escape && is_one_of(token, name + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) return 0;
      escapes += may_be_escape ? 1 : 0;
    }
    if (!is_one_of(token, end, "\\")) break;
  }
  end = without_last_punctuation(token, 0, end);
  const size_t last = token.substr(0, end).rfind('\\');
  if (last == std::string_view::npos) return 0;
  const bool is_file = has_extension(token.substr(last + 1, end - last - 1));
  const bool is_long = backslashes > 1 || token[0] == '.';
  return (is_long && is_file) || (escapes < backslashes && (is_long || is_file)) ? end : 0;
}

size_t path_length(std::string_view text, size_t at, size_t token_end) {
  const std::string_view token = text.substr(at, token_end - at);
  if (begins_windows_path(text, at)) {
    if (const size_t end = end_of_quoted_path(text, at); end > 0) return end - at;
    return without_last_punctuation(text, at, end_of_windows_path(text, at, token_end)) - at;
  }
  if (const size_t length = relative_windows_path_length(token); length > 0) return length;
  const size_t end = without_last_punctuation(token, 0, end_of(token, 0, kPathBytes));
  const size_t first = token.find('/'), last = token.substr(0, end).rfind('/');
  if (last == std::string_view::npos || starts_with(token, first, "//")) return 0;
  const bool has_beginning = starts_with(token, 0, "~/") || starts_with(token, 0, "./") || starts_with(token, 0, "../");
  const size_t dot = token.substr(0, end).rfind('.');
  const bool is_file = dot != std::string_view::npos && dot > last && end - dot <= 6 && end - dot > 1 &&
                       is_one_of(token, dot + 1, kLetters) && end_of(token, dot + 1, kNameBytes) == end;
  const bool has_folders = first == 0 && last > 1 && is_one_of(token, 1, kPathBytes.substr(0, kPathBytes.size() - 1));
  return end > 2 && (has_beginning || is_file || has_folders) ? end : 0;
}

// An emoji with its modifiers, or several that are joined into one.
size_t emoji_length(const std::string& text, size_t at) {
  constexpr UChar32 kEmojiStyle = 0xFE0F, kJoiner = 0x200D, kKeycap = 0x20E3, kFirstTag = 0xE0020, kLastTag = 0xE007F;
  const auto next = [&](size_t from) {
    return from < text.size() ? character_at(text, from) : Character{U_SENTINEL, from, from};
  };
  const Character first = next(at);
  const bool is_flag = has(first.code, UCHAR_REGIONAL_INDICATOR);
  if (!has(first.code, UCHAR_EMOJI_PRESENTATION) && !is_flag &&
      !(has(first.code, UCHAR_EMOJI) && next(first.end).code == kEmojiStyle &&
        (first.code > 0x39 || next(next(first.end).end).code == kKeycap)))
    return 0;
  size_t end = first.end;
  if (is_flag && has(next(end).code, UCHAR_REGIONAL_INDICATOR)) end = next(end).end;
  while (true) {
    const auto [c, begin, after] = next(end);
    if (c == kJoiner && has(next(after).code, UCHAR_EXTENDED_PICTOGRAPHIC)) {
      end = next(after).end;
    } else if (c == kEmojiStyle || c == kKeycap || has(c, UCHAR_EMOJI_MODIFIER) || (c >= kFirstTag && c <= kLastTag)) {
      end = after;
    } else {
      return end - at;
    }
  }
}

// The length of a blank of a form or of a line of dots or dashes; 0 if there is none.
size_t fill_length(std::string_view text, size_t at) {
  const size_t length = end_of(text, at, text.substr(at, 1)) - at;
  const size_t least = text[at] == '_' ? 3 : text[at] == '.' ? 5 : 4;
  return length < least ? 0 : length;
}

// The length of the ellipsis that ends a text of one word, as "Open..." in a menu does, from which models make up
// sentences; 0 if there is none.
size_t label_ellipsis_length(std::string_view text, size_t at) {
  constexpr size_t kLongest = 100;
  const size_t length = starts_with(text, at, "...") ? 3
                        : starts_with(text, at, "…") ? std::string_view("…").size()
                                                     : 0;
  if (length == 0 || at + length != text.size() || at > kLongest) return 0;
  bool has_word = false;
  for (size_t byte = 0; byte < at; byte = characters::end(text, byte)) {
    const bool is_letter = is_of_word(characters::at(text, byte));
    if (!is_letter && !is_one_of(text, byte, "-'&_")) return 0;
    has_word = has_word || is_letter;
  }
  return has_word ? length : 0;
}

// The length of :heart: and the like; 0 if there is none.
size_t emoji_name_length(std::string_view text, size_t at) {
  const size_t end = end_of(text, at + 1, "abcdefghijklmnopqrstuvwxyz0123456789_+-");
  const bool has_letter = end_of(text, at + 1, "0123456789_+-") < end || end == at + 3;  // :+1:
  if (!has_letter || !is_one_of(text, end, ":") || characters::is_letter_or_digit(characters::before(text, at)))
    return 0;
  return is_letter_or_digit(text, end + 1) ? 0 : end + 1 - at;
}

// The length of ":user", as Laravel and vim write it; 0 if there is none. A word or a closing quotation mark has a
// colon of a sentence after it.
size_t colon_name_length(std::string_view text, size_t at) {
  constexpr size_t kShortest = 3;
  const auto follows_space = [&](size_t byte) { return byte == 0 || is_one_of(text, byte - 1, " \t\r\n("); };
  if (!follows_space(at) && !(is_one_of(text, at - 1, "\"'") && follows_space(at - 1))) return 0;
  const size_t end = end_of(text, at + 1, "abcdefghijklmnopqrstuvwxyz_");
  return end - at < kShortest || is_letter_or_digit(text, end) || is_one_of(text, end, ":") ? 0 : end - at;
}

// The length of marks in quotation marks, as in: names that begin with ".", the sign “<=”; 0 if there are none.
size_t quoted_marks_length(std::string_view text, size_t at) {
  constexpr size_t kMostMarks = 4;
  constexpr std::u32string_view kOpening = U"\"'“‘„", kClosing = U"\"'”’“";
  const size_t pair = kOpening.find(static_cast<char32_t>(characters::at(text, at)));
  if (pair == std::u32string_view::npos || (at > 0 && !is_one_of(text, at - 1, " \t\r\n([/"))) return 0;
  const size_t begin = characters::end(text, at);
  const bool is_placeholder = (is_one_of(text, begin, "%") && percent_length(text, begin, begin) > 0) ||
                              (is_one_of(text, begin, "{") && braces_length(text, begin) > 0);
  if (is_placeholder) return 0;
  size_t end = begin;
  for (size_t marks = 0;; ++marks, end = characters::end(text, end)) {
    const UChar32 c = characters::at(text, end);
    if (marks > 0 && c == static_cast<UChar32>(kClosing[pair])) break;
    const bool is_mark = (u_ispunct(c) != 0 || U_GET_GC_MASK(c) & U_GC_S_MASK) && !has(c, UCHAR_QUOTATION_MARK);
    if (marks == kMostMarks || !is_mark || c == '`') return 0;
  }
  end = characters::end(text, end);
  const UChar32 next = characters::at(text, end);
  return is_of_word(next) || has(next, UCHAR_QUOTATION_MARK) ? 0 : end - at;
}

// The end of the parts of a pattern of times that may be left out: "[:ss[.uuuuuu]][TZ]"; `at` if there are none.
size_t end_of_optional_fields(std::string_view text, size_t at) {
  constexpr size_t kLongest = 64;
  if (!is_one_of(text, at, "[")) return at;
  text = text.substr(0, at + kLongest);
  const size_t last = text.substr(0, end_of(text, at, "yYMDdHhmsSuTZ+-:.|[]")).rfind(']');
  if (last == std::string_view::npos || last < at) return at;
  const std::string_view fields = text.substr(at, last + 1 - at);
  return std::count(fields.begin(), fields.end(), '[') == std::count(fields.begin(), fields.end(), ']') ? last + 1 : at;
}

// The length of YYYY-MM-DD, HH:mm and the like, whose fields are two to four of a letter; 0 if there is none.
size_t date_pattern_length(std::string_view text, size_t at) {
  constexpr std::string_view kFields = "yYMDdHhmsS";
  constexpr size_t kLeast = 2, kMost = 4;
  size_t fields = 0, end = at;
  for (size_t field = at; is_one_of(text, field, kFields); ++field) {
    end = end_of(text.substr(0, field + kMost + 1), field, text.substr(field, 1));
    if (end - field < kLeast || end - field > kMost) return 0;
    ++fields;
    field = end;
    if (!is_one_of(text, field, "-/:.")) break;
  }
  if (fields > 1) end = end_of_optional_fields(text, end);
  // DD/MM/AAAA is a pattern of another language, which is translated.
  const size_t next = is_one_of(text, end, "-/:.") ? end + 1 : end;
  return fields > 1 && !is_letter_or_digit(text, next) ? end - at : 0;
}

// True if a parenthesis is open, as far as the text shortly before `at` shows.
bool is_in_parenthesis(std::string_view text, size_t at) {
  constexpr size_t kMostBytes = 256;
  const std::string_view before = text.substr(0, at).substr(at - std::min(at, kMostBytes));
  const size_t last = before.find_last_of("()");
  return last != std::string_view::npos && before[last] == '(';
}

// The length of :-), >:( and the like; 0 if there is none. "8)" is none, but a list's marker, and neither is the end of
// "(separated by ;)".
size_t emoticon_length(std::string_view text, size_t at) {
  if (starts_with(text, at, ">:")) {
    const size_t length = emoticon_length(text, at + 1);
    return length == 0 ? 0 : length + 1;
  }
  if (!is_one_of(text, at, ":;=8")) return 0;
  const bool has_nose = is_one_of(text, at + 1, "-'^");
  const size_t mouth = has_nose ? at + 2 : at + 1;
  const std::string_view mouths = has_nose || text[at] == ':' ? ")(DPpOo/*" : text[at] == '8' ? "" : ")(DPp";
  if (!is_one_of(text, mouth, mouths) && !(has_nose && is_one_of(text, mouth, "3"))) return 0;
  const size_t end = is_one_of(text, mouth, ")(") ? end_of(text, mouth, text.substr(mouth, 1)) : mouth + 1;
  if (text[mouth] == ')' && end == mouth + 1 && is_in_parenthesis(text, at)) return 0;
  const UChar32 next = characters::at(text, end);
  const bool is_at_end = next < 0x80 ? next < 0 || is_one_of(text, end, " \t\r\n.,!?)]\"'<") : !is_of_word(next);
  return is_at_end ? end - at : 0;
}

// The length of a raised number that belongs to no word, as that of a note after a full stop; 0 if there is none.
size_t note_length(std::string_view text, size_t at) {
  constexpr std::string_view kOfWords = ")]}|";  // see WrittenForms
  const auto is_raised_number = [](UChar32 c) {
    return is_raised(c) && u_charType(c) == U_OTHER_NUMBER &&
           u_getIntPropertyValue(c, UCHAR_DECOMPOSITION_TYPE) != U_DT_FRACTION;
  };
  const UChar32 before = characters::before(text, at);
  if (characters::is_letter_or_digit(before) || is_raised(before) || (at > 0 && is_one_of(text, at - 1, kOfWords)))
    return 0;
  size_t end = at;
  while (is_raised_number(characters::at(text, end))) end = characters::end(text, end);
  return characters::is_letter_or_digit(characters::at(text, end)) ? 0 : end - at;
}

// The length of the number of a heading: "B.2.3. Scope", but not of "3.10. ", which may be a date; 0 if there is none.
size_t heading_number_length(std::string_view text) {
  const size_t length = sentence_characters::outline_number_length(text);
  return std::count(text.begin(), text.begin() + length, '.') > 2 ? length : 0;
}

// The length of a list's marker or the like, without the space after it; 0 if there is none. "1." is none, because it
// is an ordinal number in many languages.
size_t marker_length(const std::string& text, size_t begin) {
  constexpr size_t kMostDigits = 3;
  const std::string_view rest = std::string_view(text).substr(begin);
  if (const size_t length = heading_number_length(rest); length > 0)
    return rest.find_first_not_of(" \t", length) < rest.size() ? length : 0;
  size_t end = begin;
  const size_t inner = is_one_of(text, begin, "(") ? begin + 1 : begin;
  const size_t digits = end_of(text, inner, kDigits) - inner;
  if (digits > 0 || is_one_of(text, inner, kLetters)) {
    end = inner + std::max<size_t>(digits, 1);
    if (digits > kMostDigits || !is_one_of(text, end, ")")) return 0;
    ++end;
  } else if (is_one_of(text, begin, "#")) {
    end = end_of(text, begin, "#");
  } else {
    for (const std::string_view mark : {"-", "*", "+", ">", "–", "—", "•", "·", "‣", "◦", "▪", "●", "■", "►", "✓"})
      if (starts_with(text, begin, mark)) end = begin + mark.size();
  }
  const size_t next = end_of(text, end, " \t");
  return next > end && next < text.size() ? end - begin : 0;
}

// Finds the spans from the left to the right.
class SpanFinder {
 public:
  explicit SpanFinder(const std::string& text) : text_(text), identifiers_(text) {}

  std::vector<ProtectedSpan> find(bool may_have_marker) {
    const size_t start = may_have_marker ? end_of(text_, 0, " \t") : std::string::npos;
    for (size_t at = 0; at < text_.size();) {
      const ProtectedSpan span = span_at(at, at == start);
      at += std::max<size_t>(span.length, 1);
      if (span.length == 0) continue;
      spans_.push_back(span);
      if (span.kind == ProtectedKind::placeholder &&
          is_argument(std::string_view(text_).substr(span.begin, span.length)))
        spans_.back().kind = ProtectedKind::argument;
      free_ = at;
    }
    return std::move(spans_);
  }

 private:
  ProtectedSpan span_at(size_t at, bool is_start) {
    const auto found = [&](size_t length, ProtectedKind kind) { return ProtectedSpan{at, length, kind}; };
    // Nothing begins within a word. Most bytes are of words, and this is the fastest answer.
    if (at > free_ && is_ascii_letter(text_[at]) && is_ascii_letter(text_[at - 1]))
      return found(0, ProtectedKind::identifier);
    if (begins_token(at)) {
      if (at >= token_end_) token_end_ = end_of_token(text_, at);
      if (token_end_ - at <= kLongestToken) {
        if (const size_t length = address_length(text_, at, token_end_); length > 0)
          return found(length, ProtectedKind::address);
        if (const size_t length = path_length(text_, at, token_end_); length > 0)
          return found(length, ProtectedKind::path);
        if (const size_t length = mention_length(text_, at); length > 0) return found(length, ProtectedKind::address);
        if (const size_t end = code_name_end(std::string_view(text_).substr(0, at + kLongestName), at);
            end > at && !is_of_word(characters::at(text_, end)) && !is_one_of(text_, end, ">"))
          return found(end - at, ProtectedKind::identifier);
        if (const size_t end = option_end(text_, at); end > at && !is_of_word(characters::at(text_, end)))
          return found(end - at, ProtectedKind::identifier);
      }
    }
    if (may_begin_identifier(at))
      if (const size_t end = identifiers_.end_of(at); end > at && !is_of_word(characters::at(text_, end)))
        return found(end - at, ProtectedKind::identifier);
    if (begins_token(at))
      if (const size_t length = date_pattern_length(text_, at); length > 0)
        return found(length, ProtectedKind::identifier);
    if (is_start)
      if (const size_t length = marker_length(text_, at); length > 0) return found(length, ProtectedKind::marker);
    if (may_begin_emoticon(at))
      if (const size_t length = emoticon_length(text_, at); length > 0) return found(length, ProtectedKind::emoji);
    switch (text_[at]) {
      case '%':
        if (const size_t length = percent_length(text_, at, free_); length > 0)
          return found(is_percentage(at, length) ? 0 : length, ProtectedKind::placeholder);
        return found(sigil_length(text_, at), ProtectedKind::placeholder);
      case '#':
        if (const size_t length = begins_token(at) ? hashtag_length(text_, at) : 0;
            length > 0 && IdentifierFinder(text_).end_of(at + 1) == at + 1)
          return found(length, ProtectedKind::address);
        [[fallthrough]];
      case '$':
        return found(sigil_length(text_, at), ProtectedKind::placeholder);
      case '{':
        return found(braces_length(text_, at), ProtectedKind::placeholder);
      case '~':
        return found(tilde_length(text_, at), ProtectedKind::placeholder);
      case '[':
        if (const size_t length = keys_length(text_, at); length > 0) return found(length, ProtectedKind::emoji);
        return found(weblate_length(text_, at), ProtectedKind::placeholder);
      case '<':
        return found(command_length(text_, at), ProtectedKind::placeholder);
      case '\\':
        return found(escape_length(text_, at), ProtectedKind::placeholder);
      case '&':
        if (const size_t length = entity_length(text_, at); length > 0)
          return found(length, ProtectedKind::placeholder);
        [[fallthrough]];
      case '_':
        if (const size_t length = fill_length(text_, at); length > 0) return found(length, ProtectedKind::placeholder);
        return found(is_accelerator(text_, at) ? 1 : 0, ProtectedKind::accelerator);
      case '.':
        if (const size_t length = label_ellipsis_length(text_, at); length > 0)
          return found(length, ProtectedKind::emoji);
        return found(fill_length(text_, at), ProtectedKind::placeholder);
      case '-':
      case '=':
        return found(fill_length(text_, at), ProtectedKind::emoji);
      case '"':
      case '\'':
        return found(quoted_marks_length(text_, at), ProtectedKind::identifier);
      case '`':
      case ':':
        if (const UChar32 before = characters::before(text_, at); before != ':' && !is_of_word(before))
          if (const size_t end = quoted_code_end(text_, at); end > at)
            return found(end - at, ProtectedKind::identifier);
        if (text_[at] == '`') return found(0, ProtectedKind::emoji);
        // "::" announces code in reStructuredText.
        if (at + 1 == text_.size() && at > 0 && text_[at - 1] == ':') return found(1, ProtectedKind::emoji);
        if (const size_t length = colon_name_length(text_, at); length > 0)
          return found(length, ProtectedKind::placeholder);
        return found(emoji_name_length(text_, at), ProtectedKind::emoji);
      default:
        break;
    }
    if (U8_IS_SINGLE(text_[at])) return found(emoji_length(text_, at), ProtectedKind::emoji);
    const UChar32 c = characters::at(text_, at);
    if (has(c, UCHAR_BIDI_CONTROL)) return found(characters::end(text_, at) - at, ProtectedKind::invisible);
    if (const size_t length = quoted_marks_length(text_, at); length > 0)
      return found(length, ProtectedKind::identifier);
    if (const size_t length = label_ellipsis_length(text_, at); length > 0) return found(length, ProtectedKind::emoji);
    if (const size_t length = note_length(text_, at); length > 0) return found(length, ProtectedKind::emoji);
    return found(emoji_length(text_, at), ProtectedKind::emoji);
  }

  // True for "%50", as Turkish and Basque write it. Qt's %10 comes with %1, and the %20 of an address within a word.
  bool is_percentage(size_t at, size_t length) {
    constexpr size_t kLength = 3;
    if (length != kLength || end_of(text_, at + 1, kDigits) != at + kLength ||
        is_of_word(characters::at(text_, at + kLength)))
      return false;
    if (!has_first_argument_) {
      size_t first = text_.find("%1");
      while (first != std::string::npos && is_one_of(text_, first + 2, kDigits)) first = text_.find("%1", first + 2);
      has_first_argument_ = first != std::string::npos || text_.find("%L1") != std::string::npos;
    }
    return !*has_first_argument_;
  }

  // True if an address or a path may begin here: after white space, a mark that begins none itself, or a character of a
  // script without spaces.
  bool begins_token(size_t at) const {
    if (at == free_ || is_one_of(text_, at - 1, " \t\r\n<>\"'([{,;:=|!?*`")) return true;
    if (U8_IS_SINGLE(text_[at - 1]) || !U8_IS_SINGLE(text_[at])) return false;
    const UChar32 before = characters::before(text_, at);
    return before >= 0 && !is_of_word(before);
  }

  bool may_begin_identifier(size_t at) const { return begins_token(at) || is_one_of(text_, at - 1, "#/-_+"); }

  // True after a space, the end of a sentence, or a character of a script without spaces: "(;)" is no emoticon.
  bool may_begin_emoticon(size_t at) const {
    if (at == free_ || is_one_of(text_, at - 1, " \t\r\n.!?")) return true;
    return !U8_IS_SINGLE(text_[at - 1]) && !is_of_word(characters::before(text_, at));
  }

  const std::string& text_;
  IdentifierFinder identifiers_;
  std::vector<ProtectedSpan> spans_;
  std::optional<bool> has_first_argument_;  // whether %1 is in the text
  size_t free_ = 0;                         // after the last span
  size_t token_end_ = 0;                    // of the token at hand
};

// Takes the marks after a letter together with it where there is a character for the whole, which vocabularies read.
void compose(const std::string& text, Character& letter) {
  constexpr int kMostMarks = 4;  // of a letter, so that a long run of them takes linear time
  size_t last = letter.end;
  for (int marks = 0; marks < kMostMarks && has(characters::at(text, last), UCHAR_GRAPHEME_EXTEND); ++marks)
    last = characters::end(text, last);
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = icu::Normalizer2::getNFCInstance(error);
  if (U_FAILURE(error)) return;
  const icu::UnicodeString whole =
      normalizer->normalize(icu::UnicodeString::fromUTF8(text.substr(letter.begin, last - letter.begin)), error);
  if (U_FAILURE(error) || whole.countChar32() != 1) return;
  letter.code = whole.char32At(0);
  letter.end = last;
}

// Adds the characters that are unknown, with the words that they belong to.
std::vector<ProtectedSpan> with_unknown(const std::string& text, const std::vector<ProtectedSpan>& spans,
                                        const IsUnknown& is_unknown) {
  std::vector<ProtectedSpan> all;
  auto next = spans.begin();
  const auto is_lacked = [&](UChar32 c) {
    if (c < 0 || !is_unknown(c)) return false;
    const UChar32 lower = u_tolower(c);
    return lower == c || is_unknown(lower);
  };
  const auto can_read_in_ascii = [&](UChar32 c) {
    const std::string ascii = ascii_of(c);
    return !ascii.empty() && std::none_of(ascii.begin(), ascii.end(), is_unknown);
  };
  size_t word = 0;  // where the word begins that `at` may belong to; a run of unknown marks is one, too
  bool is_word_unknown = false, is_of_marks = false;
  size_t before_word = 0;  // number of spans
  const auto begin_word = [&](size_t at) {
    word = at;
    is_word_unknown = false;
    before_word = all.size();
  };
  const auto end_word = [&](size_t end) {
    if (is_word_unknown) {  // and keeps its invisible characters
      all.resize(before_word);
      all.push_back({word, end - word, ProtectedKind::unknown});
    }
    begin_word(end);
  };
  for (size_t at = 0; at < text.size();) {
    if (next != spans.end() && at == next->begin) {
      end_word(at);
      all.push_back(*next);
      at += next++->length;
      begin_word(at);
      continue;
    }
    Character character = character_at(text, at);
    if (has(characters::at(text, character.end), UCHAR_GRAPHEME_EXTEND)) compose(text, character);
    const auto [c, begin, end] = character;
    at = end;
    if (has(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT)) {
      if (is_unknown(c)) all.push_back({begin, end - begin, ProtectedKind::invisible});
      continue;
    }
    const bool unknown = is_lacked(c);
    if (unknown && can_read_in_ascii(c)) {
      end_word(begin);
      all.push_back({begin, end - begin, ProtectedKind::ascii});
      begin_word(at);
      continue;
    }
    const bool is_mark = !is_of_word(c) && !is_raised(c);
    const bool joins = is_mark == is_of_marks || has(c, UCHAR_GRAPHEME_EXTEND);
    if (word == begin || !joins || (is_mark && !unknown)) {
      end_word(begin);
      is_of_marks = is_mark;
    }
    is_word_unknown = is_word_unknown || unknown;
    if (is_mark && !unknown) begin_word(at);
  }
  end_word(text.size());
  return all;
}

}  // namespace

std::vector<ProtectedSpan> protected_spans(const std::string& text, const IsUnknown& is_unknown, bool may_have_marker) {
  std::vector<ProtectedSpan> spans = SpanFinder(text).find(may_have_marker);
  return is_unknown ? with_unknown(text, spans, is_unknown) : spans;
}

}  // namespace v0
}  // namespace transmute

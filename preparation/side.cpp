// SPDX-License-Identifier: Apache-2.0
#include <transmute/preparation/side.h>

#include <transmute/common/ascii_case.h>
#include <transmute/common/text_file.h>
#include <transmute/common/utf8.h>
#include <transmute/documents/html_references.h>
#include <transmute/text/sentence_characters.h>
#include <unicode/uchar.h>
#include <unicode/uloc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_set>

namespace transmute {
inline namespace v0 {

namespace {

bool is_letter_or_mark(UChar32 c) {
  if (c < 0x80) return is_ascii_letter(static_cast<char>(c));
  return (U_GET_GC_MASK(c) & (U_GC_L_MASK | U_GC_M_MASK)) != 0;
}

UScriptCode script_of(UChar32 c) {
  if (c < 0x80) return USCRIPT_LATIN;
  UErrorCode error = U_ZERO_ERROR;
  return uscript_getScript(c, &error);
}

// True if texts that differ in this character alone say the same.
bool is_negligible(UChar32 c) {
  if (c < 0x80)
    return c <= ' ' || std::string_view(".,!:;\"'`-()").find(static_cast<char>(c)) != std::string_view::npos;
  constexpr uint32_t kKinds =
      U_GC_Z_MASK | U_GC_C_MASK | U_GC_PD_MASK | U_GC_PS_MASK | U_GC_PE_MASK | U_GC_PI_MASK | U_GC_PF_MASK;
  constexpr std::array<UChar32, 9> kMarks{0xA1, 0xB7, 0x2026, 0x3001, 0x3002, 0xFF01, 0xFF0C, 0xFF1A, 0xFF1B};
  return (U_GET_GC_MASK(c) & kKinds) != 0 || std::find(kMarks.begin(), kMarks.end(), c) != kMarks.end();
}

// True for the names of HTML's elements that occur within sentences and around them.
bool is_html_name(std::string_view name) {
  constexpr std::string_view kNames =
      " a abbr b big blockquote body br center code del div em font form h1 h2 h3 h4 h5 h6 head hr html i iframe img "
      "input ins kbd li link meta ol p pre q s samp script small span strike strong style sub sup table tbody td th "
      "thead title tr tt u ul var ";
  return kNames.find(" " + std::string(name) + " ") != std::string_view::npos;
}

// The name of the tag that begins with the '<' at `at`, with the slash of an end tag, and where it ends; an empty one
// where there is none. Of XML's tags, those with attributes and a slash count: <file> may be a word in brackets.
std::string tag_at(std::string_view text, size_t at, size_t& end) {
  const auto is_name = [&](size_t i) { return i < text.size() && is_ascii_alphanumeric(text[i]); };
  const bool is_end = at + 1 < text.size() && text[at + 1] == '/';
  const size_t begin = at + (is_end ? 2 : 1);
  size_t last = begin;
  while (is_name(last)) ++last;
  const size_t close = text.find_first_of("<>", last);
  if (last == begin || close == std::string_view::npos || text[close] != '>') return "";
  if (text[last] != '>' && text[last] != ' ' && text[last] != '/') return "";
  const std::string name = lower_case(std::string(text.substr(begin, last - begin)));
  const std::string_view attributes = text.substr(last, close - last);
  if (!is_end && !is_html_name(name) && attributes.find("=\"") == std::string_view::npos && text[close - 1] != '/')
    return "";
  end = close + 1;
  return (is_end ? "/" : "") + name;
}

}  // namespace

bool is_blank(std::string_view text) {
  return sentence_characters::all_characters(text, [](UChar32 c) {
    return u_isUWhiteSpace(c) != 0 || u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT) != 0;
  });
}

CharacterCounts count_characters(std::string_view text, const std::vector<UScriptCode>& scripts) {
  CharacterCounts counts;
  for (const Character& character : Characters(text)) {
    const UChar32 c = character.code;
    if (c == ' ' || (c >= 0x80 && u_isspace(c))) continue;
    ++counts.all;
    counts.digits += u_isdigit(c) ? 1 : 0;
    if (!is_letter_or_mark(c)) continue;
    ++counts.letters;
    if (scripts.empty()) continue;
    const UScriptCode script = script_of(c);
    if (script > USCRIPT_INHERITED && std::find(scripts.begin(), scripts.end(), script) == scripts.end())
      ++counts.foreign;
  }
  return counts;
}

size_t letters_in_common(std::string_view text, std::string_view other) {
  const auto for_each_word = [](std::string_view words, const auto& visit) {
    for (auto end = words.begin(); end != words.end();) {
      const auto begin = std::find_if(end, words.end(), is_ascii_alphanumeric);
      end = std::find_if_not(begin, words.end(), is_ascii_alphanumeric);
      if (begin != end) visit(words.substr(begin - words.begin(), end - begin));
    }
  };
  std::unordered_set<std::string_view> known;
  for_each_word(other, [&](std::string_view word) { known.insert(word); });
  size_t letters = 0;
  for_each_word(text, [&](std::string_view word) {
    if (known.count(word) > 0) letters += std::count_if(word.begin(), word.end(), is_ascii_letter);
  });
  return letters;
}

void count_scripts(std::string_view text, std::map<UScriptCode, size_t>& letters) {
  for (const Character& character : Characters(text)) {
    if (!is_letter_or_mark(character.code)) continue;
    const UScriptCode script = script_of(character.code);
    if (script > USCRIPT_INHERITED) ++letters[script];
  }
}

std::vector<UScriptCode> scripts_of_language(const std::string& language) {
  std::array<UScriptCode, 8> scripts{};
  UErrorCode error = U_ZERO_ERROR;
  const int32_t count = uscript_getCode(language.c_str(), scripts.data(), static_cast<int32_t>(scripts.size()), &error);
  if (U_FAILURE(error) || error == U_USING_DEFAULT_WARNING || count <= 0) return {};
  std::vector<UScriptCode> all(scripts.begin(), scripts.begin() + count);
  // ICU knows only one of these languages' two, unless the code names it.
  std::array<char, ULOC_LANG_CAPACITY> code{};
  std::array<char, ULOC_SCRIPT_CAPACITY> script{};
  uloc_getLanguage(language.c_str(), code.data(), code.size() - 1, &error);
  if (uloc_getScript(language.c_str(), script.data(), script.size() - 1, &error) > 0) return all;
  if (code.data() == std::string_view("sr") || code.data() == std::string_view("uz"))
    return {USCRIPT_CYRILLIC, USCRIPT_LATIN};
  return all;
}

std::string near_duplicate_key(std::string_view text) {
  std::string key;
  for (const Character& character : Characters(text)) {
    if (!is_negligible(character.code)) append_utf8(key, static_cast<uint32_t>(u_foldCase(character.code, 0)));
  }
  return key;
}

namespace {

std::vector<std::string> stems_of(std::string_view text, bool with_marks) {
  constexpr size_t kLetters = 6;
  std::vector<std::string> stems;
  size_t letters = 0;  // letters of the word that has begun
  for (const Character& character : Characters(text)) {
    const UChar32 c = character.code;
    const bool is_digit = c < 0x80 ? c >= '0' && c <= '9' : u_isdigit(c) != 0;
    if (!is_digit && !is_letter_or_mark(c)) {
      letters = 0;
      if (with_marks && u_isspace(c) == 0) append_utf8(stems.emplace_back(), static_cast<uint32_t>(c));
      continue;
    }
    const bool is_alone = sentence_characters::is_written_without_spaces(c);
    if (letters == 0 || is_alone) stems.emplace_back();
    if (letters < kLetters || is_alone) append_utf8(stems.back(), static_cast<uint32_t>(u_tolower(c)));
    letters = is_alone ? 0 : letters + 1;
  }
  return stems;
}

}  // namespace

std::vector<std::string> stems_of(std::string_view text) {
  return stems_of(text, false);
}

std::vector<std::string> stems_and_marks_of(std::string_view text) {
  return stems_of(text, true);
}

std::vector<std::string> markup_in(std::string_view text) {
  std::vector<std::string> found;
  for (size_t at = text.find_first_of("<&"); at != std::string_view::npos; at = text.find_first_of("<&", at + 1)) {
    if (text[at] == '<') {
      size_t end = at;
      if (std::string tag = tag_at(text, at, end); !tag.empty()) {
        found.push_back(std::move(tag));
        at = end - 1;
      }
    } else if (const CharacterReference reference = reference_at(text, at);
               reference.length > 0 && text[at + reference.length - 1] == ';') {
      found.emplace_back(text.substr(at, reference.length));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace v0
}  // namespace transmute

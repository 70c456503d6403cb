// SPDX-License-Identifier: Apache-2.0
#include <transmute/preparation/encoding.h>

#include <transmute/common/text_file.h>
#include <transmute/common/utf8.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace transmute {
inline namespace v0 {

namespace {

// The characters of Windows-1252 for the bytes from 0x80 on; 0: none.
constexpr std::array<UChar32, 32> kWindows1252{0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                               0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017D, 0,
                                               0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                               0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

// The byte that a character was read from; -1 if it is none of Windows-1252 and Latin-1.
int byte_of(UChar32 c) {
  if (c < 0x100) return c;
  const auto found = std::find(kWindows1252.begin(), kWindows1252.end(), c);
  return found == kWindows1252.end() ? -1 : 0x80 + static_cast<int>(found - kWindows1252.begin());
}

// The number of bytes of a character that begins with this byte, if its script is a likely origin of mojibake: Latin,
// Greek, Cyrillic, Hebrew, Arabic, or one with three bytes or four. 0: no such character begins so.
size_t length_after(int lead) {
  if ((lead >= 0xC2 && lead <= 0xC5) || (lead >= 0xCE && lead <= 0xD1) || (lead >= 0xD7 && lead <= 0xD9)) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  return lead == 0xF0 ? 4 : 0;
}

bool is_lower_ascii(std::string_view text, size_t at) {
  return at < text.size() && text[at] >= 'a' && text[at] <= 'z';
}

// True if the second character of two is also a mark that may follow a capital letter: Ã” or Ä….
bool may_be_punctuation(int byte) {
  return (byte >= 0x80 && byte <= 0x9F && byte != 0x8A && byte != 0x8E && byte != 0x9A && byte != 0x9E) || byte == 0xBB;
}

// The text that a run of characters beyond ASCII was before UTF-8 was read as Windows-1252; empty if it is none.
std::string decoded_run(std::string_view text, size_t begin, size_t end) {
  std::string bytes;
  bool is_sure = false;
  for (size_t at = begin; at < end;) {
    const size_t first = at;
    const int lead = byte_of(character_at(text, at).code);
    const size_t length = length_after(lead);
    if (length == 0) return "";
    bytes += static_cast<char>(lead);
    at = character_at(text, at).end;
    for (size_t i = 1; i < length; ++i) {
      const Character next = at < end ? character_at(text, at) : Character{0, at, at};
      const int byte = byte_of(next.code);
      if (byte < 0x80 || byte > 0xBF) return "";
      bytes += static_cast<char>(byte);
      at = next.end;
      is_sure = is_sure || length > 2 || !may_be_punctuation(byte);
    }
    is_sure = is_sure || (first > 0 && is_lower_ascii(text, first - 1)) || is_lower_ascii(text, at);
  }
  return is_sure && find_invalid_utf8(bytes) == std::string_view::npos ? bytes : "";
}

// One pass over the runs of characters beyond ASCII; true if one was mojibake.
bool decode_runs(std::string& text) {
  const auto is_ascii = [&](size_t at) { return static_cast<unsigned char>(text[at]) < 0x80; };
  bool is_changed = false;
  for (size_t at = 0; at < text.size();) {
    if (is_ascii(at)) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && !is_ascii(end)) ++end;
    const std::string decoded = decoded_run(text, at, end);
    if (!decoded.empty()) {
      text.replace(at, end - at, decoded);
      end = at + decoded.size();
      is_changed = true;
    }
    at = end;
  }
  return is_changed;
}

// The text without control characters; those that Windows-1252 has a character for become that.
std::string without_controls(const std::string& text, bool& is_changed) {
  std::string clean;
  for (const Character& character : Characters(text)) {
    const UChar32 c = character.code;
    const bool is_mark = c == 0xFEFF, is_control = c < ' ' || (c >= 0x7F && c < 0xA0);
    if ((c >= '\t' && c <= '\r') || (c >= 0x1C && c < ' ') || c == 0x2028 || c == 0x2029) {
      clean += ' ';
    } else if (!is_control && !is_mark) {
      clean.append(text, character.begin, character.end - character.begin);
    } else {
      is_changed = true;
      if (c >= 0x80 && c < 0xA0 && kWindows1252[static_cast<size_t>(c - 0x80)] != 0)
        append_utf8(clean, static_cast<uint32_t>(kWindows1252[static_cast<size_t>(c - 0x80)]));
    }
  }
  return clean;
}

void trim(std::string& text) {
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  text.erase(text.find_last_not_of(' ') + 1);
}

}  // namespace

bool mend_encoding(std::string& text) {
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7F; });
  bool is_changed = false;
  if (!is_plain) {
    constexpr int kMostTimes = 3;
    for (int times = 0; times < kMostTimes && decode_runs(text); ++times) is_changed = true;
    text = without_controls(text, is_changed);
  }
  trim(text);
  return is_changed;
}

namespace {

bool is_upper_ascii(std::string_view text, size_t at) {
  return at < text.size() && text[at] >= 'A' && text[at] <= 'Z';
}

bool has_question_mark(std::string_view text) {
  constexpr std::array<std::string_view, 3> kMarks{"?", "\uFF1F", "\u061F"};
  return std::any_of(kMarks.begin(), kMarks.end(),
                     [&](std::string_view mark) { return text.find(mark) != std::string_view::npos; });
}

// Without the marks around it.
std::string_view bare_word(std::string_view word) {
  constexpr std::string_view kMarks = ".,:;!()[]\"'";
  const size_t begin = std::min(word.find_first_not_of(kMarks), word.size());
  return word.substr(begin, word.find_last_not_of(kMarks) + 1 - begin);
}

// True if question marks stand for letters of the word: within it, as in "M?nchen" and "Gr??e", or, in no question,
// before it. Addresses and code have question marks too.
bool has_lost_letters(std::string_view word, bool is_question) {
  if (word.find_first_of("/.=&:(){}[]<>\\*|") != std::string_view::npos) return false;
  for (size_t at = word.find('?'); at != std::string_view::npos; at = word.find('?', at)) {
    const size_t first = at;
    at = std::min(word.find_first_not_of('?', at), word.size());
    if (!is_lower_ascii(word, at)) continue;
    if (first == 0 ? !is_question && is_lower_ascii(word, at + 1)
                   : is_lower_ascii(word, first - 1) || (first == 1 && is_upper_ascii(word, 0)))
      return true;
  }
  return false;
}

// True if the text has a character of mojibake that could not be decoded, because the next one was lost: a capital
// letter after a small one, or before a question mark that asks nothing.
bool has_cut_mojibake(std::string_view text, bool is_question) {
  for (const std::string_view lead : {"\u00C3", "\u00C2", "\u00E2\u20AC"})
    for (size_t at = text.find(lead); at != std::string_view::npos; at = text.find(lead, at + 1)) {
      if (at > 0 && is_lower_ascii(text, at - 1)) return true;
      const size_t after = at + lead.size();
      if (after == text.size() || text[after] != '?') continue;
      if (!is_question || is_lower_ascii(text, after + 1)) return true;
    }
  return false;
}

}  // namespace

bool has_lost_characters(std::string_view text, std::string_view other) {
  if (text.find("\uFFFD") != std::string_view::npos) return true;
  const bool is_question = has_question_mark(other);
  if (has_cut_mojibake(text, is_question)) return true;
  for (size_t at = text.find('?'); at != std::string_view::npos; at = text.find('?', at)) {
    const size_t space = text.rfind(' ', at), begin = space == std::string_view::npos ? 0 : space + 1;
    at = std::min(text.find(' ', at), text.size());
    if (has_lost_letters(bare_word(text.substr(begin, at - begin)), is_question)) return true;
  }
  return false;
}

}  // namespace v0
}  // namespace transmute

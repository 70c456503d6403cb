// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/utf8.h>
#include <transmute/text/characters.h>
#include <transmute/text/letter_case.h>
#include <transmute/text/sentence_characters.h>

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/edits.h>
#include <unicode/locid.h>
#include <unicode/stringpiece.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

namespace transmute {
inline namespace v0 {

namespace {

constexpr std::array<std::string_view, 19> kSmallWords{"a",   "an",   "and", "as", "at",  "but", "by",
                                                       "for", "from", "in",  "of", "on",  "or",  "the",
                                                       "to",  "up",   "via", "vs", "with"};

bool is_capital(UChar32 c) {
  return u_isupper(c) || u_istitle(c);
}

// Letters of scripts without case count as small, so that one acronym does not make a text of theirs all capitals.
bool is_small(UChar32 c) {
  if (u_islower(c)) return u_toupper(c) != c;
  return u_charType(c) == U_OTHER_LETTER && !u_hasBinaryProperty(c, UCHAR_CASED);
}

// The letters of one word, which white space ends.
struct WordLetters {
  size_t capitals = 0, small = 0;
  bool begins_with_capital = false;
  size_t begin = 0, end = 0;  // bytes, from the first letter to the last

  size_t count() const { return capitals + small; }
  void add(UChar32 c, size_t from, size_t to) {
    if (!is_capital(c) && !is_small(c)) return;
    if (count() == 0) {
      begins_with_capital = is_capital(c);
      begin = from;
    }
    end = to;
    ++(is_capital(c) ? capitals : small);
  }
};

std::vector<WordLetters> words_with_letters(const std::string& text) {
  std::vector<WordLetters> words;
  WordLetters word;
  const auto finish = [&] {
    if (word.count() > 0) words.push_back(word);
    word = {};
  };
  for (const auto& [c, begin, end] : Characters(text)) u_isUWhiteSpace(c) ? finish() : word.add(c, begin, end);
  finish();
  return words;
}

bool is_title(const std::string& text, const std::vector<WordLetters>& words) {
  const auto begins_with_capital = [](const WordLetters& word) { return word.begins_with_capital; };
  const auto number = static_cast<size_t>(std::count_if(words.begin(), words.end(), begins_with_capital));
  const auto is_allowed = [&](const WordLetters& word) {
    const std::string_view letters = std::string_view(text).substr(word.begin, word.end - word.begin);
    return word.begins_with_capital || is_small_word(letters);
  };
  if (number < kLeastWords || !words.front().begins_with_capital) return false;
  return number == words.size() ||
         (number > kLeastWords && 2 * number > words.size() && std::all_of(words.begin(), words.end(), is_allowed));
}

// In the Turkish alphabet but in few others, with their share of the letters of Turkish text in mind: about 8%.
bool looks_turkish(const std::string& text) {
  constexpr size_t kOneIn = 40;
  size_t letters = 0, turkish = 0;
  return sentence_characters::all_characters(
             text,
             [&](UChar32 c) {
               letters += u_isalpha(c) ? 1 : 0;
               turkish += c == 0x0131 || c == 0x0130 || c == 0x011f || c == 0x011e ? 1 : 0;  // ı İ ğ Ğ
               return c != 'q' && c != 'w' && c != 'x' && c != 'Q' && c != 'W' && c != 'X';
             }) &&
         turkish > 0 && turkish * kOneIn >= letters;
}

bool has_greek(const std::string& text) {
  return !sentence_characters::all_characters(
      text, [](UChar32 c) { return !uscript_hasScript(c, USCRIPT_GREEK) || !u_isalpha(c); });
}

// Bytes within a changed piece have no place of their own: they keep their distance to its beginning.
void append_places(std::vector<size_t>& places, const icu::Edits& edits) {
  places.clear();
  UErrorCode error = U_ZERO_ERROR;
  for (auto edit = edits.getFineIterator(); edit.next(error);) {
    const auto place = static_cast<size_t>(edit.destinationIndex());
    const auto old_length = static_cast<size_t>(edit.oldLength()), length = static_cast<size_t>(edit.newLength());
    for (size_t byte = 0; byte < old_length; ++byte) places.push_back(place + std::min(byte, length));
  }
}

// `change(piece, sink, edits, error)` is one of icu::CaseMap's.
template <class Change>
RecasedText recased(const std::string& text, const Change& change) {
  RecasedText result;
  UErrorCode error = U_ZERO_ERROR;
  icu::Edits edits;
  icu::StringByteSink<std::string> sink(&result.text, static_cast<int32_t>(text.size()));
  change(icu::StringPiece(text.data(), static_cast<int32_t>(text.size())), sink, edits, error);
  if (U_SUCCESS(error)) append_places(result.places, edits);
  edits.copyErrorTo(error);
  if (U_FAILURE(error)) throw std::runtime_error(std::string("ICU cannot change the case: ") + u_errorName(error));
  result.places.push_back(result.text.size());
  return result;
}

RecasedText titled(const std::string& text, const std::string& locale, uint32_t options) {
  return recased(text, [&](icu::StringPiece piece, icu::ByteSink& sink, icu::Edits& edits, UErrorCode& error) {
    icu::CaseMap::utf8ToTitle(locale.c_str(), options, nullptr, piece, sink, &edits, error);
  });
}

}  // namespace

bool is_small_word(std::string_view word) {
  return std::find(kSmallWords.begin(), kSmallWords.end(), word) != kSmallWords.end();
}

TextCase case_of(const std::string& text) {
  const std::vector<WordLetters> words = words_with_letters(text);
  size_t capitals = 0, small = 0;
  for (const WordLetters& word : words) {
    capitals += word.capitals;
    small += word.small;
  }
  if (capitals > 1 && capitals >= 9 * small) return TextCase::capitals;
  if (!is_title(text, words)) return TextCase::mixed;
  const auto in_capitals = std::count_if(words.begin(), words.end(),
                                         [](const WordLetters& word) { return word.capitals > 1 && word.small == 0; });
  const bool is_mostly_capitals = 2 * static_cast<size_t>(in_capitals) > words.size() && capitals >= 3 * small;
  return is_mostly_capitals ? TextCase::capitals : TextCase::title;
}

size_t number_of_words(const std::string& text) {
  return words_with_letters(text).size();
}

bool has_capital_within(std::string_view word) {
  bool follows_small = false;
  return !sentence_characters::all_characters(word, [&](UChar32 c) {
    const bool is_within = follows_small && u_isupper(c) != 0;
    follows_small = u_islower(c) != 0;
    return !is_within;
  });
}

size_t label_length(const std::string& text) {
  const size_t begin = text.find_first_not_of(" -");
  if (begin == std::string::npos) return 0;
  const char closing = text[begin] == '[' ? ']' : text[begin] == '(' ? ')' : ':';
  const size_t end = text.find(closing, begin);
  if (end == std::string::npos) return 0;
  const UChar32 next = characters::at(text, end + 1);
  return closing != ':' || next < 0 || u_isUWhiteSpace(next) ? end + 1 : 0;
}

bool is_label_in_capitals(const std::string& label) {
  constexpr size_t kMostWords = 5, kLongerThanAcronyms = 4;
  constexpr std::string_view kMarksOfCode = "_\\*=<>|#\"`";
  const std::vector<WordLetters> words = words_with_letters(label);
  return words.size() <= kMostWords && label.find_first_of(kMarksOfCode) == std::string::npos &&
         std::all_of(words.begin(), words.end(), [](const WordLetters& word) { return word.small == 0; }) &&
         std::any_of(words.begin(), words.end(),
                     [](const WordLetters& word) { return word.capitals >= kLongerThanAcronyms; });
}

std::pair<size_t, size_t> RecasedText::now(const std::pair<size_t, size_t>& before) const {
  return {places.at(before.first), places.at(before.second)};
}

std::pair<size_t, size_t> RecasedText::before(const std::pair<size_t, size_t>& now) const {
  const auto origin = [&](size_t place) {
    return static_cast<size_t>(std::lower_bound(places.begin(), places.end(), place) - places.begin());
  };
  return {origin(now.first), origin(now.second)};
}

void RecasedText::append(const RecasedText& next) {
  places.pop_back();
  for (const size_t place : next.places) places.push_back(text.size() + place);
  text += next.text;
}

void RecasedText::append_unchanged(const std::string& next) {
  for (size_t byte = 0; byte < next.size(); ++byte) places.push_back(places.back() + 1);
  text += next;
}

void RecasedText::append_instead(size_t length, const std::string& replacement) {
  places.resize(places.size() + length - 1, text.size());
  text += replacement;
  places.push_back(text.size());
}

std::string case_locale(const std::string& text, const std::string& language) {
  const std::string code = language.substr(0, language.find_first_of("_-"));
  if (!code.empty()) return icu::Locale(code.c_str()).getLanguage();
  if (has_greek(text)) return "el";
  return looks_turkish(text) ? "tr" : "";
}

RecasedText in_lower_case(const std::string& text, const std::string& locale) {
  return recased(text, [&](icu::StringPiece piece, icu::ByteSink& sink, icu::Edits& edits, UErrorCode& error) {
    icu::CaseMap::utf8ToLower(locale.c_str(), 0, piece, sink, &edits, error);
  });
}

RecasedText in_capitals(const std::string& text, const std::string& locale) {
  return recased(text, [&](icu::StringPiece piece, icu::ByteSink& sink, icu::Edits& edits, UErrorCode& error) {
    icu::CaseMap::utf8ToUpper(locale.c_str(), 0, piece, sink, &edits, error);
  });
}

RecasedText in_title_case(const std::string& text, const std::string& locale) {
  return titled(text, locale, 0);
}

RecasedText with_capital_words(const std::string& text, const std::string& locale) {
  return titled(text, locale, U_TITLECASE_NO_LOWERCASE);
}

}  // namespace v0
}  // namespace transmute

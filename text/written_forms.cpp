// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/written_forms.h>

#include <transmute/tokenizer/tokenizer.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>

namespace transmute {
inline namespace v0 {

namespace {

// The limit for one text: its translation is searched for each.
constexpr size_t kMostWords = 256;

// Letters of words with spaces around them: those of Chinese and Japanese have none.
bool is_letter(UChar32 c) {
  return c >= 0 && u_isalpha(c) != 0 && u_getIntPropertyValue(c, UCHAR_EAST_ASIAN_WIDTH) != U_EA_WIDE;
}

bool is_digit(UChar32 c) {
  return c >= 0 && u_isdigit(c) != 0;
}

bool is_of_form(UChar32 c) {
  return is_letter(c) || is_digit(c) || is_raised(c);
}

// The character that begins at a byte, or -1 at the text's end.
UChar32 character_at(const std::string& text, size_t at) {
  auto next = static_cast<int32_t>(at);
  UChar32 c = -1;
  if (at < text.size()) U8_NEXT(text.data(), next, static_cast<int32_t>(text.size()), c);
  return c;
}

size_t after_character(const std::string& text, size_t at) {
  auto next = static_cast<int32_t>(at);
  U8_FWD_1(text.data(), next, static_cast<int32_t>(text.size()));
  return static_cast<size_t>(next);
}

size_t before_character(const std::string& text, size_t at) {
  auto before = static_cast<int32_t>(at);
  U8_BACK_1(reinterpret_cast<const uint8_t*>(text.data()), 0, before);
  return static_cast<size_t>(before);
}

// The character that ends at a byte, or -1 at the text's beginning.
UChar32 character_before(const std::string& text, size_t at) {
  return at == 0 ? -1 : character_at(text, before_character(text, at));
}

std::string compatible_form(const std::string& text) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = icu::Normalizer2::getNFKCInstance(error);
  std::string compatible;
  icu::StringByteSink<std::string> sink(&compatible);
  if (U_SUCCESS(error)) normalizer->normalizeUTF8(0, text, sink, nullptr, error);
  return U_SUCCESS(error) ? compatible : text;
}

// True if digits go on beyond a mark: 1.106 and 106,5 do not have the number 106.
bool continues_number(UChar32 mark, UChar32 beyond) {
  return (mark == '.' || mark == ',') && is_digit(beyond);
}

// A number may be before letters (25m2), and nothing else beside a form.
bool is_apart(const std::string& text, size_t begin, size_t end) {
  const UChar32 before = character_before(text, begin), after = character_at(text, end);
  if (is_of_form(after) || is_letter(before) || is_raised(before)) return false;
  if (is_digit(character_before(text, end)) && continues_number(after, character_at(text, end + 1))) return false;
  if (!is_digit(character_at(text, begin))) return true;
  return !is_digit(before) && (begin < 2 || !continues_number(before, character_before(text, begin - 1)));
}

std::vector<ByteSpan> places_of(const std::string& text, const std::string& form) {
  std::vector<ByteSpan> places;
  for (size_t at = text.find(form); at != std::string::npos; at = text.find(form, at + form.size()))
    if (is_apart(text, at, at + form.size())) places.emplace_back(at, at + form.size());
  return places;
}

// The same at the ends of words.
std::vector<ByteSpan> places_at_ends(const std::string& text, const std::string& form) {
  std::vector<ByteSpan> places;
  for (size_t at = text.find(form); at != std::string::npos; at = text.find(form, at + form.size()))
    if (is_letter(character_before(text, at)) && !is_of_form(character_at(text, at + form.size())))
      places.emplace_back(at, at + form.size());
  return places;
}

template <class T, class Is>
void erase_if(std::vector<T>& all, const Is& is) {
  all.erase(std::remove_if(all.begin(), all.end(), is), all.end());
}

}  // namespace

bool is_raised(int32_t character) {
  if (character < 0x80 || u_isalpha(character) != 0) return false;
  switch (u_getIntPropertyValue(character, UCHAR_DECOMPOSITION_TYPE)) {
    case U_DT_SUPER:
    case U_DT_SUB:
    case U_DT_FRACTION:
      return true;
    default:
      return false;
  }
}

WrittenForms::WrittenForms(const std::string& source) {
  const auto add = [&](std::vector<Word>& words, const std::string& written) {
    const std::string compatible = compatible_form(written);
    const auto same =
        std::find_if(words.begin(), words.end(), [&](const Word& word) { return word.compatible == compatible; });
    if (same == words.end()) {
      if (words.size() < kMostWords) words.push_back({written, compatible});
    } else {
      same->count = same->written == written ? same->count + 1 : 0;
    }
  };
  for (size_t at = 0; at < source.size(); at = after_character(source, at)) {
    if (!is_raised(character_at(source, at))) continue;
    size_t begin = at, end = at;
    while (is_of_form(character_before(source, begin))) begin = before_character(source, begin);
    while (is_of_form(character_at(source, end))) end = after_character(source, end);
    size_t number_end = begin;
    while (is_digit(character_at(source, number_end))) number_end = after_character(source, number_end);
    if (is_letter(character_at(source, number_end))) begin = number_end;  // 25m² is written 25 m2, too
    size_t letters_end = begin;
    while (is_letter(character_at(source, letters_end))) letters_end = after_character(source, letters_end);
    if (begin < at) add(words_, source.substr(begin, end - begin));
    if (begin < at && letters_end == at) add(ends_, source.substr(at, end - at));
    at = before_character(source, end);
  }
  erase_if(words_, [&](const Word& word) { return word.count == 0 || !places_of(source, word.compatible).empty(); });
  erase_if(ends_,
           [&](const Word& word) { return word.count == 0 || !places_at_ends(source, word.compatible).empty(); });
}

void WrittenForms::leave(const std::string& demanded) {
  erase_if(words_, [&](const Word& word) { return demanded.find(word.compatible) != std::string::npos; });
  erase_if(ends_, [&](const Word& word) { return !places_at_ends(demanded, word.compatible).empty(); });
}

RecasedText WrittenForms::restore(const std::string& translation) const {
  struct Found {
    ByteSpan place;
    const std::string* written;
  };
  RecasedText all;
  if (!exist()) {
    all.append_unchanged(translation);
    return all;
  }
  std::vector<Found> found;
  std::vector<bool> is_taken(translation.size());
  const auto overlaps = [&](const ByteSpan& place) { return is_taken[place.first] || is_taken[place.second - 1]; };
  const auto find_all = [&](const std::vector<Word>& words, const auto& places_in) {
    for (const Word& word : words) {
      std::vector<ByteSpan> places = places_in(translation, word.compatible);
      places.erase(std::remove_if(places.begin(), places.end(), overlaps), places.end());
      if (places.size() > word.count) continue;
      for (const ByteSpan& place : places) {
        std::fill(is_taken.begin() + place.first, is_taken.begin() + place.second, true);
        found.push_back({place, &word.written});
      }
    }
  };
  find_all(words_, places_of);
  find_all(ends_, places_at_ends);
  std::sort(found.begin(), found.end(), [](const Found& x, const Found& y) { return x.place < y.place; });
  size_t copied = 0;
  for (const auto& [place, written] : found) {
    all.append_unchanged(translation.substr(copied, place.first - copied));
    all.append_instead(place.second - place.first, *written);
    copied = place.second;
  }
  all.append_unchanged(translation.substr(copied));
  return all;
}

}  // namespace v0
}  // namespace transmute

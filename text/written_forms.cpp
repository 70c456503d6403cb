// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/written_forms.h>

#include <transmute/text/characters.h>
#include <unicode/normalizer2.h>

#include <algorithm>

namespace transmute {
inline namespace v0 {

namespace {

using characters::is_digit;

// The limit for one text: its translation is searched for each.
constexpr size_t kMostForms = 256;

// Letters of words with spaces around them: those of Chinese and Japanese have none.
bool is_letter(UChar32 c) {
  return c >= 0 && u_isalpha(c) != 0 && u_getIntPropertyValue(c, UCHAR_EAST_ASIAN_WIDTH) != U_EA_WIDE;
}

bool is_of_form(UChar32 c) {
  return is_letter(c) || is_digit(c) || is_raised(c);
}

bool is_separator(UChar32 c) {
  return c == '.' || c == ',';
}

// A number may be before letters (25m2), and nothing else beside a form; 1.106 and 106,5 do not have the number 106. An
// ellipsis may be anywhere.
bool is_apart(const std::string& text, size_t begin, size_t end) {
  if (text[begin] == '.') return true;
  const UChar32 before = characters::before(text, begin), after = characters::at(text, end);
  if (is_of_form(after)) return false;
  if (is_digit(characters::before(text, end)) && is_separator(after) && is_digit(characters::at(text, end + 1)))
    return false;
  const UChar32 first = characters::at(text, begin);
  if (!is_of_form(first)) return true;
  const bool is_product = before == 'x' && is_digit(first) && is_digit(characters::before(text, begin - 1));  // 5x106
  if ((is_letter(before) && !is_product) || is_raised(before)) return false;
  if (!is_digit(first)) return true;
  return !is_digit(before) && !(is_separator(before) && is_digit(characters::before(text, begin - 1)));
}

// The same for the end of a word.
bool ends_word(const std::string& text, size_t begin, size_t end) {
  return is_letter(characters::before(text, begin)) && !is_of_form(characters::at(text, end));
}

}  // namespace

bool is_raised(int32_t character) {
  constexpr int32_t kFeminine = 0xAA, kMasculine = 0xBA;
  if (character < 0x80) return false;
  switch (u_getIntPropertyValue(character, UCHAR_DECOMPOSITION_TYPE)) {
    case U_DT_SUPER:
      return u_isalpha(character) == 0 || character == kFeminine || character == kMasculine;
    case U_DT_SUB:
    case U_DT_FRACTION:
    case U_DT_SQUARE:
      return true;
    default:
      return false;
  }
}

WrittenForms::WrittenForms(const std::string& source) {
  for (size_t at = 0; at < source.size(); at = characters::end(source, at)) {
    constexpr UChar32 kEllipsis = 0x2026;
    if (characters::at(source, at) == kEllipsis) add(at, "", "…", false);
    if (!is_raised(characters::at(source, at))) continue;
    const auto skip = [&](size_t from, const auto& is) {
      while (is(characters::at(source, from))) from = characters::end(source, from);
      return from;
    };
    size_t begin = at;
    while (is_of_form(characters::before(source, begin))) begin = characters::begin(source, begin);
    const size_t end = skip(at, is_of_form);
    const size_t raised_end = skip(at, is_raised);
    const size_t number_end = skip(begin, is_digit), letters_end = skip(begin, is_letter);
    const std::string raised = source.substr(at, raised_end - at);
    if (is_letter(characters::at(source, at)) && is_letter(characters::before(source, at))) {
      if (u_getIntPropertyValue(characters::at(source, at), UCHAR_DECOMPOSITION_TYPE) == U_DT_SUB)
        add(begin, "", source.substr(begin, end - begin), false);  // but nº is read as an ordinary word, no
    } else if (is_digit(characters::before(source, at)) && raised_end == end) {
      for (begin = at; is_digit(characters::before(source, begin));) begin = characters::begin(source, begin);
      while (begin > 0 && is_separator(characters::before(source, begin)) &&
             is_digit(characters::before(source, begin - 1)))
        for (--begin; is_digit(characters::before(source, begin));) begin = characters::begin(source, begin);
      add(at, source.substr(begin, at - begin), raised, false);
    } else if (begin == at && raised_end == end) {
      constexpr std::string_view kBrackets = ")]}|";
      if (at > 0 && kBrackets.find(source[at - 1]) != std::string_view::npos)
        add(at, source.substr(at - 1, 1), raised, false);
    } else {
      if (is_letter(characters::at(source, number_end))) begin = std::min(at, number_end);  // 25m² may become 25 m2
      add(begin, "", source.substr(begin, end - begin), false);
    }
    if (begin < at && letters_end == at && raised_end == end) add(at, "", raised, true);
    at = characters::begin(source, end);
  }
  for (Form& form : forms_) {
    for (const ByteSpan& place : places_of(source, form)) form.written.emplace_back(place.first, "");
    std::sort(form.written.begin(), form.written.end());
  }
}

void WrittenForms::add(size_t place, const std::string& head, const std::string& written, bool is_end) {
  const std::string tail = characters::normalized(written, icu::Normalizer2::getNFKCInstance);
  auto same = std::find_if(forms_.begin(), forms_.end(), [&](const Form& form) {
    return form.is_end == is_end && form.compatible.front() == head + tail;
  });
  if (same == forms_.end()) {
    if (forms_.size() == kMostForms) return;
    same = forms_.insert(forms_.end(), {{head + tail}, tail.size(), is_end});
    std::string other = head;
    for (char& c : other) c = c == '.' ? ',' : c == ',' ? '.' : c;
    if (other != head) same->compatible.push_back(other + tail);
  }
  same->written.emplace_back(place, written);
}

std::vector<ByteSpan> WrittenForms::places_of(const std::string& text, const Form& form) {
  std::vector<ByteSpan> places;
  for (const std::string& compatible : form.compatible)
    for (size_t at = text.find(compatible); at != std::string::npos;) {
      const size_t end = at + compatible.size();
      const bool is_one = (form.is_end ? ends_word : is_apart)(text, at, end);
      if (is_one) places.emplace_back(end - form.tail, end);
      at = text.find(compatible, is_one ? end : at + 1);
    }
  std::sort(places.begin(), places.end());
  return places;
}

void WrittenForms::restore(Rewriting& translation) const {
  for (const bool ends : {false, true})  // of words last
    for (const Form& form : forms_) {
      if (form.is_end != ends) continue;
      std::vector<ByteSpan> places = places_of(translation.text(), form);
      const auto is_taken = [&](const ByteSpan& place) { return !translation.is_free(place); };
      places.erase(std::remove_if(places.begin(), places.end(), is_taken), places.end());
      const bool are_same = std::all_of(form.written.begin(), form.written.end(),
                                        [&](const auto& one) { return one.second == form.written.front().second; });
      if (places.size() > form.written.size() || (places.size() < form.written.size() && !are_same)) continue;
      for (size_t i = 0; i < places.size(); ++i)
        if (const std::string& written = form.written[i].second; !written.empty())
          translation.replace(places[i], written);
    }
}

}  // namespace v0
}  // namespace transmute

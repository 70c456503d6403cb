// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/written_marks.h>

#include <transmute/text/characters.h>
#include <transmute/text/sentence_characters.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace transmute {
inline namespace v0 {

namespace {

constexpr UChar32 kFractionSlash = 0x2044;

// Returns a fraction in ASCII.
std::string with_slash(UChar32 fraction) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = icu::Normalizer2::getNFKCInstance(error);
  icu::UnicodeString decomposed;
  if (U_FAILURE(error) || !normalizer->getDecomposition(fraction, decomposed)) return "";
  decomposed.findAndReplace(icu::UnicodeString(kFractionSlash), icu::UnicodeString(u'/'));
  std::string text;
  return decomposed.toUTF8String(text);
}

enum class Side { opening, closing, inner, after_number };

bool is_quote(char c) {
  return c == '"' || c == '\'';
}

// The sides of the quotation marks and apostrophes at these places of a text, which may be beside others. One with
// spaces on both sides opens what the one before it has not.
std::vector<Side> sides_of(const std::string& text, const std::vector<size_t>& places) {
  std::vector<Side> sides;
  bool is_open = false;
  size_t begin = 0, end = 0;  // of the marks beside each other that the place is among
  for (const size_t place : places) {
    if (place >= end) {
      begin = end = place;
      while (begin > 0 && is_quote(text[begin - 1])) --begin;
      while (end < text.size() && is_quote(text[end])) ++end;
    }
    const UChar32 before = characters::before(text, begin), after = characters::at(text, end);
    const bool is_after_space = before < 0 || sentence_characters::is_space(before),
               is_before_space = after < 0 || sentence_characters::is_space(after);
    const auto type_before = before < 0 ? U_SPACE_SEPARATOR : static_cast<UCharCategory>(u_charType(before));
    const auto type_after = after < 0 ? U_SPACE_SEPARATOR : static_cast<UCharCategory>(u_charType(after));
    const bool may_open = is_after_space || type_before == U_START_PUNCTUATION ||
                          type_before == U_INITIAL_PUNCTUATION || type_before == U_DASH_PUNCTUATION;
    const bool may_close = is_before_space || type_after == U_OTHER_PUNCTUATION || type_after == U_END_PUNCTUATION ||
                           type_after == U_FINAL_PUNCTUATION;
    Side side = may_open ? Side::opening : Side::closing;
    const bool is_joined = characters::is_letter_or_digit(after);
    if (characters::is_digit(before) && (is_joined || !is_open)) {
      side = Side::after_number;
    } else if (characters::is_letter_or_digit(before) && is_joined && (text[place] == '\'' || !is_open)) {
      side = Side::inner;
    } else if (may_open && may_close) {
      side = is_open ? Side::closing : Side::opening;
    }
    if (side == Side::opening || side == Side::closing) is_open = side == Side::opening;
    sides.push_back(side);
  }
  return sides;
}

bool is_spaced(const std::string& text, size_t begin, size_t end) {
  return sentence_characters::is_space(characters::before(text, begin)) &&
         sentence_characters::is_space(characters::at(text, end));
}

bool is_between_words(const std::string& text, size_t begin, size_t end) {
  return characters::is_letter_or_digit(characters::before(text, begin)) &&
         characters::is_letter_or_digit(characters::at(text, end));
}

// True for the x of "3x".
bool is_after_number(const std::string& text, size_t begin, size_t end) {
  return characters::is_digit(characters::before(text, begin)) &&
         !characters::is_letter_or_digit(characters::at(text, end));
}

// True for the x of "3x4" and "3 x 4".
bool is_between_numbers(const std::string& text, size_t begin, size_t end) {
  if (begin > 0 && text[begin - 1] == ' ') --begin;
  if (end < text.size() && text[end] == ' ') ++end;
  return characters::is_digit(characters::before(text, begin)) && characters::is_digit(characters::at(text, end));
}

// The bytes at which a text has a mark.
std::vector<size_t> places_of(const std::string& text, std::string_view mark) {
  std::vector<size_t> places;
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + mark.size()))
    places.push_back(at);
  return places;
}

// True if the double quotation marks of a translation may be single ones of its source, for which many languages write
// double ones: there are as many at the beginnings of words, and nowhere more.
bool are_quotes_of(const std::vector<Side>& source, const std::vector<Side>& text) {
  const auto number = [](const std::vector<Side>& sides, Side side) {
    return std::count(sides.begin(), sides.end(), side);
  };
  return number(source, Side::opening) > 0 && number(text, Side::opening) == number(source, Side::opening) &&
         number(text, Side::closing) <= number(source, Side::closing) &&
         number(text, Side::after_number) <= number(source, Side::after_number);
}

// The bytes of a text that have quotation marks, with their sides, but no apostrophes within words and no inches.
std::vector<std::pair<size_t, Side>> quotes_in(const std::string& text) {
  std::vector<size_t> places;
  for (size_t at = 0; at < text.size(); ++at)
    if (is_quote(text[at])) places.push_back(at);
  const std::vector<Side> sides = sides_of(text, places);
  std::vector<std::pair<size_t, Side>> quotes;
  for (size_t i = 0; i < places.size(); ++i)
    if (sides[i] == Side::opening || sides[i] == Side::closing) quotes.emplace_back(places[i], sides[i]);
  return quotes;
}

// Restores the marks of a quotation within another one, for which a model may write double marks, too: in the order of
// the source, if the quotation marks of both texts open and close in the same order.
void restore_nested_quotes(const std::string& source, const std::map<size_t, const AsciiMark*>& by_place,
                           Rewriting& translation) {
  const std::string& text = translation.text();
  if (source.find('"') == std::string::npos || source.find('\'') == std::string::npos) return;
  const auto of_source = quotes_in(source), of_text = quotes_in(text);
  const auto has_side = [](const auto& a, const auto& b) { return a.second == b.second; };
  const auto is_double = [&](const auto& quote) { return text[quote.first] == '"'; };
  if (!std::equal(of_source.begin(), of_source.end(), of_text.begin(), of_text.end(), has_side) ||
      !std::all_of(of_text.begin(), of_text.end(), is_double))
    return;
  for (size_t i = 0; i < of_text.size(); ++i) {
    const auto mark = by_place.find(of_source[i].first);
    const ByteSpan place{of_text[i].first, of_text[i].first + 1};
    if (mark != by_place.end() && translation.is_free(place)) translation.replace(place, mark->second->written);
  }
}

// A dash with the words beside it.
std::string with_words(const std::string& text, size_t begin, size_t end) {
  size_t first = begin, last = end;
  while (characters::is_letter_or_digit(characters::before(text, first))) first = characters::begin(text, first);
  while (characters::is_letter_or_digit(characters::at(text, last))) last = characters::end(text, last);
  return text.substr(first, last - first);
}

// The source's marks of one kind, in order; null for those that are ASCII in the source, too.
using Marks = std::vector<const AsciiMark*>;

bool are_all_same(const Marks& marks) {
  return std::all_of(marks.begin(), marks.end(), [&](const AsciiMark* mark) {
    if (mark == nullptr || marks.front() == nullptr) return mark == marks.front();
    return mark->written == marks.front()->written && mark->follows_number == marks.front()->follows_number;
  });
}

// Restores the marks at the places of a translation in the order of the source: all of them if they are alike.
void restore_in_order(const Marks& marks, const std::vector<ByteSpan>& places, Rewriting& translation) {
  if (marks.empty() || (places.size() != marks.size() && !are_all_same(marks))) return;
  const std::string& text = translation.text();
  for (size_t i = 0; i < places.size(); ++i) {
    const AsciiMark* const mark = marks[i % marks.size()];
    if (mark == nullptr) continue;
    ByteSpan place = places[i];
    const bool has_space = place.first > 0 && text[place.first - 1] == ' ';
    if (mark->follows_number && has_space && characters::is_digit(characters::before(text, place.first - 1)))
      --place.first;  // the space of "1 1/2" is none of the source's
    if (translation.is_free(place)) translation.replace(place, mark->written);
  }
}

}  // namespace

std::string ascii_of(int32_t character) {
  switch (character) {
    case 0x2018:  // ‘
    case 0x2019:  // ’
    case 0x201A:  // ‚
    case 0x201B:  // ‛
    case 0x02BC:  // ʼ
    case 0x2032:  // ′
    case 0x2039:  // ‹
    case 0x203A:  // ›
      return "'";
    case 0x201C:  // “
    case 0x201D:  // ”
    case 0x201E:  // „
    case 0x201F:  // ‟
    case 0x2033:  // ″
    case 0x00AB:  // «
    case 0x00BB:  // »
      return "\"";
    case 0x2010:  // hyphens, one of which does not break
    case 0x2011:
    case 0x2012:  // dashes
    case 0x2013:
    case 0x2014:
    case 0x2015:
    case 0x2212:  // minus
      return "-";
    case 0x00D7:
      return "x";
    case 0x2026:
      return "...";
    default:
      break;
  }
  const bool is_fraction = u_getIntPropertyValue(character, UCHAR_DECOMPOSITION_TYPE) == U_DT_FRACTION;
  return is_fraction ? with_slash(character) : "";
}

WrittenMarks::WrittenMarks(const std::string& source, const std::vector<AsciiMark>& marks)
    : source_(marks.empty() ? "" : source), marks_(marks) {}

void WrittenMarks::restore(Rewriting& translation) const {
  const std::string& text = translation.text();
  std::map<size_t, const AsciiMark*> by_place;
  std::vector<std::string> kinds;
  for (const AsciiMark& mark : marks_) {
    by_place[mark.place] = &mark;
    if (std::find(kinds.begin(), kinds.end(), mark.read) == kinds.end()) kinds.push_back(mark.read);
  }
  const auto mark_at = [&](size_t place) {
    const auto mark = by_place.find(place);
    return mark == by_place.end() ? nullptr : mark->second;
  };
  restore_nested_quotes(source_, by_place, translation);
  for (const std::string& read : kinds) {
    const std::vector<size_t> in_source = places_of(source_, read);
    std::vector<size_t> in_text = places_of(text, read);
    // Restores those of a group; returns whether the source has any.
    const auto restore_group = [&](const auto& is_of_source, const auto& is_of_text) {
      Marks marks;
      std::vector<ByteSpan> places;
      for (size_t i = 0; i < in_source.size(); ++i)
        if (is_of_source(i)) marks.push_back(mark_at(in_source[i]));
      for (size_t i = 0; i < in_text.size(); ++i)
        if (is_of_text(i)) places.emplace_back(in_text[i], in_text[i] + read.size());
      restore_in_order(marks, places, translation);
      return !marks.empty();
    };
    const auto restore_where = [&](const auto& is_there) {
      return restore_group([&](size_t i) { return is_there(source_, in_source[i], in_source[i] + read.size()); },
                           [&](size_t i) { return is_there(text, in_text[i], in_text[i] + read.size()); });
    };
    if (is_quote(read.front())) {
      const std::vector<Side> of_source = sides_of(source_, in_source);
      if (read == "'" && source_.find('"') == std::string::npos) {
        std::vector<size_t> all = in_text;
        for (const size_t place : places_of(text, "\"")) all.push_back(place);
        std::sort(all.begin(), all.end());
        if (are_quotes_of(of_source, sides_of(text, all))) in_text = std::move(all);
      }
      const std::vector<Side> of_text = sides_of(text, in_text);
      const auto restore_side = [&](Side side) {
        return restore_group([&](size_t i) { return of_source[i] == side; },
                             [&](size_t i) { return of_text[i] == side; });
      };
      for (const Side side : {Side::opening, Side::closing, Side::after_number}) restore_side(side);
      // The apostrophes of a language may be within words where those of another one end them.
      const auto is_apostrophe = [](const AsciiMark& mark) { return mark.written == "’"; };
      if (!restore_side(Side::inner) && read == "'" && std::any_of(marks_.begin(), marks_.end(), is_apostrophe))
        for (size_t i = 0; i < in_text.size(); ++i)
          if (of_text[i] == Side::inner && translation.is_free({in_text[i], in_text[i] + 1}))
            translation.replace({in_text[i], in_text[i] + 1}, "’");
    } else if (read == "-") {
      restore_where(is_spaced);
      restore_where([](const std::string& of, size_t begin, size_t end) {
        return !is_spaced(of, begin, end) && !is_between_words(of, begin, end);
      });
      std::map<std::string, Marks> by_words;
      for (const size_t place : in_source)
        if (is_between_words(source_, place, place + 1))
          by_words[with_words(source_, place, place + 1)].push_back(mark_at(place));
      std::map<std::string, std::vector<ByteSpan>> places;
      for (const size_t place : in_text)
        if (is_between_words(text, place, place + 1))
          places[with_words(text, place, place + 1)].emplace_back(place, place + 1);
      for (const auto& [words, marks] : by_words)
        if (const auto same = places.find(words); same != places.end())
          restore_in_order(marks, same->second, translation);
    } else if (read == "x") {
      restore_where(is_between_numbers);
      restore_where([](const std::string& of, size_t begin, size_t end) {
        return is_after_number(of, begin, end) && !is_between_numbers(of, begin, end);
      });
      restore_where([](const std::string& of, size_t begin, size_t end) {
        return is_spaced(of, begin, end) && !is_between_numbers(of, begin, end);
      });
    } else {
      restore_where([](const std::string& of, size_t begin, size_t end) {
        return !characters::is_digit(characters::before(of, begin)) && !characters::is_digit(characters::at(of, end));
      });
    }
  }
}

}  // namespace v0
}  // namespace transmute

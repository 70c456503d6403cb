// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/checks/brackets.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/metrics/metric_text.h>
#include <transmute/text/characters.h>
#include <transmute/text/sentence_characters.h>

#include <vector>

namespace transmute {
inline namespace v0 {
namespace checks {

namespace {

// Quotation marks such as 「 are left out: a part may be one sentence of a quotation, whose source has ".
UBidiPairedBracketType bracket_type(UChar32 c) {
  if (u_hasBinaryProperty(c, UCHAR_QUOTATION_MARK) != 0) return U_BPT_NONE;
  return static_cast<UBidiPairedBracketType>(u_getIntPropertyValue(c, UCHAR_BIDI_PAIRED_BRACKET_TYPE));
}

// Some languages close a bracket by one of another width.
struct Brackets {
  std::vector<ByteSpan> opening;
  std::optional<ByteSpan> unpaired;  // the first that closes nothing, else the first that is left open
  std::optional<ByteSpan> empty;     // the first pair with nothing but space
  ByteSpan last;                     // the pair that is closed last, with what is in it
};

Brackets brackets_in(std::string_view text) {
  Brackets brackets;
  std::vector<ByteSpan> open;
  bool is_empty = false;  // nothing but space since the last opening bracket
  for (const Character& character : Characters(text)) {
    const UBidiPairedBracketType type = bracket_type(character.code);
    const ByteSpan span{character.begin, character.end};
    if (type == U_BPT_OPEN) {
      brackets.opening.push_back(span);
      open.push_back(span);
    } else if (type == U_BPT_CLOSE && open.empty()) {
      if (!brackets.unpaired) brackets.unpaired = span;
    } else if (type == U_BPT_CLOSE) {
      brackets.last = {open.back().first, span.second};
      if (is_empty && !brackets.empty) brackets.empty = brackets.last;
      open.pop_back();
    }
    is_empty = type == U_BPT_OPEN || (is_empty && sentence_characters::is_space(character.code));
  }
  if (!brackets.unpaired && !open.empty()) brackets.unpaired = open.front();
  return brackets;
}

// A text in small letters, up to its last letter or digit.
std::string lower_stem(std::string_view text) {
  size_t end = 0;
  for (const Character& character : Characters(text))
    if (u_isalnum(character.code) != 0) end = character.end;
  return to_lower(std::string(text.substr(0, end)));
}

// True if the bracket after a word is a part of it, as in Lehrer(in).
bool is_of_word(std::string_view text, const ByteSpan& pair) {
  const UChar32 before = characters::before(text, pair.first);
  return characters::is_letter_or_digit(before) && !sentence_characters::is_written_without_spaces(before);
}

// The ASCII quotation marks of a text, but for those within Hebrew acronyms.
struct QuotationMarks {
  size_t number = 0, after_digits = 0;
  size_t last = 0;  // byte
};

QuotationMarks quotation_marks_in(std::string_view text) {
  constexpr UChar32 kAlef = 0x05D0, kTav = 0x05EA;
  const auto is_hebrew = [](UChar32 c) { return c >= kAlef && c <= kTav; };
  QuotationMarks marks;
  for (size_t at = text.find('"'); at != std::string_view::npos; at = text.find('"', at + 1)) {
    const UChar32 before = characters::before(text, at);
    const UChar32 after = characters::at(text, at + 1);
    if (is_hebrew(before) && is_hebrew(after)) continue;
    ++marks.number;
    marks.after_digits += characters::is_digit(before) && !characters::is_letter_or_digit(after) ? 1 : 0;
    marks.last = at;
  }
  return marks;
}

bool has_no_words(std::string_view text) {
  return sentence_characters::all_characters(text, [](UChar32 c) { return u_isalnum(c) == 0; });
}

// True if the only bracket of a translation has more words than that of the source, and is no part of a word as that
// is: "Arquitetura (em inglês)" for "Architecture(s)".
bool is_no_longer_of_word(std::string_view source, const Brackets& own, std::string_view target,
                          const Brackets& translated) {
  if (own.opening.size() != 1 || translated.opening.size() != 1 || own.unpaired || translated.unpaired) return false;
  const auto words = [](std::string_view text, const ByteSpan& pair) {
    return split_at_space(text.substr(pair.first, pair.second - pair.first)).size();
  };
  return is_of_word(source, own.last) && !is_of_word(target, translated.last) &&
         words(target, translated.last) > words(source, own.last);
}

}  // namespace

std::optional<BracketFault> find_bracket_fault(std::string_view source, std::string_view target) {
  constexpr size_t kMostAdded = 2;  // the trees of a parser have more
  const Brackets own = brackets_in(source), translated = brackets_in(target);
  if (translated.opening.size() > own.opening.size() + kMostAdded) return std::nullopt;
  const auto text_at = [&](const ByteSpan& span) { return target.substr(span.first, span.second - span.first); };
  if (translated.opening.size() > own.opening.size()) {
    const ByteSpan added{translated.opening[own.opening.size()].first, target.size()};
    if (added.first > 0 && lower_stem(target.substr(0, added.first)) == lower_stem(source))
      return BracketFault{added, fmt::format("the translation repeats the source and adds \"{}\"", text_at(added))};
  }
  const ByteSpan& last = translated.last;
  if ((own.opening.empty() && last.second > 0 && !is_of_word(target, last) &&
       has_no_words(target.substr(last.second))) ||
      is_no_longer_of_word(source, own, target, translated))
    return BracketFault{last, fmt::format("the source has no \"{}\"", text_at(last))};
  if (!own.unpaired && translated.unpaired)
    return BracketFault{*translated.unpaired,
                        fmt::format("the bracket \"{}\" is not one of a pair", text_at(*translated.unpaired))};
  const QuotationMarks own_marks = quotation_marks_in(source), marks = quotation_marks_in(target);
  const bool may_be_inches = marks.after_digits > own_marks.after_digits;  // 12" for 12 inches
  if (own_marks.number % 2 == 0 && marks.number % 2 != 0 && !may_be_inches)
    return BracketFault{{marks.last, marks.last + 1}, "a quotation mark is not one of a pair"};
  if (!own.empty && translated.empty) return BracketFault{*translated.empty, "the translation has empty brackets"};
  return std::nullopt;
}

bool continues_source(std::string_view source, std::string_view target) {
  const std::string copy = lower_stem(source), whole = to_lower(std::string(target));
  if (copy.empty() || whole.compare(0, copy.size(), copy) != 0) return false;
  const std::string_view rest = std::string_view(whole).substr(copy.size());
  if (rest.empty() || u_isalnum(character_at(rest, 0).code) != 0) return false;  // a longer word
  return !sentence_characters::all_characters(
      rest, [](UChar32 c) { return u_isalnum(c) == 0 && bracket_type(c) != U_BPT_OPEN; });
}

bool has_as_many_brackets(std::string_view source, std::string_view target) {
  return brackets_in(source).opening.size() == brackets_in(target).opening.size();
}

}  // namespace checks
}  // namespace v0
}  // namespace transmute

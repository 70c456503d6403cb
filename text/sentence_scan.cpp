// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/text_file.h>
#include <transmute/metrics/metric_text.h>
#include <transmute/text/sentence_scan.h>

#include <transmute/text/characters.h>
#include <transmute/text/sentence_characters.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace transmute {
inline namespace v0 {

using namespace sentence_characters;

namespace {

constexpr UChar32 kEllipsis = 0x2026;
constexpr UChar32 kGreekQuestionMark = 0x37E;
constexpr UChar32 kBurmeseComma = 0x104A;
constexpr UChar32 kKhmerStop = 0x17D4, kKhmerLastStop = 0x17D5;
constexpr UChar32 kWideStop = 0xFF0E;
constexpr UChar32 kWideBracket = 0xFF09;  // that closes
constexpr UChar32 kNone = 0;
constexpr std::u32string_view kSpacedClosers = U"»›«‹”)]";
constexpr size_t kMostEnclosedBytes = 600;  // bytes of a quotation that stays within its sentence

// "Hauptstr": compounds whose last part is abbreviated.
bool has_ending(std::string_view word, LanguageSet languages) {
  constexpr size_t kShortest = 2, kLongest = 4;
  for (size_t length = kShortest; length <= kLongest && length < word.size(); ++length)
    if (is_word(word.substr(word.size() - length), WordKind::ending, languages)) return true;
  return false;
}

}  // namespace

UChar32 SentenceScan::at(size_t byte) const {
  return byte < text_.size() ? characters::at(text_, byte) : kNone;
}

size_t SentenceScan::step(size_t byte) const {
  return characters::end(text_, byte);
}

UChar32 SentenceScan::before(size_t byte) const {
  return byte == 0 ? kNone : at(step_back(byte));
}

size_t SentenceScan::step_back(size_t byte) const {
  return characters::begin(text_, byte);
}

size_t SentenceScan::skip_space(size_t byte) const {
  while (byte < text_.size() && is_space(at(byte))) byte = step(byte);
  return byte;
}

size_t SentenceScan::skip_blanks(size_t byte) const {
  while (byte < text_.size() && is_space(at(byte)) && !is_line_end(at(byte))) byte = step(byte);
  return byte;
}

size_t SentenceScan::end_of_space_before(size_t byte) const {
  while (byte > begin_ && is_space(before(byte))) byte = step_back(byte);
  return byte;
}

bool SentenceScan::next(std::pair<size_t, size_t>& sentence) {
  begin_ = skip_space(begin_);
  if (begin_ >= text_.size()) return false;
  const bool may_be_item = !follows_lone_word(std::exchange(before_, begin_));
  item_ = item_at(begin_);
  if (item_ && item_->may_be_ordinal() && !may_be_item) item_.reset();
  for (size_t byte = begin_; byte < text_.size();) {
    const auto unit = static_cast<unsigned char>(text_[byte]);
    const bool is_plain = unit < 0x80 && (u_isalnum(unit) != 0 || unit == ',');
    const UChar32 c = is_plain ? unit : at(byte);
    if (is_plain) {
      ++byte;
    } else if (is_line_end(c) || (item_ && is_space(c) && !is_space(before(byte)) && begins_item(skip_space(byte)))) {
      sentence = {begin_, byte};
      begin_ = byte;
      return true;
    } else if (!is_mark(c)) {
      byte = step(byte);
    } else {
      const Mark mark = mark_at(byte);
      byte = mark.closed;
      if (mark.after < text_.size() && !ends(mark)) continue;
      if (mark.after == text_.size() && mark.closed < end_of_space_before(text_.size())) continue;
      sentence = {begin_, mark.closed};
      begin_ = mark.after;
      return true;
    }
  }
  sentence = {begin_, end_of_space_before(text_.size())};
  begin_ = text_.size();
  return sentence.first < sentence.second;
}

bool SentenceScan::is_mark(UChar32 c) {
  if (c == '.' || c == '!' || c == '?' || c == kEllipsis) return true;
  if (c == ':' || c == ';') return ends_sentences(static_cast<char>(c), languages());
  if (c < 0x80 || c == kBurmeseComma) return false;
  if (c == kGreekQuestionMark || c == kKhmerStop || c == kKhmerLastStop || c == kWideStop) return true;
  return u_getIntPropertyValue(c, UCHAR_SENTENCE_BREAK) == U_SB_STERM;
}

// A run of full stops may have spaces: ". . .".
SentenceScan::Mark SentenceScan::mark_at(size_t byte) {
  Mark mark{byte, byte, byte, byte, true, 0};
  for (UChar32 c = at(byte); byte < text_.size() && is_mark(c); c = at(byte)) {
    mark.is_stop = mark.is_stop && (c == '.' || c == kEllipsis);
    mark.stops += c == kEllipsis ? 3 : c == '.' ? 1 : 0;
    byte = mark.end = step(byte);
    if (c == '.' && at(byte) == ' ' && at(byte + 1) == '.' && !u_isalnum(at(byte + 2)) && at(byte + 2) != '.') ++byte;
  }
  mark.closed = end_of_notes(end_of_closers(mark.end));
  mark.after = skip_blanks(mark.closed);
  if (is_line_end(at(mark.after))) mark.after = skip_space(mark.after);
  // A mark that opens a quotation rather than closing one is after the space.
  if (mark.after == mark.closed && mark.closed > mark.end && u_isalnum(at(mark.after)) != 0 &&
      before(mark.closed) != kWideBracket)
    mark.closed = mark.after = mark.end;
  return mark;
}

// The end of the closing characters there. Guillemets may have spaces within: "« Venez ! »", "» Komm! «".
size_t SentenceScan::end_of_closers(size_t byte) {
  while (true) {
    while (byte < text_.size() && is_closer(at(byte))) byte = step(byte);
    const size_t closer = skip_blanks(byte);
    if (closer == byte || !is_one_of(at(closer), kSpacedClosers)) return byte;
    if (const size_t end = step(closer); end < text_.size() && !is_space(at(end))) return byte;
    if (!enclosed_) find_enclosed();
    if (!std::binary_search(closers_after_space_.begin(), closers_after_space_.end(), closer)) return byte;
    byte = step(closer);
  }
}

// The end of the numbers of footnotes there: "[1][2]".
size_t SentenceScan::end_of_notes(size_t byte) const {
  while (byte < text_.size() && text_[byte] == '[') {
    const size_t end = text_.find_first_not_of("0123456789", byte + 1);
    if (end == byte + 1 || end == std::string_view::npos || text_[end] != ']') break;
    byte = end + 1;
  }
  return byte;
}

bool SentenceScan::ends(const Mark& mark) {
  for (size_t byte = mark.closed; byte < mark.after; byte = step(byte))
    if (is_line_end(at(byte))) return true;
  if (is_within_word(mark)) return false;
  if (mark.after == mark.closed) return ends_without_space(mark) && !is_enclosed(mark.begin);
  const Next next = next_of(mark);
  if (next == Next::mark || is_enclosed(mark.begin)) return false;
  if (next == Next::joined) return !mark.is_stop || word_ends(mark.begin, Next::upper);
  if (next == Next::lower && !is_without_capitals() && (mark.is_stop || !begins_in_lower_case())) return false;
  return !mark.is_stop || stop_ends(mark, next);
}

// Scripts that have no spaces have marks of their own.
bool SentenceScan::ends_without_space(const Mark& mark) {
  size_t first = mark.begin;  // without an ellipsis before it, as in "…。"
  while (first < mark.end && (at(first) == '.' || at(first) == ' ' || at(first) == kEllipsis)) first = step(first);
  const UChar32 c = at(first), next = at(mark.closed);
  if (first == mark.end || c == ':' || c == ';' || c == kGreekQuestionMark) return false;
  const bool closes = mark.closed > mark.end;
  if (c == '!' || c == '?')
    return !closes && (is_wide(next) || is_wide(before(mark.begin))) && !is_one_of(next, U"，、；：");
  constexpr std::string_view kAndSoOn = "។ល។";
  if (text_.compare(mark.begin, kAndSoOn.size(), kAndSoOn) == 0) return false;
  return !closes || u_isalnum(next) == 0 || before(mark.closed) == kWideBracket;
}

// True for full-width stops that end no sentence: "３．１４", "図１．", "Ｕ．Ｓ．" and "．．．".
bool SentenceScan::is_within_word(const Mark& mark) const {
  if (at(mark.begin) != kWideStop) return false;
  const UChar32 last = before(mark.begin), next = at(mark.end);
  if (u_isdigit(last) != 0 || step(mark.begin) < mark.end) return true;
  const bool is_initial = is_cased(last) && !is_cased(before(step_back(mark.begin)));
  return is_initial || (is_cased(last) && (is_cased(next) || u_isdigit(next) != 0));
}

bool SentenceScan::stop_ends(const Mark& mark, Next next) {
  constexpr int kStopsOfEllipsis = 3;
  if (mark.stops == 1) return word_ends(mark.begin, next);
  if (mark.stops < kStopsOfEllipsis) return true;
  // Three with spaces around leave something out of a sentence, and a fourth ends it.
  if (mark.stops == kStopsOfEllipsis && text_.substr(mark.begin, 2) == ". " && is_space(before(mark.begin)))
    return false;
  // Nouns have capitals in German, so that only a word that begins sentences is sure.
  if (next == Next::upper && may_be_german()) return mark.stops > kStopsOfEllipsis || begins_sentence(mark.after);
  return next == Next::upper || next == Next::letter || next == Next::other;
}

// True if a single full stop after the word that ends at `end` ends a sentence.
bool SentenceScan::word_ends(size_t end, Next next) {
  const Span span = word_before(end);
  const std::string_view word = text_.substr(span.first, span.second - span.first);
  if (word.empty()) return true;
  if (item_ && end < item_->end) return false;
  const size_t after = mark_at(end).after;
  const auto only_before_start = [&] { return next == Next::upper && begins_sentence(after); };
  const std::string lower = to_lower(std::string(word)), joined = with_initials(span);
  const LanguageSet known = languages();
  const std::string_view last_part = std::string_view(lower).substr(lower.find_last_of("-'/") + 1);
  for (const std::string_view name : {std::string_view(joined), std::string_view(lower), last_part}) {
    if (is_word(name, WordKind::abbreviation, known) || (words_ != nullptr && words_->count(std::string(name)) > 0))
      return only_before_start();
    if (is_word(name, WordKind::closing, known))
      return next == Next::upper && (begins_sentence(after) || has_several_words(end));
    if (is_word(name, WordKind::before, known)) return false;
    const bool is_before_number = next == Next::digit || is_roman_number(text_.substr(after, 2));
    if (is_before_number && is_word(name, WordKind::number, known)) return false;
  }
  if (has_ending(lower, known)) return only_before_start();
  constexpr size_t kDigitsOfOrdinal = 3;
  if ((is_number(last_part) && last_part.size() <= kDigitsOfOrdinal) || is_day_and_month(word) || is_roman_number(word))
    if ((next != Next::letter || is_day_and_month(word)) && has_ordinals(known))
      return !is_uncertain(known) && only_before_start();
  if (is_number(word)) return next != Next::lower && (next != Next::letter || !follows_number(span.first));
  if (is_listed_by_icu(word, known) || is_dotted(word) || has_no_vowel(word)) return only_before_start();
  const size_t letters = characters_in(word);
  const UChar32 first = at(span.first);
  if (u_isalpha(first) == 0) return true;
  // Initials, which may have a vowel sign.
  constexpr size_t kInitialWithSign = 2;
  if (has_vowel_signs(first)) return letters > kInitialWithSign;
  const bool is_unit = is_lower(first) && u_isdigit(before(end_of_space_before(span.first))) != 0 && !may_be_german() &&
                       !is_word(lower, WordKind::number, known);  // "1,75 m."
  return letters > 1 || (is_unit && next == Next::upper) || only_before_start();
}

SentenceScan::Next SentenceScan::next_of(const Mark& mark) {
  size_t byte = mark.after;
  if (is_bullet(at(byte))) return Next::other;
  while (byte < text_.size() && (is_opener(at(byte)) || is_dash(at(byte)) || is_space(at(byte)))) byte = step(byte);
  const UChar32 c = at(byte);
  if (c == kNone) return Next::end;
  if (c == kEllipsis || (c == '.' && at(byte + 1) == '.')) {
    while (is_mark(at(byte))) byte = step(byte);
    return u_isalpha(at(byte)) != 0 ? Next::joined : Next::mark;
  }
  if (is_mark(c) || c == ',' || c == ';' || c == ':') return Next::mark;
  if (u_isdigit(c) != 0) return Next::digit;
  if (u_isupper(c) != 0 || u_istitle(c) != 0) return Next::upper;
  if (u_isalpha(c) == 0) return Next::other;
  if (!is_lower(c)) return Next::letter;
  return is_name_in_lower_case(byte) ? Next::upper : Next::lower;
}

// True for names such as iPhone, digiKam and macOS, which sentences begin with as they are, but not for units such as
// kWh, mmHg and dBFS.
bool SentenceScan::is_name_in_lower_case(size_t byte) const {
  constexpr size_t kLongest = 40, kBefore = 3, kAfter = 2;  // letters; small ones before or after a capital
  bool has_capital = false;
  for (size_t letters = 0, small = 0; letters < kLongest && u_isalpha(at(byte)) != 0; byte = step(byte), ++letters) {
    const bool is_capital = u_isupper(at(byte)) != 0;
    if (is_capital ? small >= kBefore : has_capital && small + 1 >= kAfter) return true;
    has_capital = has_capital || is_capital;
    small = is_capital ? 0 : small + 1;
  }
  return false;
}

// True if the word there is one that often begins sentences.
bool SentenceScan::begins_sentence(size_t byte) {
  while (byte < text_.size() && (is_opener(at(byte)) || is_dash(at(byte)) || is_space(at(byte)))) byte = step(byte);
  size_t end = byte;
  while (end < text_.size() && u_isalpha(at(end)) != 0) end = step(end);
  const std::string_view word = text_.substr(byte, end - byte);
  if (at(end) == '.' && characters_in(word) == 1) return false;  // an initial
  const std::string lower = to_lower(std::string(word));
  // "At 5 p.m. Mr. Smith left" is one sentence, but what comes after several words is a new one.
  if (at(end) == '.' && is_word(lower, WordKind::before, languages())) return has_several_words(byte);
  return is_word(lower, WordKind::start, languages());
}

bool SentenceScan::has_several_words(size_t end) const {
  constexpr size_t kSeveral = 6;
  size_t words = 0;
  for (size_t byte = begin_; byte < end && words < kSeveral; byte = step(byte))
    if (is_space(at(byte)) && !is_space(before(byte))) ++words;
  return words == kSeveral;
}

SentenceScan::Span SentenceScan::word_before(size_t end) const {
  size_t begin = end;
  while (begin > begin_) {
    const UChar32 c = before(begin);
    if (is_space(c) || (is_opener(c) && c != '\'' && !is_in_acronym(step_back(begin)))) break;
    if (is_wide(c) && !is_wide(before(end))) break;  // 東京大学のD. Smith
    begin = step_back(begin);
  }
  return {begin, end};
}

// "z. B" as "z.b": single letters before the word belong to it.
std::string SentenceScan::with_initials(Span word) const {
  constexpr size_t kMostLetters = 2;
  constexpr int kMostInitials = 8;  // no abbreviation has more, and a text may consist of them
  for (int initials = 0; initials < kMostInitials && word.first > begin_; ++initials) {
    const size_t stop = end_of_space_before(word.first);
    if (stop == word.first || before(stop) != '.') break;
    const Span initial = word_before(step_back(stop));
    const std::string_view letters = text_.substr(initial.first, initial.second - initial.first);
    if (letters.empty() || characters_in(letters) > kMostLetters) break;
    if (!all_characters(letters, [](UChar32 c) { return u_isalpha(c) != 0; })) break;
    word.first = initial.first;
  }
  std::string joined;
  for (const char c : text_.substr(word.first, word.second - word.first))
    if (c != ' ') joined += c;
  return to_lower(joined);
}

bool SentenceScan::Item::follows(const Item& before) const {
  if (bullet != before.bullet || form != before.form || is_letter != before.is_letter) return false;
  return form.empty() || value == before.value + 1;
}

// The number after a sentence of one word may be that word's, as in "Question. 1. Answer. 1.", unless it is an item's.
bool SentenceScan::follows_lone_word(size_t begin) const {
  size_t byte = begin;
  while (byte < begin_ && !is_space(at(byte))) byte = step(byte);
  if (byte == begin || item_ || skip_space(byte) != begin_) return false;
  while (byte < begin_ && !is_line_end(at(byte))) byte = step(byte);
  return byte == begin_;
}

// True after the first parts of a date such as "2020. 5. 3.".
bool SentenceScan::follows_number(size_t begin) const {
  const size_t stop = end_of_space_before(begin);
  return stop > begin_ && before(stop) == '.' && u_isdigit(before(step_back(stop))) != 0;
}

// True for the quotation mark in Hebrew acronyms such as ארה"ב, but not for the one in ב"הארץ" after a prefix.
bool SentenceScan::is_in_acronym(size_t quote) const {
  const auto is_hebrew = [](UChar32 c) { return u_isalpha(c) != 0 && uscript_hasScript(c, USCRIPT_HEBREW) != 0; };
  if (text_[quote] != '"' || !is_hebrew(before(quote)) || !is_hebrew(at(quote + 1))) return false;
  return !is_hebrew(at(step(quote + 1))) || is_hebrew(before(step_back(quote)));
}

std::optional<SentenceScan::Item> SentenceScan::item_at(size_t byte) const {
  Item item{};
  const size_t start = byte;
  if (is_bullet(at(byte))) {
    byte = step(byte);
    item.bullet = text_.substr(start, byte - start);
    byte = skip_space(byte);
  }
  if (const size_t end = byte + outline_number_length(text_.substr(byte)); end > byte) {
    item.form = text_.substr(byte, end - byte);  // of no other item
    item.end = end;
    item.content = skip_space(end);
    return item;
  }
  constexpr size_t kMostDigits = 3;
  size_t end = byte;
  while (end < text_.size() && end - byte < kMostDigits && text_[end] >= '0' && text_[end] <= '9') ++end;
  item.is_letter = end == byte;
  if (item.is_letter && end < text_.size() && u_isalpha(static_cast<unsigned char>(text_[end])) != 0) ++end;
  if (end > byte) {
    item.value = item.is_letter ? text_[byte] : std::atoi(std::string(text_.substr(byte, end - byte)).c_str());
    for (const std::string_view form : {".)", ".", ")"}) {
      if (text_.compare(end, form.size(), form) != 0) continue;
      if (end + form.size() < text_.size() && !is_space(at(end + form.size()))) break;
      item.form = form;
      item.end = end + form.size();
      item.content = skip_space(item.end);
      return item;
    }
  }
  item.end = item.content = byte;
  if (item.bullet.empty()) return std::nullopt;
  return item;
}

// True if the next item of the list that the sentence belongs to begins there. "2." alone may be an ordinal, before a
// noun in German.
bool SentenceScan::begins_item(size_t byte) {
  const std::optional<Item> item = item_at(byte);
  if (!item || !item->follows(*item_) || byte == item_->content) return false;  // "J. K." are initials
  const UChar32 first = at(item->content);
  const bool has_no_case = u_isalpha(first) != 0 && !is_cased(first);
  return !item->may_be_ordinal() || has_no_case || (u_isupper(first) != 0 && !may_be_german());
}

bool SentenceScan::may_be_german() {
  static const LanguageSet kGerman = language_set("de") & ~LanguageSet{1};
  return languages() == 1 || (languages() & kGerman) != 0;
}

bool SentenceScan::is_enclosed(size_t byte) {
  if (!enclosed_) find_enclosed();
  const auto span = std::partition_point(enclosed_->begin(), enclosed_->end(),
                                         [&](const Span& before) { return before.second <= byte; });
  return span != enclosed_->end() && span->first < byte;
}

// Quotations and brackets with a sentence around them. A long one is cut all the same.
void SentenceScan::find_enclosed() {
  static const std::array<std::pair<char32_t, std::u32string_view>, 15> kPairs{{{U'(', U")"},
                                                                                {U'[', U"]"},
                                                                                {U'{', U"}"},
                                                                                {U'«', U"»"},
                                                                                {U'»', U"«"},
                                                                                {U'„', U"“”"},
                                                                                {U'“', U"”"},
                                                                                {U'"', U"\""},
                                                                                {U'「', U"」"},
                                                                                {U'『', U"』"},
                                                                                {U'《', U"》"},
                                                                                {U'（', U"）"},
                                                                                {U'‹', U"›"},
                                                                                {U'›', U"‹"},
                                                                                {U'【', U"】"}}};
  constexpr size_t kMostOpen = 16;
  enclosed_.emplace();
  std::vector<std::pair<size_t, std::u32string_view>> open;
  for (size_t byte = 0; byte < text_.size(); byte = step(byte)) {
    const UChar32 c = at(byte);
    if ((c < 0x80 && u_isalnum(c) != 0) || is_in_acronym(byte)) continue;
    const auto closed =
        std::find_if(open.rbegin(), open.rend(), [&](const auto& opened) { return is_one_of(c, opened.second); });
    if (closed != open.rend()) {
      const Span span{closed->first, byte};
      open.erase(closed.base() - 1, open.end());
      const bool may_close = is_one_of(c, kSpacedClosers) && (!is_one_of(c, U"«‹") || may_be_german());
      if (may_close && is_space(before(byte))) closers_after_space_.push_back(byte);
      if (byte - span.first > kMostEnclosedBytes || !encloses(byte) || is_sentence_in_brackets(span)) continue;
      while (!enclosed_->empty() && enclosed_->back().first > span.first) enclosed_->pop_back();
      enclosed_->push_back(span);
      continue;
    }
    const auto pair = std::find_if(kPairs.begin(), kPairs.end(),
                                   [&](const auto& opener) { return static_cast<UChar32>(opener.first) == c; });
    if (pair != kPairs.end() && open.size() < kMostOpen) open.emplace_back(byte, pair->second);
  }
}

// True for "（注：本表不含税。）", which is not within another sentence.
bool SentenceScan::is_sentence_in_brackets(const Span& brackets) {
  if (at(brackets.second) != kWideBracket || !is_mark(before(brackets.second))) return false;
  const UChar32 last = before(brackets.first);
  return last == kNone || is_space(last) || is_mark(last);
}

// True if the text after a closing character continues the sentence around it.
bool SentenceScan::encloses(size_t closer) const {
  constexpr int kMostClosers = 8;  // so that a long run of them takes linear time
  size_t byte = step(closer);
  for (int i = 0; i < kMostClosers && is_closer(at(byte)) && at(byte) != '"'; ++i) byte = step(byte);
  const size_t next = skip_space(byte);
  const UChar32 c = at(next);
  if (c == kNone) return false;
  if (is_one_of(c, U",;:.!?。！？．，、；：(") || is_dash(c) || u_islower(c) != 0) return true;
  return next == byte && u_isalnum(c) != 0;
}

bool SentenceScan::is_without_capitals() {
  if (!is_without_capitals_)
    is_without_capitals_ =
        all_characters(text_, [](UChar32 c) { return c < 0 || (u_isupper(c) == 0 && u_istitle(c) == 0); });
  return *is_without_capitals_;
}

// True for "ok! see you at NASA", where sentences begin in lower case.
bool SentenceScan::begins_in_lower_case() {
  if (!begins_in_lower_case_) {
    size_t byte = 0;
    while (byte < text_.size() && u_isalpha(at(byte)) == 0) byte = step(byte);
    begins_in_lower_case_ = is_lower(at(byte));
  }
  return *begins_in_lower_case_;
}

LanguageSet SentenceScan::languages() {
  if (languages_ == 0) languages_ = guess_languages(std::string(text_));
  return languages_;
}

}  // namespace v0
}  // namespace transmute

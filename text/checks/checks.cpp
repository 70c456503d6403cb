// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/ascii_case.h>
#include <transmute/common/text_file.h>
#include <transmute/text/characters.h>
#include <transmute/text/checks/checks.h>
#include <transmute/text/sentence_characters.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/metrics/metric_text.h>
#include <transmute/text/checks/brackets.h>
#include <transmute/text/checks/kept_text.h>
#include <transmute/text/checks/numbers.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace checks {

namespace {

using Warnings = std::vector<TranslationWarning>;

std::string_view part_of(std::string_view text, const ByteSpan& span) {
  return text.substr(span.first, span.second - span.first);
}

// A word with its place.
struct Word {
  std::string lower;
  ByteSpan span;
};

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  for (const std::string_view word : split_at_space(text)) {
    const auto begin = static_cast<size_t>(word.data() - text.data());
    words.push_back({to_lower(std::string(word)), {begin, begin + word.size()}});
  }
  return words;
}

bool has_letter(std::string_view text) {
  return !sentence_characters::all_characters(text, [](UChar32 c) { return u_isalpha(c) == 0; });
}

size_t letters_in(std::string_view text) {
  size_t letters = 0;
  for (const Character& character : Characters(text)) letters += u_isalpha(character.code) ? 1 : 0;
  return letters;
}

// Items [first, first + period * times) of a sequence: the same `period` items, `times` times in a row.
struct Loop {
  size_t first = 0;
  size_t period = 0;
  size_t times = 1;
};

// The first loop of each period up to `longest` that repeats most often, if `is_loop` says that it is one; of these the
// longest.
template <class Item, class IsLoop>
Loop longest_loop(const std::vector<Item>& items, size_t longest, const IsLoop& is_loop) {
  Loop found;
  for (size_t period = 1; period <= std::min(longest, items.size() / 2); ++period) {
    size_t same = 0;  // items in a row that equal the one a period before
    for (size_t i = period; i < items.size(); ++i) {
      same = items[i] == items[i - period] ? same + 1 : 0;
      const Loop loop{i + 1 - same - period, period, same / period + 1};
      if (loop.times > 1 && loop.period * loop.times > found.period * found.times && is_loop(loop)) found = loop;
    }
  }
  return found;
}

// A loop of words is one word four times, or three times where it is no small word; two or three words three times;
// more twice. A loop without letters is longer, because people draw lines with marks.
Loop loop_of_words(const std::vector<Word>& words) {
  constexpr size_t kLongestPeriod = 30, kSmallWord = 3, kMarks = 8;
  std::vector<std::string_view> items;
  for (const Word& word : words) items.emplace_back(word.lower);
  return longest_loop(items, kLongestPeriod, [&](const Loop& loop) {
    const auto begin = items.begin() + static_cast<std::ptrdiff_t>(loop.first);
    if (!std::any_of(begin, begin + static_cast<std::ptrdiff_t>(loop.period), has_letter))
      return loop.times * loop.period >= kMarks && loop.times > 2;
    if (loop.period == 1) return loop.times >= (letters_in(*begin) > kSmallWord ? 3 : 4);
    return loop.times >= (loop.period < 4 ? 3 : 2);
  });
}

// The loop of a text that is the same words again and again, and nothing else but marks: "List, list".
Loop loop_of_all(const std::vector<Word>& words) {
  constexpr size_t kLongestPeriod = 30;
  const auto is_mark = [](char c) { return static_cast<unsigned char>(c) < 0x80 && !is_ascii_alphanumeric(c); };
  std::vector<std::string> items;
  std::vector<size_t> places;  // of the items among the words
  for (size_t i = 0; i < words.size(); ++i) {
    std::string item = words[i].lower;
    item.erase(std::remove_if(item.begin(), item.end(), is_mark), item.end());
    if (item.empty()) continue;
    items.push_back(std::move(item));
    places.push_back(i);
  }
  if (std::none_of(items.begin(), items.end(), has_letter)) return {};
  for (size_t period = 1; period <= std::min(kLongestPeriod, items.size() / 2); ++period)
    if (items.size() % period == 0 &&
        std::equal(items.begin() + static_cast<std::ptrdiff_t>(period), items.end(), items.begin()))
      return {places.front(), places[period] - places.front(), items.size() / period};
  return {};
}

// A loop of letters is within a word, or within a text without spaces.
Loop loop_of_letters(const std::vector<UChar32>& letters) {
  constexpr size_t kLongestPeriod = 20;
  return longest_loop(letters, kLongestPeriod, [&](const Loop& loop) {
    if (!u_isalpha(letters[loop.first])) return false;
    return loop.times >= (loop.period == 1 ? 6 : loop.period < 5 ? 4 : 3);
  });
}

// The bytes of the longest loop of a text and how often it repeats.
struct Repetition {
  ByteSpan span;
  ByteSpan unit;
  size_t times = 1;
};

Repetition repetition_in(std::string_view text) {
  const std::vector<Word> words = words_of(text);
  const Loop loop = loop_of_words(words);
  if (loop.times > 1)
    return {{words[loop.first].span.first, words[loop.first + loop.period * loop.times - 1].span.second},
            {words[loop.first].span.first, words[loop.first + loop.period - 1].span.second},
            loop.times};
  if (const Loop all = loop_of_all(words); all.times > 1)
    return {{words[all.first].span.first, words.back().span.second},
            {words[all.first].span.first, words[all.first + all.period - 1].span.second},
            all.times};
  Repetition found;
  for (const Word& word : words) {
    constexpr size_t kShortest = 6;  // bytes of a loop
    if (word.span.second - word.span.first < kShortest) continue;
    std::vector<UChar32> letters;
    std::vector<size_t> places;
    for (const Character& character : Characters(part_of(text, word.span))) {
      letters.push_back(character.code);
      places.push_back(word.span.first + character.begin);
    }
    places.push_back(word.span.second);
    const Loop inner = loop_of_letters(letters);
    if (inner.times > found.times)
      found = {{places[inner.first], places[inner.first + inner.period * inner.times]},
               {places[inner.first], places[inner.first + inner.period]},
               inner.times};
  }
  return found;
}

// True for a word that its language writes twice, as Turkish does: "yavaş yavaş" for "slowly". Models that repeat the
// word of a label write each with a capital, or with a mark.
bool is_double_word(std::string_view source, std::string_view target) {
  const std::vector<Word> words = words_of(target);
  return words_of(source).size() == 1 && words.size() == 2 && letters_in(words[0].lower) > 1 &&
         words[1].lower.rfind(words[0].lower, 0) == 0 && part_of(target, words[1].span) == words[1].lower;
}

void check_repetition(std::string_view source, std::string_view target, Warnings& warnings) {
  const Repetition found = repetition_in(target);
  if (found.times == 1 || (found.times == 2 && is_double_word(source, target))) return;
  if (2 * repetition_in(source).times > found.times + 1) return;  // the source repeats itself as well
  warnings.push_back({WarningKind::repetition,
                      {0, source.size()},
                      found.span,
                      fmt::format("\"{}\" is repeated {} times", part_of(target, found.unit), found.times)});
}

std::vector<ByteSpan> spans_of(const std::vector<KeptText>& kept) {
  std::vector<ByteSpan> spans;
  for (const KeptText& part : kept)
    if (part.kind != WarningKind::emoji) spans.push_back(part.span);
  return spans;
}

void check_kept_text(std::string_view source, std::string_view target, const std::vector<KeptText>& kept,
                     Warnings& warnings) {
  std::map<std::string_view, size_t> left;  // occurrences in the target
  for (const KeptText& part : kept) {
    const std::string_view text = part_of(source, part.span);
    const auto [count, is_new] = left.try_emplace(text);
    if (is_new) count->second = characters::occurrences(target, text);
    if (count->second > 0) {
      --count->second;
    } else {
      add_warning({part.kind, part.span, {}, fmt::format("the {} {} is missing", name_of(part.kind), text)}, warnings);
    }
  }
}

void check_numbers(std::string_view source, std::string_view target, const std::vector<KeptText>& kept,
                   Warnings& warnings) {
  for (const NumberFault& fault : compare_numbers(source, target, spans_of(kept), spans_of(kept_text_in(target)))) {
    const std::string_view before = part_of(source, fault.source), after = part_of(target, fault.target);
    const std::string message = after.empty()    ? fmt::format("the number {} is missing", before)
                                : before.empty() ? fmt::format("the source has no number {}", after)
                                                 : fmt::format("the number {} became {}", before, after);
    add_warning({WarningKind::number, fault.source, fault.target, message}, warnings);
  }
}

void check_copy(std::string_view source, std::string_view target, const Expectations& expected, Warnings& warnings) {
  constexpr double kUsualCopies = 0.01;
  if (expected.copies <= kUsualCopies && is_copy(source, target))
    warnings.push_back({WarningKind::copy,
                        {0, source.size()},
                        {0, target.size()},
                        "the translation repeats the source instead of translating it"});
}

// Letters of scripts that the target language is not written in, but for words that the source has too.
void check_script(std::string_view source, std::string_view target, const Expectations& expected, Warnings& warnings) {
  if (expected.scripts.empty()) return;
  constexpr size_t kFewLetters = 3;
  const auto is_foreign = [&](UChar32 c) {
    UErrorCode error = U_ZERO_ERROR;
    const UScriptCode script = uscript_getScript(c, &error);
    if (script <= USCRIPT_INHERITED || !u_isalpha(c)) return false;
    const auto is_script = [&](const std::string& name) { return name == uscript_getShortName(script); };
    return std::none_of(expected.scripts.begin(), expected.scripts.end(), is_script);
  };
  size_t letters = 0;
  ByteSpan span;
  for (const std::string_view word : split_at_space(target)) {
    size_t in_word = 0;
    for (const Character& character : Characters(word)) in_word += is_foreign(character.code) ? 1 : 0;
    if (in_word == 0 || source.find(word) != std::string_view::npos) continue;
    const auto begin = static_cast<size_t>(word.data() - target.data());
    if (letters == 0) span.first = begin;
    span.second = begin + word.size();
    letters += in_word;
  }
  if (letters >= kFewLetters)
    warnings.push_back({WarningKind::script,
                        {0, source.size()},
                        span,
                        fmt::format("\"{}\" is not in the script of the target language", part_of(target, span))});
}

struct WordCounts {
  size_t all = 0;
  size_t of_source = 0;
};

// The words of a translation that have letters, and how many of them its source has.
WordCounts count_words(std::string_view source, std::string_view target) {
  std::map<std::string, int> in_source;
  for (Word& word : words_of(source)) ++in_source[std::move(word.lower)];
  WordCounts counts;
  for (const Word& word : words_of(target)) {
    if (!has_letter(word.lower)) continue;
    ++counts.all;
    if (in_source[word.lower]-- > 0) ++counts.of_source;
  }
  return counts;
}

}  // namespace

bool is_copy(std::string_view source, std::string_view target) {
  constexpr size_t kFewWords = 5;  // a name may have as many
  constexpr double kShare = 0.9;
  const WordCounts counts = count_words(source, target);
  return counts.all >= kFewWords && static_cast<double>(counts.of_source) >= kShare * static_cast<double>(counts.all);
}

bool is_half_copied(std::string_view source, std::string_view target) {
  const WordCounts counts = count_words(source, target);
  return counts.of_source > 0 && 2 * counts.of_source >= counts.all;
}

void add_warning(TranslationWarning warning, Warnings& all) {
  constexpr std::ptrdiff_t kMostOfAKind = 100;
  constexpr std::string_view kMore = "; there are more of these";
  const auto is_alike = [&](const TranslationWarning& other) { return other.kind == warning.kind; };
  if (std::count_if(all.begin(), all.end(), is_alike) < kMostOfAKind) {
    all.push_back(std::move(warning));
    return;
  }
  std::string& message = std::find_if(all.rbegin(), all.rend(), is_alike)->message;
  if (message.size() < kMore.size() || message.compare(message.size() - kMore.size(), kMore.size(), kMore) != 0)
    message += kMore;
}

Warnings check_texts(std::string_view source, std::string_view target, const Expectations& expected) {
  Warnings warnings;
  const std::vector<KeptText> kept = kept_text_in(source);
  check_numbers(source, target, kept, warnings);
  check_kept_text(source, target, kept, warnings);
  check_repetition(source, target, warnings);
  check_copy(source, target, expected, warnings);
  check_script(source, target, expected, warnings);
  if (const auto fault = find_bracket_fault(source, target))
    warnings.push_back({WarningKind::bracket, {0, source.size()}, fault->target, fault->message});
  return warnings;
}

double length_deviation(std::string_view source, std::string_view target, const Expectations& expected) {
  const size_t characters = characters_in(source);
  const LengthExpectation& length = expected.lengths[length_class(characters)];
  const double ratio = std::log(static_cast<double>(std::max<size_t>(1, characters_in(target))) /
                                static_cast<double>(std::max<size_t>(1, characters)));
  return (ratio - length.mean) / length.deviation;
}

}  // namespace checks
}  // namespace v0
}  // namespace transmute

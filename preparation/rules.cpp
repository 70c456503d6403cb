// SPDX-License-Identifier: Apache-2.0
#include <transmute/preparation/rules.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <transmute/common/utf8.h>
#include <transmute/preparation/encoding.h>
#include <transmute/preparation/kept_parts.h>
#include <transmute/preparation/side.h>
#include <transmute/text/checks/checks.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

using Found = std::optional<std::string>;  // what breaks a rule

std::string percent(size_t part, size_t whole) {
  return fmt::format("{:.0f}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// The counts of the characters of both sides.
struct PairCounts {
  CharacterCounts source, target;
};

// Dates and the like are worth learning where they change.
Found find_symbols(const TextPair& pair, const PairCounts& counts, double least) {
  constexpr size_t kShort = 4;
  const bool is_same = pair.source == pair.target;
  for (const auto& [side, name] : {std::pair(&counts.source, "source"), std::pair(&counts.target, "target")}) {
    const size_t content = side->letters + (is_same ? 0 : side->digits);
    if (side->all > kShort && static_cast<double>(content) < least * static_cast<double>(side->all))
      return fmt::format("{} of the {} are letters{}", percent(content, side->all), name, is_same ? "" : " or digits");
  }
  return {};
}

// Names that both sides have, as in "Thunderbird 是自由的", do not count where there is other text to translate: a side
// that has the whole other one in it is no translation.
bool is_foreign(const std::string& side, const CharacterCounts& counts, const std::string& other,
                const CharacterCounts& other_counts, double least) {
  constexpr double kFewest = 0.2;  // of the least share
  const size_t own = counts.letters - counts.foreign;
  const auto share_of = [&](size_t letters) { return static_cast<double>(own) / static_cast<double>(letters); };
  if (own == counts.letters || share_of(counts.letters) >= least) return false;
  if (share_of(counts.letters) < kFewest * least) return true;
  const size_t common = std::min(letters_in_common(side, other), counts.foreign);
  return share_of(counts.letters - common) < least ||
         2 * (other_counts.letters - std::min(common, other_counts.letters)) < own;
}

Found find_foreign(const TextPair& pair, const PairCounts& counts, double least) {
  const auto describe = [](const CharacterCounts& side, const char* name) {
    return fmt::format("{} of the {}'s letters are of its script", percent(side.letters - side.foreign, side.letters),
                       name);
  };
  if (is_foreign(pair.source, counts.source, pair.target, counts.target, least))
    return describe(counts.source, "source");
  if (is_foreign(pair.target, counts.target, pair.source, counts.source, least))
    return describe(counts.target, "target");
  return {};
}

// Counts words that begin with a small letter: names and titles have none.
size_t plain_words(std::string_view text) {
  size_t count = 0;
  bool begins_word = true;
  for (const Character& character : Characters(text)) {
    count += begins_word && u_islower(character.code) ? 1 : 0;
    begins_word = character.code == ' ';
  }
  return count;
}

Found find_copy(const TextPair& pair) {
  constexpr size_t kFewestWords = 3;
  const bool is_same = pair.source == pair.target && plain_words(pair.source) >= kFewestWords;
  if (is_same || (checks::is_copy(pair.source, pair.target) && plain_words(pair.target) >= kFewestWords))
    return "the target repeats the source";
  return {};
}

Found find_language(const TextPair& pair, const ExpectedText& expected) {
  const auto find = [](const ExpectedSide& side, const std::string& text, const char* name) -> Found {
    const std::string language = side.language.other_language(text);
    if (language.empty()) return {};
    return fmt::format("the {} is in \"{}\", not in \"{}\"", name, language, side.language.code());
  };
  const Found found = find(expected.source, pair.source, "source");
  return found ? found : find(expected.target, pair.target, "target");
}

// True if a text ends like a whole sentence. Quotation marks and brackets may follow the mark.
bool has_end_mark(std::string_view text) {
  constexpr std::array<UChar32, 11> kMarks{'.', '!', '?', ':', 0x2026, 0x3002, 0xFF01, 0xFF1F, 0x61F, 0x964, 0x6D4};
  bool ends = false;
  for (const Character& character : Characters(text)) {
    constexpr uint32_t kClosing = U_GC_PE_MASK | U_GC_PI_MASK | U_GC_PF_MASK | U_GC_ZS_MASK;
    if (character.code == '"' || character.code == '\'' || (U_GET_GC_MASK(character.code) & kClosing) != 0) continue;
    ends = std::find(kMarks.begin(), kMarks.end(), character.code) != kMarks.end();
  }
  return ends;
}

// A side that lacks the end mark of the other was probably cut: half of the deviation is too much.
Found find_ratio(const TextPair& pair, const ExpectedText& expected, double most) {
  Expectations lengths;
  lengths.lengths = expected.lengths;
  const double deviation = checks::length_deviation(pair.source, pair.target, lengths);
  if (std::abs(deviation) <= most / 2) return {};
  const auto &longer = deviation > 0 ? pair.target : pair.source, &shorter = deviation > 0 ? pair.source : pair.target;
  const bool is_cut = has_end_mark(longer) && !has_end_mark(shorter);
  if (std::abs(deviation) <= most && !is_cut) return {};
  return fmt::format("{} characters for {}: {:.1f} standard deviations {}{}", characters_in(pair.target),
                     characters_in(pair.source), std::abs(deviation), deviation > 0 ? "longer" : "shorter",
                     is_cut ? ", and the end mark is missing" : "");
}

Found find_length(const TextPair& pair, size_t most) {
  for (const std::string* side : {&pair.source, &pair.target})
    if (side->size() > most)  // bytes are at least as many as characters
      if (const size_t characters = characters_in(*side); characters > most)
        return fmt::format("{} characters", characters);
  return {};
}

std::vector<UScriptCode> main_scripts(const std::map<UScriptCode, size_t>& letters) {
  constexpr double kLeastShare = 0.05;
  size_t all = 0;
  for (const auto& [script, count] : letters) all += count;
  std::vector<UScriptCode> scripts;
  for (const auto& [script, count] : letters)
    if (static_cast<double>(count) >= kLeastShare * static_cast<double>(all)) scripts.push_back(script);
  return scripts;
}

ExpectedSide learn_side(const std::vector<TextPair>& sample, std::string TextPair::*side, const std::string& language) {
  constexpr size_t kTexts = 5000;  // which settle the language
  std::map<UScriptCode, size_t> letters;
  std::vector<std::string> texts;
  for (const TextPair& pair : sample) {
    count_scripts(pair.*side, letters);
    if (texts.size() < kTexts) texts.push_back(pair.*side);
  }
  ExpectedSide expected;
  expected.scripts = language.empty() ? main_scripts(letters) : scripts_of_language(language);
  expected.language = LanguageCheck(language.empty() ? language_of(texts) : language);
  return expected;
}

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::array<LengthExpectation, kLengthClasses> learn_lengths(const std::vector<TextPair>& sample) {
  constexpr size_t kFewestPairs = 100;
  constexpr double kLeastDeviation = 0.1;
  constexpr double kDeviationOfMedian = 1.4826;  // of the normal distribution, from the median absolute deviation
  std::array<std::vector<double>, kLengthClasses> ratios;
  for (const TextPair& pair : sample) {
    const size_t source = characters_in(pair.source), target = characters_in(pair.target);
    if (source > 0 && target > 0)
      ratios[length_class(source)].push_back(std::log(static_cast<double>(target) / static_cast<double>(source)));
  }
  std::array<LengthExpectation, kLengthClasses> lengths = Expectations{}.lengths;
  for (size_t i = 0; i < kLengthClasses; ++i) {
    if (ratios[i].size() < kFewestPairs) continue;
    const double median = median_of(ratios[i]);
    for (double& ratio : ratios[i]) ratio = std::abs(ratio - median);
    lengths[i] = {median, std::max(kLeastDeviation, kDeviationOfMedian * median_of(ratios[i]))};
  }
  return lengths;
}

}  // namespace

const std::array<RuleText, kRules>& rule_texts() {
  static const std::array<RuleText, kRules> kTexts{
      {{"empty", "a side is empty, or has only spaces and invisible characters"},
       {"encoding", "characters were lost, as U+FFFD and question marks within words show"},
       {"length", "a side is too long"},
       {"symbols", "a side has too few letters and digits among its characters"},
       {"script", "a side is written in another script"},
       {"copy", "the target repeats the source"},
       {"language", "a side is in another language"},
       {"ratio", "one side is much longer than the other usually is"},
       {"markup", "the tags and character references of HTML differ"},
       {"placeholder", "the placeholders of programs differ"},
       {"address", "a web or mail address is on one side only"},
       {"number", "the numbers differ"},
       {"alignment", "the words of the two sides hardly translate each other"},
       {"exclude", "a side is a line of a test or validation text"},
       {"duplicate", "the pair has occurred before"},
       {"near_duplicate", "the pair has occurred before but for case, spaces and punctuation"},
       {"cross_entropy", "models of both directions find the sides improbable given each other"}}};
  return kTexts;
}

ExpectedText learn_expected_text(const std::vector<TextPair>& sample, const PairReaderOptions& languages) {
  return {learn_side(sample, &TextPair::source, languages.source_language),
          learn_side(sample, &TextPair::target, languages.target_language), learn_lengths(sample)};
}

std::optional<Violation> find_violation(const TextPair& pair, const ExpectedText& expected,
                                        const RuleOptions& options) {
  const bool has_source = !is_blank(pair.source);
  if (!has_source || is_blank(pair.target)) {
    if (!options.applies(Rule::empty)) return {};
    return Violation{Rule::empty, fmt::format("the {} is empty", has_source ? "target" : "source")};
  }
  std::optional<Violation> violation;
  const auto breaks = [&](Rule rule, const auto& find) {
    if (!options.applies(rule)) return false;
    Found found = find();
    if (found) violation = Violation{rule, std::move(*found)};
    return violation.has_value();
  };
  std::optional<PairCounts> known;
  const auto counts = [&]() -> const PairCounts& {
    if (!known)
      known = {count_characters(pair.source, expected.source.scripts),
               count_characters(pair.target, expected.target.scripts)};
    return *known;
  };
  const auto lost = [&]() -> Found {
    if (has_lost_characters(pair.source, pair.target)) return "the source has lost characters";
    if (has_lost_characters(pair.target, pair.source)) return "the target has lost characters";
    return {};
  };
  // The cheap ones first.
  breaks(Rule::encoding, lost) || breaks(Rule::length, [&] { return find_length(pair, options.max_length); }) ||
      breaks(Rule::symbols, [&] { return find_symbols(pair, counts(), options.min_letters); }) ||
      breaks(Rule::script, [&] { return find_foreign(pair, counts(), options.min_script); }) ||
      breaks(Rule::copy, [&] { return find_copy(pair); }) ||
      breaks(Rule::language, [&] { return find_language(pair, expected); }) ||
      breaks(Rule::ratio, [&] { return find_ratio(pair, expected, options.max_deviation); }) ||
      breaks(Rule::markup, [&] { return find_other_markup(pair); }) ||
      breaks(Rule::placeholder, [&] { return find_other_placeholders(pair); }) ||
      breaks(Rule::address, [&] { return find_other_addresses(pair); }) ||
      breaks(Rule::number, [&] { return find_other_numbers(pair); });
  return violation;
}

}  // namespace v0
}  // namespace transmute

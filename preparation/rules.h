// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/preparation/language.h>
#include <transmute/preparation/pair_reader.h>
#include <transmute/text/checks/expectations.h>
#include <unicode/uscript.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Why a pair is left out, see rule_texts(). The first rule that applies counts.
enum class Rule {
  empty,
  encoding,
  length,
  symbols,
  script,
  copy,
  language,
  ratio,
  markup,
  placeholder,
  address,
  number,
  alignment,
  exclude,
  duplicate,
  near_duplicate,
  cross_entropy,
};

/// Number of rules.
constexpr size_t kRules = 17;

/// The words that users read about a rule.
struct RuleText {
  const char* name;     ///< as --keep has it
  const char* meaning;  ///< what the pairs are like that it leaves out
};

/// The words about each rule, in the order of Rule.
const std::array<RuleText, kRules>& rule_texts();

/// The texts of a rule.
inline const RuleText& text_of(Rule rule) {
  return rule_texts()[static_cast<size_t>(rule)];
}

/// The limits of the rules, and which of them are off.
struct RuleOptions {
  size_t max_length = 1000;  ///< characters of a side
  double max_deviation = 5;  ///< standard deviations of the length from the expected one; half where a text was cut
  double min_letters = 0.3;  ///< share of letters, and of digits if the sides differ, without spaces
  double min_script = 0.5;   ///< share of the letters of a side that are of its scripts
  std::array<bool, kRules> off{};  ///< rules that are not applied, by Rule

  /// True if the rule is on.
  bool applies(Rule rule) const { return !off[static_cast<size_t>(rule)]; }
};

/// The expectations of one side of the text.
struct ExpectedSide {
  LanguageCheck language;            ///< knows nothing if the language is unknown
  std::vector<UScriptCode> scripts;  ///< empty: any
};

/// The expectations of a text, learned from itself.
struct ExpectedText {
  ExpectedSide source;  ///< what sources are
  ExpectedSide target;  ///< what targets are
  /// Lengths of targets, by that of their sources.
  std::array<LengthExpectation, kLengthClasses> lengths = Expectations{}.lengths;
};

/// Learns the scripts, the languages and the lengths from a sample. Medians keep the bad pairs of it from counting.
/// @param languages those that are known; the others are found in the sample
ExpectedText learn_expected_text(const std::vector<TextPair>& sample, const PairReaderOptions& languages);

/// A rule that a pair breaks, with what it is that breaks it.
struct Violation {
  Rule rule;           ///< the rule
  std::string detail;  ///< such as "the target lacks %s"
};

/// The first of the rules from Rule::empty to Rule::number that a pair breaks. Its encoding has been mended.
std::optional<Violation> find_violation(const TextPair& pair, const ExpectedText& expected, const RuleOptions& options);

}  // namespace v0
}  // namespace transmute

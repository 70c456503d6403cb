// SPDX-License-Identifier: Apache-2.0
#include <transmute/preparation/report.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/html.h>
#include <transmute/common/json.h>
#include <transmute/common/progress.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

std::string share_text(int64_t part, int64_t whole) {
  return fmt::format("{:.2f}%", whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::vector<std::string> names_of(const std::vector<UScriptCode>& scripts) {
  std::vector<std::string> names;
  for (const UScriptCode script : scripts) names.emplace_back(uscript_getShortName(script));
  return names;
}

// Languages and scripts of a side, as "de, Latn".
std::string side_text(const ExpectedSide& side) {
  std::vector<std::string> parts = names_of(side.scripts);
  parts.insert(parts.begin(), side.language.is_known() ? side.language.code() : "unknown language");
  return fmt::format("{}", fmt::join(parts, ", "));
}

// The thresholds of the alignment by the number of words.
std::string alignment_text(const Preparation& preparation) {
  if (preparation.options().min_alignment) return fmt::format("{:g}", *preparation.options().min_alignment);
  const AlignmentThresholds* thresholds = preparation.alignment_thresholds();
  if (thresholds == nullptr) return "";
  constexpr std::array<const char*, kAlignmentClasses> kWords{"5–8", "9–16", "17+"};
  std::vector<std::string> parts;
  for (size_t i = 0; i < kAlignmentClasses; ++i)
    parts.push_back(fmt::format("{} words: {}", kWords[i],
                                thresholds->least[i] ? fmt::format("{:.2f}", *thresholds->least[i]) : "none"));
  return fmt::format("{}", fmt::join(parts, "; "));
}

// The limits of the models' costs by the number of characters.
std::string cost_text(const Preparation& preparation) {
  const PreparationOptions& options = preparation.options();
  if (!options.cross_entropy) return "without models";
  if (options.max_cross_entropy) return fmt::format("{:g} nats per token", *options.max_cross_entropy);
  std::vector<std::string> parts;
  const CostLimits& limits = *preparation.cost_limits();
  for (size_t i = 0; i < kCostClasses; ++i) {
    const std::string lengths = i + 1 < kCostClasses ? fmt::format("up to {}", kCostClassLengths[i]) : "more";
    parts.push_back(
        fmt::format("{} characters: {}", lengths, limits.most[i] ? fmt::format("{:.2f}", *limits.most[i]) : "none"));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

// The limit of a rule as it was applied; empty for those that have none.
std::string limit_text(const Preparation& preparation, Rule rule) {
  const RuleOptions& options = preparation.options().rules;
  const ExpectedText& expected = preparation.expected();
  if (!options.applies(rule)) return "off";
  switch (rule) {
    case Rule::length:
      return fmt::format("{} characters", options.max_length);
    case Rule::symbols:
      return fmt::format("{:g} of the characters", options.min_letters);
    case Rule::script:
      return fmt::format("{:g} of the letters in {} and {}", options.min_script,
                         fmt::join(names_of(expected.source.scripts), ", "),
                         fmt::join(names_of(expected.target.scripts), ", "));
    case Rule::language: {
      const auto name = [](const ExpectedSide& side) {
        return side.language.is_known() ? side.language.code() : "any";
      };
      return fmt::format("{} and {}", name(expected.source), name(expected.target));
    }
    case Rule::ratio:
      return fmt::format("{:g} standard deviations", options.max_deviation);
    case Rule::alignment:
      return alignment_text(preparation);
    case Rule::cross_entropy:
      return cost_text(preparation);
    default:
      return "";
  }
}

// A cell that is not divided into lines.
std::string number_cell(const std::string& number) {
  return "<td style=\"white-space: nowrap\">" + number + "</td>";
}

// A table of pairs, each with what is to be said of it.
std::string table_of(const std::vector<DroppedPair>& pairs) {
  std::string html;
  for (const DroppedPair& pair : pairs)
    html += fmt::format(
        "<table><tr><th>source</th><td>{}</td></tr><tr><th>target</th><td>{}</td></tr><tr><th>why</th><td>{}</td></tr>"
        "</table>\n",
        html_escaped(pair.pair.source), html_escaped(pair.pair.target), html_escaped(pair.detail));
  return html;
}

std::string facts_of(const Preparation& preparation, const PreparationOutcome& outcome, double seconds) {
  std::vector<std::pair<std::string, std::string>> facts{
      {"pairs", format_count(outcome.read)},
      {"kept", fmt::format("{} ({})", format_count(outcome.kept), share_text(outcome.kept, outcome.read))},
      {"mended", format_count(outcome.mended)},
      {"without a translation", format_count(outcome.untranslated)},
      {"without both languages", format_count(outcome.other_languages)},
      {"source", side_text(preparation.expected().source)},
      {"target", side_text(preparation.expected().target)},
      {"time", format_duration(seconds)}};
  if (const AlignmentThresholds* thresholds = preparation.alignment_thresholds())
    facts.emplace_back("wrongly paired in the sample", fmt::format("{:.1f}%", 100 * thresholds->mismatched));
  std::string html = "<dl>";
  for (const auto& [name, value] : facts)
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", name, html_escaped(value));
  return html + "</dl>\n";
}

}  // namespace

std::string preparation_page(const Preparation& preparation, const PreparationOutcome& outcome, double seconds) {
  std::string rows, examples;
  for (size_t i = 0; i < kRules; ++i) {
    const RuleOutcome& rule = outcome.rules[i];
    const RuleText& text = rule_texts()[i];
    rows += fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td>{}{}</tr>", text.name, text.meaning,
                        html_escaped(limit_text(preparation, static_cast<Rule>(i))),
                        number_cell(format_count(rule.count)), number_cell(share_text(rule.count, outcome.read)));
    if (!rule.examples.empty())
      examples += fmt::format("<h2>{}: {}</h2>\n{}", text.name, text.meaning, table_of(rule.examples));
  }
  if (!outcome.mended_examples.empty())
    examples += "<h2>Pairs whose encoding or references of HTML were mended</h2>\n" + table_of(outcome.mended_examples);
  return report_page("Prepared text",
                     facts_of(preparation, outcome, seconds) +
                         "<h2>Pairs that were left out</h2>\n<table><tr><th>rule</th><td>leaves out pairs where</td>"
                         "<td>limit</td><td>pairs</td><td>share</td></tr>" +
                         rows + "</table>\n" + examples);
}

std::string preparation_json(const Preparation& preparation, const PreparationOutcome& outcome, double seconds) {
  Json rules = Json::object();
  for (size_t i = 0; i < kRules; ++i) {
    Json rule{{"pairs", outcome.rules[i].count}};
    if (const std::string limit = limit_text(preparation, static_cast<Rule>(i)); !limit.empty()) rule["limit"] = limit;
    rules[rule_texts()[i].name] = std::move(rule);
  }
  const Json counts{{"pairs", outcome.read},
                    {"kept", outcome.kept},
                    {"mended", outcome.mended},
                    {"without_translation", outcome.untranslated},
                    {"without_both_languages", outcome.other_languages},
                    {"source", side_text(preparation.expected().source)},
                    {"target", side_text(preparation.expected().target)},
                    {"seconds", seconds},
                    {"rules", std::move(rules)}};
  return json_text(counts, 2) + "\n";
}

std::string preparation_summary(const Preparation& preparation, const PreparationOutcome& outcome, double seconds) {
  std::string text =
      fmt::format("kept {} of {} ({}) in {}; source: {}; target: {}\n", format_count(outcome.kept),
                  counted(outcome.read, "pair"), share_text(outcome.kept, outcome.read), format_duration(seconds),
                  side_text(preparation.expected().source), side_text(preparation.expected().target));
  for (size_t i = 0; i < kRules; ++i)
    if (const int64_t count = outcome.rules[i].count; count > 0)
      text += fmt::format("  {:>11}  {:<14}  {}\n", format_count(count), rule_texts()[i].name, rule_texts()[i].meaning);
  if (outcome.mended > 0)
    text +=
        fmt::format("  {:>11}  kept with their encoding or references of HTML mended\n", format_count(outcome.mended));
  if (outcome.untranslated > 0)
    text += fmt::format("  {:>11}  entries of the files have no finished translation\n",
                        format_count(outcome.untranslated));
  if (outcome.other_languages > 0)
    text += fmt::format("  {:>11}  entries of the files lack one of the two languages\n",
                        format_count(outcome.other_languages));
  return text;
}

}  // namespace v0
}  // namespace transmute

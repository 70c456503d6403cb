// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/join_parts.h>

#include <transmute/common/ascii_case.h>
#include <transmute/metrics/metric_text.h>
#include <transmute/text/checks/checks.h>
#include <transmute/text/sentences.h>
#include <transmute/tokenizer/truecase.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

template <class T>
void move_all(std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// `more` translates the source tokens that follow the `width` that `rows` stands for.
void append_alignment(std::vector<std::vector<float>>& rows, size_t width, std::vector<std::vector<float>>&& more,
                      size_t more_width) {
  for (auto& row : rows) row.resize(width + more_width);
  for (auto& row : more) {
    row.insert(row.begin(), width, 0.0F);
    rows.push_back(std::move(row));
  }
}

// An abandoned translation has none.
template <class T>
void drop_first(std::vector<T>& items, size_t count) {
  items.erase(items.begin(), items.begin() + static_cast<int64_t>(std::min(count, items.size())));
}

// Each part counts by its length. `space`: bytes between the two.
void append_confidence(Hypothesis& joined, const Hypothesis& next, size_t space) {
  const auto before = static_cast<double>(joined.text.size()), more = static_cast<double>(next.text.size());
  if (joined.confidence && next.confidence) {
    joined.confidence = (*joined.confidence * before + *next.confidence * more) / std::max(1.0, before + more);
  } else if (next.confidence) {
    joined.confidence = next.confidence;
  }
  for (WordConfidence word : next.words) {
    word.place.first += joined.text.size() + space;
    word.place.second += joined.text.size() + space;
    joined.words.push_back(word);
  }
}

// `width` and `more_width`: numbers of source tokens before and in the part.
void append_hypothesis(Hypothesis& joined, Hypothesis&& next, const std::string& gap, size_t width, size_t more_width) {
  const std::string space = space_between(joined.text, next.text, gap);
  append_confidence(joined, next, space.size());
  joined.text += space + next.text;
  joined.score += next.score;
  joined.log_probability += next.log_probability;
  if (joined.reverse_log_probability) *joined.reverse_log_probability += next.reverse_log_probability.value_or(0);
  move_all(next.tokens, joined.tokens);
  move_all(next.token_scores, joined.token_scores);
  append_alignment(joined.alignment, width, std::move(next.alignment), more_width);
}

// Numbers of the results of a and b to join.
std::vector<std::pair<size_t, size_t>> pairs_to_join(const std::vector<Hypothesis>& a, const std::vector<Hypothesis>& b,
                                                     JoinedResults results) {
  std::vector<std::pair<size_t, size_t>> pairs;
  const size_t wanted = results == JoinedResults::of_first ? a.size() : std::max(a.size(), b.size());
  if (results != JoinedResults::best) {
    for (size_t i = 0; i < wanted; ++i)
      pairs.emplace_back(std::min(i, a.size() - 1), results == JoinedResults::of_first ? 0 : std::min(i, b.size() - 1));
    return pairs;
  }
  // No other pair can be among the best, because both lists are sorted.
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t k = 0; k < b.size() && (i + 1) * (k + 1) <= wanted; ++k) pairs.emplace_back(i, k);
  const auto score = [&](const auto& pair) { return a[pair.first].score + b[pair.second].score; };
  std::stable_sort(pairs.begin() + 1, pairs.end(), [&](const auto& x, const auto& y) { return score(x) > score(y); });
  pairs.resize(wanted);
  return pairs;
}

// The translation of an item or a heading with a capital after the number that it has in common with its source. What
// a prefix or a term begins there stays as it is.
std::optional<std::string> with_capital_after_number(const std::string& translation, const SourcePart& part,
                                                     const SubwordModel& target) {
  const size_t number = part.plain.find(' ') + 1;
  const bool has_prefix = part.prefix.size() > part.forced.target;
  if (!part.item_begins_with_capital || has_prefix || number == 0 ||
      translation.compare(0, number, part.plain, 0, number) != 0)
    return {};
  for (const Ids& ids : part.terms)
    if (const std::string term = target.decode(ids); translation.compare(number, term.size(), term) == 0) return {};
  return translation.substr(0, number) + with_capital(translation.substr(number), target.is_turkish());
}

// True if a word that a translation begins with gets the source's capital from any model. "dBASE" has capitals of its
// own, and names of code are as in the source: "link()", and in sentences also "npm".
bool gets_lent_capital(const std::string& word, const SourcePart& part) {
  constexpr size_t kLongestLabel = 4;  // words: "Relative link"
  if (!part.lends_capital || without_capitals(word) != word) return false;
  const std::vector<std::string_view> words = split_at_space(part.plain);
  const auto is_sign = [](char c) { return static_cast<signed char>(c) >= 0 && !is_ascii_letter(c); };
  const bool may_be_name = words.size() > kLongestLabel || std::any_of(word.begin(), word.end(), is_sign);
  return !may_be_name || std::find(words.begin(), words.end(), word) == words.end();
}

}  // namespace

std::string in_written_case(std::string translation, const SourcePart& part, const SubwordModel& target) {
  if (!part.begins_with_capital) return translation;
  if (auto item = with_capital_after_number(translation, part, target)) return *std::move(item);
  bool gets_capital = target.truecases() || begins_in_lower_case(part.plain) ||
                      gets_lent_capital(translation.substr(0, translation.find(' ')), part);
  for (const Ids& ids : part.terms) {
    const std::string term = target.decode(ids), word = term.substr(0, term.find(' '));
    if (translation.rfind(term, 0) == 0)
      gets_capital = without_capitals(word) == word && part.plain.find(term) == std::string::npos;
  }
  return gets_capital ? with_capital(std::move(translation), target.is_turkish()) : translation;
}

std::optional<std::string> so_far_in_written_case(const Ids& certain, const SourcePart& part,
                                                  const SubwordModel& target) {
  std::string text = target.decode(certain);
  const auto may_become = [&](const Ids& ids) {
    const std::string term = target.decode(ids);
    return term.size() > text.size() && term.rfind(text, 0) == 0;
  };
  const bool may_get_capital = part.lends_capital && !target.truecases() && begins_in_lower_case(text);
  if (may_get_capital && text.find(' ') == std::string::npos) return {};
  if (std::any_of(part.terms.begin(), part.terms.end(), may_become)) return {};
  return in_written_case(std::move(text), part, target);
}

Hypothesis to_hypothesis(IdHypothesis&& found, const SourcePart& part, const SubwordModel& target) {
  const ForcedTokens& forced = part.forced;
  Hypothesis hypothesis;
  hypothesis.text = in_written_case(target.decode(found.ids), part, target);
  hypothesis.score = found.score;
  hypothesis.log_probability = found.log_probability;
  for (const int64_t id : found.ids) hypothesis.tokens.push_back(target.piece(id));
  drop_first(hypothesis.tokens, forced.target);
  hypothesis.token_scores = std::move(found.token_scores);
  hypothesis.token_scores.pop_back();  // the end's
  drop_first(hypothesis.token_scores, forced.target);
  hypothesis.alignment = std::move(found.alignment);
  if (hypothesis.alignment.empty()) return hypothesis;
  hypothesis.alignment.pop_back();
  drop_first(hypothesis.alignment, forced.target);
  for (auto& row : hypothesis.alignment) {
    row.pop_back();
    drop_first(row, forced.source);
  }
  return hypothesis;
}

void add_unknown(const std::string& word, std::vector<std::string>& all) {
  if (all.size() < kMostUnknown && std::find(all.begin(), all.end(), word) == all.end()) all.push_back(word);
}

JoinedResults joined_results(const SearchOptions& search) {
  if (search.alternatives) return JoinedResults::of_first;
  return search.sampling ? JoinedResults::in_order : JoinedResults::best;
}

void append_translation(Translation& whole, Translation&& part, const std::string& gap, JoinedResults results) {
  if (whole.hypotheses.empty()) {
    whole = std::move(part);
    return;
  }
  ++whole.parts;
  const size_t width = whole.source_tokens.size(), more_width = part.source_tokens.size();
  const size_t bytes = part.hypotheses.front().text.size();
  if (whole.hypotheses.size() == 1 && part.hypotheses.size() == 1) {
    append_hypothesis(whole.hypotheses.front(), std::move(part.hypotheses.front()), gap, width, more_width);
  } else {
    std::vector<Hypothesis> joined;
    for (const auto& [first, second] : pairs_to_join(whole.hypotheses, part.hypotheses, results)) {
      joined.push_back(whole.hypotheses[first]);
      append_hypothesis(joined.back(), Hypothesis(part.hypotheses[second]), gap, width, more_width);
    }
    whole.hypotheses = std::move(joined);
  }
  move_all(part.source_tokens, whole.source_tokens);
  for (const std::string& text : part.unknown) add_unknown(text, whole.unknown);
  // The warnings of a part move to where its text now is.
  const size_t begin = whole.hypotheses.front().text.size() - bytes;
  for (TranslationWarning& warning : part.warnings) {
    warning.target.first += begin;
    warning.target.second += begin;
    checks::add_warning(std::move(warning), whole.warnings);
  }
}

}  // namespace v0
}  // namespace transmute

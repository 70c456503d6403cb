// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/text/join_parts.h>

#include <transmute/translation/text/sentences.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

// The warnings of a part move to where its text now is.
void append_text(Translation& whole, Translation& part) {
  std::string& text = whole.hypotheses.front().text;
  const std::string& next = part.hypotheses.front().text;
  text += space_between(text, next);
  for (TranslationWarning& warning : part.warnings) {
    warning.target.first += text.size();
    warning.target.second += text.size();
    whole.warnings.push_back(std::move(warning));
  }
  text += next;
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

}  // namespace

Hypothesis to_hypothesis(IdHypothesis&& found, const SubwordModel& target, GivenTokens given) {
  Hypothesis hypothesis;
  hypothesis.text = target.decode(found.ids);
  hypothesis.score = found.score;
  hypothesis.log_probability = found.log_probability;
  for (const int64_t id : found.ids) hypothesis.tokens.push_back(target.piece(id));
  drop_first(hypothesis.tokens, given.target);
  hypothesis.token_scores = std::move(found.token_scores);
  hypothesis.token_scores.pop_back();  // the end's
  drop_first(hypothesis.token_scores, given.target);
  hypothesis.alignment = std::move(found.alignment);
  if (hypothesis.alignment.empty()) return hypothesis;
  hypothesis.alignment.pop_back();
  drop_first(hypothesis.alignment, given.target);
  for (auto& row : hypothesis.alignment) {
    row.pop_back();
    drop_first(row, given.source);
  }
  return hypothesis;
}

void append_translation(Translation& whole, Translation&& part) {
  if (whole.hypotheses.empty()) {
    whole = std::move(part);
    return;
  }
  ++whole.parts;
  whole.hypotheses.resize(1);
  Hypothesis& joined = whole.hypotheses.front();
  Hypothesis& next = part.hypotheses.front();
  append_text(whole, part);
  joined.score += next.score;
  joined.log_probability += next.log_probability;
  if (joined.reverse_log_probability) *joined.reverse_log_probability += next.reverse_log_probability.value_or(0);
  const auto move_all = [](auto& from, auto& to) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  move_all(next.tokens, joined.tokens);
  move_all(next.token_scores, joined.token_scores);
  append_alignment(joined.alignment, whole.source_tokens.size(), std::move(next.alignment), part.source_tokens.size());
  move_all(part.source_tokens, whole.source_tokens);
  for (std::string& text : part.unknown)
    if (whole.unknown.size() < kMostUnknown &&
        std::find(whole.unknown.begin(), whole.unknown.end(), text) == whole.unknown.end())
      whole.unknown.push_back(std::move(text));
}

}  // namespace v0
}  // namespace transmute

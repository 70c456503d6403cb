// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/calibration.h>

#include <transmute/metrics/chrf.h>
#include <transmute/text/checks/coverage.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace transmute {
inline namespace v0 {

namespace {

// Words between single spaces, without ASCII punctuation.
std::string spaced_words(const std::string& text) {
  std::string words = " ";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_part = byte >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_part || words.back() != ' ') words += is_part ? c : ' ';
  }
  return words.back() == ' ' ? words : words + ' ';
}

// True if the reference, as spaced_words() writes it, has the word. Some scripts have no spaces between words.
bool has_word(const std::string& reference, const std::string& word) {
  const bool has_spaces = reference.find(' ', 1) + 1 < reference.size();
  const std::string spaced = spaced_words(word);
  return reference.find(has_spaces ? spaced : spaced.substr(1, spaced.size() - 2)) != std::string::npos;
}

// Newton's method may run away where a model's translations are all alike.
template <size_t N>
bool are_bounded(const std::array<double, N>& weights) {
  constexpr double kMost = 100;
  return std::all_of(weights.begin(), weights.end(), [](double weight) { return std::abs(weight) <= kMost; });
}

}  // namespace

std::optional<ConfidenceCurve> fit_confidence(const std::vector<Translation>& translations,
                                              const std::vector<std::string>& references, const SubwordModel& target) {
  constexpr size_t kFewest = 100;
  std::vector<std::string> texts;
  for (const Translation& translation : translations) texts.push_back(translation.hypotheses.front().text);
  if (texts.size() < kFewest) return {};
  const auto counts = chrf_segment_counts(texts, {references});
  std::vector<TextFeatures> text_rows;
  std::vector<WordFeatures> word_rows;
  std::vector<double> scores, hits;
  for (size_t i = 0; i < texts.size(); ++i) {
    const Hypothesis& best = translations[i].hypotheses.front();
    if (best.tokens.empty() || best.tokens.size() != best.token_scores.size()) continue;
    const double end = best.log_probability - std::accumulate(best.token_scores.begin(), best.token_scores.end(), 0.0);
    text_rows.push_back(text_features(best.token_scores, end, !translations[i].warnings.empty()));
    scores.push_back(chrf_from_counts(counts[i]) / 100);
    const std::string reference = spaced_words(references[i]);
    const auto spans = target.spans_of_pieces(best.tokens, best.text);
    for (const checks::Span& word : checks::words_of_tokens(best.tokens)) {
      const size_t begin = spans[word.first].first;
      word_rows.push_back(word_features(best.token_scores, word));
      hits.push_back(has_word(reference, best.text.substr(begin, spans[word.second - 1].second - begin)) ? 1 : 0);
    }
  }
  if (text_rows.size() < kFewest) return {};
  const ConfidenceCurve curve{fit_logistic(text_rows, scores), fit_logistic(word_rows, hits)};
  if (!are_bounded(curve.text) || !are_bounded(curve.word)) return {};
  return curve;
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Features of a translation that predict its quality: a constant, the mean and the least log-probability of its
/// tokens, the mean probability, the share of improbable tokens, the logarithm of the length, and whether the guard
/// warns.
using TextFeatures = std::array<double, 7>;

/// Features of one word: a constant, its log-probability, its probability, and the log-probability of the translation
/// per token.
using WordFeatures = std::array<double, 4>;

/// Features of a translation.
/// @param token_scores log-probability of each token
/// @param end_score that of the end, or of all ends if it was translated in parts
TextFeatures text_features(const std::vector<double>& token_scores, double end_score, bool has_warnings);

/// Features of the word that consists of tokens [first, second) of a translation.
WordFeatures word_features(const std::vector<double>& token_scores, const std::pair<size_t, size_t>& tokens);

/// Logistic regression: the weights for which the expected value 1 / (1 + exp(-weights * features)) explains the
/// targets best, by maximum likelihood with a weak prior.
/// @param targets one per row, each from 0 to 1
template <size_t N>
std::array<double, N> fit_logistic(const std::vector<std::array<double, N>>& rows, const std::vector<double>& targets);

/// The expected value.
template <size_t N>
double logistic(const std::array<double, N>& weights, const std::array<double, N>& features);

/// Turns scores into confidence. Learned from held-out text.
struct ConfidenceCurve {
  TextFeatures text{};  ///< weights whose logistic() is the expected sentence chrF of a translation, from 0 to 1
  WordFeatures word{};  ///< weights whose logistic() is the probability that a reference has the word
};

}  // namespace v0
}  // namespace transmute

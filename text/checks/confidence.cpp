// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/checks/confidence.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

namespace transmute {
inline namespace v0 {

namespace {

// The log-probability of a token may be minus infinity, for example in a forced prefix.
constexpr double kLeastScore = -20;

double bounded(double score) {
  return std::isfinite(score) ? std::max(score, kLeastScore) : kLeastScore;
}

// Solves `matrix` * x = `right` by Gaussian elimination; the matrix is positive definite.
template <size_t N>
std::array<double, N> solve(std::array<std::array<double, N>, N> matrix, std::array<double, N> right) {
  for (size_t pivot = 0; pivot < N; ++pivot)
    for (size_t row = pivot + 1; row < N; ++row) {
      const double factor = matrix[row][pivot] / matrix[pivot][pivot];
      for (size_t column = pivot; column < N; ++column) matrix[row][column] -= factor * matrix[pivot][column];
      right[row] -= factor * right[pivot];
    }
  for (size_t row = N; row-- > 0;) {
    for (size_t column = row + 1; column < N; ++column) right[row] -= matrix[row][column] * right[column];
    right[row] /= matrix[row][row];
  }
  return right;
}

}  // namespace

TextFeatures text_features(const std::vector<double>& token_scores, double end_score, bool has_warnings) {
  constexpr double kImprobable = -1;
  double sum = bounded(end_score), least = bounded(end_score), probability = std::exp(bounded(end_score));
  double improbable = sum < kImprobable ? 1 : 0;
  for (const double score : token_scores) {
    const double own = bounded(score);
    sum += own;
    least = std::min(least, own);
    probability += std::exp(own);
    improbable += own < kImprobable ? 1 : 0;
  }
  const auto count = static_cast<double>(token_scores.size() + 1);
  return {1, sum / count, least, probability / count, improbable / count, std::log(count), has_warnings ? 1.0 : 0.0};
}

WordFeatures word_features(const std::vector<double>& token_scores, const std::pair<size_t, size_t>& tokens) {
  double all = 0, sum = 0;
  for (size_t i = 0; i < token_scores.size(); ++i) {
    const double own = bounded(token_scores[i]);
    all += own;
    if (i < tokens.first || i >= tokens.second) continue;
    sum += own;
  }
  sum = std::max(sum, kLeastScore);
  return {1, sum, std::exp(sum), all / static_cast<double>(std::max<size_t>(1, token_scores.size()))};
}

template <size_t N>
double logistic(const std::array<double, N>& weights, const std::array<double, N>& features) {
  return 1 / (1 + std::exp(-std::inner_product(weights.begin(), weights.end(), features.begin(), 0.0)));
}

// Newton's method; the likelihood is concave.
template <size_t N>
std::array<double, N> fit_logistic(const std::vector<std::array<double, N>>& rows, const std::vector<double>& targets) {
  constexpr int kSteps = 30;
  // Inverse variance of each weight. The words of a text are alike, and so say less than their number suggests.
  constexpr double kPrior = std::is_same_v<std::array<double, N>, WordFeatures> ? 10 : 0.1;
  std::array<double, N> weights{};
  for (int step = 0; step < kSteps; ++step) {
    std::array<std::array<double, N>, N> curvature{};
    std::array<double, N> gradient{};
    for (size_t i = 0; i < N; ++i) {
      curvature[i][i] = kPrior;
      gradient[i] = -kPrior * weights[i];
    }
    for (size_t row = 0; row < rows.size(); ++row) {
      const double expected = logistic(weights, rows[row]);
      for (size_t i = 0; i < N; ++i) {
        gradient[i] += (targets[row] - expected) * rows[row][i];
        for (size_t j = 0; j < N; ++j) curvature[i][j] += expected * (1 - expected) * rows[row][i] * rows[row][j];
      }
    }
    const std::array<double, N> change = solve(curvature, gradient);
    for (size_t i = 0; i < N; ++i) weights[i] += change[i];
  }
  return weights;
}

template double logistic(const TextFeatures&, const TextFeatures&);
template double logistic(const WordFeatures&, const WordFeatures&);
template TextFeatures fit_logistic(const std::vector<TextFeatures>&, const std::vector<double>&);
template WordFeatures fit_logistic(const std::vector<WordFeatures>&, const std::vector<double>&);

}  // namespace v0
}  // namespace transmute

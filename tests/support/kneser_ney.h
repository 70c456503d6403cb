// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

namespace transmute::testing {

/// A trigram model with interpolated modified Kneser-Ney smoothing (Chen and Goodman, "An empirical study of smoothing
/// techniques for language modeling", 1999): what a neural language model has to do better than. Texts are ids from 0
/// to V-1; each begins with two beginnings and ends with an end, which is predicted.
class TrigramModel {
 public:
  using Ids = std::vector<int64_t>;
  static constexpr int64_t kBeginning = -1;

  TrigramModel(const std::vector<Ids>& texts, int64_t vocabulary, int64_t end) : vocabulary_(vocabulary), end_(end) {
    std::map<Ids, int64_t> trigrams, bigrams, unigrams;
    for (const Ids& text : texts)
      for_each_trigram(text, [&](int64_t a, int64_t b, int64_t c) { ++trigrams[{a, b, c}]; });
    // For the lower orders it counts how many different tokens precede; what begins a text has nothing before it.
    for (const auto& [trigram, count] : trigrams)
      bigrams[{trigram[1], trigram[2]}] += trigram[1] == kBeginning ? count : 1;
    for (const auto& [bigram, count] : bigrams) ++unigrams[{bigram[1]}];
    orders_ = {Order(unigrams), Order(bigrams), Order(trigrams)};
  }

  /// The probability of `token` after `a` and `b`.
  double probability(int64_t a, int64_t b, int64_t token) const {
    double p = 1.0 / static_cast<double>(vocabulary_);
    p = orders_[0].interpolated({}, token, p);
    p = orders_[1].interpolated({b}, token, p);
    return orders_[2].interpolated({a, b}, token, p);
  }

  /// Natural logarithm, the end included.
  double log_probability(const Ids& text) const {
    double sum = 0;
    for_each_trigram(text, [&](int64_t a, int64_t b, int64_t c) { sum += std::log(probability(a, b, c)); });
    return sum;
  }

  /// Per token, ends included.
  double perplexity(const std::vector<Ids>& texts) const {
    double sum = 0, tokens = 0;
    for (const Ids& text : texts) {
      sum += log_probability(text);
      tokens += static_cast<double>(text.size()) + 1;
    }
    return std::exp(-sum / tokens);
  }

 private:
  template <class Visit>
  void for_each_trigram(const Ids& text, const Visit& visit) const {
    int64_t a = kBeginning, b = kBeginning;
    for (size_t i = 0; i <= text.size(); ++i) {
      const int64_t c = i < text.size() ? text[i] : end_;
      visit(a, b, c);
      a = b;
      b = c;
    }
  }

  // n-grams of one length, with what is taken from those that were seen once, twice, and more often.
  class Order {
   public:
    Order() = default;
    explicit Order(const std::map<Ids, int64_t>& counts) : counts_(counts) {
      std::array<double, 5> of_count{};  // number of n-grams seen 1, 2, 3 and 4 times
      for (const auto& [ngram, count] : counts)
        if (count < 5) ++of_count[static_cast<size_t>(count)];
      const double y = of_count[1] / std::max(1.0, of_count[1] + 2 * of_count[2]);
      for (size_t n = 1; n <= 3; ++n) {
        const double more = of_count[n] > 0 ? of_count[n + 1] / of_count[n] : 0;
        const auto count = static_cast<double>(n);
        discounts_[n] = std::clamp(count - (count + 1) * y * more, 0.0, count);
      }
      for (const auto& [ngram, count] : counts) {
        Context& context = contexts_[Ids(ngram.begin(), ngram.end() - 1)];
        context.total += static_cast<double>(count);
        context.taken += discount(count);
      }
    }

    /// The count, less the discount, and the lower order's share of what the discounts took.
    double interpolated(Ids context, int64_t token, double lower) const {
      const auto known = contexts_.find(context);
      if (known == contexts_.end()) return lower;
      context.push_back(token);
      const auto seen = counts_.find(context);
      const double kept = seen == counts_.end() ? 0 : static_cast<double>(seen->second) - discount(seen->second);
      return (kept + known->second.taken * lower) / known->second.total;
    }

   private:
    struct Context {
      double total = 0, taken = 0;
    };
    double discount(int64_t count) const { return discounts_[static_cast<size_t>(std::min<int64_t>(count, 3))]; }

    std::map<Ids, int64_t> counts_;
    std::array<double, 4> discounts_{};
    std::map<Ids, Context> contexts_;
  };

  int64_t vocabulary_;
  int64_t end_;
  std::array<Order, 3> orders_;
};

}  // namespace transmute::testing

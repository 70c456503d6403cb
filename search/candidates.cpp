// SPDX-License-Identifier: Apache-2.0
#include <transmute/search/candidates.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {
namespace search {

namespace {

// The order of columns (or tokens): higher scores first, then lower numbers.
struct Ranking {
  const std::vector<float>& scores;

  bool operator()(int64_t a, int64_t b) const {
    const float x = scores[static_cast<size_t>(a)], y = scores[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  }
};

// Hypothesis `parent` followed by a token.
Candidate continued(const SentenceSearch& sentence, NextScores& scores, int64_t parent, int64_t token) {
  const double so_far = sentence.live()[static_cast<size_t>(parent)].log_probability;
  return {parent, token, so_far + scores.log_probability(sentence, parent, token)};
}

// The end of each live hypothesis; with required terms, only of those that have as many of the terms' tokens as any.
std::vector<Candidate> forced_ends(const SentenceSearch& sentence, NextScores& scores) {
  size_t most = 0;
  for (const auto& hypothesis : sentence.live()) most = std::max(most, hypothesis.terms.tokens());
  std::vector<Candidate> candidates;
  for (size_t n = 0; n < sentence.live().size(); ++n) {
    if (sentence.live()[n].terms.tokens() < most) continue;
    candidates.push_back(continued(sentence, scores, static_cast<int64_t>(n), special_ids::kEnd));
  }
  return candidates;
}

void check_allowed(const SentenceSearch& sentence, NextScores& scores, int64_t token) {
  const Ids allowed = sentence.allowed(0, scores.all(sentence, 0).size());
  if (std::find(allowed.begin(), allowed.end(), token) == allowed.end())
    throw std::invalid_argument("the constraint does not allow the given beginning of a translation");
}

void take_out_banned(const SentenceSearch& sentence, std::vector<Candidate>& candidates) {
  const auto is_banned = [&](const Candidate& candidate) { return sentence.is_banned(candidate); };
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(), is_banned), candidates.end());
}

std::vector<Candidate> best_allowed(const SentenceSearch& sentence, NextScores& scores) {
  const size_t count = sentence.candidates();
  std::vector<Candidate> candidates = scores.best(sentence, count + sentence.most_banned());
  if (sentence.most_banned() > 0) take_out_banned(sentence, candidates);
  if (candidates.size() > count) candidates.resize(count);
  return candidates;
}

// The two best tokens after a term that do not continue its word: without them, a model that prefers to continue it
// would leave the beam no hypothesis with the term.
std::vector<Candidate> after_term(const SentenceSearch& sentence, NextScores& scores, int64_t parent) {
  const LiveHypothesis& hypothesis = sentence.live()[static_cast<size_t>(parent)];
  const std::vector<float> columns = scores.all(sentence, parent);
  const Ranking ranking{columns};
  const auto may_follow = [&](int64_t column) {
    const int64_t token = sentence.token_of(column);
    return !std::isinf(columns[static_cast<size_t>(column)]) && sentence.is_free(static_cast<size_t>(parent), token) &&
           !hypothesis.terms.is_inside_word(token) && (token != special_ids::kEnd || hypothesis.terms.complete());
  };
  std::vector<int64_t> best;
  for (int64_t column = 0; column < static_cast<int64_t>(columns.size()); ++column) {
    if (best.size() == 2 && !ranking(column, best.back())) continue;
    if (!may_follow(column)) continue;
    if (best.size() == 2) best.pop_back();
    best.insert(std::upper_bound(best.begin(), best.end(), column, ranking), column);
  }
  std::vector<Candidate> candidates;
  for (const int64_t column : best)
    candidates.push_back(continued(sentence, scores, parent, sentence.token_of(column)));
  return candidates;
}

// The best candidates of all hypotheses, the best of each (it may end or continue), and those that make progress with
// the terms that a hypothesis must contain.
std::vector<Candidate> towards_terms(const SentenceSearch& sentence, NextScores& scores) {
  std::vector<Candidate> candidates = best_allowed(sentence, scores);
  for (size_t n = 0; n < sentence.live().size(); ++n) {
    const LiveHypothesis& hypothesis = sentence.live()[n];
    const auto parent = static_cast<int64_t>(n);
    std::vector<Candidate> own = scores.best_of(sentence, parent, 2 + sentence.banned(n).size());
    take_out_banned(sentence, own);
    candidates.insert(candidates.end(), own.begin(), own.end());
    if (hypothesis.terms.at_end_of_term()) {
      own = after_term(sentence, scores, parent);
      candidates.insert(candidates.end(), own.begin(), own.end());
    }
    for (const int64_t token : hypothesis.terms.wanted())
      candidates.push_back(continued(sentence, scores, parent, token));
  }
  return sentence.share_out(std::move(candidates));
}

// The best candidates among the tokens that the constraint allows. Shortlists exclude constraints, so columns are
// tokens.
std::vector<Candidate> best_under_constraint(const SentenceSearch& sentence, NextScores& scores) {
  const size_t count = sentence.candidates();
  std::vector<Candidate> candidates;
  for (size_t n = 0; n < sentence.live().size(); ++n) {
    const auto parent = static_cast<int64_t>(n);
    const std::vector<float> logits = scores.all(sentence, parent);
    Ids tokens = sentence.free_to_choose(n, logits.size());
    const size_t most = std::min(count, tokens.size());
    std::partial_sort(tokens.begin(), tokens.begin() + static_cast<int64_t>(most), tokens.end(), Ranking{logits});
    tokens.resize(most);
    for (const int64_t token : tokens) candidates.push_back(continued(sentence, scores, parent, token));
  }
  std::sort(candidates.begin(), candidates.end(), is_better);
  if (candidates.size() > count) candidates.resize(count);
  return candidates;
}

// Gives the tokens that the constraint does not allow a probability of 0.
void keep_allowed(const SentenceSearch& sentence, size_t parent, std::vector<float>& scores) {
  std::vector<float> kept(scores.size(), -INFINITY);
  for (const int64_t token : sentence.free_to_choose(parent, scores.size()))
    kept[static_cast<size_t>(token)] = scores[static_cast<size_t>(token)];
  scores = std::move(kept);
}

// Draws a column from the distribution that `scores` gives as logarithms, up to a constant; `random` is from [0, 1).
// Returns nothing if no column has a probability.
std::optional<int64_t> draw(const std::vector<float>& scores, const SamplingOptions& options, double random) {
  std::vector<int64_t> tokens(scores.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  const Ranking better{scores};
  size_t most = options.top_k > 0 ? std::min(tokens.size(), static_cast<size_t>(options.top_k)) : tokens.size();
  if (options.temperature == 0) most = 1;
  std::partial_sort(tokens.begin(), tokens.begin() + static_cast<int64_t>(options.top_p < 1 ? most : 1), tokens.end(),
                    better);
  if (most < tokens.size() && options.top_p == 1)
    std::nth_element(tokens.begin() + 1, tokens.begin() + static_cast<int64_t>(most), tokens.end(), better);
  tokens.resize(most);
  if (std::isinf(scores[static_cast<size_t>(tokens.front())])) return {};
  if (most == 1) return tokens.front();

  std::vector<double> weights;
  double total = 0;
  for (const int64_t token : tokens) {
    const double above = scores[static_cast<size_t>(token)] - scores[static_cast<size_t>(tokens.front())];
    total += weights.emplace_back(std::exp(above / options.temperature));
  }
  if (options.top_p < 1) {
    double kept = 0;
    size_t count = 0;
    while (count < weights.size() && kept < options.top_p * total) kept += weights[count++];
    weights.resize(count);
    total = kept;
  }
  double left = random * total;
  for (size_t i = 0; i < weights.size(); ++i) {
    left -= weights[i];
    if (left < 0) return tokens[i];
  }
  return tokens.front();  // rounding left a rest
}

// Draws a token for each live hypothesis. The first token after the prefix is drawn num_hypotheses times.
std::vector<Candidate> drawn(const SentenceSearch& sentence, NextScores& scores) {
  const SearchOptions& options = sentence.options();
  const bool begins = sentence.length() == sentence.prefix_length();
  std::vector<Candidate> candidates;
  for (size_t n = 0; n < (begins ? static_cast<size_t>(options.num_hypotheses) : sentence.live().size()); ++n) {
    const size_t parent = begins ? 0 : n;
    const auto row = static_cast<int64_t>(parent);
    std::vector<float> columns = scores.all(sentence, row);
    const auto never = [&](int64_t banned) {
      if (const auto column = sentence.column_of(banned)) columns[static_cast<size_t>(*column)] = -INFINITY;
    };
    for (const int64_t reserved : kNeverChosen) never(reserved);
    for (const int64_t excluded : sentence.excluded()) never(excluded);
    for (const int64_t banned : sentence.banned(parent)) never(banned);
    if (sentence.is_constrained()) keep_allowed(sentence, parent, columns);
    const std::optional<int64_t> column = draw(columns, *options.sampling, sentence.random(n));
    if (column) candidates.push_back(continued(sentence, scores, row, sentence.token_of(*column)));
  }
  return candidates;
}

// The best token of each live hypothesis; after the prefix, the best num_hypotheses tokens.
std::vector<Candidate> alternatives(const SentenceSearch& sentence, NextScores& scores) {
  const bool begins = sentence.length() == sentence.prefix_length();
  std::vector<Candidate> candidates;
  for (size_t n = 0; n < sentence.live().size(); ++n) {
    const auto most = static_cast<size_t>(begins ? sentence.beam() : 1);
    std::vector<Candidate> own = scores.best_of(sentence, static_cast<int64_t>(n), most + sentence.banned(n).size());
    take_out_banned(sentence, own);
    candidates.insert(candidates.end(), own.begin(), own.begin() + static_cast<int64_t>(std::min(most, own.size())));
  }
  return candidates;
}

std::vector<Candidate> allowed_candidates(const SentenceSearch& sentence, NextScores& scores) {
  if (sentence.length() < sentence.prefix_length()) {
    const int64_t token = sentence.prefix_token(sentence.length());
    if (sentence.is_constrained() && !sentence.is_forced()) check_allowed(sentence, scores, token);
    return {continued(sentence, scores, 0, token)};
  }
  if (sentence.at_limit()) return forced_ends(sentence, scores);
  if (sentence.options().sampling) return drawn(sentence, scores);
  if (sentence.options().alternatives) return alternatives(sentence, scores);
  if (sentence.is_constrained()) return best_under_constraint(sentence, scores);
  if (sentence.has_terms()) return towards_terms(sentence, scores);
  return best_allowed(sentence, scores);
}

}  // namespace

std::vector<Candidate> find_candidates(const SentenceSearch& sentence, NextScores& scores) {
  std::vector<Candidate> candidates = allowed_candidates(sentence, scores);
  // The hypothesis ends if every token that it may use is disallowed.
  return candidates.empty() ? forced_ends(sentence, scores) : candidates;
}

}  // namespace search
}  // namespace v0
}  // namespace transmute

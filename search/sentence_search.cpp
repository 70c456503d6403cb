// SPDX-License-Identifier: Apache-2.0
#include <transmute/search/sentence_search.h>

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {
namespace search {

SentenceSearch::SentenceSearch(size_t index, const SearchRequest& request, const SearchOptions& options,
                               const SearchContext& context)
    : index_(index),
      place_(static_cast<int64_t>(index)),
      request_(&request),
      context_(&context),
      options_(options),
      live_(1) {
  if (request.shortlist) shortlist_ = completed_shortlist(request, context.excluded);
  max_length_ = std::min(source_length() + options.max_extra_length, context.most_tokens);
  max_length_ = std::max(max_length_, prefix_length());
  if (request.prefix_is_complete) max_length_ = prefix_length();
  if (!request.terms.empty()) {
    live_.front().terms = TermsSoFar(request.terms, &context.is_inside_word);
    for (const Ids& term : request.terms) term_tokens_ += term.size();
    options_.beam_size += hypotheses_for_terms(request.terms);
    max_length_ = std::max(max_length_, prefix_length() + static_cast<int64_t>(term_tokens_));
  }
  if (options.constraint) live_.front().constraint = options.constraint->begin(request.source, request.text);
  if (options.sampling) {
    key_ = options.sampling->seed;
    for (const int64_t id : request.source) key_ = combine_keys(key_, static_cast<uint64_t>(id));
  }
}

std::optional<int64_t> SentenceSearch::column_of(int64_t token) const {
  if (!shortlist_) return token;
  const auto found = std::lower_bound(shortlist_->begin(), shortlist_->end(), token);
  if (found == shortlist_->end() || *found != token) return {};
  return found - shortlist_->begin();
}

const Ids& SentenceSearch::excluded() const {
  static const Ids none;
  return shortlist_ ? none : context_->excluded;
}

void SentenceSearch::find_banned() {
  most_banned_ = 0;
  banned_.resize(live_.size());
  for (auto& tokens : banned_) tokens.clear();
  for (size_t n = 0; n < live_.size(); ++n) {
    if (length_ - request_->forced_tokens < options_.min_length) banned_[n].push_back(special_ids::kEnd);
    if (options_.no_repeat_ngram > 0) ban_repetition(ids_of(live_[n].last.get()), banned_[n]);
    most_banned_ += banned_[n].size();
  }
}

std::vector<ChangedLogit> SentenceSearch::changed_logits(size_t n) const {
  const Ids ids = ids_of(live_[n].last.get());
  std::map<int64_t, double> penalties;
  if (options_.repetition_penalty != 1)
    for (size_t i = static_cast<size_t>(request_->forced_tokens); i < ids.size(); ++i)
      penalties[ids[i]] = options_.repetition_penalty;
  const std::vector<int64_t> wanted = live_[n].terms.wanted();
  for (const Ids& sequence : context_->suppressed) {
    const auto before = static_cast<int64_t>(sequence.size()) - 1;  // number of tokens before the last of the sequence
    const bool is_wanted = length_ < prefix_length() || std::count(wanted.begin(), wanted.end(), sequence.back()) > 0;
    if (!is_wanted && before <= static_cast<int64_t>(ids.size()) &&
        std::equal(sequence.begin(), sequence.end() - 1, ids.end() - before))
      penalties[sequence.back()] = std::numeric_limits<double>::infinity();
  }
  std::vector<ChangedLogit> changed;
  for (const auto& [token, penalty] : penalties)
    if (const auto column = column_of(token)) changed.push_back({*column, penalty});
  return changed;
}

bool SentenceSearch::is_banned(const Candidate& candidate) const {
  const auto& tokens = banned_[static_cast<size_t>(candidate.parent)];
  return std::find(tokens.begin(), tokens.end(), candidate.token) != tokens.end();
}

bool SentenceSearch::is_free(size_t n, int64_t token) const {
  const auto is_in = [token](const std::vector<int64_t>& list) {
    return std::find(list.begin(), list.end(), token) != list.end();
  };
  return !is_never_chosen(token) && !is_in(excluded()) && !is_in(banned_[n]);
}

Ids SentenceSearch::allowed(size_t n, size_t vocabulary) const {
  Ids tokens = live_[n].constraint->allowed();
  for (const int64_t token : tokens)
    if (token < 0 || token >= static_cast<int64_t>(vocabulary))
      throw std::invalid_argument(
          fmt::format("the constraint allows token {}, but the target vocabulary has {} tokens", token, vocabulary));
  return tokens;
}

Ids SentenceSearch::free_to_choose(size_t n, size_t vocabulary) const {
  Ids tokens = allowed(n, vocabulary);
  const auto is_not_free = [&](int64_t token) { return !is_free(n, token); };
  tokens.erase(std::remove_if(tokens.begin(), tokens.end(), is_not_free), tokens.end());
  return tokens;
}

void SentenceSearch::advance(const std::vector<Candidate>& candidates, int64_t hypotheses, const float* attention,
                             int64_t source_width) {
  const bool was_forced = is_forced(), was_certain = is_certain();
  ++length_;
  std::vector<LiveHypothesis> next;
  for (size_t rank = 0; rank < candidates.size(); ++rank) {
    if (static_cast<int64_t>(next.size()) == options_.beam_size) break;
    const Candidate& candidate = candidates[rank];
    if (candidate.log_probability == kNever) continue;  // forced ends are not sorted by probability
    const bool is_end = candidate.token == special_ids::kEnd;
    // Ends count only among the best beam_size candidates. The others fill the places that ends leave in the beam.
    if (is_end && static_cast<int64_t>(rank) >= options_.beam_size) continue;
    const LiveHypothesis& parent = live_[static_cast<size_t>(candidate.parent)];
    const int64_t row = place_ * hypotheses + candidate.parent;
    const double log_probability = was_certain ? parent.log_probability : candidate.log_probability;
    std::vector<float> weights;  // attention to this sentence's source tokens and its end
    if (attention != nullptr) {
      const float* own = attention + candidate.parent * source_width;
      weights.assign(own, own + source_length() + 1);
    }
    auto last = std::make_shared<TokenNode>(candidate.token, log_probability - parent.log_probability,
                                            std::move(weights), parent.last);
    if (is_end) {
      finish(*last, log_probability);
    } else {
      next.push_back({std::move(last), log_probability, row, parent.terms, {}});
      next.back().terms.add(candidate.token);
      if (parent.constraint)
        next.back().constraint = was_forced ? parent.constraint : parent.constraint->after(candidate.token);
    }
  }
  live_ = std::move(next);
}

std::vector<Candidate> SentenceSearch::share_out(std::vector<Candidate> candidates) const {
  const auto same = [](const Candidate& a, const Candidate& b) { return a.parent == b.parent && a.token == b.token; };
  std::sort(candidates.begin(), candidates.end(), is_better);
  candidates.erase(std::unique(candidates.begin(), candidates.end(), same), candidates.end());
  std::vector<std::vector<Candidate>> banks(term_tokens_ + 1);
  for (const Candidate& candidate : candidates) {
    TermsSoFar terms = live_[static_cast<size_t>(candidate.parent)].terms;
    if (candidate.token == special_ids::kEnd && !terms.complete()) continue;
    terms.add(candidate.token);
    banks[terms.tokens()].push_back(candidate);
  }
  std::vector<Candidate> chosen;
  bool more = true;
  for (size_t round = 0; more && static_cast<int64_t>(chosen.size()) < beam(); ++round) {
    more = false;
    for (auto bank = banks.rbegin(); bank != banks.rend() && static_cast<int64_t>(chosen.size()) < beam(); ++bank)
      if (round < bank->size()) {
        chosen.push_back((*bank)[round]);
        more = true;
      }
  }
  std::sort(chosen.begin(), chosen.end(), is_better);
  return chosen;
}

bool SentenceSearch::update_certain() {
  std::vector<Ids> possible;
  for (const auto& hypothesis : live_) possible.push_back(ids_of(hypothesis.last.get()));
  if (!finished_.empty()) possible.push_back(finished_.front().ids);
  if (done() && !finished_.empty()) possible = {finished_.front().ids};
  if (possible.empty()) return false;
  size_t length = possible.front().size();
  for (const Ids& ids : possible) {
    const auto most = static_cast<int64_t>(std::min(length, ids.size()));
    const auto first = possible.front().begin();
    length = static_cast<size_t>(std::mismatch(first, first + most, ids.begin()).first - first);
  }
  if (length == certain_.size()) return false;
  certain_.assign(possible.front().begin(), possible.front().begin() + static_cast<int64_t>(length));
  return true;
}

bool SentenceSearch::done() const {
  if (live_.empty()) return true;
  if (!is_search(options_)) return false;
  if (static_cast<int64_t>(finished_.size()) < options_.num_hypotheses) return false;
  // Greedy search takes the first end. A beam continues while a live hypothesis can still win: where the model is
  // sure of itself, improbable ends fill the lower ranks of a beam long before the right hypothesis is complete.
  return options_.beam_size == 1 || best_possible() <= worst_kept();
}

void SentenceSearch::abandon() {
  live_.clear();
  finished_.assign(1, IdHypothesis{{}, kNever, kNever, {kNever}, {}});
}

void SentenceSearch::finish(const TokenNode& end, double log_probability) {
  int64_t length = 0;
  for (const TokenNode* token = &end; token != nullptr; token = token->before.get()) ++length;
  double score = log_probability / penalty(length);
  if (options_.coverage_beta > 0) score += options_.coverage_beta * coverage_penalty(&end);
  if (static_cast<int64_t>(finished_.size()) == options_.num_hypotheses && score <= worst_kept()) return;
  IdHypothesis hypothesis = hypothesis_of(&end, log_probability, score, options_.alignments);
  std::string text;
  if (context_->text_of) {
    text = context_->text_of(hypothesis.ids);
    if (!is_best_with(text, score)) return;
  }
  const auto better = [](const IdHypothesis& a, const IdHypothesis& b) { return a.score > b.score; };
  const auto place = std::upper_bound(finished_.begin(), finished_.end(), hypothesis, better);
  texts_.insert(texts_.begin() + (place - finished_.begin()), std::move(text));
  finished_.insert(place, std::move(hypothesis));
  if (static_cast<int64_t>(finished_.size()) <= options_.num_hypotheses) return;
  finished_.pop_back();
  texts_.pop_back();
}

bool SentenceSearch::is_best_with(const std::string& text, double score) {
  const auto same = std::find(texts_.begin(), texts_.end(), text);
  if (same == texts_.end()) return true;
  const auto hypothesis = finished_.begin() + (same - texts_.begin());
  if (hypothesis->score >= score) return false;
  finished_.erase(hypothesis);
  texts_.erase(same);
  return true;
}

double SentenceSearch::best_possible() const {
  return live_.front().log_probability / penalty(max_length_ + 1);
}

// Terms that the model would not choose make a translation improbable, so that any more tokens would raise the mean.
double SentenceSearch::penalty(int64_t length) const {
  const auto rewarded = has_terms() ? std::min(length, source_length() + static_cast<int64_t>(term_tokens_)) : length;
  return length_penalty(std::max<int64_t>(rewarded, 1), options_.length_alpha, options_.length_penalty);
}

void SentenceSearch::ban_repetition(const Ids& ids, std::vector<int64_t>& tokens) const {
  const auto n = static_cast<size_t>(options_.no_repeat_ngram);
  if (ids.size() < n) return;
  const auto last = ids.end() - static_cast<int64_t>(n - 1);
  for (auto begin = ids.begin(); begin + static_cast<int64_t>(n) <= ids.end(); ++begin)
    if (std::equal(last, ids.end(), begin)) tokens.push_back(begin[static_cast<int64_t>(n - 1)]);
}

}  // namespace search
}  // namespace v0
}  // namespace transmute

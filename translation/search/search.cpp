#include <transmute/translation/search/search.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/random.h>
#include <transmute/model/libtorch.h>
#include <transmute/translation/search/top_candidates.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// Or draws, or lists alternatives.
bool searches(const SearchOptions& options) {
  return !options.sampling && !options.alternatives;
}

void check(const SearchOptions& options) {
  const auto require = [](bool holds, const std::string& message) {
    if (!holds) throw std::invalid_argument(message);
  };
  require(options.beam_size >= 1, fmt::format("beam_size must be at least 1, not {}", options.beam_size));
  require(options.num_hypotheses >= 1,
          fmt::format("num_hypotheses must be at least 1, not {}", options.num_hypotheses));
  require(options.num_hypotheses <= options.beam_size || !searches(options),
          fmt::format("num_hypotheses must lie between 1 and beam_size ({}), not {}", options.beam_size,
                      options.num_hypotheses));
  require(options.length_alpha >= 0, fmt::format("length_alpha must not be negative, not {}", options.length_alpha));
  require(options.coverage_beta >= 0, fmt::format("coverage_beta must not be negative, not {}", options.coverage_beta));
  require(options.max_extra_length >= 0,
          fmt::format("max_extra_length must not be negative, not {}", options.max_extra_length));
  require(options.min_length >= 0, fmt::format("min_length must not be negative, not {}", options.min_length));
  require(options.no_repeat_ngram >= 0,
          fmt::format("no_repeat_ngram must not be negative, not {}", options.no_repeat_ngram));
  if (!options.sampling) return;
  require(!options.alternatives, "sampling and alternatives exclude each other");
  const SamplingOptions& sampling = *options.sampling;
  require(sampling.temperature >= 0, fmt::format("temperature must not be negative, not {}", sampling.temperature));
  require(sampling.top_k >= 0, fmt::format("top_k must not be negative, not {}", sampling.top_k));
  require(sampling.top_p > 0 && sampling.top_p <= 1,
          fmt::format("top_p must be more than 0 and at most 1, not {}", sampling.top_p));
}

void check(const TargetDemands& demands, size_t sentences, bool is_search) {
  const auto matches = [&](size_t count, const char* what) {
    if (count != 0 && count != sentences)
      throw std::invalid_argument(
          fmt::format("{} {} were given for {} sentence{}", count, what, sentences, sentences == 1 ? "" : "s"));
  };
  matches(demands.prefixes.size(), "prefixes");
  matches(demands.terms.size(), "terms");
  matches(demands.shortlists.size(), "shortlists");
  for (const auto& terms : demands.terms) {
    if (!is_search && !terms.empty())
      throw std::invalid_argument(
          "only a search can be made to use given terms; neither sampling nor alternatives can");
    for (const Ids& term : terms)
      if (term.empty()) throw std::invalid_argument("a term that a translation must contain has no tokens");
  }
}

// The last token of a hypothesis and, shared with its siblings, those before it.
struct TokenNode {
  int64_t id;
  double score;
  std::vector<float> attention;  // from where this token was predicted; empty where not asked for
  std::shared_ptr<const TokenNode> before;
};

// How far a hypothesis is with the terms that it must contain.
class TermsSoFar {
 public:
  TermsSoFar() = default;
  explicit TermsSoFar(const std::vector<Ids>& terms) : terms_(&terms), has_(terms.size()) {}

  /// Tokens of the terms that it has.
  size_t tokens() const { return tokens_ + position_; }
  bool complete() const { return terms_ == nullptr || std::find(has_.begin(), has_.end(), false) == has_.end(); }

  /// What would bring it further: the next token of the term that it is in the middle of, or the first of the others.
  std::vector<int64_t> wanted() const {
    if (terms_ == nullptr) return {};
    if (position_ > 0) return {(*terms_)[term_][position_]};
    std::vector<int64_t> tokens;
    for (size_t t = 0; t < terms_->size(); ++t)
      if (!has_[t] && std::find(tokens.begin(), tokens.end(), (*terms_)[t].front()) == tokens.end())
        tokens.push_back((*terms_)[t].front());
    return tokens;
  }

  void add(int64_t token) {
    if (terms_ == nullptr) return;
    if (position_ > 0 && (*terms_)[term_][position_] != token) position_ = 0;
    if (position_ == 0) {
      term_ = 0;
      while (term_ < terms_->size() && (has_[term_] || (*terms_)[term_].front() != token)) ++term_;
      if (term_ == terms_->size()) return;
    }
    if (++position_ < (*terms_)[term_].size()) return;
    has_[term_] = true;
    tokens_ += position_;
    position_ = 0;
  }

 private:
  const std::vector<Ids>* terms_ = nullptr;  // null: none
  std::vector<bool> has_;
  size_t tokens_ = 0;    // of the terms that it has whole
  size_t term_ = 0;      // that it is in the middle of,
  size_t position_ = 0;  // with so many tokens
};

struct LiveHypothesis {
  std::shared_ptr<const TokenNode> last;  // null: nothing but begin
  double log_probability = 0;
  int64_t row = 0;  // of the last step, which this one continues
  TermsSoFar terms{};
};

Ids ids_of(const TokenNode* last) {
  Ids ids;
  for (; last != nullptr; last = last->before.get()) ids.push_back(last->id);
  std::reverse(ids.begin(), ids.end());
  return ids;
}

// Wu et al. (2016), Eq. 14: the logarithms of how much attention each source token has had, where that is less than 1.
// `last` is the end, whose attention counts too; the source's end does not.
double coverage_penalty(const TokenNode* last) {
  constexpr double kLeast = 1e-6;  // not -inf for a token that has had none
  std::vector<double> had(last->attention.size() - 1);
  for (; last != nullptr; last = last->before.get())
    for (size_t s = 0; s < had.size(); ++s) had[s] += static_cast<double>(last->attention[s]);
  double sum = 0;
  for (const double attention : had) sum += std::log(std::clamp(attention, kLeast, 1.0));
  return sum;
}

// `last` is the end.
IdHypothesis hypothesis_of(const TokenNode* last, double log_probability, double score, bool with_alignment) {
  IdHypothesis hypothesis{ids_of(last->before.get()), log_probability, score};
  for (; last != nullptr; last = last->before.get()) {
    hypothesis.token_scores.push_back(last->score);
    if (with_alignment) hypothesis.alignment.push_back(last->attention);
  }
  std::reverse(hypothesis.token_scores.begin(), hypothesis.token_scores.end());
  std::reverse(hypothesis.alignment.begin(), hypothesis.alignment.end());
  return hypothesis;
}

// One sentence's part of the search.
class SentenceSearch {
 public:
  /// `demands` and the shortlist, null where there is none, outlive it.
  SentenceSearch(size_t index, const Ids& source, const SearchOptions& options, const TargetDemands& demands,
                 const Ids* shortlist)
      : index_(index),
        source_length_(static_cast<int64_t>(source.size())),
        options_(options),
        shortlist_(shortlist),
        live_(1) {
    if (!demands.prefixes.empty()) prefix_ = demands.prefixes[index];
    max_length_ = std::max(source_length_ + options.max_extra_length, prefix_length());
    if (demands.prefixes_are_complete) max_length_ = prefix_length();
    if (!demands.terms.empty() && !demands.terms[index].empty()) {
      live_.front().terms = TermsSoFar(demands.terms[index]);
      for (const Ids& term : demands.terms[index]) term_tokens_ += term.size();
      options_.beam_size += static_cast<int64_t>(term_tokens_);
    }
    if (options.sampling) {
      key_ = options.sampling->seed;
      for (const int64_t id : source) key_ = combine_keys(key_, static_cast<uint64_t>(id));
    }
  }

  size_t index() const { return index_; }
  /// What the columns of its logits stand for: tokens, or those of its shortlist.
  int64_t columns(int64_t vocabulary) const {
    return shortlist_ == nullptr ? vocabulary : static_cast<int64_t>(shortlist_->size());
  }
  int64_t token_of(int64_t column) const {
    return shortlist_ == nullptr ? column : (*shortlist_)[static_cast<size_t>(column)];
  }
  /// Nothing for a token that is not on the shortlist.
  std::optional<int64_t> column_of(int64_t token) const {
    if (shortlist_ == nullptr) return token;
    const auto found = std::lower_bound(shortlist_->begin(), shortlist_->end(), token);
    if (found == shortlist_->end() || *found != token) return {};
    return found - shortlist_->begin();
  }
  int64_t beam() const { return options_.beam_size; }
  /// Candidates that a step needs: N of them at most can be ends.
  size_t candidates() const { return static_cast<size_t>(2 * beam()); }
  bool has_terms() const { return term_tokens_ > 0; }
  const std::vector<LiveHypothesis>& live() const { return live_; }
  int64_t prefix_length() const { return static_cast<int64_t>(prefix_.size()); }
  /// Steps whose tokens are known beforehand.
  int64_t forced_steps() const { return prefix_length() + (max_length_ == prefix_length() ? 1 : 0); }
  int64_t prefix_token(int64_t position) const { return prefix_[static_cast<size_t>(position)]; }
  /// A uniform number in [0, 1) for the n-th draw of a token, of this sentence alone.
  double random(int64_t length, size_t n) const {
    return uniform(combine_keys(key_, static_cast<uint64_t>(length), n));
  }

  /// Before each step: which tokens each hypothesis may not go on with.
  void find_banned(int64_t length) {
    most_banned_ = 0;
    banned_.resize(live_.size());
    for (auto& tokens : banned_) tokens.clear();
    for (size_t n = 0; n < live_.size(); ++n) {
      if (length < options_.min_length) banned_[n].push_back(special_ids::kEnd);
      if (options_.no_repeat_ngram > 0) ban_repetition(ids_of(live_[n].last.get()), banned_[n]);
      most_banned_ += banned_[n].size();
    }
  }
  size_t most_banned() const { return most_banned_; }
  const std::vector<int64_t>& banned(size_t n) const { return banned_[n]; }
  bool is_banned(const Candidate& candidate) const {
    const auto& tokens = banned_[static_cast<size_t>(candidate.parent)];
    return std::find(tokens.begin(), tokens.end(), candidate.token) != tokens.end();
  }

  /// The next token has to be the end.
  bool at_limit(int64_t length) const { return length >= max_length_; }

  /// `candidates` come best first. `first_row`: that of this sentence's hypotheses in the last step, whose attention
  /// [B,N,S] is, contiguous.
  void advance(const std::vector<Candidate>& candidates, int64_t first_row, const torch::Tensor& attention) {
    std::vector<LiveHypothesis> next;
    for (size_t rank = 0; rank < candidates.size(); ++rank) {
      if (static_cast<int64_t>(next.size()) == options_.beam_size) break;
      const Candidate& candidate = candidates[rank];
      if (candidate.log_probability == kNever) continue;  // forced ends come in the order of their parents
      const bool is_end = candidate.token == special_ids::kEnd;
      // An end that ranks below the beam would not have been kept either, had it been another token.
      if (is_end && static_cast<int64_t>(rank) >= options_.beam_size) continue;
      const LiveHypothesis& parent = live_[static_cast<size_t>(candidate.parent)];
      const int64_t row = first_row + candidate.parent;
      auto last =
          std::make_shared<TokenNode>(TokenNode{candidate.token, candidate.log_probability - parent.log_probability,
                                                attention_of(row, attention), parent.last});
      if (is_end) {
        finish(*last, candidate.log_probability);
      } else {
        next.push_back({std::move(last), candidate.log_probability, row, parent.terms});
        next.back().terms.add(candidate.token);
      }
    }
    live_ = std::move(next);
  }

  /// Of candidates in any order, those that a beam with terms goes on with, best first: the best of each bank in turn,
  /// banks with more of the terms' tokens first. A bank is what has the same number of those tokens.
  std::vector<Candidate> share_out(std::vector<Candidate> candidates) const {
    const auto better = [](const Candidate& a, const Candidate& b) {
      if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
      return a.parent != b.parent ? a.parent < b.parent : a.token < b.token;
    };
    const auto same = [](const Candidate& a, const Candidate& b) { return a.parent == b.parent && a.token == b.token; };
    std::sort(candidates.begin(), candidates.end(), better);
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
    std::sort(chosen.begin(), chosen.end(), better);
    return chosen;
  }

  /// Whether the certain tokens have become more since the last call. All hypotheses have the same length but the
  /// finished ones, whose best may still win.
  bool update_certain() {
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
  const Ids& certain() const { return certain_; }

  bool done() const {
    if (live_.empty()) return true;
    if (!searches(options_)) return false;
    if (static_cast<int64_t>(finished_.size()) < options_.num_hypotheses) return false;
    // Greedy search takes the first end. A beam goes on while a live hypothesis can still win: where the model is
    // sure of itself, improbable ends fill the lower ranks of a beam long before the right hypothesis is complete.
    return options_.beam_size == 1 || best_possible() <= worst_kept();
  }

  /// The finished hypotheses, best first, at most num_hypotheses.
  const std::vector<IdHypothesis>& best() const { return finished_; }

 private:
  void finish(const TokenNode& end, double log_probability) {
    int64_t length = 0;
    for (const TokenNode* token = &end; token != nullptr; token = token->before.get()) ++length;
    double score = log_probability / length_penalty(length, options_.length_alpha, options_.length_penalty);
    if (options_.coverage_beta > 0) score += options_.coverage_beta * coverage_penalty(&end);
    if (static_cast<int64_t>(finished_.size()) == options_.num_hypotheses && score <= worst_kept()) return;
    IdHypothesis hypothesis = hypothesis_of(&end, log_probability, score, options_.alignments);
    const auto worse = [](const IdHypothesis& a, const IdHypothesis& b) { return a.score > b.score; };
    finished_.insert(std::upper_bound(finished_.begin(), finished_.end(), hypothesis, worse), hypothesis);
    if (static_cast<int64_t>(finished_.size()) > options_.num_hypotheses) finished_.pop_back();
  }

  // Log-probabilities only fall, the length penalty is largest at the maximum length, and coverage only takes away.
  double best_possible() const {
    return live_.front().log_probability /
           length_penalty(max_length_ + 1, options_.length_alpha, options_.length_penalty);
  }

  double worst_kept() const { return finished_.back().score; }

  // What followed the last n - 1 tokens where they stood before.
  void ban_repetition(const Ids& ids, std::vector<int64_t>& tokens) const {
    const auto n = static_cast<size_t>(options_.no_repeat_ngram);
    if (ids.size() < n) return;
    const auto last = ids.end() - static_cast<int64_t>(n - 1);
    for (auto begin = ids.begin(); begin + static_cast<int64_t>(n) <= ids.end(); ++begin)
      if (std::equal(last, ids.end(), begin)) tokens.push_back(begin[static_cast<int64_t>(n - 1)]);
  }

  // The row's weights over this sentence's source and its end.
  std::vector<float> attention_of(int64_t row, const torch::Tensor& attention) const {
    if (!attention.defined()) return {};
    const float* first = attention.data_ptr<float>() + row * attention.size(-1);
    return {first, first + source_length_ + 1};
  }

  size_t index_;
  int64_t source_length_;
  Ids prefix_;
  int64_t max_length_ = 0;
  SearchOptions options_;  // with this sentence's beam size
  const Ids* shortlist_;
  size_t term_tokens_ = 0;  // that the translation must contain
  uint64_t key_ = 0;        // of what is drawn
  std::vector<std::vector<int64_t>> banned_;
  size_t most_banned_ = 0;
  std::vector<LiveHypothesis> live_;
  std::vector<IdHypothesis> finished_;  // best first
  Ids certain_;
};

// The last token of every live hypothesis: [B,N]. Sentences whose beam is not full repeat their first
// hypothesis.
torch::Tensor last_tokens(const std::vector<SentenceSearch>& sentences, int64_t beam) {
  torch::Tensor ids = torch::empty({static_cast<int64_t>(sentences.size()), beam}, torch::kLong);
  int64_t* next = ids.data_ptr<int64_t>();
  for (const auto& sentence : sentences)
    for (int64_t n = 0; n < beam; ++n) {
      const auto& live = sentence.live();
      const auto& last = live[n < static_cast<int64_t>(live.size()) ? static_cast<size_t>(n) : 0].last;
      *next++ = last ? last->id : special_ids::kBegin;
    }
  return ids;
}

torch::Tensor parent_rows(const std::vector<SentenceSearch>& sentences, int64_t beam) {
  torch::Tensor rows = torch::empty({static_cast<int64_t>(sentences.size()) * beam}, torch::kLong);
  int64_t* next = rows.data_ptr<int64_t>();
  for (const auto& sentence : sentences)
    for (int64_t n = 0; n < beam; ++n) {
      const auto& live = sentence.live();
      *next++ = live[n < static_cast<int64_t>(live.size()) ? static_cast<size_t>(n) : 0].row;
    }
  return rows;
}

// Rows of many positions that go through a model together: enough for its products, few enough for the caches.
constexpr int64_t kRowsAtOnce = 64;

// Steps that can be taken together from the beginning: as many as the tokens of every sentence are known for; where
// nothing but known tokens is asked for, as many as the longest sentence has, the end included.
int64_t known_steps(const std::vector<SentenceSearch>& sentences, bool all_is_known) {
  int64_t fewest = sentences.front().forced_steps(), most = fewest;
  for (const SentenceSearch& sentence : sentences) {
    fewest = std::min(fewest, sentence.forced_steps());
    most = std::max(most, sentence.forced_steps());
  }
  return all_is_known ? most : fewest;
}

// What those steps read, from `first` on: begin and the prefixes, filled up with padding: [B,count].
torch::Tensor known_tokens(const std::vector<SentenceSearch>& sentences, int64_t first, int64_t count) {
  torch::Tensor ids = torch::full({static_cast<int64_t>(sentences.size()), count}, special_ids::kPad, torch::kLong);
  int64_t* row = ids.data_ptr<int64_t>();
  for (const SentenceSearch& sentence : sentences) {
    for (int64_t i = 0; i < count && first + i <= sentence.prefix_length(); ++i)
      row[i] = first + i == 0 ? special_ids::kBegin : sentence.prefix_token(first + i - 1);
    row += count;
  }
  return ids;
}

// For each sentence that has a shortlist, what the columns of its logits are to be: the reserved tokens, so that they
// stand where they stand in the vocabulary, the shortlist and what is demanded, in ascending order.
std::vector<Ids> completed_shortlists(const TargetDemands& demands) {
  std::vector<Ids> lists = demands.shortlists;
  for (size_t i = 0; i < lists.size(); ++i) {
    Ids& list = lists[i];
    const auto add = [&](const Ids& ids) { list.insert(list.end(), ids.begin(), ids.end()); };
    for (int64_t id = 0; id < special_ids::kCount; ++id) list.push_back(id);
    if (!demands.prefixes.empty()) add(demands.prefixes[i]);
    if (!demands.terms.empty())
      for (const Ids& term : demands.terms[i]) add(term);
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return lists;
}

// What a step's logits say of the sentences' next tokens.
class NextScores {
 public:
  virtual ~NextScores() = default;
  /// The `count` best continuations of sentence b, best first.
  virtual std::vector<Candidate> best(const SentenceSearch& sentence, int64_t b, size_t count) = 0;
  /// The `count` best continuations of hypothesis n alone.
  virtual std::vector<Candidate> best_of(const SentenceSearch& sentence, int64_t b, int64_t n, size_t count) = 0;
  /// Natural logarithm of the probability of `token` after hypothesis n of sentence b.
  virtual double log_probability(const SentenceSearch& sentence, int64_t b, int64_t n, int64_t token) = 0;
  /// Log-probabilities up to a constant after hypothesis n of sentence b, of every column.
  virtual std::vector<float> all(const SentenceSearch& sentence, int64_t b, int64_t n) = 0;
};

// In memory: a fused pass over each hypothesis' logits.
class ScoresOnCpu : public NextScores {
 public:
  ScoresOnCpu(const torch::Tensor& logits, CandidateFinder& finder)
      : logits_(logits.stride(2) == 1 ? logits : logits.contiguous()), finder_(finder) {}

  std::vector<Candidate> best(const SentenceSearch& sentence, int64_t b, size_t count) override {
    std::vector<CandidateRow> rows;
    for (size_t n = 0; n < sentence.live().size(); ++n)
      rows.push_back({row(sentence, b, static_cast<int64_t>(n)), sentence.live()[n].log_probability});
    return in_tokens(sentence, finder_.best(rows, count));
  }
  std::vector<Candidate> best_of(const SentenceSearch& sentence, int64_t b, int64_t n, size_t count) override {
    const double so_far = sentence.live()[static_cast<size_t>(n)].log_probability;
    auto candidates = in_tokens(sentence, finder_.best({{row(sentence, b, n), so_far}}, count));
    for (Candidate& candidate : candidates) candidate.parent = n;
    return candidates;
  }
  double log_probability(const SentenceSearch& sentence, int64_t b, int64_t n, int64_t token) override {
    return finder_.log_probability(row(sentence, b, n), sentence.column_of(token).value());
  }
  std::vector<float> all(const SentenceSearch& sentence, int64_t b, int64_t n) override {
    const LogitsRow logits = row(sentence, b, n);
    return {logits.values, logits.values + logits.count};
  }

 private:
  LogitsRow row(const SentenceSearch& sentence, int64_t b, int64_t n) const {
    return {logits_.data_ptr<float>() + b * logits_.stride(0) + n * logits_.stride(1),
            sentence.columns(logits_.size(2))};
  }
  static std::vector<Candidate> in_tokens(const SentenceSearch& sentence, std::vector<Candidate> columns) {
    for (Candidate& candidate : columns) candidate.token = sentence.token_of(candidate.token);
    return columns;
  }

  torch::Tensor logits_;  // [B,N,V], or [B,N,L]
  CandidateFinder& finder_;
};

// On a device, and for numbers that are not float32: LibTorch's operations on all rows at once, and one copy of the
// candidates.
class ScoresOnDevice : public NextScores {
 public:
  ScoresOnDevice(const torch::Tensor& logits, const std::vector<SentenceSearch>& sentences, size_t count)
      : log_probs_(torch::log_softmax(logits, -1, torch::kFloat)) {
    totals_ = log_probs_ + totals_so_far(sentences).to(log_probs_.device());
    for (const int64_t never : {special_ids::kPad, special_ids::kUnknown, special_ids::kBegin})
      totals_.select(2, never).fill_(kNever);
    const auto most = std::min(static_cast<int64_t>(count), totals_.size(1) * totals_.size(2));
    const auto [values, indices] = totals_.flatten(1).topk(most, 1);  // [B,2N]
    best_ = torch::stack({values.to(torch::kDouble), indices.to(torch::kDouble)}).to(torch::kCPU).contiguous();
  }

  std::vector<Candidate> best(const SentenceSearch& sentence, int64_t b, size_t) override {
    const int64_t count = best_.size(2);
    const double* value = best_.data_ptr<double>() + b * count;
    const double* place = value + best_.size(1) * count;
    const int64_t columns = log_probs_.size(2);
    std::vector<Candidate> candidates;
    for (int64_t i = 0; i < count && value[i] != kNever; ++i) {
      const auto index = static_cast<int64_t>(place[i]);
      candidates.push_back({index / columns, sentence.token_of(index % columns), value[i]});
    }
    return candidates;
  }
  std::vector<Candidate> best_of(const SentenceSearch& sentence, int64_t b, int64_t n, size_t count) override {
    const auto [values, columns] = totals_[b][n].topk(std::min(static_cast<int64_t>(count), totals_.size(2)));
    const torch::Tensor on_host = torch::stack({values.to(torch::kDouble), columns.to(torch::kDouble)}).to(torch::kCPU);
    const auto found = on_host.accessor<double, 2>();
    std::vector<Candidate> candidates;
    for (int64_t i = 0; i < found.size(1) && found[0][i] != kNever; ++i)
      candidates.push_back({n, sentence.token_of(static_cast<int64_t>(found[1][i])), found[0][i]});
    return candidates;
  }
  double log_probability(const SentenceSearch& sentence, int64_t b, int64_t n, int64_t token) override {
    const int64_t column = sentence.column_of(token).value();
    if (token != special_ids::kEnd) return log_probs_[b][n][column].item<double>();
    // Sentences come to their ends together.
    if (!ends_.defined()) ends_ = log_probs_.select(2, column).to(torch::kCPU);
    return ends_.accessor<float, 2>()[b][n];
  }
  std::vector<float> all(const SentenceSearch& sentence, int64_t b, int64_t n) override {
    const torch::Tensor row = log_probs_[b][n].to(torch::kCPU).contiguous();
    return {row.data_ptr<float>(), row.data_ptr<float>() + sentence.columns(row.numel())};
  }

 private:
  // Log-probabilities of the hypotheses so far, [B,N,1]; -inf for the repeats that fill a beam.
  torch::Tensor totals_so_far(const std::vector<SentenceSearch>& sentences) const {
    const int64_t beam = log_probs_.size(1);
    torch::Tensor totals = torch::full({log_probs_.size(0), beam, 1}, kNever, torch::kFloat);
    float* next = totals.data_ptr<float>();
    for (const auto& sentence : sentences) {
      for (size_t n = 0; n < sentence.live().size(); ++n)
        next[n] = static_cast<float>(sentence.live()[n].log_probability);
      next += beam;
    }
    return totals;
  }

  torch::Tensor log_probs_, totals_;  // [B,N,V], or [B,N,L]
  torch::Tensor best_;                // on the host: values and places among [N·V] of the best, [2,B,2N]
  torch::Tensor ends_;                // on the host, once wanted: log-probabilities of the end [B,N]
};

// At the maximum length, the end of each live hypothesis instead; of those with most of the terms' tokens.
std::vector<Candidate> forced_ends(const SentenceSearch& sentence, NextScores& scores, int64_t b) {
  size_t most = 0;
  for (const auto& hypothesis : sentence.live()) most = std::max(most, hypothesis.terms.tokens());
  std::vector<Candidate> candidates;
  for (size_t n = 0; n < sentence.live().size(); ++n) {
    if (sentence.live()[n].terms.tokens() < most) continue;
    const auto parent = static_cast<int64_t>(n);
    const double end = scores.log_probability(sentence, b, parent, special_ids::kEnd);
    candidates.push_back({parent, special_ids::kEnd, sentence.live()[n].log_probability + end});
  }
  return candidates;
}

// The next token of a prefix.
std::vector<Candidate> forced_token(const SentenceSearch& sentence, NextScores& scores, int64_t b, int64_t token) {
  return {{0, token, sentence.live().front().log_probability + scores.log_probability(sentence, b, 0, token)}};
}

void take_out_banned(const SentenceSearch& sentence, std::vector<Candidate>& candidates) {
  const auto is_banned = [&](const Candidate& candidate) { return sentence.is_banned(candidate); };
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(), is_banned), candidates.end());
}

std::vector<Candidate> best_allowed(const SentenceSearch& sentence, NextScores& scores, int64_t b) {
  const size_t count = sentence.candidates();
  std::vector<Candidate> candidates = scores.best(sentence, b, count + sentence.most_banned());
  if (sentence.most_banned() > 0) take_out_banned(sentence, candidates);
  if (candidates.size() > count) candidates.resize(count);
  return candidates;
}

// The best of all, the best of each hypothesis (it may end, or go on), and what brings each further with the terms that
// it must contain.
std::vector<Candidate> towards_terms(const SentenceSearch& sentence, NextScores& scores, int64_t b) {
  std::vector<Candidate> candidates = best_allowed(sentence, scores, b);
  for (size_t n = 0; n < sentence.live().size(); ++n) {
    const LiveHypothesis& hypothesis = sentence.live()[n];
    const auto parent = static_cast<int64_t>(n);
    std::vector<Candidate> own = scores.best_of(sentence, b, parent, 2 + sentence.banned(n).size());
    take_out_banned(sentence, own);
    candidates.insert(candidates.end(), own.begin(), own.end());
    for (const int64_t token : hypothesis.terms.wanted())
      candidates.push_back(
          {parent, token, hypothesis.log_probability + scores.log_probability(sentence, b, parent, token)});
  }
  return sentence.share_out(std::move(candidates));
}

// A column by its log-probability (up to a constant), `random` from [0, 1); nothing where none has a probability.
std::optional<int64_t> draw(const std::vector<float>& scores, const SamplingOptions& options, double random) {
  std::vector<int64_t> tokens(scores.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  const auto better = [&](int64_t a, int64_t b) {
    const float x = scores[static_cast<size_t>(a)], y = scores[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
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
  return tokens.front();  // rounding
}

// One token for each live hypothesis; for the first free one, as many as there are to be hypotheses.
std::vector<Candidate> drawn(const SentenceSearch& sentence, NextScores& scores, int64_t b, int64_t length,
                             const SearchOptions& options) {
  const auto& live = sentence.live();
  const bool begins = length == sentence.prefix_length();
  std::vector<Candidate> candidates;
  for (size_t n = 0; n < (begins ? static_cast<size_t>(options.num_hypotheses) : live.size()); ++n) {
    const size_t parent = begins ? 0 : n;
    const auto row = static_cast<int64_t>(parent);
    std::vector<float> columns = scores.all(sentence, b, row);
    const auto never = [&](int64_t banned) {
      if (const auto column = sentence.column_of(banned)) columns[static_cast<size_t>(*column)] = -INFINITY;
    };
    for (const int64_t reserved : {special_ids::kPad, special_ids::kUnknown, special_ids::kBegin}) never(reserved);
    for (const int64_t banned : sentence.banned(parent)) never(banned);
    const std::optional<int64_t> column = draw(columns, *options.sampling, sentence.random(length, n));
    if (!column) continue;
    const int64_t token = sentence.token_of(*column);
    candidates.push_back({row, token, live[parent].log_probability + scores.log_probability(sentence, b, row, token)});
  }
  return candidates;
}

// The best token of each live hypothesis; for the first free one, as many as there are to be hypotheses.
std::vector<Candidate> alternatives(const SentenceSearch& sentence, NextScores& scores, int64_t b, int64_t length) {
  const bool begins = length == sentence.prefix_length();
  std::vector<Candidate> candidates;
  for (size_t n = 0; n < sentence.live().size(); ++n) {
    const auto most = static_cast<size_t>(begins ? sentence.beam() : 1);
    std::vector<Candidate> own = scores.best_of(sentence, b, static_cast<int64_t>(n), most + sentence.banned(n).size());
    take_out_banned(sentence, own);
    candidates.insert(candidates.end(), own.begin(), own.begin() + static_cast<int64_t>(std::min(most, own.size())));
  }
  return candidates;
}

// All sentences' search.
class BatchSearch {
 public:
  /// What it is given outlives it.
  BatchSearch(const StepModel& model, const std::vector<Ids>& sources, const SearchOptions& options,
              const SearchHooks& hooks, const TargetDemands& demands)
      : options_(options),
        hooks_(hooks),
        shortlists_(completed_shortlists(demands)),
        nothing_is_free_(demands.prefixes_are_complete),
        results_(sources.size()) {
    for (size_t i = 0; i < sources.size(); ++i)
      searching_.emplace_back(i, sources[i], options, demands, shortlists_.empty() ? nullptr : &shortlists_[i]);
    batch_ = model.start(
        sources, {options.alignments || options.coverage_beta > 0, options.alignment_layer, options.alignment_head},
        shortlists_);
  }

  std::vector<std::vector<IdHypothesis>> run() {
    take_known_steps();
    for (; !searching_.empty(); ++length_) {
      const NextToken next = batch_->step(last_tokens(searching_, beam_));
      size_t most_candidates = 0;
      for (auto& sentence : searching_) {
        sentence.find_banned(length_);
        most_candidates = std::max(most_candidates, sentence.candidates() + sentence.most_banned());
      }
      advance(next, most_candidates);
      leave_those_done();
    }
    return std::move(results_);
  }

 private:
  // What all sentences are forced to say, many tokens at a time.
  void take_known_steps() {
    const int64_t known = known_steps(searching_, nothing_is_free_);
    while (length_ < known && !searching_.empty()) {
      const int64_t at_once = std::max<int64_t>(1, kRowsAtOnce / static_cast<int64_t>(searching_.size()));
      const int64_t positions = std::min(at_once, known - length_);
      const NextToken all = batch_->extend(known_tokens(searching_, length_, positions));
      for (int64_t position = 0; position < positions; ++position, ++length_) {
        NextToken next{all.logits.slice(1, position, position + 1), {}};
        if (all.attention.defined()) next.attention = all.attention.slice(1, position, position + 1).contiguous();
        advance(next, 1);
      }
      leave_those_done(length_ < known);
    }
  }

  // By a token, those that are not done.
  void advance(const NextToken& next, size_t most_candidates) {
    const bool in_memory = next.logits.is_cpu() && next.logits.scalar_type() == torch::kFloat;
    if (in_memory && !finder_) finder_.emplace();
    std::unique_ptr<NextScores> scores;
    if (in_memory)
      scores = std::make_unique<ScoresOnCpu>(next.logits, *finder_);
    else
      scores = std::make_unique<ScoresOnDevice>(next.logits, searching_, most_candidates);
    if (hooks_.should_stop && hooks_.should_stop()) throw Cancelled();
    for (size_t b = 0; b < searching_.size(); ++b) {
      SentenceSearch& sentence = searching_[b];
      if (sentence.done()) continue;
      const auto row = static_cast<int64_t>(b);
      std::vector<Candidate> candidates = candidates_of(sentence, *scores, row);
      // Where every token that it may use is banned, it ends.
      if (candidates.empty()) candidates = forced_ends(sentence, *scores, row);
      sentence.advance(candidates, row * beam_, next.attention);
      if (hooks_.on_tokens && sentence.update_certain()) hooks_.on_tokens(sentence.index(), sentence.certain());
      if (sentence.done()) results_[sentence.index()] = sentence.best();
    }
  }

  std::vector<Candidate> candidates_of(const SentenceSearch& sentence, NextScores& scores, int64_t row) const {
    if (length_ < sentence.prefix_length()) return forced_token(sentence, scores, row, sentence.prefix_token(length_));
    if (sentence.at_limit(length_)) return forced_ends(sentence, scores, row);
    if (options_.sampling) return drawn(sentence, scores, row, length_, options_);
    if (options_.alternatives) return alternatives(sentence, scores, row, length_);
    if (sentence.has_terms()) return towards_terms(sentence, scores, row);
    return best_allowed(sentence, scores, row);
  }

  // Goes on with the others; with one hypothesis each as long as the tokens are known.
  void leave_those_done(bool are_known = false) {
    std::vector<SentenceSearch> remaining;
    std::vector<int64_t> kept;
    for (size_t b = 0; b < searching_.size(); ++b) {
      if (searching_[b].done()) continue;
      kept.push_back(static_cast<int64_t>(b));
      remaining.push_back(std::move(searching_[b]));
    }
    searching_ = std::move(remaining);
    if (searching_.empty()) return;
    beam_ = 1;
    for (const auto& sentence : searching_)
      if (!are_known) beam_ = std::max(beam_, sentence.beam());
    batch_->select(torch::tensor(kept, torch::kLong), parent_rows(searching_, beam_));
  }

  const SearchOptions& options_;
  const SearchHooks& hooks_;
  std::vector<Ids> shortlists_;
  bool nothing_is_free_;
  std::vector<std::vector<IdHypothesis>> results_;
  std::vector<SentenceSearch> searching_;
  std::unique_ptr<DecodingBatch> batch_;
  std::optional<CandidateFinder> finder_;
  int64_t beam_ = 1;    // hypotheses of each sentence in the batch
  int64_t length_ = 0;  // of those
};

}  // namespace

void check(const AttentionChoice& choice, const TransformerOptions& options) {
  if (choice.wanted && options.architecture == Architecture::decoder_only)
    throw std::invalid_argument("a decoder_only model has no source to attend to: neither alignments nor coverage");
  const auto exists = [](int64_t number, int64_t count, const char* what) {
    if (number < 0 || number > count)
      throw std::invalid_argument(fmt::format("there is no {} {}: the model has {}", what, number, count));
  };
  exists(choice.layer, options.num_decoder_layers, "decoder layer");
  exists(choice.head, options.num_heads, "attention head");
}

NextToken DecodingBatch::extend(const torch::Tensor& ids) {
  std::vector<torch::Tensor> logits, attention;
  for (int64_t position = 0; position < ids.size(1); ++position) {
    const NextToken next = step(ids.slice(1, position, position + 1));
    logits.push_back(next.logits.clone());
    if (next.attention.defined()) attention.push_back(next.attention);
  }
  return {torch::cat(logits, 1), attention.empty() ? torch::Tensor() : torch::cat(attention, 1)};
}

void check_shortlist(const Ids& shortlist, int64_t vocabulary) {
  for (const int64_t token : shortlist)
    if (token < 0 || token >= vocabulary)
      throw std::invalid_argument(
          fmt::format("the shortlist's token {} is not in the model's vocabulary of {}", token, vocabulary));
}

double length_penalty(int64_t length, double alpha, LengthPenalty penalty) {
  if (penalty == LengthPenalty::power) return std::pow(static_cast<double>(length), alpha);
  return std::pow((5.0 + static_cast<double>(length)) / 6.0, alpha);
}

std::vector<std::vector<IdHypothesis>> beam_search(const StepModel& model, const std::vector<Ids>& sources,
                                                   const SearchOptions& given, const SearchHooks& hooks,
                                                   const TargetDemands& demands) {
  check(given);
  SearchOptions options = given;
  if (!searches(options)) options.beam_size = options.num_hypotheses;
  check(demands, sources.size(), searches(options));
  if (sources.empty()) return {};
  return BatchSearch(model, sources, options, hooks, demands).run();
}

}  // namespace v0
}  // namespace transmute

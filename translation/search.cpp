#include <transmute/translation/search.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/model/libtorch.h>
#include <transmute/translation/top_candidates.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

void check(const SearchOptions& options) {
  const auto require = [](bool holds, const std::string& message) {
    if (!holds) throw std::invalid_argument(message);
  };
  require(options.beam_size >= 1, fmt::format("beam_size must be at least 1, not {}", options.beam_size));
  require(options.num_hypotheses >= 1 && options.num_hypotheses <= options.beam_size,
          fmt::format("num_hypotheses must lie between 1 and beam_size ({}), not {}", options.beam_size,
                      options.num_hypotheses));
  require(options.length_alpha >= 0, fmt::format("length_alpha must not be negative, not {}", options.length_alpha));
  require(options.max_extra_length >= 0,
          fmt::format("max_extra_length must not be negative, not {}", options.max_extra_length));
}

// The last token of a hypothesis and, shared with its siblings, those before it.
struct TokenNode {
  int64_t id;
  double score;
  std::vector<float> attention;  // from where this token was predicted; empty where not asked for
  std::shared_ptr<const TokenNode> before;
};

struct LiveHypothesis {
  std::shared_ptr<const TokenNode> last;  // null: nothing but begin
  double log_probability = 0;
  int64_t row = 0;  // of the last step, which this one continues
};

Ids ids_of(const TokenNode* last) {
  Ids ids;
  for (; last != nullptr; last = last->before.get()) ids.push_back(last->id);
  std::reverse(ids.begin(), ids.end());
  return ids;
}

// `last` is the end.
IdHypothesis hypothesis_of(const TokenNode* last, double log_probability, double score) {
  IdHypothesis hypothesis{ids_of(last->before.get()), log_probability, score};
  for (; last != nullptr; last = last->before.get()) {
    hypothesis.token_scores.push_back(last->score);
    if (!last->attention.empty()) hypothesis.alignment.push_back(last->attention);
  }
  std::reverse(hypothesis.token_scores.begin(), hypothesis.token_scores.end());
  std::reverse(hypothesis.alignment.begin(), hypothesis.alignment.end());
  return hypothesis;
}

// One sentence's part of the search.
class SentenceSearch {
 public:
  SentenceSearch(size_t index, int64_t source_length, const SearchOptions& options)
      : index_(index),
        source_length_(source_length),
        max_length_(source_length + options.max_extra_length),
        options_(options),
        live_(1) {}

  size_t index() const { return index_; }
  const std::vector<LiveHypothesis>& live() const { return live_; }
  /// The next token has to be the end.
  bool at_limit(int64_t length) const { return length >= max_length_; }

  /// `candidates` come best first. `first_row`: that of this sentence's hypotheses in the last step, whose attention
  /// [B·N,S] is.
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
        next.push_back({std::move(last), candidate.log_probability, row});
      }
    }
    live_ = std::move(next);
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
    const double score = log_probability / length_penalty(length, options_.length_alpha);
    if (static_cast<int64_t>(finished_.size()) == options_.num_hypotheses && score <= worst_kept()) return;
    IdHypothesis hypothesis = hypothesis_of(&end, log_probability, score);
    const auto worse = [](const IdHypothesis& a, const IdHypothesis& b) { return a.score > b.score; };
    finished_.insert(std::upper_bound(finished_.begin(), finished_.end(), hypothesis, worse), hypothesis);
    if (static_cast<int64_t>(finished_.size()) > options_.num_hypotheses) finished_.pop_back();
  }

  // Log-probabilities only fall, and the penalty is largest at the maximum length.
  double best_possible() const {
    return live_.front().log_probability / length_penalty(max_length_ + 1, options_.length_alpha);
  }

  double worst_kept() const { return finished_.back().score; }

  // The row's weights over this sentence's source and its end.
  std::vector<float> attention_of(int64_t row, const torch::Tensor& attention) const {
    if (!attention.defined()) return {};
    const float* first = attention.data_ptr<float>() + row * attention.size(-1);
    return {first, first + source_length_ + 1};
  }

  size_t index_;
  int64_t source_length_;
  int64_t max_length_;
  SearchOptions options_;
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

// What a step's logits say of the sentences' next tokens.
class NextScores {
 public:
  virtual ~NextScores() = default;
  /// The `count` best continuations of sentence b, best first.
  virtual std::vector<Candidate> best(const SentenceSearch& sentence, int64_t b, size_t count) = 0;
  /// Natural logarithm of the probability of `token` after hypothesis n of sentence b.
  virtual double log_probability(int64_t b, int64_t n, int64_t token) = 0;
};

// In memory: a fused pass over each hypothesis' logits.
class ScoresOnCpu : public NextScores {
 public:
  ScoresOnCpu(const torch::Tensor& logits, CandidateFinder& finder) : logits_(logits.contiguous()), finder_(finder) {}

  // Whatever is to change a hypothesis' scores (sampling, constraints, several models) does so between here and there,
  // row by row.
  std::vector<Candidate> best(const SentenceSearch& sentence, int64_t b, size_t count) override {
    std::vector<CandidateRow> rows;
    for (size_t n = 0; n < sentence.live().size(); ++n)
      rows.push_back({row(b, static_cast<int64_t>(n)), sentence.live()[n].log_probability});
    return finder_.best(rows, count);
  }
  double log_probability(int64_t b, int64_t n, int64_t token) override {
    return finder_.log_probability(row(b, n), token);
  }

 private:
  const float* row(int64_t b, int64_t n) const {
    return logits_.data_ptr<float>() + (b * logits_.size(1) + n) * logits_.size(2);
  }

  torch::Tensor logits_;  // [B,N,V]
  CandidateFinder& finder_;
};

// On a device: its operations on all rows at once, and one copy of the candidates.
class ScoresOnDevice : public NextScores {
 public:
  ScoresOnDevice(const torch::Tensor& logits, const std::vector<SentenceSearch>& sentences, size_t count)
      : log_probs_(torch::log_softmax(logits, -1, torch::kFloat)) {  // [B,N,V]
    const torch::Tensor totals = log_probs_ + totals_so_far(sentences).to(log_probs_.device());
    for (const int64_t never : {special_ids::kPad, special_ids::kUnknown, special_ids::kBegin})
      totals.select(2, never).fill_(kNever);
    const auto most = std::min(static_cast<int64_t>(count), totals.size(1) * totals.size(2));
    const auto [values, indices] = totals.flatten(1).topk(most, 1);  // [B,2N]
    values_ = values.to(torch::kCPU).contiguous();
    indices_ = indices.to(torch::kCPU).contiguous();
  }

  std::vector<Candidate> best(const SentenceSearch&, int64_t b, size_t) override {
    const int64_t count = values_.size(1);
    const float* value = values_.data_ptr<float>() + b * count;
    const int64_t* index = indices_.data_ptr<int64_t>() + b * count;
    const int64_t vocabulary = log_probs_.size(2);
    std::vector<Candidate> candidates;
    for (int64_t i = 0; i < count; ++i)
      candidates.push_back({index[i] / vocabulary, index[i] % vocabulary, static_cast<double>(value[i])});
    return candidates;
  }
  double log_probability(int64_t b, int64_t n, int64_t token) override {
    return log_probs_[b][n][token].item<double>();
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

  torch::Tensor log_probs_, values_, indices_;
};

// At the maximum length, the end of each live hypothesis instead.
std::vector<Candidate> forced_ends(const SentenceSearch& sentence, NextScores& scores, int64_t b) {
  std::vector<Candidate> candidates;
  for (size_t n = 0; n < sentence.live().size(); ++n) {
    const auto parent = static_cast<int64_t>(n);
    const double end = scores.log_probability(b, parent, special_ids::kEnd);
    candidates.push_back({parent, special_ids::kEnd, sentence.live()[n].log_probability + end});
  }
  return candidates;
}

std::unique_ptr<NextScores> score(const torch::Tensor& logits, const std::vector<SentenceSearch>& sentences,
                                  size_t count, std::optional<CandidateFinder>& finder) {
  if (finder) return std::make_unique<ScoresOnCpu>(logits, *finder);
  return std::make_unique<ScoresOnDevice>(logits, sentences, count);
}

}  // namespace

double length_penalty(int64_t length, double alpha) {
  return std::pow((5.0 + static_cast<double>(length)) / 6.0, alpha);
}

std::vector<std::vector<IdHypothesis>> beam_search(const StepModel& model, const std::vector<Ids>& sources,
                                                   const SearchOptions& options, const SearchHooks& hooks) {
  check(options);
  std::vector<std::vector<IdHypothesis>> results(sources.size());
  if (sources.empty()) return results;

  std::vector<SentenceSearch> searching;
  for (size_t i = 0; i < sources.size(); ++i)
    searching.emplace_back(i, static_cast<int64_t>(sources[i].size()), options);
  const std::unique_ptr<DecodingBatch> batch =
      model.start(sources, options.alignments ? ReturnWeights::yes : ReturnWeights::no);

  const auto count = static_cast<size_t>(2 * options.beam_size);  // N of them at most can be ends
  std::optional<CandidateFinder> finder;
  int64_t beam = 1;
  for (int64_t length = 0; !searching.empty(); ++length) {
    const NextToken next = batch->step(last_tokens(searching, beam));
    if (!finder && next.logits.is_cpu()) finder.emplace(next.logits.size(2));
    const auto scores = score(next.logits, searching, count, finder);
    if (hooks.should_stop && hooks.should_stop()) throw Cancelled();

    std::vector<SentenceSearch> remaining;
    std::vector<int64_t> kept;
    for (size_t b = 0; b < searching.size(); ++b) {
      SentenceSearch& sentence = searching[b];
      const auto row = static_cast<int64_t>(b);
      sentence.advance(
          sentence.at_limit(length) ? forced_ends(sentence, *scores, row) : scores->best(sentence, row, count),
          row * beam, next.attention);
      if (hooks.on_tokens && sentence.update_certain()) hooks.on_tokens(sentence.index(), sentence.certain());
      if (sentence.done()) {
        results[sentence.index()] = sentence.best();
      } else {
        kept.push_back(row);
        remaining.push_back(std::move(sentence));
      }
    }
    searching = std::move(remaining);
    if (searching.empty()) break;
    beam = options.beam_size;
    batch->select(torch::tensor(kept, torch::kLong), parent_rows(searching, beam));
  }
  return results;
}

}  // namespace v0
}  // namespace transmute

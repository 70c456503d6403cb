#include <transmute/translation/search.h>

#include <spdlog/fmt/fmt.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace transmute {

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

struct LiveHypothesis {
  Ids ids;
  double log_probability = 0;
  int64_t row = 0;  // of the last step, which this one continues
};

// A hypothesis that could be: `live[parent]` followed by `token`.
struct Candidate {
  int64_t parent;
  int64_t token;
  double log_probability;
};

// One sentence's part of the search.
class SentenceSearch {
 public:
  SentenceSearch(size_t index, int64_t source_length, const SearchOptions& options)
      : index_(index), max_length_(source_length + options.max_extra_length), options_(options), live_(1) {}

  size_t index() const { return index_; }
  const std::vector<LiveHypothesis>& live() const { return live_; }
  /// The next token has to be the end.
  bool at_limit(int64_t length) const { return length >= max_length_; }

  /// `candidates` come best first. `first_row`: that of this sentence's hypotheses in the last step.
  void advance(const std::vector<Candidate>& candidates, int64_t first_row) {
    std::vector<LiveHypothesis> next;
    for (size_t rank = 0; rank < candidates.size(); ++rank) {
      if (static_cast<int64_t>(next.size()) == options_.beam_size) break;
      const Candidate& candidate = candidates[rank];
      if (candidate.log_probability == kNever) continue;  // forced ends come in the order of their parents
      const LiveHypothesis& parent = live_[static_cast<size_t>(candidate.parent)];
      if (candidate.token != special_ids::kEnd) {
        next.push_back({parent.ids, candidate.log_probability, first_row + candidate.parent});
        next.back().ids.push_back(candidate.token);
      } else if (static_cast<int64_t>(rank) < options_.beam_size) {
        // An end that ranks below the beam would not have been kept either, had it been another token.
        finish(parent.ids, candidate.log_probability);
      }
    }
    live_ = std::move(next);
  }

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
  void finish(const Ids& ids, double log_probability) {
    const auto length = static_cast<int64_t>(ids.size()) + 1;
    IdHypothesis hypothesis{ids, log_probability, log_probability / length_penalty(length, options_.length_alpha)};
    const auto worse = [](const IdHypothesis& a, const IdHypothesis& b) { return a.score > b.score; };
    finished_.insert(std::upper_bound(finished_.begin(), finished_.end(), hypothesis, worse), hypothesis);
    if (static_cast<int64_t>(finished_.size()) > options_.num_hypotheses) finished_.pop_back();
  }

  // Log-probabilities only fall, and the penalty is largest at the maximum length.
  double best_possible() const {
    return live_.front().log_probability / length_penalty(max_length_ + 1, options_.length_alpha);
  }

  double worst_kept() const { return finished_.back().score; }

  size_t index_;
  int64_t max_length_;
  SearchOptions options_;
  std::vector<LiveHypothesis> live_;
  std::vector<IdHypothesis> finished_;  // best first
};

// The last token of every live hypothesis: [B,N]. Sentences whose beam is not full repeat their first
// hypothesis.
torch::Tensor last_tokens(const std::vector<SentenceSearch>& sentences, int64_t beam) {
  torch::Tensor ids = torch::empty({static_cast<int64_t>(sentences.size()), beam}, torch::kLong);
  int64_t* next = ids.data_ptr<int64_t>();
  for (const auto& sentence : sentences)
    for (int64_t n = 0; n < beam; ++n) {
      const auto& live = sentence.live();
      const Ids& tokens = live[n < static_cast<int64_t>(live.size()) ? static_cast<size_t>(n) : 0].ids;
      *next++ = tokens.empty() ? special_ids::kBegin : tokens.back();
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

// Log-probabilities of the hypotheses so far, [B,N,1]; -inf for the repeats that fill a beam.
torch::Tensor totals_so_far(const std::vector<SentenceSearch>& sentences, int64_t beam) {
  torch::Tensor totals = torch::full({static_cast<int64_t>(sentences.size()), beam, 1}, kNever, torch::kFloat);
  float* next = totals.data_ptr<float>();
  for (const auto& sentence : sentences) {
    for (size_t n = 0; n < sentence.live().size(); ++n)
      next[n] = static_cast<float>(sentence.live()[n].log_probability);
    next += beam;
  }
  return totals;
}

// The 2N best continuations of each sentence, best first; N of them at most can be ends.
std::vector<std::vector<Candidate>> expand(const std::vector<SentenceSearch>& sentences, torch::Tensor log_probs,
                                           int64_t beam_size) {
  const int64_t beam = log_probs.size(1);
  const int64_t vocabulary = log_probs.size(2);
  for (const int64_t never : {special_ids::kPad, special_ids::kUnknown, special_ids::kBegin})
    log_probs.select(2, never).fill_(kNever);
  const torch::Tensor totals = log_probs + totals_so_far(sentences, beam).to(log_probs.device());  // [B,N,V]
  const int64_t count = std::min(2 * beam_size, beam * vocabulary);
  const auto [values, indices] = totals.flatten(1).topk(count, 1);  // [B,2N]
  const torch::Tensor best_values = values.to(torch::kCPU).contiguous();
  const torch::Tensor best_indices = indices.to(torch::kCPU).contiguous();
  const float* value = best_values.data_ptr<float>();
  const int64_t* index = best_indices.data_ptr<int64_t>();

  std::vector<std::vector<Candidate>> candidates(sentences.size());
  for (auto& list : candidates)
    for (int64_t i = 0; i < count; ++i, ++value, ++index)
      list.push_back({*index / vocabulary, *index % vocabulary, static_cast<double>(*value)});
  return candidates;
}

// At the maximum length, the end of each live hypothesis instead.
std::vector<Candidate> forced_ends(const SentenceSearch& sentence, const torch::Tensor& log_probs, int64_t b) {
  std::vector<Candidate> candidates;
  for (size_t n = 0; n < sentence.live().size(); ++n) {
    const auto parent = static_cast<int64_t>(n);
    const double end = log_probs[b][parent][special_ids::kEnd].item<double>();
    candidates.push_back({parent, special_ids::kEnd, sentence.live()[n].log_probability + end});
  }
  return candidates;
}

}  // namespace

double length_penalty(int64_t length, double alpha) {
  return std::pow((5.0 + static_cast<double>(length)) / 6.0, alpha);
}

std::vector<std::vector<IdHypothesis>> beam_search(const StepModel& model, const std::vector<Ids>& sources,
                                                   const SearchOptions& options) {
  check(options);
  std::vector<std::vector<IdHypothesis>> results(sources.size());
  if (sources.empty()) return results;

  std::vector<SentenceSearch> searching;
  for (size_t i = 0; i < sources.size(); ++i)
    searching.emplace_back(i, static_cast<int64_t>(sources[i].size()), options);
  const std::unique_ptr<DecodingBatch> batch = model.start(sources);

  int64_t beam = 1;
  for (int64_t length = 0; !searching.empty(); ++length) {
    const torch::Tensor log_probs = batch->step(last_tokens(searching, beam));
    const auto candidates = expand(searching, log_probs, options.beam_size);

    std::vector<SentenceSearch> remaining;
    std::vector<int64_t> kept;
    for (size_t b = 0; b < searching.size(); ++b) {
      SentenceSearch& sentence = searching[b];
      const auto row = static_cast<int64_t>(b);
      sentence.advance(sentence.at_limit(length) ? forced_ends(sentence, log_probs, row) : candidates[b], row * beam);
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

}  // namespace transmute

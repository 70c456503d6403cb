// SPDX-License-Identifier: Apache-2.0
#include <transmute/search/search.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/search/candidates.h>
#include <transmute/search/next_scores.h>
#include <transmute/search/sentence_search.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

using search::SentenceSearch;

// Beyond what anybody asks for, and low enough that no sum or product of them overflows.
constexpr int64_t kMostLength = 1'000'000;

// Hypothesis n of a sentence. A beam that is not full repeats its first one.
const search::LiveHypothesis& hypothesis(const SentenceSearch& sentence, size_t n) {
  return sentence.live()[n < sentence.live().size() ? n : 0];
}

// Number of rows that go through a model together if many positions are known: enough for its products, few enough for
// the caches.
constexpr int64_t kRowsAtOnce = 64;

// Number of steps at the beginning that can be taken together, because their tokens are known for every sentence. If
// all sentences are known as a whole, this is the length of the longest, the end included.
int64_t known_steps(const std::vector<SentenceSearch>& sentences) {
  int64_t fewest = std::numeric_limits<int64_t>::max(), most = 0;
  bool all_are_known = true;
  for (const SentenceSearch& sentence : sentences) {
    const int64_t steps = sentence.prefix_length() + (sentence.is_known() ? 1 : 0);
    fewest = std::min(fewest, steps);
    most = std::max(most, steps);
    all_are_known = all_are_known && sentence.is_known();
  }
  return all_are_known ? most : fewest;
}

void require_between(int64_t value, int64_t least, int64_t most, const char* name) {
  if (value < least || value > most)
    throw std::invalid_argument(fmt::format("{} must lie between {} and {}, not {}", name, least, most, value));
}

// The search for all sentences of a batch.
class BatchSearch {
 public:
  /// The arguments must outlive the object.
  BatchSearch(const StepModel& model, const std::vector<SearchRequest>& requests, const SearchOptions& options,
              const SearchHooks& hooks, const SearchContext& context)
      : hooks_(hooks), results_(requests.size()) {
    std::vector<Ids> sources, shortlists;  // of each sentence; shortlists of all or none
    for (const SearchRequest& request : requests) {
      searching_.emplace_back(sources.size(), request, options, context);
      sources.push_back(request.source);
      if (const auto& shortlist = searching_.back().shortlist()) shortlists.push_back(*shortlist);
    }
    batch_ = model.start(
        sources, {options.alignments || options.coverage_beta > 0, options.alignment_layer, options.alignment_head},
        shortlists);
    known_ = known_steps(searching_);
  }

  std::vector<std::vector<IdHypothesis>> run() {
    while (!searching_.empty()) {
      const int64_t at_once = std::min(kRowsAtOnce / static_cast<int64_t>(searching_.size()), known_ - length_);
      const int64_t positions = std::max<int64_t>(1, at_once);
      const NextToken next = batch_->step(next_tokens(positions), positions);
      for (int64_t position = 0; position < positions; ++position, ++length_) advance(next, position, positions);
      leave_those_done();
    }
    return std::move(results_);
  }

 private:
  // The input of a step: the last token of every hypothesis. If several positions are known, the tokens of the prefixes
  // follow, with padding after the end of a prefix.
  Ids next_tokens(int64_t positions) const {
    Ids ids;
    for (const SentenceSearch& sentence : searching_)
      for (size_t n = 0; n < static_cast<size_t>(beam_); ++n) {
        const auto& last = hypothesis(sentence, n).last;
        ids.push_back(last ? last->id : special_ids::kBegin);
        for (int64_t at = length_; at < length_ + positions - 1; ++at)
          ids.push_back(at < sentence.prefix_length() ? sentence.prefix_token(at) : special_ids::kPad);
      }
    return ids;
  }

  // Advances each unfinished sentence by one token, at the given position of the step.
  void advance(const NextToken& next, int64_t position, int64_t positions) {
    const int64_t rows_per_sentence = beam_ * positions;
    size_t most_candidates = 1;
    if (length_ >= known_)
      for (auto& sentence : searching_) {
        sentence.find_banned();
        most_candidates = std::max(most_candidates, sentence.candidates() + sentence.most_banned());
      }
    const auto scores =
        search::make_next_scores(next, position, rows_per_sentence, searching_, most_candidates, finder_);
    if (hooks_.should_stop && hooks_.should_stop()) throw Cancelled();
    for (SentenceSearch& sentence : searching_) {
      if (sentence.done()) continue;
      if (hooks_.is_unwanted && hooks_.is_unwanted(sentence.index())) {
        sentence.abandon();
        results_[sentence.index()] = sentence.best();
        continue;
      }
      const int64_t first = (sentence.place() * rows_per_sentence + position) * next.source_width;
      sentence.advance(search::find_candidates(sentence, *scores), beam_,
                       next.attention.empty() ? nullptr : &next.attention[static_cast<size_t>(first)],
                       next.source_width);
      if (hooks_.on_tokens && (sentence.update_certain() || sentence.done()))
        hooks_.on_tokens(sentence.index(), sentence.certain(), sentence.done());
      if (!sentence.done()) continue;
      if (sentence.best().empty())
        throw std::runtime_error(
            "the model gives no probability to any token that a translation could continue with, so the search has no "
            "result");
      results_[sentence.index()] = sentence.best();
    }
  }

  // Removes the finished sentences from the batch. While tokens are known, the others have one hypothesis each.
  void leave_those_done() {
    std::vector<SentenceSearch> remaining;
    std::vector<int64_t> kept;
    for (SentenceSearch& sentence : searching_) {
      if (sentence.done()) continue;
      kept.push_back(sentence.place());
      sentence.move_to(static_cast<int64_t>(remaining.size()));
      remaining.push_back(std::move(sentence));
    }
    searching_ = std::move(remaining);
    if (searching_.empty()) return;
    beam_ = 1;
    std::vector<int64_t> parents;
    for (const auto& sentence : searching_)
      if (length_ >= known_) beam_ = std::max(beam_, sentence.beam());
    for (const auto& sentence : searching_)
      for (size_t n = 0; n < static_cast<size_t>(beam_); ++n) parents.push_back(hypothesis(sentence, n).row);
    batch_->select(kept, parents);
  }

  const SearchHooks& hooks_;
  std::vector<std::vector<IdHypothesis>> results_;
  std::vector<SentenceSearch> searching_;
  std::unique_ptr<DecodingBatch> batch_;
  CandidateFinder finder_;
  int64_t known_ = 0;   // number of steps whose tokens are known in advance
  int64_t beam_ = 1;    // number of hypotheses of each sentence in the batch
  int64_t length_ = 0;  // number of tokens of each hypothesis
};

}  // namespace

void check_hypotheses(const SearchOptions& options) {
  require_between(options.beam_size, 1, kMaxHypotheses, "beam_size");
  require_between(options.num_hypotheses, 1, kMaxHypotheses, "num_hypotheses");
}

void check_search_options(const SearchOptions& options) {
  const auto require = [](bool holds, const std::string& message) {
    if (!holds) throw std::invalid_argument(message);
  };
  check_hypotheses(options);
  require(options.num_hypotheses <= options.beam_size || !search::is_search(options),
          fmt::format("num_hypotheses must lie between 1 and beam_size ({}), not {}", options.beam_size,
                      options.num_hypotheses));
  require(options.length_alpha >= 0 && options.length_alpha <= kMostLengthAlpha,
          fmt::format("length_alpha must lie between 0 and {}, not {}", kMostLengthAlpha, options.length_alpha));
  require(options.coverage_beta >= 0 && options.coverage_beta <= kMostCoverageBeta,
          fmt::format("coverage_beta must lie between 0 and {}, not {}", kMostCoverageBeta, options.coverage_beta));
  require_between(options.max_extra_length, 0, kMostLength, "max_extra_length");
  require_between(options.min_length, 0, kMostLength, "min_length");
  require_between(options.no_repeat_ngram, 0, kMostLength, "no_repeat_ngram");
  const double penalty = options.repetition_penalty;
  require(penalty >= kLeastRepetitionPenalty && penalty <= kMostRepetitionPenalty,
          fmt::format("repetition_penalty must lie between {} and {}, not {}", kLeastRepetitionPenalty,
                      kMostRepetitionPenalty, penalty));
  require(!options.constraint || !options.alternatives, "alternatives cannot be combined with a constraint");
  if (!options.sampling) return;
  require(!options.alternatives, "sampling and alternatives exclude each other");
  const SamplingOptions& sampling = *options.sampling;
  require(sampling.temperature >= 0 && std::isfinite(sampling.temperature),
          fmt::format("temperature must be finite and not negative, not {}", sampling.temperature));
  require(sampling.top_k >= 0, fmt::format("top_k must not be negative, not {}", sampling.top_k));
  require(sampling.top_p > 0 && sampling.top_p <= 1,
          fmt::format("top_p must be more than 0 and at most 1, not {}", sampling.top_p));
}

std::vector<std::vector<IdHypothesis>> beam_search(const StepModel& model, const std::vector<SearchRequest>& requests,
                                                   const SearchOptions& given, const SearchHooks& hooks,
                                                   const SearchContext& context) {
  check_search_options(given);
  SearchOptions options = given;
  if (!search::is_search(options)) options.beam_size = options.num_hypotheses;
  search::check(requests, context.excluded, options);
  if (requests.empty()) return {};
  return BatchSearch(model, requests, options, hooks, context).run();
}

std::vector<std::vector<IdHypothesis>> beam_search(const StepModel& model, const std::vector<Ids>& sources,
                                                   const SearchOptions& options, const SearchHooks& hooks) {
  std::vector<SearchRequest> requests;
  for (const Ids& source : sources) requests.push_back({source});
  return beam_search(model, requests, options, hooks, SearchContext());
}

}  // namespace v0
}  // namespace transmute

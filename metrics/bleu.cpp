// SPDX-License-Identifier: Apache-2.0
#include <transmute/metrics/bleu.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace transmute {
inline namespace v0 {
namespace {

// --- Counting ----------------------------------------------------------------------------------------------

using TokenId = int64_t;
constexpr TokenId kNoToken = -1;

// Tokens in order; the unused tail of a shorter n-gram holds kNoToken.
using Ngram = std::array<TokenId, kBleuMaxOrder>;
using NgramCounts = std::map<Ngram, int64_t>;

// Numbers tokens in order of appearance, so that n-grams compare as integers.
class Vocabulary {
 public:
  TokenId id_of(std::string_view token) { return ids_.emplace(token, static_cast<TokenId>(ids_.size())).first->second; }

 private:
  std::unordered_map<std::string, TokenId> ids_;
};

// Turns raw segments into token ids as the options ask.
class SegmentReader {
 public:
  explicit SegmentReader(const BleuOptions& options)
      : letter_case_(options.letter_case), tokenizer_(options.tokenizer) {}

  std::vector<TokenId> read(const std::string& segment) {
    const std::string cased = letter_case_ == BleuCase::lower ? to_lower(segment) : segment;
    const std::string tokenized = tokenize_for_bleu(tokenizer_, strip_right(cased));
    std::vector<TokenId> ids;
    for (const std::string_view token : split_at_space(tokenized)) ids.push_back(vocabulary_.id_of(token));
    return ids;
  }

 private:
  BleuCase letter_case_;
  BleuTokenizer tokenizer_;
  Vocabulary vocabulary_;
};

std::size_t order_of(const Ngram& ngram) {
  return static_cast<std::size_t>(std::find(ngram.begin(), ngram.end(), kNoToken) - ngram.begin());
}

NgramCounts count_ngrams(const std::vector<TokenId>& tokens) {
  NgramCounts counts;
  for (std::size_t begin = 0; begin < tokens.size(); ++begin) {
    Ngram ngram;
    ngram.fill(kNoToken);
    const std::size_t longest = std::min(kBleuMaxOrder, tokens.size() - begin);
    for (std::size_t length = 1; length <= longest; ++length) {
      ngram[length - 1] = tokens[begin + length - 1];
      ++counts[ngram];
    }
  }
  return counts;
}

// The n-grams and lengths of all references of one segment together.
struct ReferenceCounts {
  NgramCounts ngrams;            // for each n-gram, the most that any one reference has
  std::vector<int64_t> lengths;  // tokens, per reference
};

void add_reference(ReferenceCounts& references, const std::vector<TokenId>& tokens) {
  references.lengths.push_back(static_cast<int64_t>(tokens.size()));
  for (const auto& [ngram, count] : count_ngrams(tokens)) {
    int64_t& most = references.ngrams[ngram];
    most = std::max(most, count);
  }
}

// The reference length closest to the hypothesis's; of two equally close ones, the shorter.
int64_t closest_length(const std::vector<int64_t>& reference_lengths, int64_t hypothesis_length) {
  const auto distance_then_length = [hypothesis_length](int64_t length) {
    return std::make_pair(std::abs(length - hypothesis_length), length);
  };
  return *std::min_element(reference_lengths.begin(), reference_lengths.end(),
                           [&](int64_t a, int64_t b) { return distance_then_length(a) < distance_then_length(b); });
}

BleuCounts count_segment(const std::vector<TokenId>& hypothesis, const ReferenceCounts& references) {
  BleuCounts sums;
  sums.hypothesis_length = static_cast<int64_t>(hypothesis.size());
  sums.reference_length = closest_length(references.lengths, sums.hypothesis_length);
  for (const auto& [ngram, count] : count_ngrams(hypothesis)) {
    const std::size_t order = order_of(ngram);
    sums.totals[order - 1] += count;
    const auto found = references.ngrams.find(ngram);
    if (found != references.ngrams.end()) sums.matches[order - 1] += std::min(count, found->second);
  }
  return sums;
}

// --- Scoring -----------------------------------------------------------------------------------------------

double brevity_penalty(int64_t hypothesis_length, int64_t reference_length) {
  if (hypothesis_length >= reference_length) return 1.0;
  if (hypothesis_length == 0) return 0.0;
  return std::exp(1.0 - static_cast<double>(reference_length) / static_cast<double>(hypothesis_length));
}

struct SmoothingEntry {
  BleuSmoothing smoothing;
  const char* name;
  std::optional<double> default_value;
};

constexpr SmoothingEntry kSmoothings[] = {
    {BleuSmoothing::exponential, "exp", std::nullopt},
    {BleuSmoothing::floor, "floor", 0.1},
    {BleuSmoothing::add_k, "add-k", 1.0},
    {BleuSmoothing::none, "none", std::nullopt},
};

const SmoothingEntry& smoothing_entry(BleuSmoothing smoothing) {
  for (const SmoothingEntry& entry : kSmoothings)
    if (entry.smoothing == smoothing) return entry;
  throw std::invalid_argument("BleuOptions::smoothing has an undefined value");
}

double smoothing_value(const BleuOptions& options) {
  return options.smoothing_value.value_or(smoothing_entry(options.smoothing).default_value.value_or(0.0));
}

// Fills in the precisions, percent, and returns how many orders count. The order of operations is sacreBLEU's, so that
// results agree to the last bit.
std::size_t smooth(BleuScore& score, const BleuOptions& options) {
  std::size_t orders = kBleuMaxOrder;
  double divisor = 1.0;
  for (std::size_t i = 0; i < kBleuMaxOrder; ++i) {
    const double added = options.smoothing == BleuSmoothing::add_k && i > 0 ? smoothing_value(options) : 0.0;
    const double matches = static_cast<double>(score.matches[i]) + added;
    const double total = static_cast<double>(score.totals[i]) + added;
    if (total == 0) break;  // longer n-grams do not exist either
    if (options.effective_order) orders = i + 1;
    if (matches > 0) {
      score.precisions[i] = 100.0 * matches / total;
    } else if (options.smoothing == BleuSmoothing::exponential) {
      divisor *= 2.0;
      score.precisions[i] = 100.0 / (divisor * total);
    } else if (options.smoothing == BleuSmoothing::floor) {
      score.precisions[i] = 100.0 * smoothing_value(options) / total;
    }
  }
  return orders;
}

double geometric_mean(const std::array<double, kBleuMaxOrder>& values, std::size_t count) {
  double log_sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    if (values[i] == 0.0) return 0.0;
    log_sum += std::log(values[i]);
  }
  return std::exp(log_sum / static_cast<double>(count));
}

// --- Printing ----------------------------------------------------------------------------------------------

std::string smoothing_name(const BleuOptions& options) {
  const SmoothingEntry& entry = smoothing_entry(options.smoothing);
  return entry.default_value ? fmt::format("{}[{:.2f}]", entry.name, smoothing_value(options)) : entry.name;
}

double length_ratio(const BleuScore& score) {
  if (score.reference_length == 0) return 0.0;
  return static_cast<double>(score.hypothesis_length) / static_cast<double>(score.reference_length);
}

}  // namespace

BleuCounts& BleuCounts::operator+=(const BleuCounts& other) {
  for (std::size_t i = 0; i < kBleuMaxOrder; ++i) {
    matches[i] += other.matches[i];
    totals[i] += other.totals[i];
  }
  hypothesis_length += other.hypothesis_length;
  reference_length += other.reference_length;
  return *this;
}

std::vector<BleuCounts> bleu_segment_counts(const std::vector<std::string>& hypotheses,
                                            const std::vector<std::vector<std::string>>& references,
                                            const BleuOptions& options) {
  check_segment_counts(hypotheses, references, "BLEU");
  SegmentReader reader(options);
  std::vector<BleuCounts> counts;
  for (std::size_t segment = 0; segment < hypotheses.size(); ++segment) {
    ReferenceCounts reference_counts;
    for (const auto& reference_set : references) {
      add_reference(reference_counts, reader.read(reference_set[segment]));
    }
    counts.push_back(count_segment(reader.read(hypotheses[segment]), reference_counts));
  }
  return counts;
}

BleuScore bleu_from_counts(const BleuCounts& counts, const BleuOptions& options) {
  BleuScore score;
  static_cast<BleuCounts&>(score) = counts;
  score.brevity_penalty = brevity_penalty(score.hypothesis_length, score.reference_length);
  // Without a single match smoothing must not conjure a score.
  const auto is_zero = [](int64_t count) { return count == 0; };
  if (std::all_of(score.matches.begin(), score.matches.end(), is_zero)) return score;
  const std::size_t orders = smooth(score, options);
  score.score = score.brevity_penalty * geometric_mean(score.precisions, orders);
  return score;
}

BleuScore corpus_bleu(const std::vector<std::string>& hypotheses,
                      const std::vector<std::vector<std::string>>& references, const BleuOptions& options) {
  BleuCounts sum;
  for (const BleuCounts& counts : bleu_segment_counts(hypotheses, references, options)) sum += counts;
  return bleu_from_counts(sum, options);
}

std::vector<std::vector<double>> pairwise_bleu(const std::vector<std::string>& segments, const BleuOptions& options) {
  SegmentReader reader(options);
  std::vector<std::vector<TokenId>> tokens;
  std::vector<ReferenceCounts> references;
  for (const std::string& segment : segments) {
    tokens.push_back(reader.read(segment));
    add_reference(references.emplace_back(), tokens.back());
  }
  std::vector<std::vector<double>> scores;
  for (const auto& hypothesis : tokens) {
    std::vector<double>& row = scores.emplace_back();
    for (const ReferenceCounts& reference : references)
      row.push_back(bleu_from_counts(count_segment(hypothesis, reference), options).score);
  }
  return scores;
}

std::string bleu_signature(const BleuOptions& options, std::size_t num_references) {
  return fmt::format("nrefs:{}|case:{}|eff:{}|tok:{}|smooth:{}|version:transmute-1", num_references,
                     options.letter_case == BleuCase::lower ? "lc" : "mixed", options.effective_order ? "yes" : "no",
                     bleu_tokenizer_name(options.tokenizer), smoothing_name(options));
}

std::string format_bleu(const BleuScore& score, const std::string& signature) {
  return fmt::format("{} = {:.2f} {:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})",
                     signature.empty() ? "BLEU" : "BLEU|" + signature, score.score, fmt::join(score.precisions, "/"),
                     score.brevity_penalty, length_ratio(score), score.hypothesis_length, score.reference_length);
}

BleuSmoothing bleu_smoothing_from_name(const std::string& name) {
  std::string known;
  for (const SmoothingEntry& entry : kSmoothings) {
    if (name == entry.name) return entry.smoothing;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw std::invalid_argument("unknown BLEU smoothing \"" + name + "\"; known are: " + known);
}

}  // namespace v0
}  // namespace transmute

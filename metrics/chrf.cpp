// SPDX-License-Identifier: Apache-2.0
#include <transmute/metrics/chrf.h>
#include <transmute/metrics/metric_text.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace transmute {
inline namespace v0 {
namespace {

using StringCounts = std::unordered_map<std::string, int64_t>;

// The text's n-grams, one map for each order: of characters, then of words.
using NgramsByOrder = std::vector<StringCounts>;

// The place of each character of UTF-8 text, and the text's end.
std::vector<std::size_t> character_borders(const std::string& text) {
  std::vector<std::size_t> borders;
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) borders.push_back(i);
  borders.push_back(text.size());
  return borders;
}

bool is_ascii_mark(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// One mark at the end of a word is a word of its own, or else one at its beginning.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split_at_space(text)) {
    const bool single = character_borders(std::string(word)).size() == 2;
    if (!single && is_ascii_mark(word.back())) {
      words.push_back(word.substr(0, word.size() - 1));
      words.push_back(word.substr(word.size() - 1));
    } else if (!single && is_ascii_mark(word.front())) {
      words.push_back(word.substr(0, 1));
      words.push_back(word.substr(1));
    } else {
      words.push_back(word);
    }
  }
  return words;
}

NgramsByOrder count_ngrams(const std::string& segment, const ChrfOptions& options) {
  const std::string text = options.lowercase ? to_lower(segment) : segment;
  std::string joined;
  for (const std::string_view word : split_at_space(text)) joined += word;
  NgramsByOrder ngrams;
  const std::vector<std::size_t> borders = character_borders(joined);
  for (std::size_t n = 1; n <= static_cast<std::size_t>(options.char_order); ++n) {
    StringCounts& counts = ngrams.emplace_back();
    for (std::size_t i = 0; i + n < borders.size(); ++i)
      ++counts[joined.substr(borders[i], borders[i + n] - borders[i])];
  }
  const std::vector<std::string_view> words = options.word_order > 0 ? words_of(text) : std::vector<std::string_view>();
  for (std::size_t n = 1; n <= static_cast<std::size_t>(options.word_order); ++n) {
    StringCounts& counts = ngrams.emplace_back();
    for (std::size_t i = 0; i + n <= words.size(); ++i) {
      std::string ngram;
      for (std::size_t k = i; k < i + n; ++k) (ngram += words[k]) += ' ';
      ++counts[ngram];
    }
  }
  return ngrams;
}

int64_t total(const StringCounts& ngrams) {
  int64_t sum = 0;
  for (const auto& [ngram, count] : ngrams) sum += count;
  return sum;
}

std::vector<ChrfCounts> compare(const NgramsByOrder& hypothesis, const NgramsByOrder& reference) {
  std::vector<ChrfCounts> counts(hypothesis.size());
  for (std::size_t order = 0; order < counts.size(); ++order) {
    counts[order].hypothesis = reference[order].empty() ? 0 : total(hypothesis[order]);
    counts[order].reference = total(reference[order]);
    for (const auto& [ngram, count] : hypothesis[order])
      if (const auto found = reference[order].find(ngram); found != reference[order].end())
        counts[order].matches += std::min(count, found->second);
  }
  return counts;
}

}  // namespace

std::vector<std::vector<ChrfCounts>> chrf_segment_counts(const std::vector<std::string>& hypotheses,
                                                         const std::vector<std::vector<std::string>>& references,
                                                         const ChrfOptions& options) {
  check_segment_counts(hypotheses, references, "chrF");
  std::vector<std::vector<ChrfCounts>> all;
  for (std::size_t segment = 0; segment < hypotheses.size(); ++segment) {
    const NgramsByOrder hypothesis = count_ngrams(hypotheses[segment], options);
    std::vector<ChrfCounts> best;
    double best_score = -1;
    for (const auto& reference_set : references) {
      std::vector<ChrfCounts> counts = compare(hypothesis, count_ngrams(reference_set[segment], options));
      const double score = chrf_from_counts(counts, options);
      if (score <= best_score) continue;
      best_score = score;
      best = std::move(counts);
    }
    all.push_back(std::move(best));
  }
  return all;
}

double chrf_from_counts(const std::vector<ChrfCounts>& counts, const ChrfOptions& options) {
  // The order of operations is sacreBLEU's, so that results agree to the last bit.
  double precision = 0;
  double recall = 0;
  int orders = 0;
  for (const ChrfCounts& order : counts) {
    if (order.hypothesis == 0 || order.reference == 0) continue;
    precision += static_cast<double>(order.matches) / static_cast<double>(order.hypothesis);
    recall += static_cast<double>(order.matches) / static_cast<double>(order.reference);
    ++orders;
  }
  if (orders == 0) return 0;
  precision /= orders;
  recall /= orders;
  if (precision + recall == 0) return 0;
  const auto factor = static_cast<double>(options.beta * options.beta);
  double score = (1 + factor) * precision * recall;
  score /= (factor * precision) + recall;
  return 100 * score;
}

void add_counts(std::vector<ChrfCounts>& sum, const std::vector<ChrfCounts>& counts) {
  for (std::size_t order = 0; order < sum.size(); ++order) {
    sum[order].hypothesis += counts[order].hypothesis;
    sum[order].reference += counts[order].reference;
    sum[order].matches += counts[order].matches;
  }
}

double corpus_chrf(const std::vector<std::string>& hypotheses, const std::vector<std::vector<std::string>>& references,
                   const ChrfOptions& options) {
  std::vector<ChrfCounts> sum(static_cast<std::size_t>(options.char_order + options.word_order));
  for (const auto& segment : chrf_segment_counts(hypotheses, references, options)) add_counts(sum, segment);
  return chrf_from_counts(sum, options);
}

std::vector<std::vector<double>> pairwise_chrf(const std::vector<std::string>& segments, const ChrfOptions& options) {
  std::vector<NgramsByOrder> ngrams;
  ngrams.reserve(segments.size());
  for (const std::string& segment : segments) ngrams.push_back(count_ngrams(segment, options));
  std::vector<std::vector<double>> scores;
  for (const NgramsByOrder& hypothesis : ngrams) {
    std::vector<double>& row = scores.emplace_back();
    for (const NgramsByOrder& reference : ngrams)
      row.push_back(chrf_from_counts(compare(hypothesis, reference), options));
  }
  return scores;
}

std::string chrf_name(const ChrfOptions& options) {
  return "chrF" + std::to_string(options.beta) + std::string(static_cast<std::size_t>(options.word_order), '+');
}

std::string chrf_signature(const ChrfOptions& options, std::size_t num_references) {
  return "nrefs:" + std::to_string(num_references) + "|case:" + (options.lowercase ? "lc" : "mixed") +
         "|eff:yes|nc:" + std::to_string(options.char_order) + "|nw:" + std::to_string(options.word_order) +
         "|space:no|version:transmute-1";
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/preparation/alignment_score.h>

#include <transmute/common/hash.h>
#include <transmute/common/random.h>
#include <transmute/preparation/chance_threshold.h>
#include <transmute/preparation/side.h>
#include <transmute/tokenizer/special_ids.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr int64_t kIterations = 5;

// The half of the sample, and so the model that scores the pair: a function of the pair alone.
size_t half_of(const TextPair& pair) {
  return hash_text(pair.target, hash_text(pair.source)) % 2;
}

// The factor by which a source makes the words of its target more probable, as a logarithm.
struct Gain {
  double sum = 0;
  size_t words = 0;  // over which it is
};

// Looks at a part of the words of a long target.
Gain gain(const std::vector<int32_t>& source, const std::vector<int32_t>& target, const TranslationTable& table,
          const std::vector<double>& frequencies) {
  // A word that nothing explains counts as one that is this much less probable than by its frequency.
  constexpr double kUnexplained = 0.1;
  constexpr size_t kMostWords = 24;
  Gain gained;
  const size_t stride = (target.size() + kMostWords - 1) / kMostWords;
  for (size_t i = 0; i < target.size(); i += stride)
    for (const int32_t from : source) table.prefetch(from, target[i]);
  for (size_t i = 0; i < target.size(); i += stride, ++gained.words) {
    double probability = table.probability(special_ids::kEnd, target[i]);
    for (const int32_t from : source) probability += table.probability(from, target[i]);
    probability /= static_cast<double>(source.size() + 1);
    const double frequency = frequencies[static_cast<size_t>(target[i])];
    gained.sum += std::log((1 - kUnexplained) * probability / frequency + kUnexplained);
  }
  return gained;
}

}  // namespace

TranslationTable::TranslationTable(const LexicalModel& model) {
  constexpr double kLeast = 1e-4;
  std::vector<Entry> found;
  for (int64_t source = 0; source < model.source_tokens(); ++source)
    for (const auto& [target, probability] : model.best(source, std::numeric_limits<size_t>::max(), kLeast))
      found.push_back(
          {words_of(static_cast<int32_t>(source), static_cast<int32_t>(target)), static_cast<float>(probability)});
  size_t size = 1;
  while (size < 2 * found.size() + 1) size *= 2;
  entries_.resize(size);
  for (const Entry& entry : found) entries_[place_of(entry.words)] = entry;
}

// The place of these words' entry, or of a free one.
size_t TranslationTable::place_of(uint64_t words) const {
  const size_t mask = entries_.size() - 1;
  size_t place = mix_bits(words) & mask;
  while (entries_[place].words != 0 && entries_[place].words != words) place = (place + 1) & mask;
  return place;
}

double TranslationTable::probability(int32_t source, int32_t target) const {
  return static_cast<double>(entries_[place_of(words_of(source, target))].probability);
}

size_t alignment_class(const AlignmentScore& score) {
  size_t found = 0;
  for (size_t most = 8; score.words > most && found + 1 < kAlignmentClasses; most *= 2) ++found;
  return found;
}

AlignmentScorer::AlignmentScorer(const std::vector<TextPair>& sample, WorkerCrew& workers)
    : source_(read_side(sample, &TextPair::source)), target_(read_side(sample, &TextPair::target)) {
  std::array<ParallelText, 4> texts;  // texts of each half, in both directions
  for (const TextPair& pair : sample) {
    constexpr size_t kMostWords = 40;  // the time grows with the square
    const PairWords words = words_of(pair);
    if (words.source.empty() || words.target.empty() || std::max(words.source.size(), words.target.size()) > kMostWords)
      continue;
    const size_t learner = 1 - half_of(pair);
    texts[learner].source.add(words.source.data(), words.source.size());
    texts[learner].target.add(words.target.data(), words.target.size());
  }
  for (size_t i = 0; i < 2; ++i) texts[2 + i] = {texts[i].target, texts[i].source, {}};
  workers.for_each_chunk(texts.size(), 1, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i)
      (i < 2 ? forward_ : backward_)[i % 2] = TranslationTable(LexicalModel(texts[i], kIterations));
  });
  thresholds_ = find_thresholds(sample, workers);
}

AlignmentScorer::Side AlignmentScorer::read_side(const std::vector<TextPair>& sample, std::string TextPair::*side) {
  std::unordered_map<std::string, size_t> counts;
  size_t all = 0;
  for (const TextPair& pair : sample)
    for (std::string& word : stems_of(pair.*side)) {
      ++counts[std::move(word)];
      ++all;
    }
  // In the order of the alphabet, so that sums are the same everywhere.
  std::vector<std::pair<std::string, size_t>> known;
  for (const auto& [word, count] : counts)
    if (count > 1) known.emplace_back(word, count);
  std::sort(known.begin(), known.end());
  Side read;
  read.frequencies.resize(special_ids::kCount);  // the empty word is one of them
  for (const auto& [word, count] : known) {
    read.ids.emplace(word, static_cast<int32_t>(read.frequencies.size()));
    read.frequencies.push_back(static_cast<double>(count) / static_cast<double>(all));
  }
  return read;
}

AlignmentScorer::Words AlignmentScorer::words_of(const Side& side, std::string_view text) {
  constexpr size_t kMostWords = 100;  // which tell enough of a long text
  Words words;
  for (const std::string& word : stems_of(text)) {
    const auto found = side.ids.find(word);
    if (found != side.ids.end()) words.push_back(found->second);
    if (words.size() == kMostWords) break;
  }
  return words;
}

AlignmentScorer::PairWords AlignmentScorer::words_of(const TextPair& pair) const {
  return {words_of(source_, pair.source), words_of(target_, pair.target)};
}

AlignmentScore AlignmentScorer::score(const Words& source, const Words& target, size_t half) const {
  if (source.empty() || target.empty()) return {};
  const Gain to_target = gain(source, target, forward_[half], target_.frequencies);
  const Gain to_source = gain(target, source, backward_[half], source_.frequencies);
  return {(to_target.sum + to_source.sum) / static_cast<double>(to_target.words + to_source.words),
          std::min(source.size(), target.size())};
}

AlignmentScore AlignmentScorer::score(const TextPair& pair) const {
  const PairWords words = words_of(pair);
  return score(words.source, words.target, half_of(pair));
}

AlignmentThresholds AlignmentScorer::find_thresholds(const std::vector<TextPair>& sample, WorkerCrew& workers) const {
  constexpr size_t kFewestPairs = 500, kGrain = 256;
  constexpr double kWidth = 0.125;
  struct Scored {
    PairWords words;
    size_t half = 0;
    AlignmentScore score;
  };
  std::vector<Scored> scored(sample.size());
  workers.for_each_chunk(sample.size(), kGrain, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      scored[i].words = words_of(sample[i]);
      scored[i].half = half_of(sample[i]);
      scored[i].score = score(scored[i].words.source, scored[i].words.target, scored[i].half);
    }
  });
  // Pairs of one class and one half, each with the target of the next: no model has seen either side's own pair.
  std::array<std::array<std::vector<const Scored*>, 2>, kAlignmentClasses> classes;
  for (const Scored& pair : scored)
    if (pair.score.words >= kFewestAlignedWords) classes[alignment_class(pair.score)][pair.half].push_back(&pair);
  AlignmentThresholds thresholds;
  double mismatched = 0;
  for (size_t i = 0; i < kAlignmentClasses; ++i) {
    ScoresAndChance scores;
    for (const auto& pairs : classes[i])
      for (size_t k = 0; k < pairs.size(); ++k) {
        const Scored& next = *pairs[(k + 1) % pairs.size()];
        scores.found.push_back(pairs[k]->score.value);
        scores.chance.push_back(score(pairs[k]->words.source, next.words.target, pairs[k]->half).value);
      }
    if (scores.found.size() < kFewestPairs) continue;
    const auto count = static_cast<double>(scores.found.size());
    const ChanceThreshold found = find_threshold(std::move(scores), kWidth);
    mismatched += found.mismatched * count;
    thresholds.least[i] = found.least;
  }
  if (!sample.empty()) thresholds.mismatched = mismatched / static_cast<double>(sample.size());
  return thresholds;
}

}  // namespace v0
}  // namespace transmute

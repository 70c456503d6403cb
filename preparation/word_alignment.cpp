// SPDX-License-Identifier: Apache-2.0
#include <transmute/preparation/word_alignment.h>

#include <transmute/preparation/side.h>
#include <transmute/tokenizer/special_ids.h>
#include <transmute/training/data/lexical_model.h>
#include <transmute/training/data/word_links.h>

#include <numeric>
#include <set>
#include <string_view>

namespace transmute {
inline namespace v0 {

namespace {

std::ptrdiff_t jump_between(size_t place, size_t source) {
  return static_cast<std::ptrdiff_t>(source + 1) - static_cast<std::ptrdiff_t>(place);
}

}  // namespace

void link_posteriors(size_t targets, size_t sources, const Jumps& jumps, std::vector<double>& values, Jumps* found) {
  constexpr double kEmpty = 0.08;  // the share of the empty word (Dyer et al., 2013)
  // A place is the number of the last linked source word, counted from 1; 0: none so far.
  const size_t places = sources + 1;
  std::vector<double> moves(places * sources);  // probabilities of each source word after each place
  for (size_t place = 0; place < places; ++place) {
    double* row = &moves[place * sources];
    double sum = 0;
    for (size_t i = 0; i < sources; ++i) sum += row[i] = jumps[jump_between(place, i)];
    for (size_t i = 0; i < sources; ++i) row[i] *= (1 - kEmpty) / sum;
  }
  std::vector<double> forward((targets + 1) * places), scales(targets);  // of places, up to each target word
  forward[0] = 1;
  for (size_t j = 0; j < targets; ++j) {
    const double *before = &forward[j * places], *words = &values[j * places];
    double *after = &forward[(j + 1) * places], *linked = after + 1;
    for (size_t place = 0; place < places; ++place)
      for (size_t i = 0; i < sources; ++i) linked[i] += before[place] * moves[place * sources + i];
    for (size_t i = 0; i < sources; ++i) linked[i] *= words[i];
    for (size_t place = 0; place < places; ++place) after[place] += kEmpty * words[sources] * before[place];
    scales[j] = 1 / std::accumulate(after, after + places, 0.0);
    for (size_t place = 0; place < places; ++place) after[place] *= scales[j];
  }
  std::vector<double> backward, linking(sources);
  backward.assign(places, 1);
  for (size_t j = targets; j-- > 0;) {
    const double* before = &forward[j * places];
    double* words = &values[j * places];
    for (size_t i = 0; i < sources; ++i) linking[i] = words[i] * backward[i + 1] * scales[j];
    const double skipping = kEmpty * words[sources] * scales[j];
    std::fill(words, words + places, 0.0);
    for (size_t place = 0; place < places; ++place) {
      double sum = 0;
      for (size_t i = 0; i < sources; ++i) {
        const double link = moves[place * sources + i] * linking[i];
        sum += link;
        words[i] += before[place] * link;
        if (found) (*found)[jump_between(place, i)] += before[place] * link;
      }
      words[sources] += before[place] * skipping * backward[place];
      backward[place] = sum + skipping * backward[place];
    }
  }
}

namespace {

constexpr int32_t kUnknown = -1;

Jumps first_guess() {
  Jumps jumps;
  for (std::ptrdiff_t jump = -Jumps::kFarthest; jump <= Jumps::kFarthest; ++jump)
    jumps[jump] = 1 / (1.0 + static_cast<double>(std::abs(jump - 1)));
  return jumps;
}

}  // namespace

WordAligner::WordAligner(const std::vector<TextPair>& sample, WorkerCrew& workers)
    : source_(vocabulary_of(sample, &TextPair::source)), target_(vocabulary_of(sample, &TextPair::target)) {
  constexpr size_t kMostTokens = 40;  // the time grows with the cube
  std::array<ParallelText, 2> texts;
  for (const TextPair& pair : sample) {
    const Tokens source = tokens_of(source_, pair.source), target = tokens_of(target_, pair.target);
    if (source.ids.empty() || target.ids.empty() || std::max(source.ids.size(), target.ids.size()) > kMostTokens)
      continue;
    texts[0].source.add(source.ids.data(), source.ids.size());
    texts[0].target.add(target.ids.data(), target.ids.size());
  }
  texts[1] = {texts[0].target, texts[0].source, {}};
  workers.for_each_chunk(texts.size(), 1, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      constexpr int64_t kOfModel1 = 4, kIterations = 4;
      constexpr double kPrior = 0.01;
      Direction& direction = directions_[i];
      LexicalModel model(texts[i], kOfModel1);
      direction.jumps = first_guess();
      for (int64_t iteration = 0; iteration < kIterations; ++iteration) {
        Jumps found;  // each of them has been seen once
        for (std::ptrdiff_t jump = -Jumps::kFarthest; jump <= Jumps::kFarthest; ++jump) found[jump] = 1;
        model.improve(
            texts[i],
            [&](size_t targets, size_t sources, std::vector<double>& values) {
              link_posteriors(targets, sources, direction.jumps, values, &found);
            },
            kPrior);
        direction.jumps = found;
      }
      direction.words = TranslationTable(model);
    }
  });
}

WordAligner::Vocabulary WordAligner::vocabulary_of(const std::vector<TextPair>& sample, std::string TextPair::*side) {
  Vocabulary ids;
  for (const TextPair& pair : sample)
    for (std::string& token : stems_and_marks_of(pair.*side))
      ids.emplace(std::move(token), static_cast<int32_t>(special_ids::kCount + ids.size()));
  return ids;
}

WordAligner::Tokens WordAligner::tokens_of(const Vocabulary& vocabulary, const std::string& text) {
  Tokens tokens;
  size_t word = 0;
  for (const std::string_view part : words_between_spaces(text)) {
    for (std::string& token : stems_and_marks_of(part)) {
      const auto known = vocabulary.find(token);
      tokens.ids.push_back(known == vocabulary.end() ? kUnknown : known->second);
      tokens.texts.push_back(std::move(token));
      tokens.words.push_back(word);
    }
    ++word;
  }
  return tokens;
}

// The values are in the order of link_posteriors.
std::vector<double> WordAligner::posteriors(const Tokens& explaining, const Tokens& explained,
                                            const Direction& direction) {
  constexpr double kLeast = 1e-6, kUnlikely = 1e-9, kEmptyForUnknown = 1e-13;
  const size_t sources = explaining.ids.size(), targets = explained.ids.size();
  std::vector<double> values;
  for (size_t j = 0; j < targets; ++j) {
    const int32_t to = explained.ids[j];
    for (size_t i = 0; i < sources; ++i) {
      const int32_t from = explaining.ids[i];
      if (from == kUnknown || to == kUnknown)
        values.push_back(explaining.texts[i] == explained.texts[j] ? 1 : kUnlikely);
      else
        values.push_back(std::max(kLeast, direction.words.probability(from, to)));
    }
    values.push_back(to == kUnknown ? kEmptyForUnknown
                                    : std::max(kLeast, direction.words.probability(special_ids::kEnd, to)));
  }
  link_posteriors(targets, sources, direction.jumps, values);
  return values;
}

WordLinks WordAligner::align(const TextPair& pair) const {
  constexpr size_t kMostTokens = 400;
  const Tokens source = tokens_of(source_, pair.source), target = tokens_of(target_, pair.target);
  if (source.ids.empty() || target.ids.empty() || std::max(source.ids.size(), target.ids.size()) > kMostTokens)
    return {};
  const size_t sources = source.ids.size(), targets = target.ids.size();
  const std::vector<double> forward = posteriors(source, target, directions_[0]);
  const std::vector<double> backward = posteriors(target, source, directions_[1]);
  std::set<WordLinks::value_type> links;
  for (size_t i = 0; i < sources; ++i)
    for (size_t j = 0; j < targets; ++j)
      if (forward[j * (sources + 1) + i] + backward[i * (targets + 1) + j] > 1)
        links.emplace(source.words[i], target.words[j]);
  return {links.begin(), links.end()};
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/text_profile.h>

#include <transmute/text/checks/learn_expectations.h>
#include <transmute/text/protected_spans.h>
#include <transmute/training/run_text.h>
#include <transmute/training/sentence_profile.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kMostSampledPairs = 200'000;

template <class T>
void keep_every_second(std::vector<T>& items) {
  for (size_t i = 0; 2 * i < items.size(); ++i) std::swap(items[i], items[2 * i]);
  items.resize((items.size() + 1) / 2);
}

using SpanCounts = std::map<std::string, int64_t>;

SpanCounts spans_of(const std::string& text) {
  SpanCounts counts;
  for (const ProtectedSpan& span : protected_spans(text)) ++counts[text.substr(span.begin, span.length)];
  return counts;
}

}  // namespace

std::vector<std::string> learned_spans(const SampledText& text) {
  constexpr int64_t kFewest = 100;
  constexpr double kShareKept = 0.95;
  constexpr size_t kMost = 1000, kMostBytes = 64;
  SpanCounts seen, kept;
  for (size_t i = 0; i < text.sources.size(); ++i) {
    const SpanCounts of_source = spans_of(text.sources[i]);
    if (of_source.empty()) continue;
    SpanCounts of_target = spans_of(text.targets[i]);
    for (const auto& [span, count] : of_source) {
      if (span.size() > kMostBytes) continue;
      seen[span] += count;
      kept[span] += std::min(count, of_target[span]);
    }
  }
  std::vector<std::pair<int64_t, std::string>> learned;
  for (const auto& [span, count] : seen)
    if (count >= kFewest && static_cast<double>(kept[span]) >= kShareKept * static_cast<double>(count))
      learned.emplace_back(-count, span);
  std::sort(learned.begin(), learned.end());
  std::vector<std::string> spans;
  for (size_t i = 0; i < std::min(kMost, learned.size()); ++i) spans.push_back(std::move(learned[i].second));
  return spans;
}

SampledText sample_training_text(const TrainingConfig& config, size_t most) {
  const TextFiles files = train_files(config);
  SampledText sample;
  if (files.source.empty()) return sample;
  const LineSource sources = lines_of(files.source), targets = lines_of(files.target);
  std::string source, target;
  size_t step = 1;
  for (size_t number = 0; sources(source) && targets(target); ++number) {
    if (number % step != 0) continue;
    if (sample.sources.size() == most) {
      keep_every_second(sample.sources);
      keep_every_second(sample.targets);
      step *= 2;
      if (number % step != 0) continue;
    }
    sample.sources.push_back(source);
    sample.targets.push_back(target);
  }
  return sample;
}

TextProfile learn_text_profile(const TrainingConfig& config) {
  TextProfile profile;
  if (config.is_language_model()) return profile;
  const SampledText text = sample_training_text(config, kMostSampledPairs);
  profile.protection.learned = learned_spans(text);
  const TextFiles files = train_files(config);
  const bool is_of_one_language = !files.source.empty() && files.languages.empty();
  const std::string ending = is_of_one_language ? text_file_ending(files.source.front().path) : "";
  profile.sentences = learn_sentences(text.sources, ending);
  profile.translations.set(learn_expectations(text.sources, text.targets));
  return profile;
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/text_profile.h>

#include <transmute/metrics/metric_text.h>
#include <transmute/text/checks/expectations.h>
#include <transmute/text/protected_spans.h>
#include <transmute/text/sentence_language.h>
#include <transmute/text/sentences.h>
#include <transmute/training/data/word_links.h>
#include <transmute/training/run_text.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

struct WordCounts {
  int64_t with_stop = 0;     // within a line
  int64_t without_stop = 0;  // likewise
  int64_t before_start = 0;  // with a full stop and before a word that begins sentences
  int64_t at_end = 0;        // number at the end of a line, with a full stop
};

constexpr std::string_view kOpeners = "([{\"'<";
constexpr std::string_view kClosers = ")]}\"'>,;:!?";

std::string language_of(const std::vector<std::string>& lines, const std::string& hint) {
  constexpr size_t kEnoughLines = 1000;
  std::string sample;
  for (size_t i = 0; i < std::min(lines.size(), kEnoughLines); ++i) sample += lines[i] + '\n';
  const LanguageSet guessed = guess_languages(sample);
  const std::string code = hint.size() <= 3 ? language_code(hint) : "";
  const LanguageSet hinted = code.empty() ? 0 : language_set(code) & ~LanguageSet{1};
  if ((hinted & guessed) != 0) return code;
  const std::string only = code_of(guessed);
  return only.empty() && hinted == 0 ? code : only;
}

// The word without brackets and punctuation around it, but with its full stop.
std::string_view bare(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of(kOpeners), word.size()));
  const size_t last = word.find_last_not_of(kClosers);
  return word.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

void count_words(std::string_view line, LanguageSet languages, std::unordered_map<std::string, WordCounts>& counts) {
  constexpr size_t kLongest = 24;  // bytes of an abbreviation
  const std::vector<std::string_view> words = words_between_spaces(line);
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = bare(words[i]);
    const bool has_stop = word.size() > 1 && word.back() == '.';
    if (has_stop) word.remove_suffix(1);
    if (word.empty() || word.size() > kLongest || word.find_first_of("0123456789@/\\") != std::string_view::npos)
      continue;
    WordCounts& count = counts[to_lower(std::string(word))];
    const bool is_last = i + 1 == words.size();
    if (is_last) {
      count.at_end += has_stop ? 1 : 0;
    } else if (has_stop) {
      ++count.with_stop;
      const std::string next = to_lower(std::string(bare(words[i + 1])));
      count.before_start += next != bare(words[i + 1]) && is_word(next, WordKind::start, languages) ? 1 : 0;
    } else {
      ++count.without_stop;
    }
  }
}

bool is_abbreviation(const std::string& word, const WordCounts& counts) {
  constexpr int64_t kFewest = 5;
  constexpr double kShareWithStop = 0.9, kMostBeforeStart = 0.2;
  const auto with_stop = static_cast<double>(counts.with_stop);
  return word.find_first_not_of('.') != std::string::npos && counts.with_stop >= kFewest &&
         with_stop >= kShareWithStop * static_cast<double>(counts.with_stop + counts.without_stop) &&
         static_cast<double>(counts.before_start) <= kMostBeforeStart * with_stop && counts.at_end <= counts.with_stop;
}

std::vector<std::string> abbreviations_in(const std::vector<std::string>& lines, LanguageSet languages) {
  constexpr size_t kMost = 2000;
  std::unordered_map<std::string, WordCounts> counts;
  for (const std::string& line : lines) count_words(line, languages, counts);
  std::vector<std::pair<int64_t, std::string>> found;  // the most frequent ones first
  for (const auto& [word, count] : counts)
    if (is_abbreviation(word, count)) found.emplace_back(-count.with_stop, word);
  std::sort(found.begin(), found.end());
  if (found.size() > kMost) found.resize(kMost);
  std::vector<std::string> words;
  for (auto& [count, word] : found) words.push_back(std::move(word));
  return words;
}

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

SentenceProfile learn_sentences(const std::vector<std::string>& lines, const std::string& hint) {
  SentenceProfile profile;
  if (lines.empty()) return profile;
  profile.language = language_of(lines, hint);
  profile.words = abbreviations_in(lines, profile.language.empty() ? LanguageSet{1} : language_set(profile.language));
  profile.lines = static_cast<int64_t>(lines.size());
  const SentenceSplitter splitter(profile.language, profile.words);
  const auto several = std::count_if(lines.begin(), lines.end(),
                                     [&](const std::string& line) { return splitter.spans(line).size() > 1; });
  profile.lines_with_several = static_cast<double>(several) / static_cast<double>(lines.size());
  return profile;
}

ParallelText tokenized(const SampledText& text, const Tokenizer& tokenizer, const LengthLimits& limits) {
  ParallelText tokens;
  for (size_t i = 0; i < text.sources.size(); ++i) {
    const TokenizedPair pair{
        tokenizer.source().encode(text.sources[i]), tokenizer.target().encode(text.targets[i]), {}};
    if (!is_usable(pair, limits)) continue;
    tokens.source.add(pair.source);
    tokens.target.add(pair.target);
  }
  return tokens;
}

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

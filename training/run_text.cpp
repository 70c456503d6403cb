// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/run_text.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/training/data/language_pairs.h>
#include <transmute/training/text_checks.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

LengthLimits length_limits(const TrainingConfig& config) {
  const DataOptions& data = config.data;
  const int64_t most = most_tokens(config.model.model);
  return {std::min(data.max_source_tokens, most), std::min(data.max_target_tokens, most), data.max_length_ratio};
}

namespace {

std::vector<TextFile> paths_in(const std::string& folder, const std::vector<std::string>& files) {
  std::vector<TextFile> paths;
  for (const auto& file : files) paths.emplace_back(path_in(folder, file));
  return paths;
}

// The two columns of each file.
void add_pairs(const DataOptions& data, const std::vector<std::string>& files, TextFiles& all) {
  for (const std::string& file : files) {
    all.source.emplace_back(path_in(data.folder, file), 0);
    all.target.emplace_back(path_in(data.folder, file), 1);
  }
}

// The files whose lines are texts, each once.
std::set<std::string> plain_files(const DataOptions& data) {
  std::set<std::string> files;
  for (const auto* list : {&data.train_source, &data.train_target, &data.train_text, &data.valid_source,
                           &data.valid_target, &data.valid_text})
    for (const std::string& file : *list) files.insert(path_in(data.folder, file));
  return files;
}

// Why lines were left out, and how many.
std::vector<std::string> reasons_of(const LeftOut& out, const TrainingConfig& config) {
  const LengthLimits limits = length_limits(config);
  const auto limited_by = [](int64_t limit, int64_t wanted, const char* key) {
    return limit < wanted ? "model.max_positions" : key;
  };
  std::vector<std::string> reasons;
  const auto add = [&](int64_t count, const std::string& reason) {
    if (count > 0) reasons.push_back(format_count(count) + " " + reason);
  };
  add(out.empty, "empty");
  add(out.long_source,
      fmt::format("with a source over {} tokens ({})", limits.source_tokens,
                  limited_by(limits.source_tokens, config.data.max_source_tokens, "data.max_source_tokens")));
  add(out.long_target,
      fmt::format("{} over {} tokens ({})", config.is_language_model() ? "of" : "with a target", limits.target_tokens,
                  limited_by(limits.target_tokens, config.data.max_target_tokens, "data.max_target_tokens")));
  add(out.unequal,
      fmt::format("with over {} tokens of one side for one of the other (data.max_length_ratio)", limits.ratio));
  return reasons;
}

// Repeats the text of language pairs that have less than others, and logs how much of each an epoch reads.
void balance_languages(const DataOptions& data, std::vector<WeightedCorpus>& corpora) {
  if (data.train_languages.empty()) return;
  std::vector<double> amounts;
  for (const WeightedCorpus& corpus : corpora)
    amounts.push_back(corpus.weight * static_cast<double>(corpus.shards->size()));
  const std::vector<double> factors = language_weights(data.train_languages, amounts, data.language_temperature);
  std::map<std::string, double> read;
  for (size_t i = 0; i < corpora.size(); ++i) {
    corpora[i].weight *= factors[i];
    read[data.train_languages[i]] += factors[i] * amounts[i];
  }
  std::vector<std::string> parts;
  for (const auto& [pair, pairs] : read)
    parts.push_back(fmt::format("{} of {}", counted(std::llround(pairs), "pair"), pair));
  spdlog::info("an epoch reads {}", fmt::join(parts, ", "));
}

}  // namespace

TextFiles train_files(const TrainingConfig& config) {
  const DataOptions& data = config.data;
  if (config.is_language_model()) return {{}, paths_in(data.folder, data.train_text)};
  TextFiles files{paths_in(data.folder, data.train_source), paths_in(data.folder, data.train_target)};
  add_pairs(data, data.train_pairs, files);
  files.languages = data.train_languages;
  return files;
}

TextFiles valid_files(const TrainingConfig& config) {
  const DataOptions& data = config.data;
  if (config.is_language_model()) return {{}, paths_in(data.folder, data.valid_text)};
  TextFiles files{paths_in(data.folder, data.valid_source), paths_in(data.folder, data.valid_target)};
  add_pairs(data, data.valid_pairs, files);
  files.languages = data.valid_languages;
  return files;
}

void check_files(const TrainingConfig& config, const std::string& held_out) {
  const DataOptions& data = config.data;
  check_text_files(train_files(config), data.folder);
  if (config.has_validation_text()) {
    check_text_files(valid_files(config), data.folder);
    warn_of_seen_validation_text(train_files(config), valid_files(config));
  }
  for (const std::string& path : plain_files(data))
    if (std::filesystem::path(path).parent_path() != held_out) warn_of_format(path);
  if (config.training.guided_alignment == 0) return;
  for (const std::string& path : data.train_alignments)
    if (!path.empty()) check_file(path_in(data.folder, path), data.folder);
}

TrainingText open_training_text(const TrainingConfig& config, const Tokenizer& tokenizer, CorpusCache& cache,
                                WorkerCrew& workers) {
  const DataOptions& data = config.data;
  const TextFiles files = train_files(config);
  const LengthLimits limits = length_limits(config);
  const bool guided = config.training.guided_alignment > 0;
  constexpr size_t kManyFiles = 1 << 16;  // every file's tokens stay open
  allow_open_files(kManyFiles);
  std::vector<AlignedFiles> aligned;
  for (size_t i = 0; i < files.target.size(); ++i) {
    aligned.push_back(
        {files.source.empty() ? TextFile() : files.source[i], files.target[i], {}, target_of(files.languages_of(i))});
    if (guided && !data.train_alignments[i].empty())
      aligned.back().alignment = path_in(data.folder, data.train_alignments[i]);
  }
  cache.hash_contents(aligned);
  std::vector<WeightedCorpus> corpora;
  for (size_t i = 0; i < aligned.size(); ++i)
    corpora.push_back(
        {cache.open(aligned[i], tokenizer, limits, workers), data.train_weights.empty() ? 1.0 : data.train_weights[i]});
  balance_languages(data, corpora);
  TrainingText text(std::move(corpora));
  if (text.size() == 0) refuse_empty_text(files, text.counts().left_out, limits);
  text.sample_subwords(tokenizer, {data.source_sampling, data.target_sampling}, limits);
  text.augment(tokenizer, augmentations_of(config.training.augment), limits);
  return text;
}

LoadedText load_validation_text(const TrainingConfig& config, const Tokenizer& tokenizer, WorkerCrew& workers) {
  return load_parallel_text(valid_files(config), tokenizer, length_limits(config), workers);
}

void log_text(const char* name, const TrainingConfig& config, size_t pairs, const TextCounts& counts) {
  const bool plain = config.is_language_model();
  const auto size = static_cast<int64_t>(pairs);
  if (plain) {
    spdlog::info("{} text: {}, {}", name, counted(size, "line"), counted(counts.target_tokens, "token"));
  } else {
    spdlog::info("{} text: {}, {} source and {} target tokens", name, counted(size, "sentence pair"),
                 format_count(counts.source_tokens), format_count(counts.target_tokens));
  }
  if (counts.left_out.total() > 0)
    spdlog::warn("{} text: {} left out: {}", name, counted(counts.left_out.total(), plain ? "line" : "pair"),
                 fmt::join(reasons_of(counts.left_out, config), ", "));
  const UnknownTokens source{counts.source_tokens, counts.unknown_source};
  if (!plain) warn_of_unknown_tokens(config, fmt::format("{} text, source", name), source);
  warn_of_unknown_tokens(config, fmt::format("{} text, target", name), {counts.target_tokens, counts.unknown_target});
}

}  // namespace v0
}  // namespace transmute

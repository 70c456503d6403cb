// SPDX-License-Identifier: Apache-2.0
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/training/run_text.h>

#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

std::vector<std::string> paths_in(const std::string& folder, const std::vector<std::string>& files) {
  std::vector<std::string> paths;
  for (const auto& file : files) paths.push_back(path_in(folder, file));
  return paths;
}

LengthLimits length_limits(const DataOptions& data) {
  return {data.max_source_tokens, data.max_target_tokens};
}

void log_plain_text(const char* name, const DataOptions& data, size_t lines, const TextCounts& counts) {
  const LeftOut& out = counts.left_out;
  spdlog::info(fmt::format("{} text: {} lines, {} tokens", name, format_count(static_cast<int64_t>(lines)),
                           format_count(counts.target_tokens)));
  if (out.total() > 0)
    spdlog::warn(fmt::format("{} text: {} lines left out: {} empty, {} of over {} tokens (data.max_target_tokens)",
                             name, format_count(out.total()), out.empty, out.long_target, data.max_target_tokens));
}

void log_parallel_text(const char* name, const DataOptions& data, size_t pairs, const TextCounts& counts) {
  const LeftOut& out = counts.left_out;
  spdlog::info(fmt::format("{} text: {} sentence pairs, {} source and {} target tokens", name,
                           format_count(static_cast<int64_t>(pairs)), format_count(counts.source_tokens),
                           format_count(counts.target_tokens)));
  if (out.total() > 0)
    spdlog::warn(
        fmt::format("{} text: {} pairs left out: {} empty, {} with a source over {} tokens, {} with a target over {}",
                    name, format_count(out.total()), out.empty, out.long_source, data.max_source_tokens,
                    out.long_target, data.max_target_tokens));
}

}  // namespace

TextFiles train_files(const TrainingConfig& config) {
  const DataOptions& data = config.data;
  if (config.is_language_model()) return {{}, paths_in(data.folder, data.train_text)};
  return {paths_in(data.folder, data.train_source), paths_in(data.folder, data.train_target)};
}

TextFiles valid_files(const TrainingConfig& config) {
  const DataOptions& data = config.data;
  if (config.is_language_model()) return {{}, paths_in(data.folder, data.valid_text)};
  return {paths_in(data.folder, data.valid_source), paths_in(data.folder, data.valid_target)};
}

TrainingText open_training_text(const TrainingConfig& config, const Tokenizer& tokenizer, CorpusCache& cache,
                                WorkerCrew& workers) {
  const DataOptions& data = config.data;
  const TextFiles files = train_files(config);
  const LengthLimits limits = length_limits(data);
  const bool guided = config.training.guided_alignment > 0;
  std::vector<Corpus> corpora;
  for (size_t i = 0; i < files.target.size(); ++i) {
    AlignedFiles aligned{files.source.empty() ? "" : files.source[i], files.target[i], {}};
    if (guided && !data.train_alignments[i].empty()) aligned.alignment = path_in(data.folder, data.train_alignments[i]);
    corpora.push_back(
        {cache.open(aligned, tokenizer, limits, workers), data.train_weights.empty() ? 1.0 : data.train_weights[i]});
  }
  TrainingText text(std::move(corpora));
  if (text.size() == 0) refuse_empty_text(files, text.counts().left_out, limits);
  text.sample_subwords(tokenizer, {data.source_sampling, data.target_sampling}, limits);
  return text;
}

LoadedText load_validation_text(const TrainingConfig& config, const Tokenizer& tokenizer, WorkerCrew& workers) {
  return load_parallel_text(valid_files(config), tokenizer, length_limits(config.data), workers);
}

void log_text(const char* name, const TrainingConfig& config, size_t pairs, const TextCounts& counts) {
  if (config.is_language_model()) {
    log_plain_text(name, config.data, pairs, counts);
  } else {
    log_parallel_text(name, config.data, pairs, counts);
  }
}

}  // namespace v0
}  // namespace transmute

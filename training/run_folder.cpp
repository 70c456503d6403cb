// SPDX-License-Identifier: Apache-2.0
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <transmute/common/files.h>
#include <transmute/common/memory.h>
#include <transmute/common/progress.h>
#include <transmute/training/run_folder.h>
#include <transmute/training/run_text.h>
#include <transmute/translation/files/model_folder.h>

#include <filesystem>
#include <stdexcept>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace fs = std::filesystem;

namespace {

// Logs every change before it refuses some of them.
void compare_with_kept_config(const std::string& kept_path, const ConfigSchema& now) {
  std::vector<std::string> refused;
  for (const ConfigChange& change : changes_since(kept_path, now)) {
    if (change.refused) {
      refused.push_back(fmt::format("{}: {}, which cannot become {}", change.key, change.before, change.now));
    } else {
      spdlog::info(fmt::format("config: {} changes from {} to {}", change.key, change.before, change.now));
    }
  }
  if (!refused.empty())
    throw std::invalid_argument(
        fmt::format("{}: this run was begun with {} on the way; take another --run-folder, or the old value{}",
                    kept_path, fmt::join(refused, "; "), refused.size() > 1 ? "s" : ""));
}

}  // namespace

std::string RunFolder::file(const char* name) const {
  return path_in(path_, name);
}

std::string RunFolder::name() const {
  const fs::path folder = fs::absolute(path_).lexically_normal();
  return (folder.has_filename() ? folder : folder.parent_path()).filename().string();
}

void RunFolder::keep_config(const TrainingConfig& config, const std::string& yaml) const {
  ensure_writable_folder(path_);
  const std::string kept = file(kConfigFile);
  if (fs::exists(kept)) {
    TrainingConfig declared = config;
    ConfigSchema schema;
    declared.declare(schema);
    compare_with_kept_config(kept, schema);
  }
  write_file_atomically(kept, yaml);
}

Tokenizer RunFolder::tokenizer(const TrainingConfig& config) const {
  if (Tokenizer::exists(path_)) return Tokenizer::load(path_);
  spdlog::info(fmt::format("learning a vocabulary of {} pieces from the training text",
                           format_count(config.model.tokenizer.vocab_size)));
  const TextFiles files = train_files(config);
  Tokenizer tokenizer = train_tokenizer(config.model.tokenizer, lines_of(files.source), lines_of(files.target));
  tokenizer.save(path_);
  return_freed_memory();  // learning takes far more than what follows
  return tokenizer;
}

}  // namespace v0
}  // namespace transmute

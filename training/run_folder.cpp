// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/run_folder.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <transmute/common/files.h>
#include <transmute/common/hash.h>
#include <transmute/common/memory.h>
#include <transmute/common/progress.h>
#include <transmute/common/stopwatch.h>
#include <transmute/formats/model_output.h>
#include <transmute/tokenizer/actual_options.h>
#include <transmute/tokenizer/tokenizer_files.h>
#include <transmute/training/automatic_config.h>
#include <transmute/training/checkpoint.h>
#include <transmute/training/fingerprints.h>
#include <transmute/training/initial_model.h>
#include <transmute/training/run_text.h>
#include <transmute/training/text_profile.h>

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLockFile = "lock";

std::vector<ConfigChange> changes_since_checkpoint(const std::string& checkpoint, const ConfigSchema& now,
                                                   const std::function<void(TrainingConfig&)>& adjust) {
  try {
    return changes_since(path_in(checkpoint, kConfigFile), now, adjust);
  } catch (const std::invalid_argument& error) {  // the config is damaged
    throw cannot_resume(checkpoint, error.what());
  } catch (const std::runtime_error& error) {
    throw cannot_resume(checkpoint, error.what());
  }
}

// Logs all changes since the checkpoint, then refuses those that are not allowed.
void compare_with_checkpoint(const std::string& run, const std::string& checkpoint, const ConfigSchema& now,
                             const std::function<void(TrainingConfig&)>& adjust) {
  std::vector<std::string> refused;
  bool weights_fit = true;
  for (const ConfigChange& change : changes_since_checkpoint(checkpoint, now, adjust)) {
    if (change.refused) {
      weights_fit = weights_fit && change.key.rfind("model.", 0) != 0 && change.key.rfind("tokenizer.", 0) != 0;
      refused.push_back(fmt::format("{} (it was {}; the config now says {})", change.key, change.before, change.now));
    } else {
      spdlog::info("config: {} changes from {} to {}", change.key, change.before, change.now);
    }
  }
  if (!refused.empty())
    throw std::invalid_argument(fmt::format(
        "{}: {} cannot change after training has started. Use another --run-folder{}, or restore the old value{}", run,
        fmt::join(refused, ", "),
        weights_fit ? fmt::format(" (--set training.initialize_from={} starts it with these weights)", checkpoint) : "",
        refused.size() > 1 ? "s" : ""));
}

// Learning logs nothing by itself, so the number of lines is logged once all are read.
Tokenizer learn_vocabulary(const TokenizerOptions& options, const TextFiles& files) {
  int64_t lines = 0;
  const bool is_shared = options.vocabulary == VocabularySharing::shared;
  int sides = is_shared && !files.source.empty() ? 2 : 1;  // sides of the text still to be read
  const auto log_lines = [&] {
    const int64_t most = options.max_training_sentences;
    const std::string sampled = fmt::format("; learning from {} of them, drawn at random", format_count(most));
    spdlog::info("read {}{}", counted(lines, "line"), lines > most ? sampled : "");
    lines = 0;  // of a second vocabulary
  };
  const auto counting = [&](const std::vector<TextFile>& side) -> LineSource {
    return [&, has_lines = !side.empty(), source = lines_of(side)](std::string& line) {
      const bool found = source(line);
      if (found) ++lines;
      if (!found && has_lines && --sides <= 0) log_lines();
      return found;
    };
  };
  return train_tokenizer(options, counting(files.source), counting(files.target));
}

bool is_same(const Tokenizer& a, const Tokenizer& b) {
  return a.shared() == b.shared() && a.source().serialized() == b.source().serialized() &&
         a.target().serialized() == b.target().serialized();
}

}  // namespace

std::string RunFolder::file(const char* name) const {
  return path_in(path_, name);
}

std::string RunFolder::held_out() const {
  return fs::absolute(file("text")).lexically_normal().string();
}

std::string RunFolder::name() const {
  const fs::path folder = fs::absolute(path_).lexically_normal();
  return (folder.has_filename() ? folder : folder.parent_path()).filename().string();
}

void RunFolder::check_links() const {
  // The tokenizer's files are left out: they may be links to a user's SentencePiece model, and are only read or
  // removed.
  const std::string cached = path_in(cache(), "contents.json");
  for (const std::string& path :
       {file(kConfigFile), file(kTextProfileFile), metrics(), report(), log(), Fingerprints::path_of(path_), cached})
    if (std::error_code ignored; fs::is_symlink(path, ignored))
      throw std::invalid_argument(fmt::format(
          "{}: is a symbolic link, and a training would write to the file that it leads to; remove it, or put a copy "
          "of that file there",
          path));
}

std::unique_ptr<ProcessLock> RunFolder::lock() const {
  check_links();
  // A file called "lock" alone may belong to any program.
  const bool is_of_a_run = fs::exists(file(kLockFile)) && Fingerprints::exist_in(path_);
  if (!is_of_a_run && !has_begun())
    for (const std::string& path : {file(kConfigFile), best(), model(), metrics(), report()})
      if (fs::exists(path) && !(fs::is_directory(path) && fs::is_empty(path)))
        throw std::invalid_argument(fmt::format(
            "{} already exists, is not of a training, and would be replaced by this one; use another --run-folder",
            path));
  ensure_writable_folder(path_);
  auto lock = std::make_unique<ProcessLock>(file(kLockFile), "a training in " + path_);
  if (lock->is_held()) {
    for (const std::string& folder : {best(), model()}) remove_rests_of(folder);
  } else {
    spdlog::warn("{} is on a file system without locks, so a second training in the same folder would not be noticed",
                 path_);
  }
  for (const std::string& folder : {best(), model()}) check_may_replace_model(folder, "--run-folder");
  if (!Fingerprints::exist_in(path_)) Fingerprints().write(path_);  // from here on, files in the folder belong to a run
  return lock;
}

std::string RunFolder::recommend(const char* model) const {
  const std::string link = file(kRecommendedModel), partial = link + ".partial";
  if (fs::exists(fs::symlink_status(link)) && !fs::is_symlink(link))
    return fmt::format("{} is not a symbolic link, and therefore does not lead to the recommended model", link);
  std::error_code error;
  fs::remove(partial, error);
  fs::create_directory_symlink(model, partial, error);
  if (!error) fs::rename(partial, link, error);
  return error ? fmt::format("{} cannot be made a symbolic link: {}", link, error.message()) : "";
}

bool RunFolder::has_begun() const {
  return !CheckpointStore(checkpoints()).list().empty();
}

std::string RunFolder::begun_config() const {
  return has_begun() ? file(kConfigFile) : std::string();
}

void RunFolder::name_own_text(TrainingConfig& config) const {
  if (Fingerprints::read(path_).divided) name_held_out_in(held_out(), config.data);
}

// An initial model brings its own vocabulary, and a config that describes it.
void RunFolder::take_given_vocabulary(TrainingConfig& config) const {
  const bool is_given = Tokenizer::exists(path_) && Fingerprints::read(path_).vocabulary == 0;
  if (!is_given || !config.training.initialize_from.empty()) return;
  TokenizerOptions options = actual_options(Tokenizer::load(path_), config.model.tokenizer);
  // A config of these networks with two vocabularies would be refused when the run continues.
  if (config.is_language_model() || config.model.model.embedding_tying == EmbeddingTying::all) {
    options.vocabulary = config.model.tokenizer.vocabulary;
    options.target_vocab_size = config.model.tokenizer.target_vocab_size;
  }
  config.model.tokenizer = options;
}

void RunFolder::describe_given_vocabulary(TrainingConfig& config, std::string& yaml) const {
  ConfigSchema schema;
  config.declare(schema);
  const auto before = schema.values();
  take_given_vocabulary(config);
  const auto now = schema.values();
  if (now == before) return;
  for (size_t i = 0; i < now.size(); ++i)
    if (now[i] != before[i])
      spdlog::info("config: {} is {}, as in the vocabulary in {}; the config said {}", now[i].first, now[i].second,
                   path_, before[i].second);
  yaml = schema.to_yaml();
}

void RunFolder::keep_config(const TrainingConfig& config, const std::string& yaml) const {
  // The user may have edited the run's config.yaml; a checkpoint has the config that it was trained with.
  const std::vector<std::string> trained = CheckpointStore(checkpoints()).list();
  if (!trained.empty()) {
    TrainingConfig declared = config;
    ConfigSchema schema;
    declared.declare(schema);
    name_own_text(declared);
    compare_with_checkpoint(path_, trained.back(), schema, [&](TrainingConfig& of_run) { name_own_text(of_run); });
  }
  write_file_atomically(file(kConfigFile), yaml);
}

Tokenizer RunFolder::tokenizer(const TrainingConfig& config) const {
  const bool exists = Tokenizer::exists(path_);
  if (exists && has_begun()) return Tokenizer::load(path_);
  Fingerprints kept = Fingerprints::read(path_);
  const auto replace_by = [&](const Tokenizer& tokenizer, uint64_t fingerprint) {
    for (const char* old : {kSharedTokenizerFile, kSourceTokenizerFile, kTargetTokenizerFile}) fs::remove(file(old));
    kept.vocabulary = fingerprint;
    kept.write(path_);  // comes first: a crash in between leaves no tokenizer rather than one of unknown origin
    tokenizer.save(path_);
  };
  if (!config.training.initialize_from.empty()) {
    Tokenizer tokenizer = tokenizer_of_initial_model(config);
    if (exists && kept.vocabulary == 0 && !is_same(Tokenizer::load(path_), tokenizer))
      throw std::invalid_argument(
          fmt::format("{} has a tokenizer that was not learned there, and training.initialize_from brings its own; "
                      "move it, or use another --run-folder",
                      path_));
    replace_by(tokenizer, hash_text(tokenizer.source().serialized()));
    return tokenizer;
  }
  const TextFiles files = train_files(config);
  TokenizerOptions options = config.model.tokenizer;
  options.languages = config.data.target_languages();
  const uint64_t fingerprint = vocabulary_fingerprint(options, files);
  if (exists && kept.vocabulary == 0) spdlog::info("using the vocabulary in {}, which was not learned there", path_);
  if (exists && (kept.vocabulary == 0 || kept.vocabulary == fingerprint)) return Tokenizer::load(path_);
  if (exists) spdlog::info("the text or the tokenizer's options have changed since an earlier start");
  spdlog::info("learning a vocabulary of {} from the training text", counted(options.vocab_size, "piece"));
  const Stopwatch clock;
  Tokenizer tokenizer = learn_vocabulary(options, files);
  spdlog::info("learned the vocabulary in {}", format_duration(clock.seconds()));
  replace_by(tokenizer, fingerprint);
  return_freed_memory();  // learning takes far more memory than what follows
  return tokenizer;
}

TextProfile RunFolder::text_profile(const TrainingConfig& config) const {
  const std::string path = file(kTextProfileFile);
  if (has_begun() && fs::exists(path)) return parse_text_profile(read_regular_file(path, TextProfile::kMaxBytes), path);
  TextProfile profile = learn_text_profile(config);
  write_file_atomically(path, profile.to_yaml());
  return profile;
}

void RunFolder::keep_text(uint64_t fingerprint) const {
  Fingerprints kept = Fingerprints::read(path_);
  if (kept.text == fingerprint) return;
  if (kept.text != 0 && has_begun())
    throw std::runtime_error(
        fmt::format("the training text, or the vocabulary that it is read with, is not the one that the run in {} was "
                    "trained on so far. Use another --run-folder for it, or restore the old text and vocabulary",
                    path_));
  kept.text = fingerprint;
  kept.write(path_);
}

}  // namespace v0
}  // namespace transmute

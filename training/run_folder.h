// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/process_lock.h>
#include <transmute/formats/text_profile.h>
#include <transmute/tokenizer/tokenizer.h>
#include <transmute/training/config.h>

#include <memory>
#include <string>

namespace transmute {
inline namespace v0 {

/// The folder of a run, which rank 0 writes: the names of the files in it (see Trainer), its config and its tokenizer.
class RunFolder {
 public:
  static constexpr const char *kModel = "model", *kBest = "best";  ///< names of the model folders

  explicit RunFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string checkpoints() const { return file("checkpoints"); }
  std::string cache() const { return file("cache"); }
  std::string best() const { return file(kBest); }
  std::string model() const { return file(kModel); }
  std::string metrics() const { return file("metrics.jsonl"); }
  std::string tensorboard() const { return file("tensorboard"); }
  std::string report() const { return file("report.html"); }
  std::string log() const { return file("train.log"); }
  /// The absolute path of the text that was divided here, see hold_out.
  std::string held_out() const;
  /// The folder's own name, without its parents.
  std::string name() const;

  /// The folder may come from a stranger.
  /// @throws std::invalid_argument naming one of the files that a training writes here, if it is a symbolic link:
  /// the file that it leads to would be overwritten.
  void check_links() const;

  /// Makes the folder, and keeps other trainings out of it while the result lives. Removes an unfinished best/ or
  /// model/ that a crash left.
  /// @throws std::invalid_argument as check_links() does, and naming a file that a training would replace but did not
  /// write; std::runtime_error naming the process that trains in it, or if it cannot be written.
  std::unique_ptr<ProcessLock> lock() const;

  /// Makes the link `recommended` point to one of the model folders.
  /// @returns why that is not possible; empty on success
  std::string recommend(const char* model) const;

  /// True if a run has begun: it has a checkpoint. Files of an earlier start that failed may be replaced.
  bool has_begun() const;

  /// The path of the config of a run that has begun; otherwise empty.
  std::string begun_config() const;

  /// Makes a config name this folder's part of a text that was divided here: the folder may have been moved since.
  void name_own_text(TrainingConfig& config) const;

  /// Makes a config describe a vocabulary that was put into the folder rather than learned there.
  /// @throws std::runtime_error naming the vocabulary's file if it is damaged
  void take_given_vocabulary(TrainingConfig& config) const;
  /// The same, logging what changes, with the text of the config.
  void describe_given_vocabulary(TrainingConfig& config, std::string& yaml) const;

  /// Keeps the resolved config of a run that starts, or that continues with some values changed, which are logged.
  /// @param yaml the text of `config`
  /// @throws std::invalid_argument naming every key that cannot change in a run that has begun; std::runtime_error
  /// if the folder cannot be written.
  void keep_config(const TrainingConfig& config, const std::string& yaml) const;

  /// The run's tokenizer: the initial model's, or learned from the training text where the folder has none yet, or
  /// one that an earlier start made of another text or with other options.
  Tokenizer tokenizer(const TrainingConfig& config) const;

  /// The profile of the run's training text: learned where the run has not begun, otherwise kept from its start.
  TextProfile text_profile(const TrainingConfig& config) const;

  /// Records the text that the run is trained on.
  /// @param fingerprint TrainingText::fingerprint
  /// @throws std::runtime_error if the run has begun with another text.
  void keep_text(uint64_t fingerprint) const;

 private:
  std::string file(const char* name) const;

  std::string path_;
};

}  // namespace v0
}  // namespace transmute

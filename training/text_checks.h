// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/training/config.h>
#include <transmute/training/data/training_text.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// Checks the files of a text before anything is learned from them: that each can be read, that its first 1,000 lines
/// (all lines of a file of up to 32 MiB) are UTF-8 and have the required columns and, for pairs of files of up to 32
/// MiB, that both have equally many lines. Logs a warning where source and target are one file.
/// @param data_folder what the paths were resolved against (DataOptions::folder), for the message
/// @throws std::runtime_error naming the file (and line), and the folder that a relative path was looked for in.
void check_text_files(const TextFiles& files, const std::string& data_folder);

/// The same for files that stand for themselves, such as alignments.
void check_file(const std::string& path, const std::string& data_folder);

/// Logs a warning where the file is XML, or has columns with tabs between them, rather than a text a line.
void warn_of_format(const std::string& path);

/// Logs a warning where source and target are one file.
void warn_of_one_file(const TextFile& source, const TextFile& target);

/// Logs a warning for each file for validation that is also one of the training text, under its own name or as a copy.
void warn_of_seen_validation_text(const TextFiles& training, const TextFiles& validation);

/// Tokens of a text, and how many of them the vocabulary does not know.
struct UnknownTokens {
  int64_t tokens = 0;
  int64_t unknown = 0;
};

/// Logs a warning where more than 1% of a text's tokens are unknown to the vocabulary: it was learned from another one.
/// @param text what the message calls it, for example "training text, source"
void warn_of_unknown_tokens(const TrainingConfig& config, const std::string& text, const UnknownTokens& counted);

/// Logs a warning where the training ends inside the warm-up, before the first validation, or long before the schedule
/// has lowered the learning rate.
/// @param epoch_tokens of one pass over the text, on its longer side, ends included
/// @param batches_per_step of all processes
/// @param done_steps of a resumed run; nothing is said of an end that is after it
void warn_of_short_training(const TrainingConfig& config, int64_t epoch_tokens, int64_t batches_per_step,
                            int64_t done_steps = 0);

/// The same of a training that ended after `steps`, before all of its own.
void warn_of_early_end(const TrainingConfig& config, int64_t steps);

}  // namespace v0
}  // namespace transmute

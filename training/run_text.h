// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/training/config.h>
#include <transmute/training/data/corpus_cache.h>
#include <transmute/training/data/training_text.h>

namespace transmute {
inline namespace v0 {

/// The files that a config names, with their folder.
TextFiles train_files(const TrainingConfig& config);
TextFiles valid_files(const TrainingConfig& config);

/// Limits on the length of a text's sentences: those of the config and, if positions are learned, the number of
/// positions minus one for the begin or end token.
LengthLimits length_limits(const TrainingConfig& config);

/// Checks all files that the config names, before anything is learned from them, and logs what warn_of_format() finds.
/// @param held_out the run's folder for parts of a text; the text was looked at before it was divided
/// @throws as check_text_files.
void check_files(const TrainingConfig& config, const std::string& held_out);

/// The training text, tokenized in the cache, with the config's weights, alignments and subword sampling.
/// @throws std::runtime_error if a file cannot be read or no pair is left to train on.
TrainingText open_training_text(const TrainingConfig& config, const Tokenizer& tokenizer, CorpusCache& cache,
                                WorkerCrew& workers);

/// Loads the validation text into memory.
LoadedText load_validation_text(const TrainingConfig& config, const Tokenizer& tokenizer, WorkerCrew& workers);

/// Logs the size of the text called `name`, how many pairs were left out and why, and a warning if the vocabulary does
/// not fit it.
void log_text(const char* name, const TrainingConfig& config, size_t pairs, const TextCounts& counts);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/training/config.h>

#include <cstdint>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A pair of files, where line n of one translates line n of the other; or one file of plain text.
struct PairOfFiles {
  std::string source;  ///< empty: `target` is plain text, for a language model
  std::string target;
  bool is_plain() const { return source.empty(); }
  /// The file by which messages name the text.
  const std::string& first() const { return is_plain() ? target : source; }
};

/// The text from which a training is set up.
struct AutomaticText {
  PairOfFiles train;
  PairOfFiles valid;  ///< without a target: lines held out of `train`, see hold_out
};

/// Assumptions for planning before there is a tokenizer: subwords per word, and the share of
/// TrainingOptions::batch_tokens that a batch's tokens reach.
constexpr double kTokensPerWord = 1.4, kBatchFill = 0.9;

/// The size of a text and the marks in it, known before anything is learned from it.
struct TextSize {
  int64_t pairs = 0;      ///< with text on both sides; lines with text in case of plain text
  int64_t words = 0;      ///< of the longer side; in scripts without blanks, two characters count as a word
  bool is_plain = false;  ///< text for a language model
  int64_t lines = 0;      ///< of each file, empty ones included
  /// Frequent characters of the target that the usual normalization (NFKC) would replace, such as ，？№. Those that
  /// occur in all languages, such as …, are included if the source has them, too.
  std::vector<std::string> replaced_marks{};
};

/// Counts pairs, words and lines, and finds the marks.
/// @throws std::runtime_error if a file cannot be read or the sides differ in their number of lines.
TextSize measure_text(const PairOfFiles& files);

/// @param size of text.train
/// @throws std::runtime_error naming its file if it has no pair, or too few for hold_out if there is no text.valid.
void check_enough_text(const AutomaticText& text, const TextSize& size);

/// @throws std::runtime_error naming a file of hold_out's in `folder` that is one of the text's, or, unless
/// `was_divided` (hold_out has written there before), any that is there: they are the user's.
void check_free_to_hold_out(const PairOfFiles& files, const std::string& folder, bool was_divided);

/// Divides a text into one to train on and one for validation, in `folder`: train.source, train.target, valid.source
/// and valid.target, of plain text the latter of each. A pair is held out by a hash of its source line, so that no
/// source is on both sides and the same text is divided the same way again: of up to 20,000 pairs one in twenty, of
/// larger texts about 1,000.
/// @param size of the whole text
/// @throws std::runtime_error naming the file that cannot be read or written, or a text of under 20 pairs or of sources
/// that are too much alike to be divided.
AutomaticText hold_out(const PairOfFiles& files, const TextSize& size, const std::string& folder);

/// Makes a config name the files that hold_out wrote in `folder`. It may name them in another one with the same name:
/// the run folder has been moved since.
void name_held_out_in(const std::string& folder, DataOptions& data);

/// Shape, vocabulary, dropout, batch and schedule for a text of this size, by the rules that docs/training.md gives
/// with their reasons. Names no files. The number of steps is the one worth making for this text; limit_time() fits it
/// to the time.
/// @param smaller by how many rows of the table of shapes to go back, at most smaller_shapes(size): a smaller network
/// and batch, for little time
TrainingConfig config_for(const TextSize& size, int64_t smaller = 0);

/// Number of shapes that are smaller than the one that a text of this size gets.
int64_t smaller_shapes(const TextSize& size);

/// Fine-tuning: gives a config that config_for has chosen the network, weights and vocabulary of a finished model, with
/// a tenth of the learning rate and a fifth of the steps that a new network gets.
/// @throws std::runtime_error if the model cannot be read.
void begin_with(TrainingConfig& config, const TextSize& size, const std::string& model);

/// Number of steps that fit into the time, less the share that validations and checkpoints take.
double steps_within(double minutes, double seconds_per_step);

/// Sets what follows from the number of steps that a training will probably make: warm-up, checkpoints, log and
/// validations, of which there is at most one in two minutes where the time is limited.
void plan_steps(TrainingConfig& config, int64_t steps);

/// Fits the training to `minutes`, if one step takes `seconds_per_step`, by plan_steps() and dropout, and, if the time
/// is short for a new translation model, by smaller batches and a smaller vocabulary. The maximum number of steps stays
/// the one worth making for the text.
void limit_time(TrainingConfig& config, const TextSize& size, double minutes, double seconds_per_step);

}  // namespace v0
}  // namespace transmute

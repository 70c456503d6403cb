// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/text_profile.h>
#include <transmute/tokenizer/tokenizer.h>
#include <transmute/training/config.h>
#include <transmute/training/data/parallel_text.h>

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Learns from lines of text what a full stop within them means, after Kiss and Strunk (2006), "Unsupervised
/// Multilingual Sentence Boundary Detection": a word that nearly always has a full stop, and is seldom followed by a
/// word that begins sentences, is an abbreviation. `hint`: what may be the name of their language; the words of the
/// lines decide.
SentenceProfile learn_sentences(const std::vector<std::string>& lines, const std::string& hint);

/// Lines of the training text; sources[i] is translated by targets[i].
struct SampledText {
  std::vector<std::string> sources;
  std::vector<std::string> targets;
};

/// Evenly spaced pairs of the files in `train_source`, `train_target` and `train_pairs`: all pairs if there are at most
/// `most`, otherwise more than half as many.
/// @throws std::runtime_error naming a file that cannot be read.
SampledText sample_training_text(const TrainingConfig& config, size_t most);

/// The usable pairs as token ids.
ParallelText tokenized(const SampledText& text, const Tokenizer& tokenizer, const LengthLimits& limits);

/// Protected spans (see Protection) that the sources often have and the translations keep, most frequent first.
std::vector<std::string> learned_spans(const SampledText& text);

/// The profile of the training text; empty for the text of a decoder-only model.
TextProfile learn_text_profile(const TrainingConfig& config);

}  // namespace v0
}  // namespace transmute

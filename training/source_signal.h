// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/model/transformer.h>
#include <transmute/training/data/batcher.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// Measures how much of its source a network passes on to the decoder. If the encoder gives all positions of a sentence
/// the same vector (rank collapse: Noci et al., 2022), encoder-decoder attention can only average them, and the network
/// learns a language model of the target that does not see the source.
struct SourceSignal {
  /// Share of the encoder output's squared norm that differs between the positions of a sentence, from 0 (all alike) to
  /// 1; the mean over sentences.
  double position_variance = 0;
  /// Entropy of encoder-decoder attention against its maximum, the logarithm of the source's length, from 0 (one token)
  /// to 1 (all tokens alike); the mean over layers, heads and target positions.
  double attention_entropy = 0;
  /// The same of the head that has the least.
  double sharpest_head = 0;

  /// True if every head of encoder-decoder attention still looks at all tokens of the source nearly alike.
  bool is_collapsed() const;
};

/// Measured by one pass without dropout over a batch of a translator, on the network's device. Sentences of one token
/// are left out; with none left, nothing is collapsed.
/// @throws c10::ValueError for a decoder-only network.
SourceSignal source_signal(Transformer& transformer, const Batch& batch);

/// The settings that help a network of these options to learn to look at its source, as the end of a sentence.
std::string take_off_remedies(const TransformerOptions& options);

/// For a training that is past its warm-up and still collapsed: what is wrong, and what helps in a network of these
/// options.
std::string collapse_warning(const SourceSignal& signal, const TransformerOptions& options);

}  // namespace v0
}  // namespace transmute

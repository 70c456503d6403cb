// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/training/data/parallel_text.h>

#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A micro-batch: what one pass through the network computes. Rows are sentence pairs, filled up with padding.
struct Batch {
  torch::Tensor source;      ///< [B,S] tokens, end; [B,0] of plain text
  torch::Tensor target_in;   ///< [B,T] begin, tokens
  torch::Tensor target_out;  ///< [B,T] tokens, end
  /// [B,T,S], undefined without ParallelText::links: where target_out's tokens belong, rows that sum to 1, or to 0
  /// where nothing is said.
  torch::Tensor alignment;
  int64_t source_tokens = 0;  ///< without padding, ends included
  int64_t target_tokens = 0;
};

/// Purposes of an epoch's random numbers. Each combines with the seed and the epoch to a key.
enum class EpochDraw : uint64_t { pairs = 1, batches = 2, blocks = 3, shares = 4, subwords = 5, augmentation = 6 };

/// The key of a draw in one window of an epoch, see Epoch.
uint64_t epoch_key(EpochDraw draw, uint64_t seed, int64_t epoch, int64_t window = 0);

/// Numbers of the sentence pairs in each batch of a text, in the order in which they are trained on: a function of the
/// lengths and the keys alone.
///
/// Pairs are shuffled, gathered by length within pools of 32 batches, cut into batches of at most `batch_tokens` padded
/// tokens on either side (one pair at least), and the batches shuffled.
std::vector<std::vector<size_t>> shuffled_batches(const ParallelText& text, int64_t batch_tokens, uint64_t pairs_key,
                                                  uint64_t batches_key);

/// Does the same with the keys of an epoch that has one window.
std::vector<std::vector<size_t>> epoch_batches(const ParallelText& text, int64_t batch_tokens, uint64_t seed,
                                               int64_t epoch);

/// Deals a batch's pairs out to micro-batches of at most `micro_batch_tokens` padded tokens. Their number is a multiple
/// of `workers` where there are enough pairs; neighbors in length go to different ones, so that all take about the same
/// time.
std::vector<std::vector<size_t>> cut_into_micro_batches(const ParallelText& text, const std::vector<size_t>& pairs,
                                                        int64_t micro_batch_tokens, int64_t workers);

/// The tensors of some pairs, on the CPU.
Batch make_batch(const ParallelText& text, const std::vector<size_t>& pairs);

/// Source tokens of some pairs, ends included; plain text has none.
int64_t count_source_tokens(const ParallelText& text, const std::vector<size_t>& pairs);
/// Target tokens of some pairs, ends included.
int64_t count_target_tokens(const ParallelText& text, const std::vector<size_t>& pairs);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/tokenizer.h>
#include <transmute/training/checkpoint.h>
#include <transmute/training/data/training_text.h>
#include <transmute/training/distributed/process_group.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

// These functions bring the ranks of a training to the same state. Every rank calls them in the same order. In a group
// of one they do nothing, or return their argument.

/// Rank 0's tokenizer, on all ranks: the run folder, which holds it, may be on another machine.
/// @param own rank 0's tokenizer; ignored on the other ranks
Tokenizer broadcast_tokenizer(ProcessGroup& group, const std::optional<Tokenizer>& own);

/// Checks what must be equal on all ranks; otherwise they would train different networks, or one network on different
/// text, or wait for each other without end. Two ranks may not share a GPU.
/// @throws std::runtime_error naming the ranks that differ and the remedy.
void check_ranks_fit(ProcessGroup& group, const std::string& config_yaml, const TrainingText& text,
                     torch::Device device, Precision precision);

/// Rank 0's `state`, on all ranks.
void broadcast_state(ProcessGroup& group, TrainState& state);

/// Rank 0's parameters and moments, on all ranks.
/// @param step the updates that rank 0's optimizer has made
void broadcast_weights(ProcessGroup& group, Transformer& transformer, Adam& optimizer, int64_t step);

/// A number that differs if the tensors' bytes differ.
uint64_t fingerprint_of(const std::vector<torch::Tensor>& tensors);

/// @throws std::runtime_error if the ranks' weights are no longer equal.
void check_weights_equal(ProcessGroup& group, Transformer& transformer, int64_t step);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/foreign/network_builder.h>

#include <string>

namespace transmute {
inline namespace v0 {
namespace formats {

/// The names of a stack's parameters in another program's file.
struct ForeignStackNames {
  std::string layers;  ///< what the names of all layers begin with, without their numbers: "decoder.layers"
  std::string self_attention, self_attention_norm;
  std::string cross_attention, cross_attention_norm;  ///< of a decoder
  std::string query, key, value, output;              ///< projections of an attention
  std::string inner, outer, feed_forward_norm;
  bool has_feed_forward_bias = true;  ///< false: ours are zeros
  std::string norm;                   ///< after the last layer of a pre-norm network
  std::string embedding_norm;         ///< of a network that has one
};

/// The names that fairseq gives, and Hugging Face's transformers after it.
/// @param stack what all of them begin with: "encoder", "model.decoder"
ForeignStackNames fairseq_names(const std::string& stack);

/// Copies the parameters of a stack to the model under our names. The model's options must be complete.
/// @param stack "encoder" or "decoder"
/// @throws std::runtime_error naming file and tensor, if one is missing or has another shape
void read_stack(TensorTable& tensors, const ForeignStackNames& names, const std::string& stack, ForeignModel& model);

/// Finds which matrices of a network can be one: those that have the same numbers and, of source and target, the same
/// pieces. `output` [V,D] is in the order of the target's file.
EmbeddingTying tying_of(const ForeignTable& source, const ForeignTable& target, const Array& output);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/network/options.h>

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

// The names of a Transformer's parameters, by what they are for: the one place that spells them for whoever reads
// weights by name. They are a file format.

/// A matrix [outputs,inputs] and the vector added to its product; an empty name where there is none.
struct LinearNames {
  std::string weight, bias;
};

/// The parameters of a LayerNorm, [D] each.
struct NormNames {
  std::string weight, bias;
};

/// A recurrent sub-layer, DecoderSelfAttention::ssru: W and W_f with b_f. Empty if the layer does not have it.
struct SsruNames {
  LinearNames input, forget;
};

/// An attention sub-layer. All names are empty if the layer does not have it.
struct AttentionNames {
  LinearNames query, key, value, output;
  NormNames norm;
};

struct FeedForwardNames {
  LinearNames inner, outer;
  NormNames norm;
};

struct LayerNames {
  AttentionNames self_attention;   ///< a layer with an SSRU has nothing but the norm
  SsruNames ssru;                  ///< in place of a decoder's self-attention
  AttentionNames cross_attention;  ///< only in decoders beside an encoder
  FeedForwardNames feed_forward;
};

struct StackNames {
  std::vector<LayerNames> layers;
  NormNames norm;  ///< the norm after a pre-norm network's last layer
};

struct WeightNames {
  explicit WeightNames(const TransformerOptions& options);

  std::string source_embedding, target_embedding;  ///< [V,D]; equal where they are one table
  std::string source_positions, target_positions;  ///< learned tables [P,D]; without an encoder, the first is empty
  NormNames source_embedding_norm, target_embedding_norm;  ///< norms of the embedding sums, with embedding_norm
  LinearNames output;                                      ///< [V,D]; target_embedding where that is its matrix
  StackNames encoder;                                      ///< without layers in a decoder-only network
  StackNames decoder;

  /// The matrices of all linear layers, in no particular order, without embedding tables. In a model folder stored in a
  /// narrower type, exactly these have that type.
  std::vector<std::string> product_matrices() const;
};

}  // namespace v0
}  // namespace transmute

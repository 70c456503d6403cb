// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/threads.h>
#include <transmute/engine/weight_use.h>
#include <transmute/engine/workspace.h>
#include <transmute/kernels/cpu/attention_kernels.h>
#include <transmute/kernels/cpu/packed_linear.h>
#include <transmute/network/array.h>
#include <transmute/network/options.h>
#include <transmute/network/precision.h>
#include <transmute/network/weights.h>

#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace inference {

/// Slots of a block of the decoder's cache. One block serves one sentence: short ones should not waste much.
constexpr int64_t kBlockSlots = 32;

struct Norm {
  Array weight, bias;         // [D]
  double residual_scale = 1;  // factor on the residual stream that the sub-layer joins
};

struct FeedForwardLayer {
  PackedLinear inner, outer;
  Norm norm;
};

struct EncoderLayerWeights {
  PackedLinear query_key_value, output;
  Norm attention_norm;
  FeedForwardLayer feed_forward;
};

struct CrossAttentionWeights {
  PackedLinear query, key, value, output;
  Norm norm;
};

struct DecoderLayerWeights {
  PackedLinear query_key_value, self_output;
  PackedLinear ssru;  // input and forget gate, in place of query_key_value and self_output
  Norm self_norm;
  CrossAttentionWeights cross;  // empty without an encoder
  FeedForwardLayer feed_forward;
};

/// Position vectors, row by row.
class Positions {
 public:
  Positions() = default;
  /// @param table of learned positions, [P,D]; undefined for sinusoids
  Positions(const TransformerOptions& options, Array table);

  /// @throws std::invalid_argument beyond a learned table.
  void check(int64_t position) const;

  /// y = vector(position) + scale · x.
  void add(int64_t position, const float* x, float scale, float* y) const;

 private:
  int64_t d_model_ = 0;
  bool is_learned_ = false;
  Sinusoids sinusoids_;
  Array table_;  // [P,D]: learned, or the first sinusoids
};

/// The weights of a network packed for inference, and the steps that encoder and decoder share. May be shared by
/// threads.
struct Network {
  Network(Weights weights, Precision precision, const ParallelFor& parallel_for, WeightUse use);

  int64_t keys_width() const { return options.num_heads * options.d_k; }
  int64_t values_width() const { return options.num_heads * options.d_v; }
  int64_t projected_width() const { return 2 * keys_width() + values_width(); }
  int64_t decoder_layer_bytes() const;  // of its matrices
  bool norm_first() const { return options.norm_position == NormPosition::pre; }
  bool is_ssru() const { return options.decoder_self_attention == DecoderSelfAttention::ssru; }
  bool has_encoder() const { return options.architecture != Architecture::decoder_only; }

  // A cache block: [layer][head][keys of the slots | values of the slots].
  int64_t head_size() const { return kBlockSlots * (options.d_k + options.d_v); }
  int64_t block_size() const { return options.num_decoder_layers * options.num_heads * head_size(); }

  void normalize(const Norm& norm, const float* x, int64_t rows, float* y) const;

  /// In place, at the bottom of a stack; without TransformerOptions::embedding_norm nothing is done.
  void normalize_embeddings(const Norm& norm, float* x, int64_t rows) const;

  /// The input of a sub-layer: x, or its norm.
  const float* sublayer_input(const Norm& norm, const float* x, int64_t rows, Workspace& workspace) const;
  /// Before a sub-layer, which has read x, is added to it.
  void scale_residual(const Norm& norm, float* x, int64_t rows) const;
  /// After x has become x + sub-layer.
  void end_sublayer(const Norm& norm, float* x, int64_t rows) const;

  /// x: [rows,D], in place, without the norm that follows it.
  void feed_forward(const FeedForwardLayer& layer, const float* input, float* x, int64_t rows,
                    Workspace& workspace) const;

  TransformerOptions options;
  Precision precision;
  AttentionHead shape;
  float embedding_scale;
  Array source_embedding, target_embedding;  // float32 [V,D]
  Positions source_positions, target_positions;
  std::vector<EncoderLayerWeights> encoder;
  std::vector<DecoderLayerWeights> decoder;
  Norm source_embedding_norm, target_embedding_norm;  // options.embedding_norm only
  Norm encoder_norm, decoder_norm;                    // norm_first() only
  PackedLinear output;
};

}  // namespace inference
}  // namespace v0
}  // namespace transmute

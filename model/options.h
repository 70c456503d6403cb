// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>

#include <cstdint>

namespace transmute {
inline namespace v0 {

/// Which stacks the network has.
enum class Architecture {
  encoder_decoder,  ///< section 3.1: what comes out answers to a source
  decoder_only      ///< the decoder without its attention to an encoder: a language model, which continues a text
};

/// How a query is compared with a key (section 3.2.1 and the alternatives that it mentions).
enum class ScoreFunction {
  scaled_dot_product,  ///< q·k / sqrt(d_k), Eq. 1
  dot_product,         ///< q·k, unscaled
  additive,            ///< w·tanh(W q + U k): Bahdanau, Cho, Bengio, 2015
  bilinear,            ///< q·W k: Luong, Pham, Manning, 2015 ("general")
  uniform              ///< 0 for every key: the weighted sum becomes an average
};

/// Where LayerNorm stands.
enum class NormPosition {
  post,  ///< LayerNorm(x + Sublayer(x)): the paper's
  pre,   ///< x + Sublayer(LayerNorm(x)), and one more LayerNorm after each stack: Xiong et al., 2020
  deep   ///< LayerNorm(alpha x + Sublayer(x)) with alpha > 1: DeepNorm, Wang et al., 2022; see residual_scale()
};

/// The initial weights of linear maps, about which the paper says nothing. Biases start at 0.
enum class Initialization {
  /// Xavier-uniform; the value and output projections of attention and both feed-forward matrices times
  /// branch_gain(), so that a new network's positions stay distinct through all layers.
  scaled,
  /// Xavier-uniform everywhere (Glorot and Bengio, 2010, Eq. 16), as in the authors' tensor2tensor. Networks of more
  /// than two layers, or with much dropout, may never learn to attend to their source.
  xavier
};

/// The stack that a layer belongs to.
enum class Stack { encoder, decoder };

/// Section 3.5, or the learned table of Table 3, row E.
enum class PositionalEncodingKind { sinusoidal, learned };

/// Which embedding matrices are one matrix (section 3.4): source, target and output (the paper); target and
/// output; or none.
enum class EmbeddingTying { all, target_output, none };

/// Whether attention also returns its weights.
enum class ReturnWeights { no, yes };

/// The network of section 3. Defaults are the base model of Table 3.
///
/// A decoder-only network has no source: num_encoder_layers and source_vocab_size say nothing of it, and of its two
/// embedding matrices, input and output, EmbeddingTying::all and EmbeddingTying::target_output both make one.
struct TransformerOptions {
  Architecture architecture = Architecture::encoder_decoder;  ///< which stacks the network has
  int64_t source_vocab_size = 37000;  ///< ids of the source vocabulary, the reserved ones included
  int64_t target_vocab_size = 37000;  ///< ids of the target vocabulary, the reserved ones included
  int64_t padding_id = 0;             ///< id that fills the shorter rows of a batch

  int64_t num_encoder_layers = 6;  ///< N
  int64_t num_decoder_layers = 6;  ///< N
  int64_t d_model = 512;           ///< width of the residual stream
  int64_t num_heads = 8;           ///< h
  int64_t d_k = 0;                 ///< width of a head's queries and keys; 0 means d_model / num_heads
  int64_t d_v = 0;                 ///< width of a head's values; 0 means d_model / num_heads
  int64_t d_ff = 2048;             ///< inner width of the feed-forward network

  ScoreFunction score_function = ScoreFunction::scaled_dot_product;  ///< how a query is compared with a key
  NormPosition norm_position = NormPosition::post;                   ///< where LayerNorm is applied
  Initialization initialization = Initialization::scaled;            ///< how the initial weights are scaled
  /// Sinusoids (section 3.5) or a learned table.
  PositionalEncodingKind positional_encoding = PositionalEncodingKind::sinusoidal;
  int64_t max_positions = 1024;  ///< rows of a learned positional encoding; sinusoids have no limit
  EmbeddingTying embedding_tying = EmbeddingTying::all;  ///< which embedding matrices are one

  double dropout = 0.1;             ///< on sub-layers' outputs and embedding sums (section 5.4)
  double attention_dropout = 0.0;   ///< on the attention weights; not in the paper
  double activation_dropout = 0.0;  ///< after the ReLU; not in the paper
  /// Added to the variance in LayerNorm. The paper is silent; 1e-6 is what its authors' code used.
  double norm_epsilon = 1e-6;
};

/// `options` with d_k and d_v filled in; of a decoder-only network also with no encoder layers, the target's vocabulary
/// size for the source's, and EmbeddingTying::all for EmbeddingTying::target_output.
/// @throws std::invalid_argument naming the option that is out of range or does not fit the others.
TRANSMUTE_API TransformerOptions validated(TransformerOptions options);

/// What embeddings are multiplied by: sqrt(d_model) (section 3.4).
TRANSMUTE_API double embedding_scale(int64_t d_model);

/// What a dot product of queries and keys of width d_k is multiplied by: 1 / sqrt(d_k) (Eq. 1); 1 for
/// ScoreFunction::dot_product.
TRANSMUTE_API double score_scale(ScoreFunction function, int64_t d_k);

/// The factor alpha on the residual stream of NormPosition::deep, 1 for the others. With N encoder and M decoder
/// layers: 0.81 (N^4 M)^(1/16) in the encoder and (3M)^(1/4) in the decoder, (2M)^(1/4) in a decoder-only network (Wang
/// et al., "DeepNet: Scaling Transformers to 1,000 Layers", 2022, Figure 2). `options` are validated.
TRANSMUTE_API double residual_scale(const TransformerOptions& options, Stack stack);

/// The gain beta of Initialization::scaled, 1 for the other: 0.87 (N^4 M)^(-1/16) in the encoder and (12M)^(-1/4) in
/// the decoder, (8M)^(-1/4) in a decoder-only network (the same figure). `options` are validated.
TRANSMUTE_API double branch_gain(const TransformerOptions& options, Stack stack);

/// Number of trained parameters, by formula.
TRANSMUTE_API int64_t parameter_count(const TransformerOptions& options);

}  // namespace v0
}  // namespace transmute

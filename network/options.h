// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>

#include <cstdint>
#include <limits>

namespace transmute {
inline namespace v0 {

/// The stacks of the network.
enum class Architecture {
  encoder_decoder,  ///< section 3.1: the output depends on a source
  decoder_only      ///< the decoder without cross-attention: a language model
};

/// The first sub-layer of each decoder layer, through which a position gets information from those before it.
enum class DecoderSelfAttention {
  attention,  ///< masked self-attention, section 3.2.3
  /// A simpler simple recurrent unit, whose state has one vector instead of all keys and values: f = sigmoid(W_f x +
  /// b_f), c = f c + (1 - f) W x, and relu(c) is the sub-layer's output (Kim et al., "From Research to Production and
  /// Back: Ludicrously Fast Neural Machine Translation", 2019, section 3.1). Models of Firefox have it.
  ssru
};

/// Ways to compare a query with a key. Section 3.2.1 uses scaled_dot_product and compares it with dot_product and
/// additive; the others are not in the paper.
enum class ScoreFunction {
  scaled_dot_product,  ///< q·k / sqrt(d_k), Eq. 1
  dot_product,         ///< q·k, unscaled
  additive,            ///< w·tanh(W q + U k): Bahdanau, Cho, Bengio, 2015
  bilinear,            ///< q·W k: Luong, Pham, Manning, 2015 ("general")
  uniform              ///< 0 for every key, so that attention averages the values
};

/// Position of LayerNorm.
enum class NormPosition {
  post,  ///< LayerNorm(x + Sublayer(x)), as in the paper
  pre,   ///< x + Sublayer(LayerNorm(x)), with a final LayerNorm after each stack: Xiong et al., 2020
  deep   ///< LayerNorm(alpha x + Sublayer(x)) with alpha > 1: DeepNorm, Wang et al., 2022; see residual_scale()
};

/// Initial weights of linear maps, on which the paper is silent. Biases start at 0.
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

/// Order of the sines and cosines in a position vector.
enum class PositionLayout {
  interleaved,  ///< sine and cosine of each frequency side by side, as in the paper
  halves        ///< all sines, then all cosines: tensor2tensor, fairseq, Marian, Hugging Face
};

/// The frequencies of sinusoidal positions, i = 0 … d_model/2 - 1.
enum class PositionFrequencies {
  paper,         ///< 10000^(-2i/d_model), section 3.5
  tensor2tensor  ///< 10000^(-i/(d_model/2 - 1)), the code of the paper's authors; also fairseq's and Marian's
};

/// Sinusoidal positions. Defaults: section 3.5.
struct Sinusoids {
  PositionLayout layout = PositionLayout::interleaved;           ///< order of sines and cosines
  PositionFrequencies frequencies = PositionFrequencies::paper;  ///< the wavelengths
  int64_t first_position = 0;                                    ///< number of a text's first position; fairseq: 2
};

/// Activation function between the two matrices of the feed-forward network.
enum class Activation {
  relu,         ///< max(0, x), Eq. 2
  swish,        ///< x / (1 + e^-x): Ramachandran, Zoph, Le, 2017
  gelu,         ///< x Φ(x), where Φ is the normal distribution function: Hendrycks and Gimpel, 2016
  gelu_tanh,    ///< the first approximation by the same authors, x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
  gelu_sigmoid  ///< the second, x / (1 + e^(-1.702 x))
};

/// The embedding matrices that are shared (section 3.4): source, target and output (as in the paper), target and
/// output, or none.
enum class EmbeddingTying { all, target_output, none };

/// Attention also returns its weights, or not.
enum class ReturnWeights { no, yes };

/// The network of section 3. Defaults are the base model of Table 3.
///
/// A decoder-only network ignores num_encoder_layers and source_vocab_size. EmbeddingTying::all and
/// EmbeddingTying::target_output both tie its input and output embeddings.
struct TransformerOptions {
  Architecture architecture = Architecture::encoder_decoder;  ///< which stacks the network has
  int64_t source_vocab_size = 37000;                          ///< size of the source vocabulary, including reserved ids
  int64_t target_vocab_size = 37000;                          ///< size of the target vocabulary, including reserved ids
  int64_t padding_id = 0;                                     ///< id that fills the shorter rows of a batch
  int64_t begin_id = 2;  ///< id that begins each source; used only if source_begin is true
  int64_t end_id = 3;    ///< id that ends each source; used only if source_end is false

  int64_t num_encoder_layers = 6;  ///< N
  int64_t num_decoder_layers = 6;  ///< N
  int64_t d_model = 512;           ///< width of the residual stream
  int64_t num_heads = 8;           ///< h
  int64_t d_k = 0;                 ///< width of a head's queries and keys; 0 means d_model / num_heads
  int64_t d_v = 0;                 ///< width of a head's values; 0 means d_model / num_heads
  int64_t d_ff = 2048;             ///< inner width of the feed-forward network

  /// The first sub-layer of each decoder layer.
  DecoderSelfAttention decoder_self_attention = DecoderSelfAttention::attention;
  ScoreFunction score_function = ScoreFunction::scaled_dot_product;  ///< how a query is compared with a key
  NormPosition norm_position = NormPosition::post;                   ///< where LayerNorm is applied
  Initialization initialization = Initialization::scaled;            ///< how the initial weights are scaled
  /// Sinusoids (section 3.5) or a learned table.
  PositionalEncodingKind positional_encoding = PositionalEncodingKind::sinusoidal;
  int64_t max_positions = 1024;  ///< limit of learned positions; sinusoids beyond it are computed, not looked up
  Sinusoids sinusoids;           ///< details of PositionalEncodingKind::sinusoidal
  EmbeddingTying embedding_tying = EmbeddingTying::all;  ///< which embedding matrices are shared

  Activation activation = Activation::relu;  ///< activation function of the feed-forward network
  bool attention_bias = false;               ///< biases of the four attention projections; not in the paper
  bool output_bias = false;                  ///< a bias of the output projection; not in the paper
  bool embedding_norm = false;               ///< LayerNorm of the embedding sums; not in the paper
  bool embedding_scale = true;               ///< embeddings are multiplied by sqrt(d_model) (section 3.4)
  bool source_begin = false;                 ///< the encoder reads the begin token before its source
  bool source_end = true;                    ///< the encoder reads the end token of its source; the paper is silent

  double dropout = 0.1;             ///< applies to sub-layers' outputs and embedding sums (section 5.4)
  double attention_dropout = 0.0;   ///< applies to the attention weights; not in the paper
  double activation_dropout = 0.0;  ///< after the activation function; not in the paper
  /// Added to the variance in LayerNorm. The paper is silent; 1e-6 is what its authors' code used.
  double norm_epsilon = 1e-6;
};

/// Maximum number of tokens of a text, without its beginning or end: learned positions limit it, sinusoids do not.
inline int64_t most_tokens(const TransformerOptions& options) {
  if (options.positional_encoding != PositionalEncodingKind::learned) return std::numeric_limits<int64_t>::max();
  return options.max_positions - (options.source_begin ? 2 : 1);
}

/// `options` with d_k and d_v filled in. For a decoder-only network, also sets num_encoder_layers to 0,
/// source_vocab_size to target_vocab_size, and EmbeddingTying::target_output to EmbeddingTying::all.
/// @throws std::invalid_argument naming the option that is out of range or inconsistent with the others.
TRANSMUTE_API TransformerOptions validated(TransformerOptions options);

/// The factor on embeddings: sqrt(d_model) (section 3.4), or 1 without TransformerOptions::embedding_scale.
TRANSMUTE_API double embedding_scale(const TransformerOptions& options);

/// The factor on dot products of queries and keys of width d_k: 1 / sqrt(d_k) (Eq. 1), or 1 for
/// ScoreFunction::dot_product.
TRANSMUTE_API double score_scale(ScoreFunction function, int64_t d_k);

/// The factor alpha on the residual stream of NormPosition::deep, 1 for the others. With N encoder and M decoder
/// layers: 0.81 (N^4 M)^(1/16) in the encoder and (3M)^(1/4) in the decoder, (2M)^(1/4) in a decoder-only network (Wang
/// et al., "DeepNet: Scaling Transformers to 1,000 Layers", 2022, Figure 2). `options` must be validated.
TRANSMUTE_API double residual_scale(const TransformerOptions& options, Stack stack);

/// The gain beta of Initialization::scaled, 1 for the other: 0.87 (N^4 M)^(-1/16) in the encoder and (12M)^(-1/4) in
/// the decoder, (8M)^(-1/4) in a decoder-only network (the same figure). `options` must be validated.
TRANSMUTE_API double branch_gain(const TransformerOptions& options, Stack stack);

/// The number of trained parameters.
TRANSMUTE_API int64_t parameter_count(const TransformerOptions& options);

}  // namespace v0
}  // namespace transmute

#pragma once

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

/// Where LayerNorm stands: post, LayerNorm(x + Sublayer(x)), is the paper's; pre, x + Sublayer(LayerNorm(x)),
/// trains deep stacks more easily (Xiong et al., 2020) and ends each stack with one more LayerNorm.
enum class NormPosition { post, pre };

enum class PositionalEncodingKind { sinusoidal, learned };

/// Which embedding matrices are one matrix (section 3.4): source, target and output (the paper); target and
/// output; or none.
enum class EmbeddingTying { all, target_output, none };

enum class ReturnWeights { no, yes };

/// The network of section 3. Defaults are the base model of Table 3.
///
/// A decoder-only network has no source: num_encoder_layers and source_vocab_size say nothing of it, and of its two
/// embedding matrices, input and output, EmbeddingTying::all and ::target_output both make one.
struct TransformerOptions {
  Architecture architecture = Architecture::encoder_decoder;
  int64_t source_vocab_size = 37000;
  int64_t target_vocab_size = 37000;
  int64_t padding_id = 0;  ///< id that fills the shorter rows of a batch

  int64_t num_encoder_layers = 6;  ///< N
  int64_t num_decoder_layers = 6;  ///< N
  int64_t d_model = 512;           ///< width of the residual stream
  int64_t num_heads = 8;           ///< h
  int64_t d_k = 0;                 ///< width of a head's queries and keys; 0 means d_model / num_heads
  int64_t d_v = 0;                 ///< width of a head's values; 0 means d_model / num_heads
  int64_t d_ff = 2048;             ///< inner width of the feed-forward network

  ScoreFunction score_function = ScoreFunction::scaled_dot_product;
  NormPosition norm_position = NormPosition::post;
  PositionalEncodingKind positional_encoding = PositionalEncodingKind::sinusoidal;
  int64_t max_positions = 1024;  ///< rows of a learned positional encoding; sinusoids have no limit
  EmbeddingTying embedding_tying = EmbeddingTying::all;

  double dropout = 0.1;             ///< of each sub-layer's output and of the embedding sums (section 5.4)
  double attention_dropout = 0.0;   ///< of the attention weights; not in the paper
  double activation_dropout = 0.0;  ///< after the ReLU; not in the paper
  /// Added to the variance in LayerNorm. The paper is silent; 1e-6 is what its authors' code used.
  double norm_epsilon = 1e-6;
};

/// `options` with d_k and d_v filled in; of a decoder-only network also with no encoder layers, the target's vocabulary
/// size for the source's, and EmbeddingTying::all for ::target_output.
/// @throws std::invalid_argument naming the option that is out of range or does not fit the others.
TransformerOptions validated(TransformerOptions options);

/// Number of trained parameters, by formula.
int64_t parameter_count(const TransformerOptions& options);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>
#include <transmute/common/export.h>
#include <transmute/model/decoder.h>
#include <transmute/model/encoder.h>
#include <transmute/model/positional_encoding.h>
#include <transmute/network/consistency.h>
#include <transmute/network/options.h>

namespace transmute {
inline namespace v0 {

/// The encoder's output and its mask. The tensors are undefined in a decoder-only network. With
/// TransformerOptions::source_begin, S counts the begin token, which encode() puts before each source.
struct EncodedSource {
  torch::Tensor memory;                     ///< [B,S,D]
  torch::Tensor mask;                       ///< [B,1,1,S]
  std::vector<torch::Tensor> self_weights;  ///< weights of each layer, [B,H,S,S], if requested
};

/// The training objective. With a consistency loss, its two parts are also given separately; otherwise they are
/// undefined.
struct TrainingLoss {
  /// Label-smoothed cross-entropy (section 5.4), with R-Drop of both passes, plus the consistency loss if there is one.
  torch::Tensor token_loss;
  torch::Tensor guidance;       ///< DecoderOutput::guidance times the factor; undefined without guided attention
  torch::Tensor cross_entropy;  ///< part of `token_loss`, without gradient; with R-Drop, the mean of both passes
  torch::Tensor divergence;     ///< part of `token_loss` before its weight, without gradient
};

/// Options of the loss.
struct LossOptions {
  double label_smoothing = 0;                   ///< probability spread evenly over the vocabulary (section 5.4)
  double factor = 1;                            ///< factor on the sum over all tokens except padding
  Activations activations = Activations::kept;  ///< kept for the backward pass, or recomputed
  ConsistencyOptions consistency = {};          ///< applied in training mode only
};

/// The Transformer of section 3: ids in, logits over the target vocabulary out.
///
/// Embeddings are initialized from N(0, 1/d_model) and scaled by embedding_scale(), which by default gives them unit
/// variance. Other matrices are drawn as TransformerOptions::initialization says, and biases are 0. The paper specifies
/// only the embedding scale.
///
/// Parameters are float32 and named as in `encoder.layers.0.self_attention.query.weight`. Tied embeddings are one
/// parameter, `embedding.weight`; otherwise there are `source_embedding.weight`, `target_embedding.weight` and, for an
/// untied output, `output.weight`. TransformerOptions::output_bias adds `output_bias` [V], initially 0, and
/// TransformerOptions::embedding_norm the LayerNorms `source_embedding_norm` and `target_embedding_norm`.
///
/// With Architecture::decoder_only there is no encoder, and methods take an empty source, [B,0]. Its embedding is
/// always called `embedding.weight`.
///
/// `forward` and the methods below have no side effects: a module in eval mode may be used by many threads at once.
/// They throw c10::ValueError if ids are not int64 [B,L] and, on CPUs, c10::IndexError for ids outside the vocabulary.
class TRANSMUTE_API TransformerImpl : public torch::nn::Module {
 public:
  /// @throws std::invalid_argument as validated() does.
  explicit TransformerImpl(const TransformerOptions& options);

  /// Teacher forcing: source: [B,S], target_in: [B,T] ids; result: logits [B,T,V].
  torch::Tensor forward(const torch::Tensor& source, const torch::Tensor& target_in);

  /// source: [B,S] ids; each row is a sentence and end_id, padded with padding_id.
  /// @throws c10::ValueError if a decoder-only network gets a nonempty source.
  EncodedSource encode(const torch::Tensor& source, ReturnWeights return_weights = ReturnWeights::no,
                       Activations activations = Activations::kept);

  /// target_in: [B,T] ids. Returns the decoder's states, before `project`.
  DecoderOutput decode(const torch::Tensor& target_in, const EncodedSource& source,
                       ReturnWeights return_weights = ReturnWeights::no, const GuidedAttention* guided = nullptr,
                       Activations activations = Activations::kept);

  /// states: [...,D]; result: logits [...,V] (section 3.4).
  torch::Tensor project(const torch::Tensor& states);

  /// The training loss with teacher forcing for the expected tokens target_out, [B,T] (section 5.4). Avoids
  /// materializing the logits [B,T,V] if kernels::projected_cross_entropy can.
  /// @throws c10::ValueError if target_in and target_out have different shapes, `guided` is combined with a consistency
  /// loss, or the weight of that is not positive.
  TrainingLoss loss(const torch::Tensor& source, const torch::Tensor& target_in, const torch::Tensor& target_out,
                    const LossOptions& options, const GuidedAttention* guided = nullptr);

  /// Starts incremental decoding: returns the cache for the first `step`.
  DecoderCache start_decoding(const EncodedSource& source);
  /// Decodes one position. ids: [B,N], the last token of each of the N hypotheses per sentence, at first the special id
  /// "begin".
  DecoderStep step(const torch::Tensor& ids, const DecoderCache& cache,
                   ReturnWeights return_weights = ReturnWeights::no);

  /// Decodes T positions of one hypothesis per sentence at once. ids: [B,T].
  DecoderStep extend(const torch::Tensor& ids, const DecoderCache& cache,
                     ReturnWeights return_weights = ReturnWeights::no);

  const TransformerOptions options;  ///< validated
  Encoder encoder{nullptr};          ///< null in a decoder-only network
  Decoder decoder{nullptr};          ///< the decoder stack

 private:
  enum class Gaps { none, possible };  // ids are tokens, or may be kernels::kNoToken as well

  void check_source(const torch::Tensor& source) const;
  torch::Tensor embed_source(const torch::Tensor& ids, Gaps gaps = Gaps::none);
  torch::Tensor embed_target(const torch::Tensor& ids, int64_t first_position, Gaps gaps = Gaps::none);
  torch::Tensor embed(const torch::nn::Embedding& table, const torch::Tensor& ids,
                      const torch::Tensor& position_vectors, LayerNorm& norm, Gaps gaps = Gaps::none);
  torch::Tensor with_begin(const torch::Tensor& source) const;
  torch::Tensor source_mask(const torch::Tensor& source) const;
  DecoderOutput two_passes(const torch::Tensor& source, const torch::Tensor& target_in,
                           const LossOptions& loss_options);
  const torch::Tensor& output_weight() const;  // [V,D]

  torch::nn::Embedding source_embedding_{nullptr}, target_embedding_{nullptr};
  LayerNorm source_embedding_norm_{nullptr}, target_embedding_norm_{nullptr};  // null without embedding_norm
  torch::nn::Linear output_{nullptr};  // only where the output matrix is not tied
  torch::Tensor output_bias_;          // [V]; undefined without output_bias
  PositionalEncoding source_positions_{nullptr}, target_positions_{nullptr};
};
TORCH_MODULE(Transformer);

}  // namespace v0
}  // namespace transmute

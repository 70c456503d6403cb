// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>
#include <transmute/common/export.h>
#include <transmute/model/decoder.h>
#include <transmute/model/encoder.h>
#include <transmute/model/options.h>
#include <transmute/model/positional_encoding.h>

namespace transmute {
inline namespace v0 {

/// The encoder's output with the mask that goes with it. Undefined tensors where there is no encoder.
struct EncodedSource {
  torch::Tensor memory;                     ///< [B,S,D]
  torch::Tensor mask;                       ///< [B,1,1,S]
  std::vector<torch::Tensor> self_weights;  ///< each layer's, [B,H,S,S], where asked for
};

/// What training makes smaller.
struct TrainingLoss {
  torch::Tensor tokens;    ///< label-smoothed cross-entropy, section 5.4
  torch::Tensor guidance;  ///< DecoderOutput::guidance times the factor; undefined where nothing is guided
};

/// How the loss is computed.
struct LossOptions {
  double label_smoothing = 0;                   ///< probability spread evenly over the vocabulary (section 5.4)
  double factor = 1;                            ///< multiplies the sum over the tokens without padding
  Activations activations = Activations::kept;  ///< whether layers keep theirs
};

/// The Transformer of section 3: ids in, logits over the target vocabulary out.
///
/// Embeddings are scaled by sqrt(d_model) and drawn from N(0, 1/d_model), which gives them unit variance
/// after the scale; other matrices are Xavier-uniform, biases 0 (the paper is silent on all of this but the
/// scale). Parameters are float32 and named as in `encoder.layers.0.self_attention.query.weight`; tied
/// embeddings are one parameter, `embedding.weight`, else `source_embedding.weight`,
/// `target_embedding.weight` and, untied, `output.weight`.
///
/// With Architecture::decoder_only there is no encoder, and the source that methods take is empty, [B,0]. Its one
/// embedding is called `embedding.weight`, tied to the output or not.
///
/// `forward` and its parts have no side effects: a module in eval mode may be used by many threads at once.
class TRANSMUTE_API TransformerImpl : public torch::nn::Module {
 public:
  /// @throws std::invalid_argument, see validated().
  explicit TransformerImpl(const TransformerOptions& options);

  /// Teacher forcing: source: [B,S], target_in: [B,T] ids; result: logits [B,T,V].
  torch::Tensor forward(const torch::Tensor& source, const torch::Tensor& target_in);

  /// source: [B,S] ids, rows filled up with padding_id.
  /// @throws c10::ValueError where there is no encoder but a source.
  EncodedSource encode(const torch::Tensor& source, ReturnWeights return_weights = ReturnWeights::no,
                       Activations activations = Activations::kept);

  /// target_in: [B,T] ids. The states are the decoder's, before `project`.
  DecoderOutput decode(const torch::Tensor& target_in, const EncodedSource& source,
                       ReturnWeights return_weights = ReturnWeights::no, const GuidedAttention* guided = nullptr,
                       Activations activations = Activations::kept);

  /// states: [...,D]; result: logits [...,V] (section 3.4).
  torch::Tensor project(const torch::Tensor& states);

  /// The loss of teacher forcing on the tokens that should come out, target_out [B,T] (section 5.4), without logits
  /// [B,T,V] as a whole where kernels::projected_cross_entropy can do without.
  TrainingLoss loss(const torch::Tensor& source, const torch::Tensor& target_in, const torch::Tensor& target_out,
                    const LossOptions& options, const GuidedAttention* guided = nullptr);

  /// Incremental decoding: a fresh cache, then one `step` per token. ids: [B,N], the token that each of the N
  /// hypotheses of each sentence ended with; the first is special id "begin".
  DecoderCache start_decoding(const EncodedSource& source);
  /// Extends each hypothesis by one token. ids: [B,N].
  DecoderStep step(const torch::Tensor& ids, const DecoderCache& cache,
                   ReturnWeights return_weights = ReturnWeights::no);

  /// T such steps of one hypothesis per sentence at once. ids: [B,T].
  DecoderStep extend(const torch::Tensor& ids, const DecoderCache& cache,
                     ReturnWeights return_weights = ReturnWeights::no);

  const TransformerOptions options;  ///< validated
  Encoder encoder{nullptr};          ///< null in a decoder-only network
  Decoder decoder{nullptr};          ///< the decoder stack

 private:
  torch::Tensor embed(const torch::nn::Embedding& table, const torch::Tensor& ids,
                      const torch::Tensor& position_vectors);
  const torch::Tensor& output_weight() const;  // [V,D]

  torch::nn::Embedding source_embedding_{nullptr}, target_embedding_{nullptr};
  torch::nn::Linear output_{nullptr};  // only where the output matrix is not tied
  PositionalEncoding source_positions_{nullptr}, target_positions_{nullptr};
};
TORCH_MODULE(Transformer);

}  // namespace v0
}  // namespace transmute

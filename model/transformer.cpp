// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/transformer.h>

#include <transmute/model/initialization.h>
#include <transmute/model/kernels/cross_entropy.h>
#include <transmute/model/kernels/dropout.h>
#include <transmute/model/kernels/embedding.h>
#include <transmute/model/libtorch.h>
#include <transmute/model/masks.h>

namespace transmute {
inline namespace v0 {

namespace {

void check_ids(const torch::Tensor& ids, const char* name) {
  TORCH_CHECK_VALUE(ids.dim() == 2 && ids.scalar_type() == torch::kLong, name, " must be int64 ids [B,L], not ",
                    ids.scalar_type(), " ", ids.sizes());
}

// A bias as one more input of the product, which is 1 everywhere: the loss then needs to know of no biases. The inputs
// are filled up to a width that suits the product.
struct StatesWithOne {
  torch::Tensor states;  // [N,D + more]
  torch::Tensor weight;  // [V,D + more]
};
StatesWithOne with_bias_as_input(const torch::Tensor& states, const torch::Tensor& weight, const torch::Tensor& bias) {
  constexpr int64_t kWidthStep = 32;
  const int64_t zeros = kWidthStep - 1 - states.size(1) % kWidthStep;
  return {
      torch::cat({states, states.new_ones({states.size(0), 1}), states.new_zeros({states.size(0), zeros})}, 1),
      torch::cat({weight, bias.to(weight.scalar_type()).unsqueeze(1), weight.new_zeros({weight.size(0), zeros})}, 1)};
}

}  // namespace

TransformerImpl::TransformerImpl(const TransformerOptions& given) : options(validated(given)) {
  const bool decoder_only = options.architecture == Architecture::decoder_only;
  if (decoder_only) {
    target_embedding_ = register_module("embedding", make_embedding(options.target_vocab_size, options.d_model));
  } else if (options.embedding_tying == EmbeddingTying::all) {
    source_embedding_ = register_module("embedding", make_embedding(options.source_vocab_size, options.d_model));
    target_embedding_ = source_embedding_;
  } else {
    source_embedding_ = register_module("source_embedding", make_embedding(options.source_vocab_size, options.d_model));
    target_embedding_ = register_module("target_embedding", make_embedding(options.target_vocab_size, options.d_model));
  }
  if (options.embedding_tying == EmbeddingTying::none)
    output_ = register_module("output", make_linear(options.d_model, options.target_vocab_size, Bias::none));
  if (options.output_bias) output_bias_ = register_parameter("output_bias", torch::zeros({options.target_vocab_size}));
  if (!decoder_only) source_positions_ = register_module("source_positions", PositionalEncoding(options));
  target_positions_ = register_module("target_positions",
                                      PositionalEncoding(options, decoder_only ? nullptr : source_positions_.get()));
  if (options.embedding_norm) {
    const auto make_norm = [&] { return LayerNorm(options.d_model, options.norm_epsilon); };
    if (!decoder_only) source_embedding_norm_ = register_module("source_embedding_norm", make_norm());
    target_embedding_norm_ = register_module("target_embedding_norm", make_norm());
  }
  if (!decoder_only) encoder = register_module("encoder", Encoder(options));
  decoder = register_module("decoder", Decoder(options));
}

// ids: [B,L], position_vectors: broadcastable to [B,L,D]; result: [B,L,D].
torch::Tensor TransformerImpl::embed(const torch::nn::Embedding& table, const torch::Tensor& ids,
                                     const torch::Tensor& position_vectors, LayerNorm& norm) {
  const double dropout = is_training() ? options.dropout : 0.0;
  kernels::EmbedOptions embed_options;
  embed_options.scale = embedding_scale(options);
  embed_options.dropout = norm ? 0.0 : dropout;
  // The output projection's gradient of a tied matrix is dense: rows are added onto it.
  embed_options.sparse_gradient = table->weight.is_same(output_weight());
  const torch::Tensor sums = kernels::embed(table->weight, ids, position_vectors, embed_options);
  return norm ? kernels::dropout(norm(sums), dropout, is_training()) : sums;
}

torch::Tensor TransformerImpl::embed_source(const torch::Tensor& ids) {
  return embed(source_embedding_, ids, source_positions_(0, ids.size(1)), source_embedding_norm_);
}

torch::Tensor TransformerImpl::embed_target(const torch::Tensor& ids, int64_t first_position) {
  return embed(target_embedding_, ids, target_positions_(first_position, ids.size(1)), target_embedding_norm_);
}

const torch::Tensor& TransformerImpl::output_weight() const {
  return output_ ? output_->weight : target_embedding_->weight;
}

EncodedSource TransformerImpl::encode(const torch::Tensor& source, ReturnWeights return_weights,
                                      Activations activations) {
  check_ids(source, "source");
  if (!encoder) {
    TORCH_CHECK_VALUE(source.size(1) == 0,
                      "a decoder-only network has no encoder: its source must be empty, [B,0], "
                      "not ",
                      source.sizes());
    return {};
  }
  const torch::Tensor mask = options.source_end ? padding_mask(source, options.padding_id)
                                                : padding_and_end_mask(source, options.padding_id, options.end_id);
  EncoderOutput encoded = encoder(embed_source(source), mask, return_weights, activations);
  return {encoded.memory, mask, std::move(encoded.self_weights)};
}

DecoderOutput TransformerImpl::decode(const torch::Tensor& target_in, const EncodedSource& source,
                                      ReturnWeights return_weights, const GuidedAttention* guided,
                                      Activations activations) {
  check_ids(target_in, "target_in");
  // Padding stands at the right end of a row, where the causal mask hides it from every real position.
  return decoder(embed_target(target_in, 0), source.memory, source.mask, return_weights, guided, activations);
}

torch::Tensor TransformerImpl::project(const torch::Tensor& states) {
  return torch::nn::functional::linear(states, output_weight(), output_bias_);
}

TrainingLoss TransformerImpl::loss(const torch::Tensor& source, const torch::Tensor& target_in,
                                   const torch::Tensor& target_out, const LossOptions& loss_options,
                                   const GuidedAttention* guided) {
  const EncodedSource encoded = encode(source, ReturnWeights::no, loss_options.activations);
  const DecoderOutput decoded = decode(target_in, encoded, ReturnWeights::no, guided, loss_options.activations);
  StatesWithOne inputs{decoded.states.flatten(0, 1), output_weight()};
  if (output_bias_.defined()) inputs = with_bias_as_input(inputs.states, inputs.weight, output_bias_);
  return {kernels::projected_cross_entropy(inputs.states, inputs.weight, target_out.flatten(),
                                           {loss_options.label_smoothing, options.padding_id, loss_options.factor}),
          guided == nullptr ? torch::Tensor() : decoded.guidance * loss_options.factor};
}

torch::Tensor TransformerImpl::forward(const torch::Tensor& source, const torch::Tensor& target_in) {
  return project(decode(target_in, encode(source)).states);
}

DecoderCache TransformerImpl::start_decoding(const EncodedSource& source) {
  return decoder->start(source.memory, source.mask);
}

DecoderStep TransformerImpl::step(const torch::Tensor& ids, const DecoderCache& cache, ReturnWeights return_weights) {
  check_ids(ids, "ids");
  // All hypotheses stand at the same position: [1,D] serves every one.
  return decoder->step(embed(target_embedding_, ids, target_positions_(cache.length, 1), target_embedding_norm_), cache,
                       return_weights);
}

DecoderStep TransformerImpl::extend(const torch::Tensor& ids, const DecoderCache& cache, ReturnWeights return_weights) {
  check_ids(ids, "ids");
  return decoder->extend(embed_target(ids, cache.length), cache, return_weights);
}

}  // namespace v0
}  // namespace transmute

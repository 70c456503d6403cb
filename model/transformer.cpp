// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/transformer.h>

#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/cross_entropy.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/model/autograd/embedding.h>
#include <transmute/model/autograd/joined_linear.h>
#include <transmute/model/initialization.h>
#include <transmute/model/masks.h>

namespace transmute {
inline namespace v0 {

namespace {

void check_ids(const torch::Tensor& ids, const char* name) {
  TORCH_CHECK_VALUE(ids.dim() == 2 && ids.scalar_type() == torch::kLong, name, " must be int64 ids [B,L], not ",
                    ids.scalar_type(), " ", ids.sizes());
}

// Appends the output bias as one more input that is always 1, so that the loss kernels need no bias. Zeros fill the
// inputs up to a width that suits the product.
struct StatesWithOne {
  torch::Tensor states;  // [N,D + more]
  torch::Tensor weight;  // [V,D + more]
};
StatesWithOne with_bias_as_input(const torch::Tensor& states, const torch::Tensor& weight, const torch::Tensor& bias) {
  if (!bias.defined()) return {states, weight};
  constexpr int64_t kWidthStep = 32;
  const int64_t zeros = kWidthStep - 1 - states.size(1) % kWidthStep;
  return {
      torch::cat({states, states.new_ones({states.size(0), 1}), states.new_zeros({states.size(0), zeros})}, 1),
      torch::cat({weight, bias.to(weight.scalar_type()).unsqueeze(1), weight.new_zeros({weight.size(0), zeros})}, 1)};
}

// Repeats the batch: all rows, then all rows again, in which simcut replaces tokens by gaps. ids: [B,L]; result:
// [2B,L].
torch::Tensor twice(const torch::Tensor& ids, const ConsistencyOptions& consistency, int64_t padding_id) {
  if (consistency.kind != Consistency::simcut) return torch::cat({ids, ids});
  const torch::Tensor kept =
      kernels::dropout(torch::ones(ids.sizes(), ids.options().dtype(torch::kFloat)), consistency.cut_probability);
  return torch::cat({ids, ids.masked_fill(kept.eq(0).logical_and(ids.ne(padding_id)), kernels::kNoToken)});
}

kernels::DivergenceOptions divergence_options(const ConsistencyOptions& consistency) {
  if (consistency.kind == Consistency::r_drop) return {true, consistency.weight / 2, consistency.weight / 2};
  return {false, consistency.weight, 0};
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
  if (options.output_bias)
    output_bias_ = register_parameter("output_bias", torch::zeros({options.target_vocab_size}, torch::kFloat));
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
                                     const torch::Tensor& position_vectors, LayerNorm& norm, Gaps gaps) {
  const double dropout = is_training() ? options.dropout : 0.0;
  kernels::EmbedOptions embed_options;
  embed_options.scale = embedding_scale(options);
  embed_options.dropout = norm ? 0.0 : dropout;
  // A tied table already has a dense gradient from the output projection; autograd adds sparse rows onto it.
  embed_options.sparse_gradient = table->weight.is_same(output_weight());
  embed_options.has_gaps = gaps == Gaps::possible;
  const torch::Tensor sums = kernels::embed(table->weight, ids, position_vectors, embed_options);
  return norm ? kernels::dropout(norm(sums), dropout) : sums;
}

torch::Tensor TransformerImpl::embed_source(const torch::Tensor& ids, Gaps gaps) {
  return embed(source_embedding_, ids, source_positions_(0, ids.size(1)), source_embedding_norm_, gaps);
}

torch::Tensor TransformerImpl::embed_target(const torch::Tensor& ids, int64_t first_position, Gaps gaps) {
  return embed(target_embedding_, ids, target_positions_(first_position, ids.size(1)), target_embedding_norm_, gaps);
}

// The ids that the encoder reads. source: [B,S]; result: [B,S], or [B,S+1] with the begin token.
torch::Tensor TransformerImpl::with_begin(const torch::Tensor& source) const {
  return options.source_begin ? torch::constant_pad_nd(source, {1, 0}, options.begin_id) : source;
}

// source: [B,S], the begin token included; result: [B,1,1,S].
torch::Tensor TransformerImpl::source_mask(const torch::Tensor& source) const {
  return options.source_end ? padding_mask(source, options.padding_id)
                            : padding_and_end_mask(source, options.padding_id, options.end_id);
}

const torch::Tensor& TransformerImpl::output_weight() const {
  return output_ ? output_->weight : target_embedding_->weight;
}

void TransformerImpl::check_source(const torch::Tensor& source) const {
  check_ids(source, "source");
  TORCH_CHECK_VALUE(encoder || source.size(1) == 0,
                    "a decoder-only network has no encoder: its source must be empty, [B,0], not ", source.sizes());
}

EncodedSource TransformerImpl::encode(const torch::Tensor& source, ReturnWeights return_weights,
                                      Activations activations) {
  check_source(source);
  if (!encoder) return {};
  const torch::Tensor ids = with_begin(source), mask = source_mask(ids);
  EncoderOutput encoded = encoder(embed_source(ids), mask, return_weights, activations);
  return {encoded.memory, mask, std::move(encoded.self_weights)};
}

DecoderOutput TransformerImpl::decode(const torch::Tensor& target_in, const EncodedSource& source,
                                      ReturnWeights return_weights, const GuidedAttention* guided,
                                      Activations activations) {
  check_ids(target_in, "target_in");
  GuidedAttention with_room;
  if (guided != nullptr && options.source_begin) {  // no target belongs to the begin token
    with_room = {torch::constant_pad_nd(guided->wanted, {1, 0}), guided->layer, guided->head};
    guided = &with_room;
  }
  // Padding is at the right end of a row, where neither the causal mask nor a recurrence lets it reach a real
  // position.
  return decoder(embed_target(target_in, 0), source.memory, source.mask, return_weights, guided, activations);
}

torch::Tensor TransformerImpl::project(const torch::Tensor& states) {
  return kernels::linear(states, output_weight(), output_bias_);
}

TrainingLoss TransformerImpl::loss(const torch::Tensor& source, const torch::Tensor& target_in,
                                   const torch::Tensor& target_out, const LossOptions& loss_options,
                                   const GuidedAttention* guided) {
  check_ids(target_out, "target_out");
  TORCH_CHECK_VALUE(target_out.sizes() == target_in.sizes(), "target_out must have the shape of target_in, ",
                    target_in.sizes(), ", not ", target_out.sizes());
  const ConsistencyOptions& consistency = loss_options.consistency;
  const kernels::CrossEntropyOptions cross_entropy{loss_options.label_smoothing, options.padding_id,
                                                   loss_options.factor};
  if (is_training() && consistency.kind != Consistency::none) {
    TORCH_CHECK_VALUE(guided == nullptr, "guided attention cannot be combined with a second pass for consistency");
    TORCH_CHECK_VALUE(consistency.weight > 0, "the weight of a consistency loss must be positive, not ",
                      consistency.weight);
    const DecoderOutput both = two_passes(source, target_in, loss_options);
    const kernels::DivergenceOptions divergence = divergence_options(consistency);
    const StatesWithOne inputs = with_bias_as_input(both.states.flatten(0, 1), output_weight(), output_bias_);
    const auto result = kernels::consistent_cross_entropy(inputs.states, inputs.weight, target_out.flatten(),
                                                          cross_entropy, divergence);
    return {result.loss,
            {},
            (result.loss.detach() - result.divergence) / (divergence.second_too ? 2 : 1),
            result.divergence / consistency.weight};
  }
  const EncodedSource encoded = encode(source, ReturnWeights::no, loss_options.activations);
  const DecoderOutput decoded = decode(target_in, encoded, ReturnWeights::no, guided, loss_options.activations);
  const StatesWithOne inputs = with_bias_as_input(decoded.states.flatten(0, 1), output_weight(), output_bias_);
  return {kernels::projected_cross_entropy(inputs.states, inputs.weight, target_out.flatten(), cross_entropy),
          guided == nullptr ? torch::Tensor() : decoded.guidance * loss_options.factor,
          {},
          {}};
}

// Computes both passes over a batch as one batch of twice the size, whose halves draw different dropout. Result: the
// states of both, [2B,T,D].
DecoderOutput TransformerImpl::two_passes(const torch::Tensor& source, const torch::Tensor& target_in,
                                          const LossOptions& loss_options) {
  check_source(source);
  check_ids(target_in, "target_in");
  const Gaps gaps = loss_options.consistency.kind == Consistency::simcut ? Gaps::possible : Gaps::none;
  const auto both = [&](const torch::Tensor& ids) { return twice(ids, loss_options.consistency, options.padding_id); };
  EncodedSource encoded;
  if (encoder) {
    encoded.mask = source_mask(with_begin(source)).repeat({2, 1, 1, 1});
    const torch::Tensor ids = with_begin(both(source));
    encoded.memory = encoder(embed_source(ids, gaps), encoded.mask, ReturnWeights::no, loss_options.activations).memory;
  }
  return decoder(embed_target(both(target_in), 0, gaps), encoded.memory, encoded.mask, ReturnWeights::no, nullptr,
                 loss_options.activations);
}

torch::Tensor TransformerImpl::forward(const torch::Tensor& source, const torch::Tensor& target_in) {
  return project(decode(target_in, encode(source)).states);
}

DecoderCache TransformerImpl::start_decoding(const EncodedSource& source) {
  return decoder->start(source.memory, source.mask);
}

DecoderStep TransformerImpl::step(const torch::Tensor& ids, const DecoderCache& cache, ReturnWeights return_weights) {
  check_ids(ids, "ids");
  // All hypotheses are at the same position: [1,D] serves every one.
  return decoder->step(embed(target_embedding_, ids, target_positions_(cache.length, 1), target_embedding_norm_), cache,
                       return_weights);
}

DecoderStep TransformerImpl::extend(const torch::Tensor& ids, const DecoderCache& cache, ReturnWeights return_weights) {
  check_ids(ids, "ids");
  return decoder->extend(embed_target(ids, cache.length), cache, return_weights);
}

}  // namespace v0
}  // namespace transmute

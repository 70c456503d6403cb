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

// Each row twice: all of them, and all of them again with gaps where simcut cuts. ids: [B,L]; result: [2B,L].
torch::Tensor twice(const torch::Tensor& ids, const ConsistencyOptions& consistency, int64_t padding_id) {
  if (consistency.kind != Consistency::simcut) return torch::cat({ids, ids});
  const torch::Tensor kept =
      kernels::dropout(torch::ones(ids.sizes(), ids.device()), consistency.cut_probability, true);
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
  const auto make_positions = [&](const PositionalEncodingImpl* other) {
    return PositionalEncoding(options.positional_encoding, options.d_model, options.max_positions, other);
  };
  if (!decoder_only) source_positions_ = register_module("source_positions", make_positions(nullptr));
  target_positions_ =
      register_module("target_positions", make_positions(decoder_only ? nullptr : source_positions_.get()));
  if (!decoder_only) encoder = register_module("encoder", Encoder(options));
  decoder = register_module("decoder", Decoder(options));
}

// ids: [B,L], position_vectors: broadcastable to [B,L,D]; result: [B,L,D].
torch::Tensor TransformerImpl::embed(const torch::nn::Embedding& table, const torch::Tensor& ids,
                                     const torch::Tensor& position_vectors, bool has_gaps) {
  kernels::EmbedOptions embed_options;
  embed_options.scale = embedding_scale(options.d_model);
  embed_options.dropout = is_training() ? options.dropout : 0.0;
  // The output projection's gradient of a tied matrix is dense: rows are added onto it.
  embed_options.sparse_gradient = table->weight.is_same(output_weight());
  embed_options.has_gaps = has_gaps;
  return kernels::embed(table->weight, ids, position_vectors, embed_options);
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
  const torch::Tensor mask = padding_mask(source, options.padding_id);
  const torch::Tensor positions = source_positions_(0, source.size(1));
  EncoderOutput encoded = encoder(embed(source_embedding_, source, positions), mask, return_weights, activations);
  return {encoded.memory, mask, std::move(encoded.self_weights)};
}

DecoderOutput TransformerImpl::decode(const torch::Tensor& target_in, const EncodedSource& source,
                                      ReturnWeights return_weights, const GuidedAttention* guided,
                                      Activations activations) {
  check_ids(target_in, "target_in");
  // Padding stands at the right end of a row, where the causal mask hides it from every real position.
  const torch::Tensor positions = target_positions_(0, target_in.size(1));
  return decoder(embed(target_embedding_, target_in, positions), source.memory, source.mask, return_weights, guided,
                 activations);
}

torch::Tensor TransformerImpl::project(const torch::Tensor& states) {
  return torch::nn::functional::linear(states, output_weight());
}

TrainingLoss TransformerImpl::loss(const torch::Tensor& source, const torch::Tensor& target_in,
                                   const torch::Tensor& target_out, const LossOptions& loss_options,
                                   const GuidedAttention* guided) {
  const ConsistencyOptions& consistency = loss_options.consistency;
  const kernels::CrossEntropyOptions cross_entropy{loss_options.label_smoothing, options.padding_id,
                                                   loss_options.factor};
  if (is_training() && consistency.kind != Consistency::none) {
    TORCH_CHECK_VALUE(guided == nullptr, "guided attention does not go with a second pass for consistency");
    const DecoderOutput both = two_passes(source, target_in, loss_options);
    const kernels::DivergenceOptions divergence = divergence_options(consistency);
    const auto result = kernels::consistent_cross_entropy(both.states.flatten(0, 1), output_weight(),
                                                          target_out.flatten(), cross_entropy, divergence);
    return {result.loss,
            {},
            (result.loss.detach() - result.divergence) / (divergence.second_too ? 2 : 1),
            result.divergence / consistency.weight};
  }
  const EncodedSource encoded = encode(source, ReturnWeights::no, loss_options.activations);
  const DecoderOutput decoded = decode(target_in, encoded, ReturnWeights::no, guided, loss_options.activations);
  return {kernels::projected_cross_entropy(decoded.states.flatten(0, 1), output_weight(), target_out.flatten(),
                                           cross_entropy),
          guided == nullptr ? torch::Tensor() : decoded.guidance * loss_options.factor,
          {},
          {}};
}

// The states of both passes of a batch, [2B,T,D]: as one batch, whose halves have masks of their own.
DecoderOutput TransformerImpl::two_passes(const torch::Tensor& source, const torch::Tensor& target_in,
                                          const LossOptions& loss_options) {
  check_ids(source, "source");
  check_ids(target_in, "target_in");
  const auto embed_twice = [&](const torch::nn::Embedding& table, const torch::Tensor& ids,
                               PositionalEncoding& positions) {
    return embed(table, twice(ids, loss_options.consistency, options.padding_id), positions(0, ids.size(1)),
                 loss_options.consistency.kind == Consistency::simcut);
  };
  EncodedSource encoded;
  if (encoder) {
    encoded.mask = padding_mask(source, options.padding_id).repeat({2, 1, 1, 1});
    encoded.memory = encoder(embed_twice(source_embedding_, source, source_positions_), encoded.mask, ReturnWeights::no,
                             loss_options.activations)
                         .memory;
  }
  return decoder(embed_twice(target_embedding_, target_in, target_positions_), encoded.memory, encoded.mask,
                 ReturnWeights::no, nullptr, loss_options.activations);
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
  const torch::Tensor position = target_positions_(cache.length, 1);
  return decoder->step(embed(target_embedding_, ids, position), cache, return_weights);
}

DecoderStep TransformerImpl::extend(const torch::Tensor& ids, const DecoderCache& cache, ReturnWeights return_weights) {
  check_ids(ids, "ids");
  const torch::Tensor positions = target_positions_(cache.length, ids.size(1));
  return decoder->extend(embed(target_embedding_, ids, positions), cache, return_weights);
}

}  // namespace v0
}  // namespace transmute

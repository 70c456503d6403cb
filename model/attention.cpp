// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/attention.h>

#include <transmute/libtorch/libtorch.h>
#include <transmute/libtorch/torch_compat.h>
#include <transmute/model/autograd/additive_scores.h>
#include <transmute/model/autograd/attention.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/model/autograd/joined_linear.h>
#include <transmute/model/autograd/kernel_tensors.h>
#include <transmute/model/initialization.h>

#include <cmath>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

// Glorot and Bengio's bound for each head's own matrix: a stack of heads is not one large matrix.
void xavier_uniform_per_head(torch::Tensor& stacked) {
  draw_uniform(stacked, std::sqrt(6.0 / static_cast<double>(stacked.size(-1) + stacked.size(-2))));
}

bool is_dot_product(ScoreFunction function) {
  return function == ScoreFunction::scaled_dot_product || function == ScoreFunction::dot_product;
}

}  // namespace

AttentionScoreImpl::AttentionScoreImpl(const AttentionScoreOptions& options) : options(options) {
  const int64_t heads = options.num_heads;
  const int64_t query_size = options.query_size;
  const int64_t key_size = options.key_size;
  switch (options.function) {
    case ScoreFunction::scaled_dot_product:
    case ScoreFunction::dot_product:
      TORCH_CHECK_VALUE(query_size == key_size, "a dot product needs queries and keys of one width, not ", query_size,
                        " and ", key_size);
      break;
    case ScoreFunction::additive:
      query_weight_ = register_parameter("query_weight", torch::empty({heads, key_size, query_size}, torch::kFloat));
      key_weight_ = register_parameter("key_weight", torch::empty({heads, key_size, key_size}, torch::kFloat));
      score_weight_ = register_parameter("score_weight", torch::empty({heads, key_size}, torch::kFloat));
      xavier_uniform_per_head(query_weight_);
      xavier_uniform_per_head(key_weight_);
      draw_uniform(score_weight_, std::sqrt(6.0 / static_cast<double>(key_size + 1)));
      break;
    case ScoreFunction::bilinear:
      weight_ = register_parameter("weight", torch::empty({heads, query_size, key_size}, torch::kFloat));
      xavier_uniform_per_head(weight_);
      break;
    case ScoreFunction::uniform:
      break;
  }
}

torch::Tensor AttentionScoreImpl::forward(const torch::Tensor& query, const torch::Tensor& key) {
  TORCH_CHECK_VALUE(query.dim() == 4 && key.dim() == 4 && query.size(1) == key.size(1),
                    "attention scores need query [B,H,T,K] and key [B,H,S,K], not ", query.sizes(), " and ",
                    key.sizes());
  switch (options.function) {
    case ScoreFunction::scaled_dot_product:
      // The queries are scaled instead of the scores, because they have fewer elements.
      return torch::matmul(query * score_scale(options.function, options.key_size),
                           key.transpose(-2, -1));  // [B,H,T,S]
    case ScoreFunction::dot_product:
      return torch::matmul(query, key.transpose(-2, -1));
    case ScoreFunction::additive:
      return additive_scores(query, key);
    case ScoreFunction::bilinear:
      return torch::matmul(torch::matmul(query, weight_), key.transpose(-2, -1));
    case ScoreFunction::uniform:
      break;
  }
  return torch::zeros({query.size(0), query.size(1), query.size(2), key.size(2)}, query.options());
}

torch::Tensor AttentionScoreImpl::additive_scores(const torch::Tensor& query, const torch::Tensor& key) {
  return kernels::additive_scores(torch::matmul(query, query_weight_.transpose(-2, -1)),  // [B,H,T,A]
                                  torch::matmul(key, key_weight_.transpose(-2, -1)),      // [B,H,S,A]
                                  score_weight_);
}

torch::Tensor attention_weights(const torch::Tensor& scores, const torch::Tensor& mask) {
  return kernels::attention_weights(scores, mask);
}

AttentionPoolingImpl::AttentionPoolingImpl(const AttentionScoreOptions& options, double dropout)
    : score(register_module("score", AttentionScore(options))), dropout(dropout) {}

AttentionResult AttentionPoolingImpl::forward(const torch::Tensor& query, const torch::Tensor& key,
                                              const torch::Tensor& value, const torch::Tensor& mask,
                                              ReturnWeights return_weights) {
  TORCH_CHECK_VALUE(key.size(-2) == value.size(-2), "attention needs one value per key, not ", value.size(-2),
                    " values for ", key.size(-2), " keys");
  // GPUs: LibTorch's fused attention. CPUs: MultiHeadAttention has already chosen its kernel.
  if (kHasFusedAttention && return_weights == ReturnWeights::no && !query.device().is_cpu() &&
      is_dot_product(score->options.function))
    return {fused_attention(query, key, value, mask, is_training() ? dropout : 0.0,
                            score_scale(score->options.function, score->options.key_size)),
            {}};
  const torch::Tensor weights = attention_weights(score(query, key), mask);  // [B,H,T,S]
  const torch::Tensor output = torch::matmul(kernels::dropout(weights, is_training() ? dropout : 0.0), value);
  return {output, return_weights == ReturnWeights::yes ? weights : torch::Tensor()};
}

namespace {

torch::Tensor linear(const torch::nn::Linear& map, const torch::Tensor& x) {
  return kernels::linear(x, map->weight, map->bias);
}

Bias bias_of(const MultiHeadAttentionOptions& options) {
  return options.bias ? Bias::zero : Bias::none;
}

// Adds the biases of several linear maps, if they have biases, to their outputs. product: [...,outputs], the outputs of
// one map after those of the other.
torch::Tensor with_biases(const torch::Tensor& product, const std::vector<torch::Tensor>& biases) {
  const bool is_one = biases.size() == 1 || !biases.front().defined();
  return kernels::with_bias(product, is_one ? biases.front() : torch::cat(biases));
}

kernels::HeadOptions head_options(const MultiHeadAttentionImpl& attention) {
  const MultiHeadAttentionOptions& options = attention.options;
  const AttentionPoolingImpl& pooling = *attention.pooling;
  return {options.num_heads, options.d_k, options.d_v,
          score_scale(pooling.score->options.function, pooling.score->options.key_size),
          attention.is_training() ? pooling.dropout : 0.0};
}

}  // namespace

MultiHeadAttentionOptions attention_options(const TransformerOptions& options, Stack stack) {
  return {options.d_model,
          options.num_heads,
          options.d_k,
          options.d_v,
          options.score_function,
          options.attention_dropout,
          branch_gain(options, stack),
          options.attention_bias};
}

MultiHeadAttentionImpl::MultiHeadAttentionImpl(const MultiHeadAttentionOptions& options)
    : options(options),
      query(register_module("query", make_linear(options.d_model, options.num_heads * options.d_k, bias_of(options)))),
      key(register_module("key", make_linear(options.d_model, options.num_heads * options.d_k, bias_of(options)))),
      value(register_module(
          "value", make_linear(options.d_model, options.num_heads * options.d_v, bias_of(options), options.gain))),
      output(register_module(
          "output", make_linear(options.num_heads * options.d_v, options.d_model, bias_of(options), options.gain))),
      pooling(register_module(
          "pooling",
          AttentionPooling(AttentionScoreOptions{options.score_function, options.num_heads, options.d_k, options.d_k},
                           options.dropout))) {
  if (weights_are_drawn()) kernels::join({query->weight, key->weight, value->weight});
}

torch::Tensor MultiHeadAttentionImpl::split_heads(const torch::Tensor& x) const {
  const int64_t head_width = x.size(2) / options.num_heads;
  return x.view({x.size(0), x.size(1), options.num_heads, head_width}).transpose(1, 2);  // [B,T,H·K] -> [B,H,T,K]
}

torch::Tensor MultiHeadAttentionImpl::project_query(const torch::Tensor& query_input) {
  return split_heads(linear(query, query_input));
}

KeyValue MultiHeadAttentionImpl::project_memory(const torch::Tensor& memory) {
  return {split_heads(linear(key, memory)), split_heads(linear(value, memory))};
}

JoinedProjection MultiHeadAttentionImpl::joined_projection() const {
  const torch::NoGradGuard no_grad;
  const torch::Tensor weight = kernels::joined_rows({query->weight, key->weight, value->weight});
  if (!options.bias) return {weight, {}};
  return {weight, torch::cat({query->bias, key->bias, value->bias}).to(weight.scalar_type())};
}

QueryKeyValue MultiHeadAttentionImpl::project(const torch::Tensor& x, const JoinedProjection& projection) const {
  const torch::Tensor product = torch::linear(x, projection.weight, projection.bias);  // [B,T,H·(2K+Kv)]
  const int64_t heads = options.num_heads, row = product.size(2);
  // One as_strided() takes the place of three views: in a decoding step, the GPU waits for the CPU.
  const auto part = [&](int64_t first, int64_t width) {
    return product.as_strided({x.size(0), heads, x.size(1), width}, {x.size(1) * row, width, row, 1}, first);
  };
  return {part(0, options.d_k), {part(heads * options.d_k, options.d_k), part(2 * heads * options.d_k, options.d_v)}};
}

AttentionResult MultiHeadAttentionImpl::attend(const torch::Tensor& query_heads, const KeyValue& memory,
                                               const torch::Tensor& mask, ReturnWeights return_weights) {
  AttentionResult heads = pooling(query_heads, memory.key, memory.value, mask, return_weights);  // [B,H,T,Kv]
  const torch::Tensor joined = heads.output.transpose(1, 2).flatten(2);                          // [B,T,H·Kv]
  return {linear(output, joined), heads.weights};
}

torch::Tensor MultiHeadAttentionImpl::log_weights(const torch::Tensor& query_input, const torch::Tensor& memory,
                                                  const torch::Tensor& mask, int64_t head) {
  TORCH_CHECK_VALUE(head >= 0 && head < options.num_heads, "there is no attention head ", head,
                    " (counted from 0); there are ", options.num_heads);
  torch::Tensor scores = pooling->score(project_query(query_input), split_heads(linear(key, memory))).select(1, head);
  if (scores.scalar_type() != torch::kDouble) scores = scores.to(torch::kFloat);
  if (mask.defined()) scores = kernels::block_scores(scores, mask.select(1, 0).logical_not());
  return torch::log_softmax(scores, -1);
}

bool MultiHeadAttentionImpl::fuses(const torch::Tensor& query_input, const torch::Tensor& memory,
                                   const torch::Tensor& mask) const {
  return is_dot_product(options.score_function) &&
         kernels::can_attend(query_input, memory, mask, head_options(*this)) &&
         query->weight.scalar_type() == query_input.scalar_type();
}

torch::Tensor MultiHeadAttentionImpl::fused_heads(const torch::Tensor& query_input, const torch::Tensor& memory,
                                                  const torch::Tensor& mask) {
  if (query_input.is_same(memory))
    return kernels::self_attention(
        with_biases(kernels::joined_linear(query_input, query->weight, key->weight, value->weight),
                    {query->bias, key->bias, value->bias}),
        mask, head_options(*this));
  return kernels::cross_attention(
      with_biases(kernels::joined_linear(query_input, query->weight), {query->bias}),
      with_biases(kernels::joined_linear(memory, key->weight, value->weight), {key->bias, value->bias}), mask,
      head_options(*this));
}

AttentionResult MultiHeadAttentionImpl::forward(const torch::Tensor& query_input, const torch::Tensor& memory,
                                                const torch::Tensor& mask, ReturnWeights return_weights) {
  TORCH_CHECK_VALUE(query_input.dim() == 3 && query_input.size(2) == options.d_model,
                    "multi-head attention needs queries [B,T,", options.d_model, "], not ", query_input.sizes());
  TORCH_CHECK_VALUE(memory.dim() == 3 && memory.size(2) == options.d_model && memory.size(0) == query_input.size(0),
                    "multi-head attention needs a memory [", query_input.size(0), ",S,", options.d_model, "], not ",
                    memory.sizes());
  if (return_weights == ReturnWeights::no && fuses(query_input, memory, mask))
    return {with_biases(kernels::joined_linear(fused_heads(query_input, memory, mask), output->weight), {output->bias}),
            {}};
  return attend(project_query(query_input), project_memory(memory), mask, return_weights);
}

}  // namespace v0
}  // namespace transmute

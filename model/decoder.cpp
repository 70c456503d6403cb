// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/decoder.h>

#include <transmute/libtorch/libtorch.h>
#include <transmute/model/masks.h>

namespace transmute {
inline namespace v0 {

namespace {

torch::Tensor select_rows(const torch::Tensor& rows, const torch::Tensor& indices) {
  return rows.defined() && indices.defined() ? rows.index_select(0, indices) : rows;
}

// Views of the keys and of the values that `both` has side by side, [R,H,S,K+Kv].
KeyValue key_value_of(const torch::Tensor& both, int64_t key_width) {
  return {both.narrow(3, 0, key_width), both.narrow(3, key_width, both.size(3) - key_width)};
}

// The cache grows by this many tokens at a time.
constexpr int64_t kRoom = 16;

// The rows of the cache, B·N; 0 before the first token.
int64_t hypotheses_in(const DecoderCache& cache) {
  if (cache.layers.empty()) return 0;
  const DecoderLayerCache& layer = cache.layers.front();
  const torch::Tensor rows = layer.cells.defined() ? layer.cells : layer.self.tokens().key;
  return rows.defined() ? rows.size(0) : 0;
}

}  // namespace

KeyValue DecodedKeyValue::tokens() const {
  return buffer_.defined() ? key_value_of(buffer_.narrow(2, 0, length_), key_width_) : KeyValue();
}

DecodedKeyValue DecodedKeyValue::append(const KeyValue& more) const {
  const torch::NoGradGuard no_grad;
  DecodedKeyValue longer = *this;
  longer.length_ = length_ + more.key.size(2);
  longer.key_width_ = more.key.size(3);
  int64_t written = length_;
  if (!buffer_.defined() || longer.length_ > buffer_.size(2) ||
      !written_->compare_exchange_strong(written, longer.length_)) {
    const int64_t capacity = (longer.length_ + kRoom - 1) / kRoom * kRoom;
    longer.buffer_ =
        more.key.new_empty({more.key.size(0), more.key.size(1), capacity, more.key.size(3) + more.value.size(3)});
    if (length_ > 0) longer.buffer_.narrow(2, 0, length_).copy_(buffer_.narrow(2, 0, length_));
    longer.written_ = std::make_shared<std::atomic<int64_t>>(longer.length_);
  }
  torch::Tensor added = longer.buffer_.narrow(2, length_, more.key.size(2));
  torch::cat_out(added, {more.key, more.value}, 3);
  return longer;
}

DecodedKeyValue DecodedKeyValue::select(const torch::Tensor& rows) const {
  if (!buffer_.defined()) return *this;
  DecodedKeyValue selected = *this;
  selected.buffer_ = buffer_.index_select(0, rows);
  selected.written_ = std::make_shared<std::atomic<int64_t>>(length_);
  return selected;
}

DecoderCache DecoderCache::select(const torch::Tensor& sentences, const torch::Tensor& parents) const {
  DecoderCache selected{{}, select_rows(source_mask, sentences), length};
  for (const auto& layer : layers)
    selected.layers.push_back({layer.projection, parents.defined() ? layer.self.select(parents) : layer.self,
                               select_rows(layer.cells, parents), select_rows(layer.cross, sentences)});
  return selected;
}

// Registers the modules in the order of the file format.
DecoderLayerImpl::DecoderLayerImpl(const TransformerOptions& options) {
  const bool attends_to_encoder = options.architecture != Architecture::decoder_only;
  if (options.decoder_self_attention == DecoderSelfAttention::ssru)
    ssru = register_module("ssru", Ssru(options.d_model, branch_gain(options, Stack::decoder)));
  else
    self_attention = register_module("self_attention", MultiHeadAttention(attention_options(options, Stack::decoder)));
  if (attends_to_encoder)
    cross_attention =
        register_module("cross_attention", MultiHeadAttention(attention_options(options, Stack::decoder)));
  feed_forward = register_module("feed_forward", FeedForward(feed_forward_options(options, Stack::decoder)));
  self_attention_norm = register_module("self_attention_norm", ResidualNorm(options, Stack::decoder));
  if (attends_to_encoder)
    cross_attention_norm = register_module("cross_attention_norm", ResidualNorm(options, Stack::decoder));
  feed_forward_norm = register_module("feed_forward_norm", ResidualNorm(options, Stack::decoder));
}

DecoderLayerImpl::Result DecoderLayerImpl::forward(const torch::Tensor& x, const torch::Tensor& memory,
                                                   const torch::Tensor& self_mask, const torch::Tensor& memory_mask,
                                                   ReturnWeights return_weights, const GuidedAttention* guided) {
  Result result;
  torch::Tensor states = self_attention_norm(x, [&](const torch::Tensor& input) {
    if (ssru) return torch::relu(ssru(input));
    AttentionResult attended = self_attention(input, input, self_mask, return_weights);
    result.self_weights = attended.weights;
    return attended.output;
  });
  if (cross_attention)
    states = cross_attention_norm(states, [&](const torch::Tensor& input) {
      AttentionResult attended = cross_attention(input, memory, memory_mask, return_weights);
      result.cross_weights = attended.weights;
      if (guided != nullptr)
        result.guidance =
            -(guided->wanted * cross_attention->log_weights(input, memory, memory_mask, guided->head)).sum();
      return attended.output;
    });
  result.output =
      feed_forward_norm(states, [&](const torch::Tensor& input) { return feed_forward->without_last_bias(input); });
  return result;
}

DecoderLayerImpl::StepResult DecoderLayerImpl::step(const torch::Tensor& x, const DecoderLayerCache& cache,
                                                    const torch::Tensor& self_mask, const torch::Tensor& memory_mask,
                                                    ReturnWeights return_weights) {
  StepResult result{{}, cache, {}};
  torch::Tensor states = self_attention_norm(x, [&](const torch::Tensor& input) {
    const bool many_positions = self_mask.defined();
    const torch::Tensor rows = many_positions ? input : input.reshape({-1, 1, input.size(2)});  // [B,N,D] -> [B·N,1,D]
    if (ssru) {
      const torch::Tensor cells = ssru(rows, cache.cells);
      result.cache.cells = cells.select(1, -1);
      return torch::relu(cells).view_as(input);
    }
    const QueryKeyValue heads = self_attention->project(rows, cache.projection);
    result.cache.self = cache.self.append(heads.memory);
    return self_attention->attend(heads.query, result.cache.self.tokens(), self_mask).output.view_as(input);
  });
  // The N hypotheses of a sentence take the place of the T positions, so that they share its keys and values.
  if (cross_attention)
    states = cross_attention_norm(states, [&](const torch::Tensor& input) {
      AttentionResult attended =
          cross_attention->attend(cross_attention->project_query(input),
                                  key_value_of(cache.cross, cross_attention->options.d_k), memory_mask, return_weights);
      result.cross_weights = attended.weights;
      return attended.output;
    });
  result.output =
      feed_forward_norm(states, [&](const torch::Tensor& input) { return feed_forward->without_last_bias(input); });
  return result;
}

DecoderImpl::DecoderImpl(const TransformerOptions& options) {
  torch::nn::ModuleList list = register_module("layers", torch::nn::ModuleList());
  for (int64_t i = 0; i < options.num_decoder_layers; ++i) {
    layers_.emplace_back(options);
    list->push_back(layers_.back());
  }
  if (options.norm_position == NormPosition::pre)
    norm_ = register_module("norm", LayerNorm(options.d_model, options.norm_epsilon));
}

DecoderOutput DecoderImpl::forward(const torch::Tensor& x, const torch::Tensor& memory,
                                   const torch::Tensor& memory_mask, ReturnWeights return_weights,
                                   const GuidedAttention* guided, Activations activations) {
  const auto layers = static_cast<int64_t>(layers_.size());
  TORCH_CHECK_VALUE(guided == nullptr || (guided->layer >= 0 && guided->layer < layers),
                    "guided attention: there is no decoder layer ", guided->layer,
                    " (counted from 0); the decoder has ", layers);
  TORCH_CHECK_VALUE(guided == nullptr || memory.defined(), "a decoder-only network has no attention to guide");
  if (guided != nullptr) {
    const std::vector<int64_t> expected{x.size(0), x.size(1), memory.size(1)};
    TORCH_CHECK_VALUE(guided->wanted.sizes() == expected, "guided attention must be [B,T,S], here ",
                      torch::IntArrayRef(expected), ", not ", guided->wanted.sizes());
  }
  const torch::Tensor self_mask = causal_mask(x.size(1), x.device());
  DecoderOutput result{x, {}, {}, {}};
  for (int64_t i = 0; i < layers; ++i) {
    const bool is_guided = guided != nullptr && guided->layer == i;
    DecoderLayer& layer = layers_[static_cast<size_t>(i)];
    if (activations == Activations::recomputed && return_weights == ReturnWeights::no && !is_guided) {
      const auto output = [own = layer, self_mask, memory_mask](const torch::Tensor& states,
                                                                const torch::Tensor& seen) mutable {
        return own(states, seen, self_mask, memory_mask).output;
      };
      result.states = recomputed(output, result.states, memory);
      continue;
    }
    DecoderLayerImpl::Result layer_result =
        layer(result.states, memory, self_mask, memory_mask, return_weights, is_guided ? guided : nullptr);
    if (is_guided) result.guidance = layer_result.guidance;
    result.states = layer_result.output;
    if (return_weights == ReturnWeights::no) continue;
    if (layer_result.self_weights.defined()) result.self_weights.push_back(layer_result.self_weights);
    if (layer_result.cross_weights.defined()) result.cross_weights.push_back(layer_result.cross_weights);
  }
  if (norm_) result.states = norm_(result.states);
  return result;
}

DecoderCache DecoderImpl::start(const torch::Tensor& memory, const torch::Tensor& memory_mask) {
  DecoderCache cache{{}, memory_mask, 0};
  for (auto& layer : layers_) {
    DecoderLayerCache own;
    if (layer->self_attention) own.projection = layer->self_attention->joined_projection();
    if (layer->cross_attention) {
      const KeyValue read = layer->cross_attention->project_memory(memory);
      own.cross = torch::cat({read.key, read.value}, 3);  // one tensor, so that select() gathers rows once
    }
    cache.layers.push_back(std::move(own));
  }
  return cache;
}

DecoderStep DecoderImpl::step(const torch::Tensor& x, const DecoderCache& cache, ReturnWeights return_weights) {
  return decode_positions(x, 1, {}, cache, return_weights);
}

DecoderStep DecoderImpl::extend(const torch::Tensor& x, const DecoderCache& cache, ReturnWeights return_weights) {
  TORCH_CHECK_VALUE(x.size(1) > 0, "extend needs at least one position, not x ", x.sizes());
  const int64_t hypotheses = hypotheses_in(cache);
  TORCH_CHECK_VALUE(hypotheses == 0 || hypotheses == x.size(0), "many positions at once are for one hypothesis per ",
                    "sentence, not ", hypotheses, " of ", x.size(0), " sentences");
  return decode_positions(x, x.size(1), causal_mask(x.size(1), x.device(), cache.length), cache, return_weights);
}

DecoderStep DecoderImpl::decode_positions(const torch::Tensor& x, int64_t positions, const torch::Tensor& self_mask,
                                          const DecoderCache& cache, ReturnWeights return_weights) {
  TORCH_CHECK_VALUE(cache.layers.size() == layers_.size(), "the decoder has ", layers_.size(),
                    " layers, but the cache ", cache.layers.size());
  DecoderStep result{x, {{}, cache.source_mask, cache.length + positions}, {}};
  for (size_t i = 0; i < layers_.size(); ++i) {
    DecoderLayerImpl::StepResult layer =
        layers_[i]->step(result.states, cache.layers[i], self_mask, cache.source_mask, return_weights);
    result.states = layer.output;
    result.cache.layers.push_back(std::move(layer.cache));
    if (layer.cross_weights.defined()) result.cross_weights.push_back(layer.cross_weights);
  }
  if (norm_) result.states = norm_(result.states);
  return result;
}

}  // namespace v0
}  // namespace transmute

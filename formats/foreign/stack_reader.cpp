// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/stack_reader.h>

#include <spdlog/fmt/fmt.h>

#include <utility>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

// Copies a LayerNorm's weight and bias [D].
void read_norm(TensorTable& tensors, const std::string& from, const std::string& to, ForeignModel& model) {
  for (const char* part : {".weight", ".bias"})
    model.add(to + part, tensors.take(from + part, {model.options.d_model}));
}

class StackReader {
 public:
  StackReader(TensorTable& tensors, const ForeignStackNames& names, ForeignModel& model)
      : tensors_(tensors), names_(names), model_(model) {}

  void read_layer(const std::string& from, const std::string& to, bool has_cross_attention) {
    const TransformerOptions& o = model_.options;
    attention(from + names_.self_attention, to + "self_attention");
    norm(from + names_.self_attention_norm, to + "self_attention_norm");
    if (has_cross_attention) {
      attention(from + names_.cross_attention, to + "cross_attention");
      norm(from + names_.cross_attention_norm, to + "cross_attention_norm");
    }
    const bool has_bias = names_.has_feed_forward_bias;
    linear(from + names_.inner, to + "feed_forward.inner", {o.d_ff, o.d_model}, has_bias);
    linear(from + names_.outer, to + "feed_forward.outer", {o.d_model, o.d_ff}, has_bias);
    if (!has_bias) {
      model_.add(to + "feed_forward.inner.bias", Array::zeros({o.d_ff}));
      model_.add(to + "feed_forward.outer.bias", Array::zeros({o.d_model}));
    }
    norm(from + names_.feed_forward_norm, to + "feed_forward_norm");
  }

 private:
  void norm(const std::string& from, const std::string& to) { read_norm(tensors_, from, to, model_); }

  void attention(const std::string& from, const std::string& to) {
    const int64_t d = model_.options.d_model;
    for (const auto& [theirs, ours] :
         {std::pair{names_.query, "query"}, {names_.key, "key"}, {names_.value, "value"}, {names_.output, "output"}}) {
      linear(fmt::format("{}.{}", from, theirs), fmt::format("{}.{}", to, ours), {d, d}, model_.options.attention_bias);
    }
  }

  void linear(const std::string& from, const std::string& to, const std::vector<int64_t>& shape, bool has_bias) {
    model_.add(to + ".weight", tensors_.take(from + ".weight", shape));
    if (has_bias) model_.add(to + ".bias", tensors_.take(from + ".bias", {shape.front()}));
  }

  TensorTable& tensors_;
  const ForeignStackNames& names_;
  ForeignModel& model_;
};

}  // namespace

ForeignStackNames fairseq_names(const std::string& stack) {
  ForeignStackNames names;
  names.layers = stack + ".layers";
  names.self_attention = "self_attn";
  names.self_attention_norm = "self_attn_layer_norm";
  names.cross_attention = "encoder_attn";
  names.cross_attention_norm = "encoder_attn_layer_norm";
  names.query = "q_proj";
  names.key = "k_proj";
  names.value = "v_proj";
  names.output = "out_proj";
  names.inner = "fc1";
  names.outer = "fc2";
  names.feed_forward_norm = "final_layer_norm";
  names.norm = stack + ".layer_norm";
  names.embedding_norm = stack + ".layernorm_embedding";
  return names;
}

void read_stack(TensorTable& tensors, const ForeignStackNames& names, const std::string& stack, ForeignModel& model) {
  const bool is_decoder = stack == "decoder";
  const int64_t layers = is_decoder ? model.options.num_decoder_layers : model.options.num_encoder_layers;
  StackReader reader(tensors, names, model);
  for (int64_t i = 0; i < layers; ++i)
    reader.read_layer(fmt::format("{}.{}.", names.layers, i), fmt::format("{}.layers.{}.", stack, i), is_decoder);
  if (model.options.norm_position == NormPosition::pre) read_norm(tensors, names.norm, stack + ".norm", model);
  if (model.options.embedding_norm)
    read_norm(tensors, names.embedding_norm, is_decoder ? "target_embedding_norm" : "source_embedding_norm", model);
}

EmbeddingTying tying_of(const ForeignTable& source, const ForeignTable& target, const Array& output) {
  if (!output.equals(target.weight)) return EmbeddingTying::none;
  const bool is_one = source.renumbering.table.pieces == target.renumbering.table.pieces &&
                      source.renumbering.numbers == target.renumbering.numbers && source.weight.equals(target.weight);
  return is_one ? EmbeddingTying::all : EmbeddingTying::target_output;
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/writers.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/formats/foreign/outgoing_model.h>
#include <transmute/network/weight_names.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

constexpr double kMarianNormEpsilon = 1e-5;  // torch.nn.LayerNorm's
constexpr int64_t kMostLength = 512;         // of a text, in tokens; the tokenizer cuts off the rest

// Dimensions of a weight that are those of the residual stream, whose numbers may change places.
enum class Stream { none, inputs, outputs };

// MarianMT has one vocabulary where it has one table of embeddings, and else two.
bool shares_all(const LoadedModel& model) {
  return model.options.embedding_tying == EmbeddingTying::all && has_one_vocabulary(model.tokenizer);
}

// The parameters under Transformers' names.
class MarianMtWeights {
 public:
  MarianMtWeights(const LoadedModel& model, Precision precision)
      : weights_(model.weights),
        options_(model.options),
        precision_(precision),
        names_(model.options),
        shares_all_(shares_all(model)) {
    if (options_.sinusoids.layout != PositionLayout::interleaved) return;
    for (const int64_t parity : {0, 1})
      for (int64_t i = parity; i < options_.d_model; i += 2) places_.push_back(i);
  }

  NamedArrays all() {
    add_tables();
    add_stack("encoder", names_.encoder);
    add_stack("decoder", names_.decoder);
    return std::move(arrays_);
  }

 private:
  void add_tables() {
    if (shares_all_) {
      add("model.shared.weight", weights_.float32(names_.target_embedding), Stream::inputs);
    } else {
      add("model.encoder.embed_tokens.weight", weights_.float32(names_.source_embedding), Stream::inputs);
      add("model.decoder.embed_tokens.weight", weights_.float32(names_.target_embedding), Stream::inputs);
    }
    if (options_.embedding_tying == EmbeddingTying::none)
      add("lm_head.weight", weights_.float32(names_.output.weight), Stream::inputs);
    const int64_t pieces = options_.target_vocab_size;
    const Array bias = options_.output_bias ? weights_.float32(names_.output.bias) : Array::zeros({pieces});
    add("final_logits_bias", bias.reshaped({1, pieces}), Stream::none);
  }

  void add_stack(const std::string& stack, const StackNames& from) {
    for (size_t i = 0; i < from.layers.size(); ++i) {
      const LayerNames& layer = from.layers[i];
      const std::string to = fmt::format("model.{}.layers.{}.", stack, i);
      attention(to + "self_attn", layer.self_attention);
      if (stack == "decoder") attention(to + "encoder_attn", layer.cross_attention);
      linear(to + "fc1", layer.feed_forward.inner, Stream::inputs);
      linear(to + "fc2", layer.feed_forward.outer, Stream::outputs);
      norm(to + "final_layer_norm", layer.feed_forward.norm);
    }
  }

  void attention(const std::string& to, const AttentionNames& from) {
    linear(to + ".q_proj", from.query, Stream::inputs);
    linear(to + ".k_proj", from.key, Stream::inputs);
    linear(to + ".v_proj", from.value, Stream::inputs);
    linear(to + ".out_proj", from.output, Stream::outputs);
    norm(to + "_layer_norm", from.norm);
  }
  void linear(const std::string& to, const LinearNames& from, Stream stream) {
    const Array weight = weights_.float32(from.weight);
    const int64_t outputs = weight.size(0);
    add(to + ".weight", weight, stream);
    add(to + ".bias", from.bias.empty() ? Array::zeros({outputs}) : weights_.float32(from.bias),
        stream == Stream::outputs ? stream : Stream::none);
  }
  void norm(const std::string& to, const NormNames& from) {
    add(to + ".weight", weights_.float32(from.weight), Stream::outputs);
    add(to + ".bias", weights_.float32(from.bias), Stream::outputs);
  }

  void add(const std::string& name, const Array& values, Stream stream) {
    Array placed = values;
    if (!places_.empty() && stream == Stream::outputs) placed = values.gathered(places_);
    if (!places_.empty() && stream == Stream::inputs) placed = values.transposed().gathered(places_).transposed();
    if (precision_ == Precision::bfloat16) placed = rounded(placed, NumberType::bfloat16);
    if (precision_ == Precision::half) placed = rounded(placed, NumberType::float16);
    arrays_.emplace_back(name, std::move(placed));
  }

  const Weights& weights_;
  const TransformerOptions& options_;
  const Precision precision_;
  const WeightNames names_;
  const bool shares_all_;
  std::vector<int64_t> places_;  // of ours in their order; empty if it is the same
  NamedArrays arrays_;
};

const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return "relu";
    case Activation::swish:
      return "swish";
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu_new";
    case Activation::gelu_sigmoid:
      break;
  }
  return "quick_gelu";
}

void write_config(const LoadedModel& model, Precision precision, const std::string& folder) {
  const TransformerOptions& o = model.options;
  const char* type = precision == Precision::bfloat16 ? "bfloat16"
                     : precision == Precision::half   ? "float16"
                                                      : "float32";
  write_json(folder, "config.json",
             {{"architectures", {"MarianMTModel"}},
              {"model_type", "marian"},
              {"is_encoder_decoder", true},
              {"vocab_size", o.source_vocab_size},
              {"decoder_vocab_size", o.target_vocab_size},
              {"d_model", o.d_model},
              {"encoder_layers", o.num_encoder_layers},
              {"decoder_layers", o.num_decoder_layers},
              {"encoder_attention_heads", o.num_heads},
              {"decoder_attention_heads", o.num_heads},
              {"encoder_ffn_dim", o.d_ff},
              {"decoder_ffn_dim", o.d_ff},
              {"activation_function", name_of(o.activation)},
              {"dropout", o.dropout},
              {"attention_dropout", o.attention_dropout},
              {"activation_dropout", o.activation_dropout},
              {"max_position_embeddings", std::max(o.max_positions, kMostLength)},
              {"scale_embedding", o.embedding_scale},
              {"static_position_embeddings", true},
              {"share_encoder_decoder_embeddings", shares_all(model)},
              {"tie_word_embeddings", o.embedding_tying != EmbeddingTying::none},
              {"pad_token_id", special_ids::kPad},
              {"bos_token_id", special_ids::kBegin},
              {"eos_token_id", special_ids::kEnd},
              {"decoder_start_token_id", special_ids::kBegin},
              {"torch_dtype", type}});
}

// Padding, unknown and begin are never chosen, as in this project's search.
void write_generation_config(const SearchOptions& search, const std::string& folder) {
  Json never = Json::array();
  for (const int64_t id : {special_ids::kPad, special_ids::kUnknown, special_ids::kBegin})
    never.push_back(Json::array({id}));
  write_json(folder, "generation_config.json",
             {{"num_beams", search.beam_size},
              {"length_penalty", search.length_alpha},
              {"no_repeat_ngram_size", search.no_repeat_ngram},
              {"repetition_penalty", search.repetition_penalty},
              {"max_length", kMostLength},
              {"bad_words_ids", never},
              {"pad_token_id", special_ids::kPad},
              {"bos_token_id", special_ids::kBegin},
              {"eos_token_id", special_ids::kEnd},
              {"decoder_start_token_id", special_ids::kBegin}});
}

void write_tokenizer(const LoadedModel& model, const ModelFacts& facts, const std::string& folder) {
  const Tokenizer& tokenizer = model.tokenizer;
  const auto write_vocabulary = [&](const std::string& name, const SubwordModel& subwords) {
    std::map<std::string, int64_t> numbers;
    for (std::string& piece : pieces_by_id(subwords)) numbers.emplace(std::move(piece), numbers.size());
    write_file_atomically(path_in(folder, name), nlohmann::json(numbers).dump(0) + "\n");
  };
  write_vocabulary("vocab.json", tokenizer.source());
  if (!shares_all(model)) write_vocabulary("target_vocab.json", tokenizer.target());
  write_sentencepiece_models(tokenizer, folder);
  Json config{{"tokenizer_class", "MarianTokenizer"},
              {"separate_vocabs", !shares_all(model)},
              {"model_max_length", kMostLength},
              {"unk_token", "<unk>"},
              {"eos_token", "</s>"},
              {"pad_token", "<pad>"}};
  if (!facts.source_language.empty()) config["source_lang"] = facts.source_language;
  if (!facts.target_language.empty()) config["target_lang"] = facts.target_language;
  write_json(folder, "tokenizer_config.json", config);
}

void require_marian_mt(const LoadedModel& model) {
  const TransformerOptions& o = model.options;
  require_expressible(model, "MarianMT",
                      {{"norm_position", o.norm_position != NormPosition::pre},
                       {"decoder_self_attention", o.decoder_self_attention == DecoderSelfAttention::attention},
                       {"positional_encoding", o.positional_encoding == PositionalEncodingKind::sinusoidal},
                       {"position_frequencies", o.sinusoids.frequencies == PositionFrequencies::paper},
                       {"first_position", o.sinusoids.first_position == 0},
                       {"embedding_norm", !o.embedding_norm},
                       {"source_begin", !o.source_begin},
                       {"source_end", o.source_end}});
  require_sentencepiece(model.tokenizer.source(), "MarianMT");
  require_sentencepiece(model.tokenizer.target(), "MarianMT");
}

std::vector<std::string> deviations(const LoadedModel& model) {
  std::vector<std::string> sentences;
  if (model.options.norm_epsilon != kMarianNormEpsilon)
    sentences.push_back(fmt::format("MarianMT's norms add {} to the variance; this model's add {} (model.norm_epsilon)",
                                    kMarianNormEpsilon, model.options.norm_epsilon));
  if (model.search.length_penalty == LengthPenalty::paper && model.search.beam_size > 1)
    sentences.push_back(fmt::format(
        "Transformers divides scores by length^{0}, not by ((5 + length) / 6)^{0} as search.length_penalty: paper does",
        model.search.length_alpha));
  return sentences;
}

}  // namespace

std::vector<std::string> save_hugging_face_folder(const LoadedModel& given, Precision precision,
                                                  const std::string& folder, const ModelFacts& facts) {
  if (precision == Precision::int8)
    throw std::invalid_argument("models for Transformers are written in float32, bfloat16 or half, not int8");
  require_marian_mt(given);
  const LoadedModel model = without_residual_scales(given);
  write_tensor_file(path_in(folder, kNeutralWeightsFile), MarianMtWeights(model, precision).all());
  write_config(model, precision, folder);
  write_generation_config(model.search, folder);
  write_tokenizer(model, facts, folder);
  write_file_atomically(path_in(folder, "README.md"), model_card(model, precision, facts, hugging_face_usage()));
  return deviations(model);
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/network/options.h>

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

void require(bool holds, const std::string& message) {
  if (!holds) throw std::invalid_argument(message);
}

// Far beyond what anybody trains, and low enough that no product of sizes overflows: 1,000 layers of 2^48 parameters
// are fewer than 2^59.
constexpr int64_t kMostLayers = 1000;
constexpr int64_t kMostWidth = int64_t{1} << 20;
constexpr int64_t kMostRows = int64_t{1} << 24;  // rows of embeddings and positions, and all heads together

void require_size(int64_t value, int64_t most, const char* name) {
  require(value > 0, fmt::format("model.{} must be at least 1, not {}", name, value));
  require(value <= most, fmt::format("model.{} must be at most {}, not {}", name, most, value));
}

void require_probability(double value, const char* name) {
  require(value >= 0 && value < 1, fmt::format("model.{} must lie in [0, 1), not {}", name, value));
}

}  // namespace

TransformerOptions validated(TransformerOptions o) {
  const bool decoder_only = o.architecture == Architecture::decoder_only;
  require_size(o.target_vocab_size, kMostRows, "target_vocab_size");
  if (decoder_only) {
    o.num_encoder_layers = 0;
    o.source_vocab_size = o.target_vocab_size;
    if (o.embedding_tying == EmbeddingTying::target_output) o.embedding_tying = EmbeddingTying::all;
    require(
        o.decoder_self_attention == DecoderSelfAttention::attention,
        "model.decoder_self_attention ssru is for translation models (model.architecture: encoder_decoder), not for "
        "decoder_only");
  } else {
    require_size(o.source_vocab_size, kMostRows, "source_vocab_size");
    require_size(o.num_encoder_layers, kMostLayers, "num_encoder_layers");
  }
  require_size(o.num_decoder_layers, kMostLayers, "num_decoder_layers");
  require_size(o.d_model, kMostWidth, "d_model");
  require_size(o.num_heads, kMostWidth, "num_heads");
  require_size(o.d_ff, kMostWidth, "d_ff");
  require_size(o.max_positions, kMostRows, "max_positions");
  require_probability(o.dropout, "dropout");
  require_probability(o.attention_dropout, "attention_dropout");
  require_probability(o.activation_dropout, "activation_dropout");
  require(o.padding_id >= 0 && o.padding_id < std::min(o.source_vocab_size, o.target_vocab_size),
          fmt::format("padding_id {} is outside the vocabularies of {} and {} pieces", o.padding_id,
                      o.source_vocab_size, o.target_vocab_size));
  require(!o.source_begin || (o.begin_id >= 0 && o.begin_id < o.source_vocab_size),
          fmt::format("begin_id {} is outside the source vocabulary of {} pieces", o.begin_id, o.source_vocab_size));
  require(o.source_end || (o.end_id >= 0 && o.end_id < o.source_vocab_size),
          fmt::format("end_id {} is outside the source vocabulary of {} pieces", o.end_id, o.source_vocab_size));
  require(o.norm_epsilon > 0 && std::isfinite(o.norm_epsilon),
          fmt::format("model.norm_epsilon must be positive and finite, not {}", o.norm_epsilon));
  require(o.d_k >= 0 && o.d_v >= 0, "model.d_k and model.d_v must not be negative (0 means d_model / num_heads)");
  if (o.d_k == 0 || o.d_v == 0)
    require(o.d_model % o.num_heads == 0,
            fmt::format("model.d_model {} is not a multiple of model.num_heads {}; change one of them, or give "
                        "model.d_k and model.d_v",
                        o.d_model, o.num_heads));
  if (o.d_k == 0) o.d_k = o.d_model / o.num_heads;
  if (o.d_v == 0) o.d_v = o.d_model / o.num_heads;
  for (const auto& [width, name] : {std::pair{o.d_k, "d_k"}, std::pair{o.d_v, "d_v"}}) {
    require_size(width, kMostWidth, name);
    require(o.num_heads * width <= kMostRows, fmt::format("model.num_heads {} times model.{} {} must be at most {}",
                                                          o.num_heads, name, width, kMostRows));
  }
  require(o.positional_encoding != PositionalEncodingKind::sinusoidal || o.d_model % 2 == 0,
          fmt::format("model.d_model {} must be even for sinusoidal positions: each frequency takes a sine and a "
                      "cosine",
                      o.d_model));
  require(o.sinusoids.first_position >= 0 && o.sinusoids.first_position <= kMostRows,
          fmt::format("model.first_position must lie in [0, {}], not {}", kMostRows, o.sinusoids.first_position));
  require(
      o.positional_encoding != PositionalEncodingKind::sinusoidal ||
          o.sinusoids.frequencies != PositionFrequencies::tensor2tensor || o.d_model >= 4,
      fmt::format("model.position_frequencies tensor2tensor needs a model.d_model of at least 4, not {}", o.d_model));
  require(o.embedding_tying != EmbeddingTying::all || o.source_vocab_size == o.target_vocab_size,
          fmt::format("model.embedding_tying all needs one vocabulary for both languages, but they have {} and {} "
                      "pieces; set tokenizer.vocabulary: shared, or model.embedding_tying: target_output",
                      o.source_vocab_size, o.target_vocab_size));
  return o;
}

double residual_scale(const TransformerOptions& o, Stack stack) {
  if (o.norm_position != NormPosition::deep) return 1.0;
  const auto n = static_cast<double>(o.num_encoder_layers);
  const auto m = static_cast<double>(o.num_decoder_layers);
  if (o.architecture == Architecture::decoder_only) return std::pow(2 * m, 0.25);
  return stack == Stack::encoder ? 0.81 * std::pow(std::pow(n, 4) * m, 1.0 / 16) : std::pow(3 * m, 0.25);
}

double embedding_scale(const TransformerOptions& o) {
  return o.embedding_scale ? std::sqrt(static_cast<double>(o.d_model)) : 1.0;
}

double score_scale(ScoreFunction function, int64_t d_k) {
  return function == ScoreFunction::dot_product ? 1.0 : 1.0 / std::sqrt(static_cast<double>(d_k));
}

double branch_gain(const TransformerOptions& o, Stack stack) {
  if (o.initialization != Initialization::scaled) return 1.0;
  const auto n = static_cast<double>(o.num_encoder_layers);
  const auto m = static_cast<double>(o.num_decoder_layers);
  if (o.architecture == Architecture::decoder_only) return std::pow(8 * m, -0.25);
  return stack == Stack::encoder ? 0.87 * std::pow(std::pow(n, 4) * m, -1.0 / 16) : std::pow(12 * m, -0.25);
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/tests/support/reference.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace transmute::reference {

namespace {

double dot(const Matrix& a, int64_t row_a, const Matrix& b, int64_t row_b) {
  if (a.columns != b.columns) throw std::logic_error("reference: rows of different widths");
  double sum = 0;
  for (int64_t i = 0; i < a.columns; ++i) sum += a(row_a, i) * b(row_b, i);
  return sum;
}

Matrix columns_of(const Matrix& matrix, int64_t first, int64_t count) {
  Matrix part(matrix.rows, count);
  for (int64_t r = 0; r < matrix.rows; ++r)
    for (int64_t c = 0; c < count; ++c) part(r, c) = matrix(r, first + c);
  return part;
}

void append_rows(Matrix& matrix, const Matrix& more) {
  matrix.rows += more.rows;
  matrix.values.insert(matrix.values.end(), more.values.begin(), more.values.end());
}

double additive_score(const Matrix& query, int64_t t, const Matrix& key, int64_t s, const Weights& weights,
                      const std::string& prefix, int64_t head) {
  const Matrix& w = weights.at(prefix + "score_weight");
  const int64_t width = w.columns;
  double score = 0;
  for (int64_t a = 0; a < width; ++a) {
    const int64_t row = head * width + a;
    const double hidden =
        dot(weights.at(prefix + "query_weight"), row, query, t) + dot(weights.at(prefix + "key_weight"), row, key, s);
    score += w(head, a) * std::tanh(hidden);
  }
  return score;
}

double bilinear_score(const Matrix& query, int64_t t, const Matrix& key, int64_t s, const Matrix& weight,
                      int64_t head) {
  double score = 0;
  for (int64_t i = 0; i < query.columns; ++i)
    for (int64_t j = 0; j < key.columns; ++j) score += query(t, i) * weight(head * query.columns + i, j) * key(s, j);
  return score;
}

// Empty where there is none.
Matrix bias_of(const Weights& weights, const std::string& name) {
  const auto found = weights.find(name);
  return found == weights.end() ? Matrix() : found->second;
}

double activated(Activation activation, double x) {
  const double pi = std::acos(-1.0);
  switch (activation) {
    case Activation::relu:
      return std::max(0.0, x);
    case Activation::swish:
      return x / (1 + std::exp(-x));
    case Activation::gelu:
      return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * std::pow(x, 3))));
    case Activation::gelu_sigmoid:
      break;
  }
  return x / (1 + std::exp(-1.702 * x));
}

// One element of a sinusoidal encoding that is laid out or spaced otherwise than the paper's.
double other_sinusoid(const Sinusoids& sinusoids, int64_t place, int64_t dimension, int64_t d_model) {
  const int64_t pairs = d_model / 2;
  const bool halves = sinusoids.layout == PositionLayout::halves;
  const auto pair = static_cast<double>(halves ? dimension % pairs : dimension / 2);
  const bool is_sine = halves ? dimension < pairs : dimension % 2 == 0;
  const double last = sinusoids.frequencies == PositionFrequencies::tensor2tensor ? pairs - 1 : pairs;
  const double angle =
      static_cast<double>(sinusoids.first_position + place) * std::exp(-std::log(10000.0) * pair / last);
  return is_sine ? std::sin(angle) : std::cos(angle);
}

Matrix embed(const TransformerOptions& options, const Weights& weights, const std::string& side,
             const std::vector<int64_t>& ids, const Dropout& drop) {
  const bool one_table =
      options.embedding_tying == EmbeddingTying::all || options.architecture == Architecture::decoder_only;
  const Matrix& table = weights.at(one_table ? "embedding.weight" : side + "_embedding.weight");
  Matrix x(static_cast<int64_t>(ids.size()), options.d_model);
  for (int64_t t = 0; t < x.rows; ++t)
    for (int64_t i = 0; i < x.columns; ++i) {
      const double position = options.positional_encoding == PositionalEncodingKind::learned
                                  ? weights.at(side + "_positions.weight")(t, i)
                                  : other_sinusoid(options.sinusoids, t, i, options.d_model);
      const double scale = options.embedding_scale ? std::sqrt(static_cast<double>(options.d_model)) : 1;
      x(t, i) = table(ids[t], i) * scale + position;
    }
  if (options.embedding_norm) x = layer_norm(x, weights, side + "_embedding_norm.", options.norm_epsilon);
  if (drop) drop(DropoutSite::embedding, x);
  return x;
}

}  // namespace

Matrix rows_of(const Matrix& matrix, int64_t first, int64_t count) {
  Matrix part(count, matrix.columns);
  std::copy_n(matrix.values.begin() + first * matrix.columns, count * matrix.columns, part.values.begin());
  return part;
}

Matrix linear(const Matrix& x, const Matrix& weight, const Matrix& bias) {
  Matrix y(x.rows, weight.rows);
  for (int64_t r = 0; r < y.rows; ++r)
    for (int64_t c = 0; c < y.columns; ++c)
      y(r, c) = dot(x, r, weight, c) + (bias.values.empty() ? 0.0 : bias.values[c]);
  return y;
}

bool up_to_itself(int64_t query, int64_t key) {
  return key <= query;
}

Matrix scores(ScoreFunction function, const Matrix& query, const Matrix& key, const Weights& weights,
              const std::string& prefix, int64_t head) {
  Matrix result(query.rows, key.rows);
  for (int64_t t = 0; t < result.rows; ++t)
    for (int64_t s = 0; s < result.columns; ++s) switch (function) {
        case ScoreFunction::scaled_dot_product:
          result(t, s) = dot(query, t, key, s) / std::sqrt(static_cast<double>(key.columns));
          break;
        case ScoreFunction::dot_product:
          result(t, s) = dot(query, t, key, s);
          break;
        case ScoreFunction::additive:
          result(t, s) = additive_score(query, t, key, s, weights, prefix, head);
          break;
        case ScoreFunction::bilinear:
          result(t, s) = bilinear_score(query, t, key, s, weights.at(prefix + "weight"), head);
          break;
        case ScoreFunction::uniform:
          result(t, s) = 0;
          break;
      }
  return result;
}

Matrix softmax(const Matrix& scores, const MayAttend& may_attend) {
  Matrix weights(scores.rows, scores.columns);
  for (int64_t t = 0; t < scores.rows; ++t) {
    double highest = -std::numeric_limits<double>::infinity();
    for (int64_t s = 0; s < scores.columns; ++s)
      if (may_attend(t, s)) highest = std::max(highest, scores(t, s));
    double sum = 0;
    for (int64_t s = 0; s < scores.columns; ++s)
      if (may_attend(t, s)) sum += weights(t, s) = std::exp(scores(t, s) - highest);
    for (int64_t s = 0; s < scores.columns; ++s)
      if (may_attend(t, s)) weights(t, s) /= sum;
  }
  return weights;
}

Matrix weighted_sum(const Matrix& weights, const Matrix& values) {
  Matrix sums(weights.rows, values.columns);
  for (int64_t t = 0; t < sums.rows; ++t)
    for (int64_t i = 0; i < sums.columns; ++i)
      for (int64_t s = 0; s < weights.columns; ++s) sums(t, i) += weights(t, s) * values(s, i);
  return sums;
}

Attention multi_head_attention(const TransformerOptions& options, const Weights& weights, const std::string& prefix,
                               const Matrix& query, const Matrix& memory, const MayAttend& may_attend,
                               const Dropout& drop) {
  const int64_t heads = options.num_heads;
  const Matrix q = linear(query, weights.at(prefix + "query.weight"), bias_of(weights, prefix + "query.bias"));
  const Matrix k = linear(memory, weights.at(prefix + "key.weight"), bias_of(weights, prefix + "key.bias"));
  const Matrix v = linear(memory, weights.at(prefix + "value.weight"), bias_of(weights, prefix + "value.bias"));
  const int64_t d_k = q.columns / heads;
  const int64_t d_v = v.columns / heads;
  Attention result;
  result.weights = Matrix(0, memory.rows);
  for (int64_t h = 0; h < heads; ++h) {
    const Matrix score = scores(options.score_function, columns_of(q, h * d_k, d_k), columns_of(k, h * d_k, d_k),
                                weights, prefix + "pooling.score.", h);
    append_rows(result.weights, softmax(score, may_attend));
  }
  Matrix used = result.weights;
  if (drop) drop(DropoutSite::attention, used);
  Matrix joined(query.rows, heads * d_v);
  for (int64_t h = 0; h < heads; ++h) {
    const Matrix head = weighted_sum(rows_of(used, h * query.rows, query.rows), columns_of(v, h * d_v, d_v));
    for (int64_t t = 0; t < head.rows; ++t)
      for (int64_t i = 0; i < d_v; ++i) joined(t, h * d_v + i) = head(t, i);
  }
  result.output = linear(joined, weights.at(prefix + "output.weight"), bias_of(weights, prefix + "output.bias"));
  return result;
}

Matrix feed_forward(Activation activation, const Weights& weights, const std::string& prefix, const Matrix& x,
                    const Dropout& drop) {
  Matrix hidden = linear(x, weights.at(prefix + "inner.weight"), weights.at(prefix + "inner.bias"));
  for (double& value : hidden.values) value = activated(activation, value);
  if (drop) drop(DropoutSite::activation, hidden);
  return linear(hidden, weights.at(prefix + "outer.weight"), weights.at(prefix + "outer.bias"));
}

Matrix layer_norm(const Matrix& x, const Weights& weights, const std::string& prefix, double epsilon) {
  const Matrix& gain = weights.at(prefix + "weight");
  const Matrix& bias = weights.at(prefix + "bias");
  const auto width = static_cast<double>(x.columns);
  Matrix y(x.rows, x.columns);
  for (int64_t r = 0; r < x.rows; ++r) {
    double mean = 0;
    for (int64_t i = 0; i < x.columns; ++i) mean += x(r, i) / width;
    double variance = 0;
    for (int64_t i = 0; i < x.columns; ++i) variance += (x(r, i) - mean) * (x(r, i) - mean) / width;
    for (int64_t i = 0; i < x.columns; ++i)
      y(r, i) = (x(r, i) - mean) / std::sqrt(variance + epsilon) * gain.values[i] + bias.values[i];
  }
  return y;
}

// Figure 2 of Wang et al., 2022.
double deep_scale(const TransformerOptions& options, Stack stack) {
  const auto n = static_cast<double>(options.num_encoder_layers);
  const auto m = static_cast<double>(options.num_decoder_layers);
  if (options.architecture == Architecture::decoder_only) return std::sqrt(std::sqrt(2 * m));
  if (stack == Stack::decoder) return std::sqrt(std::sqrt(3 * m));
  return 0.81 * std::exp((4 * std::log(n) + std::log(m)) / 16);
}

Matrix residual_norm(const TransformerOptions& options, const Weights& weights, const std::string& prefix, Stack stack,
                     const Matrix& x, const Sublayer& layer, const Dropout& drop) {
  const bool pre = options.norm_position == NormPosition::pre;
  const double scale = options.norm_position == NormPosition::deep ? deep_scale(options, stack) : 1.0;
  Matrix added = layer(pre ? layer_norm(x, weights, prefix, options.norm_epsilon) : x);
  if (drop) drop(DropoutSite::sublayer, added);
  for (size_t i = 0; i < added.values.size(); ++i) added.values[i] += scale * x.values[i];
  return pre ? added : layer_norm(added, weights, prefix, options.norm_epsilon);
}

double sinusoid(int64_t position, int64_t dimension, int64_t d_model) {
  const double two_i = static_cast<double>(dimension - dimension % 2);
  const double angle = static_cast<double>(position) / std::pow(10000.0, two_i / static_cast<double>(d_model));
  return dimension % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

Matrix encoder_layer(const TransformerOptions& options, const Weights& weights, const std::string& prefix,
                     const Matrix& x, const MayAttend& may_attend, const Dropout& drop) {
  const Matrix attended = residual_norm(
      options, weights, prefix + "self_attention_norm.", Stack::encoder, x,
      [&](const Matrix& input) {
        return multi_head_attention(options, weights, prefix + "self_attention.", input, input, may_attend, drop)
            .output;
      },
      drop);
  return residual_norm(
      options, weights, prefix + "feed_forward_norm.", Stack::encoder, attended,
      [&](const Matrix& input) {
        return feed_forward(options.activation, weights, prefix + "feed_forward.", input, drop);
      },
      drop);
}

// Kim et al., 2019, section 3.1.
static Matrix ssru(const Weights& weights, const std::string& prefix, const Matrix& x) {
  const Matrix input = linear(x, weights.at(prefix + "input.weight"));
  const Matrix gate = linear(x, weights.at(prefix + "forget.weight"), weights.at(prefix + "forget.bias"));
  Matrix output(x.rows, x.columns);
  for (int64_t i = 0; i < x.columns; ++i) {
    double cell = 0;
    for (int64_t t = 0; t < x.rows; ++t) {
      const double forget = 1 / (1 + std::exp(-gate(t, i)));
      cell = forget * cell + (1 - forget) * input(t, i);
      output(t, i) = std::max(cell, 0.0);
    }
  }
  return output;
}

Matrix decoder_layer(const TransformerOptions& options, const Weights& weights, const std::string& prefix,
                     const Matrix& x, const Matrix& memory, const MayAttend& may_attend_memory, const Dropout& drop) {
  const Matrix past = residual_norm(
      options, weights, prefix + "self_attention_norm.", Stack::decoder, x,
      [&](const Matrix& input) {
        if (options.decoder_self_attention == DecoderSelfAttention::ssru) return ssru(weights, prefix + "ssru.", input);
        return multi_head_attention(options, weights, prefix + "self_attention.", input, input, up_to_itself, drop)
            .output;
      },
      drop);
  const Matrix informed = residual_norm(
      options, weights, prefix + "cross_attention_norm.", Stack::decoder, past,
      [&](const Matrix& input) {
        return multi_head_attention(options, weights, prefix + "cross_attention.", input, memory, may_attend_memory,
                                    drop)
            .output;
      },
      drop);
  return residual_norm(
      options, weights, prefix + "feed_forward_norm.", Stack::decoder, informed,
      [&](const Matrix& input) {
        return feed_forward(options.activation, weights, prefix + "feed_forward.", input, drop);
      },
      drop);
}

Matrix transformer(const TransformerOptions& options, const Weights& weights, const std::vector<int64_t>& source,
                   const std::vector<int64_t>& target_in, const Dropout& drop) {
  const bool pre = options.norm_position == NormPosition::pre;
  const MayAttend to_words = [&](int64_t, int64_t key) { return source[key] != options.padding_id; };
  Matrix memory = embed(options, weights, "source", source, drop);
  for (int64_t i = 0; i < options.num_encoder_layers; ++i)
    memory = encoder_layer(options, weights, "encoder.layers." + std::to_string(i) + ".", memory, to_words, drop);
  if (pre) memory = layer_norm(memory, weights, "encoder.norm.", options.norm_epsilon);

  Matrix states = embed(options, weights, "target", target_in, drop);
  for (int64_t i = 0; i < options.num_decoder_layers; ++i)
    states =
        decoder_layer(options, weights, "decoder.layers." + std::to_string(i) + ".", states, memory, to_words, drop);
  if (pre) states = layer_norm(states, weights, "decoder.norm.", options.norm_epsilon);

  const Matrix bias = bias_of(weights, "output_bias");
  switch (options.embedding_tying) {
    case EmbeddingTying::all:
      return linear(states, weights.at("embedding.weight"), bias);
    case EmbeddingTying::target_output:
      return linear(states, weights.at("target_embedding.weight"), bias);
    case EmbeddingTying::none:
      break;
  }
  return linear(states, weights.at("output.weight"), bias);
}

Matrix language_model(const TransformerOptions& options, const Weights& weights, const std::vector<int64_t>& ids,
                      const Dropout& drop) {
  Matrix states = embed(options, weights, "target", ids, drop);
  for (int64_t i = 0; i < options.num_decoder_layers; ++i)
    states = encoder_layer(options, weights, "decoder.layers." + std::to_string(i) + ".", states, up_to_itself, drop);
  if (options.norm_position == NormPosition::pre)
    states = layer_norm(states, weights, "decoder.norm.", options.norm_epsilon);
  const bool tied = options.embedding_tying != EmbeddingTying::none;
  return linear(states, weights.at(tied ? "embedding.weight" : "output.weight"), bias_of(weights, "output_bias"));
}

double smoothed_cross_entropy(const Matrix& logits, const std::vector<int64_t>& targets, double smoothing,
                              int64_t padding_id) {
  double sum = 0;
  for (int64_t n = 0; n < logits.rows; ++n) {
    if (targets[n] == padding_id) continue;
    double highest = logits(n, 0);
    for (int64_t v = 1; v < logits.columns; ++v) highest = std::max(highest, logits(n, v));
    double normalizer = 0;
    for (int64_t v = 0; v < logits.columns; ++v) normalizer += std::exp(logits(n, v) - highest);
    for (int64_t v = 0; v < logits.columns; ++v) {
      const double log_probability = logits(n, v) - highest - std::log(normalizer);
      const double target = (v == targets[n] ? 1 - smoothing : 0) + smoothing / static_cast<double>(logits.columns);
      sum -= target * log_probability;
    }
  }
  return sum;
}

}  // namespace transmute::reference

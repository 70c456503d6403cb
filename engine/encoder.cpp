// SPDX-License-Identifier: Apache-2.0
#include <transmute/engine/encoder.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/kernels/cpu/row_kernels.h>
#include <transmute/tokenizer/special_ids.h>

#include <algorithm>
#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace inference {

namespace {

// Source tokens that are encoded together: enough for the products, few enough that their states stay in the cache.
constexpr int64_t kEncoderRows = 256;

// Neighboring sources that are encoded together.
struct SourceGroup {
  const SourceSpan* begin;
  const SourceSpan* end;
  int64_t longest;  // longest of all sources

  int64_t first_row() const { return begin->first_row; }
  int64_t rows() const { return (end - 1)->first_row + (end - 1)->length - first_row(); }
};

// The number of begin tokens before each source.
int64_t begins(const Network& n) {
  return n.options.source_begin ? 1 : 0;
}

std::vector<SourceSpan> spans_of(const Network& n, const std::vector<Ids>& sources) {
  std::vector<SourceSpan> spans;
  SourceSpan next;
  for (const auto& source : sources) {
    const auto tokens = static_cast<int64_t>(source.size());
    next.length = begins(n) + tokens;
    if (n.options.source_end || next.length == 0) ++next.length;
    n.source_positions.check(next.length - 1);
    spans.push_back(next);
    next.first_row += next.length;
    next.first_key += padded_keys(next.length) * n.keys_width();
  }
  return spans;
}

// The states before the first layer, [rows,D].
float* embed(const Network& n, Workspace& w, const SourceGroup& group, const Ids* sources) {
  const int64_t d_model = n.options.d_model;
  float* const x = w.states.at_least(group.rows() * d_model);
  float* to = x;
  for (const SourceSpan* span = group.begin; span != group.end; ++span, ++sources)
    for (int64_t i = 0; i < span->length; ++i, to += d_model) {
      const int64_t token = i - begins(n);
      const int64_t id = token < 0                                        ? special_ids::kBegin
                         : token == static_cast<int64_t>(sources->size()) ? special_ids::kEnd
                                                                          : (*sources)[static_cast<size_t>(token)];
      n.source_positions.add(i, embedding_row(n.source_embedding, id), n.embedding_scale, to);
    }
  n.normalize_embeddings(n.source_embedding_norm, x, group.rows());
  return x;
}

// projected: queries, keys and values, [rows,projected width]. context: [rows,values width].
void attend_to_source(const Network& n, Workspace& w, const SourceGroup& group, const float* projected,
                      float* context) {
  const TransformerOptions& o = n.options;
  const int64_t width = n.projected_width();
  float* keys = w.weights.at_least(padded_keys(group.longest) * (o.d_k + group.longest));
  float* weights = keys + o.d_k * padded_keys(group.longest);
  for (const SourceSpan* span = group.begin; span != group.end; ++span)
    for (int64_t head = 0; head < o.num_heads; ++head) {
      const int64_t row = span->first_row - group.first_row();
      const float* first = projected + row * width;
      transpose_keys(first + n.keys_width() + head * o.d_k, width, span->length, o.d_k, keys);
      AttendArguments<float> a;
      a.queries = first + head * o.d_k;
      a.query_stride = width;
      a.rows = span->length;
      a.transposed_keys = keys;
      a.values = first + 2 * n.keys_width() + head * o.d_v;
      a.value_stride = width;
      a.count = span->length;
      a.outputs = context + row * n.values_width() + head * o.d_v;
      a.output_stride = n.values_width();
      attend(n.shape, a, weights);
    }
}

// x: [rows,D], in place.
void encode_layer(const Network& n, Workspace& w, const EncoderLayerWeights& layer, const SourceGroup& group,
                  float* x) {
  const int64_t rows = group.rows();
  float* projected = w.projected.at_least(rows * n.projected_width());
  layer.query_key_value.apply(n.sublayer_input(layer.attention_norm, x, rows, w), rows, projected, {}, w.scratch);
  float* context = w.context.at_least(rows * n.values_width());
  attend_to_source(n, w, group, projected, context);
  n.scale_residual(layer.attention_norm, x, rows);
  layer.output.apply(context, rows, x, {x, false}, w.scratch);
  n.end_sublayer(layer.attention_norm, x, rows);
  const Norm& norm = layer.feed_forward.norm;
  n.feed_forward(layer.feed_forward, n.sublayer_input(norm, x, rows, w), x, rows, w);
  n.end_sublayer(norm, x, rows);
}

// memory: the encoder's output, [rows,D].
template <class Number>
void keep_keys_and_values(const Network& n, Workspace& w, const SourceGroup& group, const float* memory,
                          CacheMemory<Number>& cache) {
  const TransformerOptions& o = n.options;
  const int64_t rows = group.rows();
  for (size_t i = 0; i < n.decoder.size(); ++i) {
    float* projected = w.projected.at_least(rows * n.projected_width());
    n.decoder[i].cross.key.apply(memory, rows, projected, {}, w.scratch);
    for (const SourceSpan* span = group.begin; span != group.end; ++span) {
      const int64_t padded = padded_keys(span->length);
      for (int64_t head = 0; head < o.num_heads; ++head)
        transpose_keys(projected + (span->first_row - group.first_row()) * n.keys_width() + head * o.d_k,
                       n.keys_width(), span->length, o.d_k,
                       cache.cross_keys[i].data() + span->first_key + head * o.d_k * padded);
    }
    n.decoder[i].cross.value.apply(memory, rows, projected, {}, w.scratch);
    convert(projected, rows * n.values_width(), cache.cross_values[i].data() + group.first_row() * n.values_width());
  }
}

// Calls `use` with the states that the encoder has for each group of sources, [rows,D].
template <class Use>
void encode_groups(const Network& network, Workspace& workspace, const std::vector<SourceSpan>& spans,
                   const std::vector<Ids>& sources, const Use& use) {
  int64_t longest = 0;
  for (const SourceSpan& span : spans) longest = std::max(longest, span.length);
  for (size_t begin = 0; begin < spans.size();) {
    size_t end = begin;
    for (int64_t count = 0; end < spans.size() && count < kEncoderRows; ++end) count += spans[end].length;
    const SourceGroup group{spans.data() + begin, spans.data() + end, longest};
    float* x = embed(network, workspace, group, sources.data() + begin);
    for (const auto& layer : network.encoder) encode_layer(network, workspace, layer, group, x);
    if (network.norm_first()) network.normalize(network.encoder_norm, x, group.rows(), x);
    use(group, x);
    begin = end;
  }
}

}  // namespace

const float* embedding_row(const Array& table, int64_t id) {
  if (id < 0 || id >= table.size(0))
    throw std::out_of_range(fmt::format("id {} is not in the vocabulary of {}", id, table.size(0)));
  return table.floats() + id * table.size(1);
}

template <class Number>
std::vector<SourceSpan> encode_sources(const Network& network, Workspace& workspace, CacheMemory<Number>& cache,
                                       const std::vector<Ids>& sources) {
  const std::vector<SourceSpan> spans = spans_of(network, sources);
  cache.cross_keys.resize(network.decoder.size());
  cache.cross_values.resize(network.decoder.size());
  const SourceSpan last = spans.empty() ? SourceSpan() : spans.back();
  for (size_t i = 0; i < network.decoder.size(); ++i) {
    cache.cross_keys[i].at_least(last.first_key + padded_keys(last.length) * network.keys_width());
    cache.cross_values[i].at_least((last.first_row + last.length) * network.values_width());
  }
  encode_groups(network, workspace, spans, sources, [&](const SourceGroup& group, const float* states) {
    keep_keys_and_values(network, workspace, group, states, cache);
  });
  return spans;
}

template std::vector<SourceSpan> encode_sources(const Network&, Workspace&, CacheMemory<float>&,
                                                const std::vector<Ids>&);
template std::vector<SourceSpan> encode_sources(const Network&, Workspace&, CacheMemory<uint16_t>&,
                                                const std::vector<Ids>&);

std::vector<std::vector<float>> encode_states(const Network& network, Workspace& workspace,
                                              const std::vector<Ids>& sources) {
  std::vector<std::vector<float>> all;
  encode_groups(network, workspace, spans_of(network, sources), sources,
                [&](const SourceGroup& group, const float* states) {
                  for (const SourceSpan* span = group.begin; span != group.end; ++span) {
                    const float* first = states + (span->first_row - group.first_row()) * network.options.d_model;
                    all.emplace_back(first + begins(network) * network.options.d_model,
                                     first + span->length * network.options.d_model);
                  }
                });
  return all;
}

}  // namespace inference
}  // namespace v0
}  // namespace transmute

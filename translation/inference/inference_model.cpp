#include <spdlog/fmt/fmt.h>
#include <transmute/common/aligned_buffer.h>
#include <transmute/model/libtorch.h>
#include <transmute/translation/files/int8_weights.h>
#include <transmute/translation/inference/inference_model.h>
#include <transmute/translation/inference/packed_linear.h>
#include <transmute/translation/inference/row_kernels.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

using inference::AttendArguments;
using inference::AttendScatteredArguments;
using inference::CachedToken;
using inference::Epilogue;
using inference::HeadShape;
using inference::Instructions;
using inference::PackedLinear;
using inference::padded_keys;
using inference::ProductScratch;
using inference::Rows;

namespace {

using Tensors = torch::OrderedDict<std::string, torch::Tensor>;

torch::Tensor as_float(const torch::Tensor& tensor) {
  return tensor.detach().to(torch::kCPU, torch::kFloat).contiguous();
}

struct Norm {
  torch::Tensor weight, bias;  // [D]
  double residual_scale = 1;   // on the residual stream that the sub-layer joins
};

struct FeedForwardLayer {
  PackedLinear inner, outer;
  Norm norm;
};

struct EncoderLayerWeights {
  PackedLinear query_key_value, output;
  Norm attention_norm;
  FeedForwardLayer feed_forward;
};

struct CrossAttentionWeights {
  PackedLinear query, key, value, output;
  Norm norm;
};

struct DecoderLayerWeights {
  PackedLinear query_key_value, self_output;
  Norm self_norm;
  CrossAttentionWeights cross;  // empty without an encoder
  FeedForwardLayer feed_forward;
};

// Takes the parameters of a Transformer by their names and packs them.
class Packer {
 public:
  Packer(const Transformer& transformer, InferencePrecision precision, Instructions instructions, WeightUse use)
      : parameters_(transformer->named_parameters()),
        buffers_(transformer->named_buffers()),
        precision_(precision),
        instructions_(instructions),
        use_(use) {}

  /// In float32; of a transformer that stays as it is, a copy.
  torch::Tensor own(const std::string& name) const {
    return use_ == WeightUse::taken ? tensor(name) : tensor(name).clone();
  }
  Norm norm(const std::string& module, double residual_scale = 1) const {
    return {own(module + ".weight"), own(module + ".bias"), residual_scale};
  }

  /// In pack_all(), makes `to` of the named matrices' rows, one matrix behind the other, and of a bias where one is
  /// named. It must stay in its place.
  void linear(PackedLinear& to, std::vector<std::string> matrices, std::string bias = "") {
    int64_t outputs = 0;
    for (const std::string& name : matrices) outputs += parameters_[name].size(0);
    to = PackedLinear(outputs, parameters_[matrices.front()].size(1), precision_, instructions_);
    jobs_.push_back([this, &to, matrices = std::move(matrices), bias = std::move(bias)] {
      pack(to, matrices, bias.empty() ? torch::Tensor() : tensor(bias));
      if (use_ == WeightUse::taken)
        for (const std::string& name : matrices) release(name);
    });
  }
  void feed_forward(FeedForwardLayer& to, const std::string& layer, double residual_scale) {
    const std::string module = layer + ".feed_forward";
    linear(to.inner, {module + ".inner.weight"}, module + ".inner.bias");
    linear(to.outer, {module + ".outer.weight"}, module + ".outer.bias");
    to.norm = norm(layer + ".feed_forward_norm", residual_scale);
  }
  void pack_all(const ParallelFor& parallel_for) {
    parallel_for(jobs_.size(), [&](size_t j) {
      const torch::NoGradGuard no_grad;
      jobs_[j]();
    });
    jobs_.clear();
  }

 private:
  torch::Tensor tensor(const std::string& name) const {
    const auto int8 = kept_int8(buffers_, name);
    return int8 ? to_float32(*int8) : as_float(parameters_[name]);
  }

  void release(const std::string& name) const {
    torch::Tensor(parameters_[name]).set_data(torch::empty({0}));
    if (const auto int8 = kept_int8(buffers_, name))
      torch::Tensor(int8->numbers).set_data(torch::empty({0}, torch::kChar));
  }

  void pack(PackedLinear& to, const std::vector<std::string>& matrices, const torch::Tensor& bias) const {
    const float* bias_data = bias.defined() ? bias.data_ptr<float>() : nullptr;
    std::vector<torch::Tensor> numbers, scales;
    for (const auto& name : matrices) {
      const auto int8 = kept_int8(buffers_, name);
      if (!int8 || precision_ != InferencePrecision::int8) break;
      numbers.push_back(int8->numbers.contiguous());
      scales.push_back(int8->scales);
    }
    if (numbers.size() == matrices.size())
      return to.pack(rows_of<int8_t>(numbers), torch::cat(scales).data_ptr<float>(), bias_data);
    std::vector<torch::Tensor> weights;
    for (const auto& name : matrices) weights.push_back(tensor(name));
    to.pack(rows_of<float>(weights), bias_data);
  }

  template <class Number>
  static std::vector<Rows<Number>> rows_of(const std::vector<torch::Tensor>& matrices) {
    std::vector<Rows<Number>> rows;
    for (const torch::Tensor& matrix : matrices) rows.push_back({matrix.data_ptr<Number>(), matrix.size(0)});
    return rows;
  }

  Tensors parameters_, buffers_;
  InferencePrecision precision_;
  Instructions instructions_;
  WeightUse use_;
  std::vector<std::function<void()>> jobs_;
};

std::vector<std::string> projections_of(const std::string& attention) {
  return {attention + ".query.weight", attention + ".key.weight", attention + ".value.weight"};
}

// Position vectors, row by row.
class Positions {
 public:
  /// Those of a module; without it, none are asked for.
  Positions(const Transformer& transformer, const std::string& module)
      : d_model_(transformer->options.d_model),
        is_learned_(transformer->options.positional_encoding == PositionalEncodingKind::learned) {
    const std::string name = module + (is_learned_ ? ".weight" : ".sinusoids");
    const Tensors tensors = is_learned_ ? transformer->named_parameters() : transformer->named_buffers();
    if (const torch::Tensor* table = tensors.find(name))
      table_ = is_learned_ ? as_float(*table).clone() : as_float(*table);
  }

  /// @throws std::invalid_argument beyond a learned table.
  void check(int64_t position) const {
    if (is_learned_ && position >= table_.size(0))
      throw std::invalid_argument(fmt::format("position {} is beyond the {} learned positions (model.max_positions)",
                                              position, table_.size(0)));
  }

  /// y = vector(position) + scale · x.
  void add(int64_t position, const float* x, float scale, float* y) const {
    check(position);
    if (position < table_.size(0)) return add(table_.data_ptr<float>() + position * d_model_, x, scale, y);
    add(sinusoidal_positions(position, 1, d_model_).data_ptr<float>(), x, scale, y);
  }

 private:
  void add(const float* vector, const float* x, float scale, float* y) const {
    for (int64_t i = 0; i < d_model_; ++i) y[i] = vector[i] + scale * x[i];
  }

  int64_t d_model_;
  bool is_learned_;
  torch::Tensor table_;
};

using Clock = std::chrono::steady_clock;

enum class Phase { encoder, decoder_products, decoder_attention, decoder_rest, output_product, count };

// Where a batch's time goes: what passed since the last call counts for the phase named.
class PhaseClock {
 public:
  void start() { last_ = Clock::now(); }
  void end(Phase phase) {
    const auto now = Clock::now();
    nanoseconds_[static_cast<size_t>(phase)].fetch_add(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now - last_).count(), std::memory_order_relaxed);
    last_ = now;
  }
  double seconds(Phase phase) const { return static_cast<double>(nanoseconds_[static_cast<size_t>(phase)]) * 1e-9; }

 private:
  Clock::time_point last_;
  std::atomic<int64_t> nanoseconds_[static_cast<size_t>(Phase::count)] = {};
};

// Slots of a block of the decoder's cache. One block serves one sentence: short ones should not waste much.
constexpr int64_t kBlockSlots = 32;
// Source tokens that are encoded together: enough for the products, few enough that their states stay in the cache.
constexpr int64_t kEncoderRows = 256;
// Rows of the feed-forward network at a time: its inner states should stay in the cache.
constexpr int64_t kFeedForwardRows = 256;

// Keys and values of a batch, in such numbers.
template <class Number>
struct CacheMemory {
  std::vector<AlignedBuffer<Number>> cross_keys, cross_values;  // by layer
  std::vector<AlignedBuffer<Number>> blocks;                    // of what the decoder said
  std::vector<Number*> free_blocks;
  std::vector<CachedToken<Number>> past, next_past;  // [rows][capacity]

  Number* take_block(int64_t size) {
    if (free_blocks.empty()) {
      blocks.emplace_back(size);
      free_blocks.push_back(blocks.back().data());
    }
    Number* block = free_blocks.back();
    free_blocks.pop_back();
    return block;
  }
};

// Memory of one batch, kept for the next.
struct Workspace {
  ProductScratch scratch;
  AlignedBuffer<float> states, normed, projected, context, hidden, logits, weights, shortlisted_logits;
  PackedLinear shortlisted_output;
  std::tuple<CacheMemory<float>, CacheMemory<uint16_t>> caches;
  PhaseClock clock;
};

}  // namespace

struct InferenceModel::Network {
  Network(const Transformer& transformer, InferencePrecision precision, Instructions instructions,
          const ParallelFor& parallel_for, WeightUse use)
      : options(transformer->options),
        precision(precision),
        instructions(instructions),
        shape{options.d_k, options.d_v,
              options.score_function == ScoreFunction::scaled_dot_product
                  ? static_cast<float>(1.0 / std::sqrt(static_cast<double>(options.d_k)))
                  : 1.0F},
        embedding_scale(static_cast<float>(std::sqrt(static_cast<double>(options.d_model)))),
        source_positions(transformer, "source_positions"),
        target_positions(transformer, "target_positions") {
    Packer packer(transformer, precision, instructions, use);
    const bool one_table = options.embedding_tying == EmbeddingTying::all || !has_encoder();
    const std::string target_table = one_table ? "embedding.weight" : "target_embedding.weight";
    target_embedding = packer.own(target_table);
    source_embedding = one_table ? target_embedding : packer.own("source_embedding.weight");
    const bool output_tied = options.embedding_tying != EmbeddingTying::none;
    packer.linear(output, {output_tied ? target_table : "output.weight"});
    const double encoder_scale = residual_scale(options, Stack::encoder);
    encoder.resize(static_cast<size_t>(options.num_encoder_layers));
    for (size_t i = 0; i < encoder.size(); ++i) {
      EncoderLayerWeights& to = encoder[i];
      const std::string layer = fmt::format("encoder.layers.{}", i);
      const std::string attention = layer + ".self_attention";
      packer.linear(to.query_key_value, projections_of(attention));
      packer.linear(to.output, {attention + ".output.weight"});
      to.attention_norm = packer.norm(attention + "_norm", encoder_scale);
      packer.feed_forward(to.feed_forward, layer, encoder_scale);
    }
    const double decoder_scale = residual_scale(options, Stack::decoder);
    decoder.resize(static_cast<size_t>(options.num_decoder_layers));
    for (size_t i = 0; i < decoder.size(); ++i) {
      DecoderLayerWeights& to = decoder[i];
      const std::string layer = fmt::format("decoder.layers.{}", i);
      const std::string self = layer + ".self_attention";
      packer.linear(to.query_key_value, projections_of(self));
      packer.linear(to.self_output, {self + ".output.weight"});
      to.self_norm = packer.norm(self + "_norm", decoder_scale);
      packer.feed_forward(to.feed_forward, layer, decoder_scale);
      if (!has_encoder()) continue;
      const std::string cross = layer + ".cross_attention";
      packer.linear(to.cross.query, {cross + ".query.weight"});
      packer.linear(to.cross.key, {cross + ".key.weight"});
      packer.linear(to.cross.value, {cross + ".value.weight"});
      packer.linear(to.cross.output, {cross + ".output.weight"});
      to.cross.norm = packer.norm(cross + "_norm", decoder_scale);
    }
    packer.pack_all(parallel_for);
    if (norm_first()) decoder_norm = packer.norm("decoder.norm");
    if (norm_first() && has_encoder()) encoder_norm = packer.norm("encoder.norm");
  }

  int64_t keys_width() const { return options.num_heads * options.d_k; }
  int64_t values_width() const { return options.num_heads * options.d_v; }
  int64_t projected_width() const { return 2 * keys_width() + values_width(); }
  bool norm_first() const { return options.norm_position == NormPosition::pre; }
  bool has_encoder() const { return options.architecture != Architecture::decoder_only; }

  // A cache block: [layer][head][keys of the slots | values of the slots].
  int64_t head_size() const { return kBlockSlots * (options.d_k + options.d_v); }
  int64_t block_size() const { return options.num_decoder_layers * options.num_heads * head_size(); }

  void normalize(const Norm& norm, const float* x, int64_t rows, float* y) const {
    inference::layer_norm(x, rows, options.d_model, norm.weight.data_ptr<float>(), norm.bias.data_ptr<float>(),
                          static_cast<float>(options.norm_epsilon), y, instructions);
  }

  /// What a sub-layer reads: x, or its norm.
  const float* sublayer_input(const Norm& norm, const float* x, int64_t rows, Workspace& workspace) const {
    if (!norm_first()) return x;
    float* normed = workspace.normed.at_least(rows * options.d_model);
    normalize(norm, x, rows, normed);
    return normed;
  }
  /// Before a sub-layer, which has read x, is added to it.
  void scale_residual(const Norm& norm, float* x, int64_t rows) const {
    if (norm.residual_scale == 1) return;
    const auto scale = static_cast<float>(norm.residual_scale);
    for (int64_t i = 0; i < rows * options.d_model; ++i) x[i] *= scale;
  }
  /// After x has become x + sub-layer.
  void end_sublayer(const Norm& norm, float* x, int64_t rows) const {
    if (!norm_first()) normalize(norm, x, rows, x);
  }

  /// x: [rows,D], in place, without the norm that follows it.
  void feed_forward(const FeedForwardLayer& layer, const float* input, float* x, int64_t rows,
                    Workspace& workspace) const {
    float* hidden = workspace.hidden.at_least(std::min(rows, kFeedForwardRows) * options.d_ff);
    for (int64_t row = 0; row < rows; row += kFeedForwardRows) {
      const int64_t count = std::min(kFeedForwardRows, rows - row);
      float* part = x + row * options.d_model;
      layer.inner.apply(input + row * options.d_model, count, hidden, {nullptr, true}, workspace.scratch);
      scale_residual(layer.norm, part, count);
      layer.outer.apply(hidden, count, part, {part, false}, workspace.scratch);
    }
  }

  TransformerOptions options;
  InferencePrecision precision;
  Instructions instructions;
  HeadShape shape;
  float embedding_scale;
  torch::Tensor source_embedding, target_embedding;  // float32 [V,D]
  Positions source_positions, target_positions;
  std::vector<EncoderLayerWeights> encoder;
  std::vector<DecoderLayerWeights> decoder;
  Norm encoder_norm, decoder_norm;  // norm_first() only
  PackedLinear output;
};

class InferenceModel::Workspaces : public std::enable_shared_from_this<Workspaces> {
 public:
  /// One that nobody uses. It comes back when the pointer goes.
  std::shared_ptr<Workspace> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty()) {
      all_.push_back(std::make_unique<Workspace>());
      idle_.push_back(all_.back().get());
    }
    Workspace* workspace = idle_.back();
    idle_.pop_back();
    return {workspace, [self = shared_from_this()](Workspace* used) { self->give_back(used); }};
  }
  double seconds(Phase phase) {
    const std::lock_guard<std::mutex> lock(mutex_);
    double sum = 0;
    for (const auto& workspace : all_) sum += workspace->clock.seconds(phase);
    return sum;
  }

 private:
  void give_back(Workspace* workspace) {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(workspace);
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> all_;
  std::vector<Workspace*> idle_;
};

template <class Number>
class InferenceModel::Batch : public DecodingBatch {
 public:
  Batch(std::shared_ptr<const Network> network, std::shared_ptr<Workspace> workspace, const std::vector<Ids>& sources,
        AttentionChoice attention, const std::vector<Ids>& shortlists)
      : network_(std::move(network)),
        workspace_(std::move(workspace)),
        cache_(std::get<CacheMemory<Number>>(workspace_->caches)),
        attention_(attention) {
    workspace_->clock.start();
    encode(sources);
    workspace_->clock.end(Phase::encoder);
    if (shortlists.empty()) return;
    take(shortlists);
    workspace_->clock.end(Phase::output_product);
  }

  ~Batch() override {
    for (auto& sentence : sentences_) release(sentence);
  }

  NextToken step(const torch::Tensor& ids) override {
    const auto batch = static_cast<int64_t>(sentences_.size());
    TORCH_CHECK_VALUE(ids.dim() == 2 && ids.size(0) == batch && ids.numel() == hypotheses_, "step: ids must be [B,N]");
    return go_on(ids, 1);
  }

  NextToken extend(const torch::Tensor& ids) override {
    const auto batch = static_cast<int64_t>(sentences_.size());
    TORCH_CHECK_VALUE(ids.dim() == 2 && ids.size(0) == batch && hypotheses_ == batch,
                      "extend: ids must be [B,T], and of each sentence one hypothesis");
    return go_on(ids, ids.size(1));
  }

  void select(const torch::Tensor& sentences, const torch::Tensor& parents) override {
    const torch::Tensor kept = sentences.contiguous();
    const torch::Tensor rows = parents.contiguous();
    std::vector<Sentence> staying;
    std::vector<bool> stays(sentences_.size());
    for (int64_t i = 0; i < kept.size(0); ++i) {
      const auto old = static_cast<size_t>(kept.data_ptr<int64_t>()[i]);
      stays.at(old) = true;
      staying.push_back(std::move(sentences_[old]));
    }
    for (size_t i = 0; i < sentences_.size(); ++i)
      if (!stays[i]) release(sentences_[i]);
    sentences_ = std::move(staying);

    hypotheses_ = rows.size(0);
    cache_.next_past.resize(static_cast<size_t>(hypotheses_ * capacity_));
    for (int64_t row = 0; row < hypotheses_; ++row)
      std::copy_n(cache_.past.data() + rows.data_ptr<int64_t>()[row] * capacity_, length_,
                  cache_.next_past.data() + row * capacity_);
    std::swap(cache_.past, cache_.next_past);
  }

 private:
  // A sentence being decoded: where its source stands, and its part of the cache.
  struct Sentence {
    int64_t first_source_row = 0;
    int64_t source_length = 0;  // the end included
    int64_t first_key = 0;      // of its keys, transposed, in each layer
    std::vector<Number*> blocks{};
    int64_t slots = 0;               // taken
    std::vector<int32_t> columns{};  // of its shortlist's tokens in the shortlisted output
  };

  const float* embedding(const torch::Tensor& table, int64_t id) const {
    TORCH_CHECK_INDEX(id >= 0 && id < table.size(0), "id ", id, " is not in the vocabulary of ", table.size(0));
    return table.data_ptr<float>() + id * table.size(1);
  }

  void release(Sentence& sentence) {
    for (Number* block : sentence.blocks) cache_.free_blocks.push_back(block);
    sentence.blocks.clear();
  }

  // `positions` tokens more for each hypothesis; all but one only where a sentence has one hypothesis. ids:
  // [B,N·positions].
  NextToken go_on(const torch::Tensor& ids, int64_t positions) {
    Workspace& w = *workspace_;
    const Network& n = *network_;
    const TransformerOptions& o = n.options;
    w.clock.start();
    const auto batch = static_cast<int64_t>(sentences_.size());
    TORCH_CHECK_VALUE(ids.scalar_type() == torch::kLong, "ids must be int64");
    positions_ = positions;
    rows_ = ids.numel();
    rows_per_sentence_ = ids.size(1);
    const torch::Tensor contiguous = ids.contiguous();
    float* x = w.states.at_least(rows_ * o.d_model);
    for (int64_t row = 0; row < rows_; ++row)
      n.target_positions.add(length_ + row % positions_,
                             embedding(n.target_embedding, contiguous.data_ptr<int64_t>()[row]), n.embedding_scale,
                             x + row * o.d_model);
    take_slots();
    NextToken next;
    if (attention_.wanted) next.attention = torch::zeros({batch, rows_per_sentence_, longest_source_}, torch::kFloat);
    for (size_t layer = 0; layer < n.decoder.size(); ++layer) {
      const auto chosen = attention_.layer > 0 ? static_cast<size_t>(attention_.layer) : n.decoder.size();
      float* attention = layer + 1 == chosen && next.attention.defined() ? next.attention.data_ptr<float>() : nullptr;
      decode_layer(static_cast<int64_t>(layer), x, attention);
    }
    if (n.norm_first()) n.normalize(n.decoder_norm, x, rows_, x);
    length_ += positions_;
    w.clock.end(Phase::decoder_rest);
    const PackedLinear& output = shortlisted_ ? w.shortlisted_output : n.output;
    float* logits = w.logits.at_least(rows_ * output.outputs());
    output.apply(x, rows_, logits, {}, w.scratch);
    next.logits = torch::from_blob(logits, {batch, rows_per_sentence_, output.outputs()}, torch::kFloat);
    if (shortlisted_) next.logits = own_columns(logits);
    w.clock.end(Phase::output_product);
    return next;
  }

  // Makes the output of what is on any list.
  void take(const std::vector<Ids>& shortlists) {
    constexpr int32_t kOnNoList = -1;
    const PackedLinear& output = network_->output;
    std::vector<int32_t> column_of(static_cast<size_t>(output.outputs()), kOnNoList);
    std::vector<int64_t> tokens;
    for (size_t b = 0; b < shortlists.size(); ++b) {
      check_shortlist(shortlists[b], output.outputs());
      for (const int64_t token : shortlists[b]) {
        int32_t& column = column_of[static_cast<size_t>(token)];
        if (column == kOnNoList) {
          column = static_cast<int32_t>(tokens.size());
          tokens.push_back(token);
        }
        sentences_[b].columns.push_back(column);
      }
    }
    output.select(tokens, workspace_->shortlisted_output);
    shortlisted_ = true;
  }

  // Each sentence's own logits, side by side: [B,N,L] or [B,T,L].
  torch::Tensor own_columns(const float* logits) {
    const int64_t width = workspace_->shortlisted_output.outputs();
    size_t longest = 0;
    for (const Sentence& sentence : sentences_) longest = std::max(longest, sentence.columns.size());
    const auto columns = static_cast<int64_t>(longest);
    float* own = workspace_->shortlisted_logits.at_least(rows_ * columns);
    float* to = own;
    for (const Sentence& sentence : sentences_)
      for (int64_t row = 0; row < rows_per_sentence_; ++row, logits += width, to += columns) {
        float* next = to;
        for (const int32_t column : sentence.columns) *next++ = logits[column];
        std::fill(next, to + columns, -std::numeric_limits<float>::infinity());
      }
    return torch::from_blob(own, {static_cast<int64_t>(sentences_.size()), rows_per_sentence_, columns}, torch::kFloat);
  }

  void encode(const std::vector<Ids>& sources) {
    const Network& n = *network_;
    hypotheses_ = static_cast<int64_t>(sources.size());
    if (!n.has_encoder()) {
      sentences_.resize(sources.size());
      return;
    }
    int64_t rows = 0;
    int64_t keys = 0;
    for (const auto& source : sources) {
      const auto length = static_cast<int64_t>(source.size()) + 1;
      n.source_positions.check(length - 1);
      sentences_.push_back({rows, length, keys});
      rows += length;
      keys += padded_keys(length) * n.keys_width();
      longest_source_ = std::max(longest_source_, length);
    }
    cache_.cross_keys.resize(n.decoder.size());
    cache_.cross_values.resize(n.decoder.size());
    for (size_t i = 0; i < n.decoder.size(); ++i) {
      cache_.cross_keys[i].at_least(keys);
      cache_.cross_values[i].at_least(rows * n.values_width());
    }
    for (size_t begin = 0; begin < sources.size();) {
      size_t end = begin;
      for (int64_t count = 0; end < sources.size() && count < kEncoderRows; ++end)
        count += sentences_[end].source_length;
      encode(sources, begin, end);
      begin = end;
    }
  }

  // Sentences begin … end-1, up to their keys and values for the decoder.
  void encode(const std::vector<Ids>& sources, size_t begin, size_t end) {
    Workspace& w = *workspace_;
    const Network& n = *network_;
    const TransformerOptions& o = n.options;
    const int64_t first_row = sentences_[begin].first_source_row;
    const int64_t rows = sentences_[end - 1].first_source_row + sentences_[end - 1].source_length - first_row;
    float* x = w.states.at_least(rows * o.d_model);
    float* to = x;
    for (size_t b = begin; b < end; ++b)
      for (int64_t i = 0; i < sentences_[b].source_length; ++i, to += o.d_model) {
        const bool is_end = i + 1 == sentences_[b].source_length;
        const int64_t id = is_end ? special_ids::kEnd : sources[b][static_cast<size_t>(i)];
        n.source_positions.add(i, embedding(n.source_embedding, id), n.embedding_scale, to);
      }
    for (const auto& layer : n.encoder) encode_layer(layer, begin, end, x, rows);
    if (n.norm_first()) n.normalize(n.encoder_norm, x, rows, x);
    for (size_t i = 0; i < n.decoder.size(); ++i) {
      float* projected = w.projected.at_least(rows * n.projected_width());
      n.decoder[i].cross.key.apply(x, rows, projected, {}, w.scratch);
      for (size_t b = begin; b < end; ++b) {
        const Sentence& sentence = sentences_[b];
        const int64_t padded = padded_keys(sentence.source_length);
        for (int64_t head = 0; head < o.num_heads; ++head)
          inference::transpose_keys(projected + (sentence.first_source_row - first_row) * n.keys_width() + head * o.d_k,
                                    n.keys_width(), sentence.source_length, o.d_k,
                                    cache_.cross_keys[i].data() + sentence.first_key + head * o.d_k * padded);
      }
      n.decoder[i].cross.value.apply(x, rows, projected, {}, w.scratch);
      inference::convert(projected, rows * n.values_width(),
                         cache_.cross_values[i].data() + first_row * n.values_width(), n.instructions);
    }
  }

  // x: [rows,D] of these sentences, in place.
  void encode_layer(const EncoderLayerWeights& layer, size_t begin, size_t end, float* x, int64_t rows) {
    Workspace& w = *workspace_;
    const Network& n = *network_;
    const TransformerOptions& o = n.options;
    const int64_t width = n.projected_width();
    float* projected = w.projected.at_least(rows * width);
    layer.query_key_value.apply(n.sublayer_input(layer.attention_norm, x, rows, w), rows, projected, {}, w.scratch);
    float* context = w.context.at_least(rows * n.values_width());
    const int64_t padded = padded_keys(longest_source_);
    float* keys = w.weights.at_least(padded * (o.d_k + longest_source_));
    float* weights = keys + o.d_k * padded;
    for (size_t b = begin; b < end; ++b)
      for (int64_t head = 0; head < o.num_heads; ++head) {
        const Sentence& sentence = sentences_[b];
        const int64_t row = sentence.first_source_row - sentences_[begin].first_source_row;
        const float* first = projected + row * width;
        inference::transpose_keys(first + n.keys_width() + head * o.d_k, width, sentence.source_length, o.d_k, keys);
        AttendArguments<float> a;
        a.queries = first + head * o.d_k;
        a.query_stride = width;
        a.rows = sentence.source_length;
        a.transposed_keys = keys;
        a.values = first + 2 * n.keys_width() + head * o.d_v;
        a.value_stride = width;
        a.count = sentence.source_length;
        a.outputs = context + row * n.values_width() + head * o.d_v;
        a.output_stride = n.values_width();
        inference::attend(n.shape, a, weights, n.instructions);
      }
    n.scale_residual(layer.attention_norm, x, rows);
    layer.output.apply(context, rows, x, {x, false}, w.scratch);
    n.end_sublayer(layer.attention_norm, x, rows);
    const Norm& norm = layer.feed_forward.norm;
    n.feed_forward(layer.feed_forward, n.sublayer_input(norm, x, rows, w), x, rows, w);
    n.end_sublayer(norm, x, rows);
  }

  // A place in the cache for the token of each row.
  void take_slots() {
    const Network& n = *network_;
    if (length_ + positions_ > capacity_) grow_past();
    cache_.past.resize(static_cast<size_t>(hypotheses_ * capacity_));
    for (int64_t row = 0; row < rows_; ++row) {
      Sentence& sentence = sentences_[static_cast<size_t>(row / rows_per_sentence_)];
      const int64_t slot = sentence.slots++ % kBlockSlots;
      if (slot == 0) sentence.blocks.push_back(cache_.take_block(n.block_size()));
      Number* block = sentence.blocks.back();
      past_of(row)[length_ + row % positions_] = {block + slot * n.options.d_k,
                                                  block + kBlockSlots * n.options.d_k + slot * n.options.d_v};
    }
  }

  void grow_past() {
    const int64_t capacity = std::max<int64_t>({32, 2 * capacity_, length_ + positions_});
    cache_.next_past.resize(static_cast<size_t>(hypotheses_ * capacity));
    for (int64_t row = 0; row < hypotheses_; ++row)
      std::copy_n(cache_.past.data() + row * capacity_, length_, cache_.next_past.data() + row * capacity);
    std::swap(cache_.past, cache_.next_past);
    capacity_ = capacity;
  }

  // The places of the tokens of a row's hypothesis.
  CachedToken<Number>* past_of(int64_t row) { return cache_.past.data() + row / positions_ * capacity_; }

  // x: [rows,D], in place. attention: [B,rows of a sentence,S] gets the chosen weights, where not null.
  void decode_layer(int64_t index, float* x, float* attention) {
    Workspace& w = *workspace_;
    const Network& n = *network_;
    const DecoderLayerWeights& layer = n.decoder[static_cast<size_t>(index)];
    float* projected = w.projected.at_least(rows_ * n.projected_width());
    float* context = w.context.at_least(rows_ * n.values_width());

    const float* input = n.sublayer_input(layer.self_norm, x, rows_, w);
    w.clock.end(Phase::decoder_rest);
    layer.query_key_value.apply(input, rows_, projected, {}, w.scratch);
    w.clock.end(Phase::decoder_products);
    attend_to_past(index, projected, context);
    w.clock.end(Phase::decoder_attention);
    n.scale_residual(layer.self_norm, x, rows_);
    layer.self_output.apply(context, rows_, x, {x, false}, w.scratch);
    w.clock.end(Phase::decoder_products);
    n.end_sublayer(layer.self_norm, x, rows_);

    if (n.has_encoder()) {
      input = n.sublayer_input(layer.cross.norm, x, rows_, w);
      w.clock.end(Phase::decoder_rest);
      layer.cross.query.apply(input, rows_, projected, {}, w.scratch);
      w.clock.end(Phase::decoder_products);
      attend_to_source(index, projected, context, attention);
      w.clock.end(Phase::decoder_attention);
      n.scale_residual(layer.cross.norm, x, rows_);
      layer.cross.output.apply(context, rows_, x, {x, false}, w.scratch);
      w.clock.end(Phase::decoder_products);
      n.end_sublayer(layer.cross.norm, x, rows_);
    }

    const Norm& norm = layer.feed_forward.norm;
    input = n.sublayer_input(norm, x, rows_, w);
    w.clock.end(Phase::decoder_rest);
    n.feed_forward(layer.feed_forward, input, x, rows_, w);
    w.clock.end(Phase::decoder_products);
    n.end_sublayer(norm, x, rows_);
  }

  void attend_to_past(int64_t layer, const float* projected, float* context) {
    Workspace& w = *workspace_;
    const Network& n = *network_;
    const TransformerOptions& o = n.options;
    float* weights = w.weights.at_least(padded_keys(length_ + positions_));
    for (int64_t row = 0; row < rows_; ++row) {
      const CachedToken<Number>* tokens = past_of(row);
      const int64_t position = length_ + row % positions_;
      const float* from = projected + row * n.projected_width();
      for (int64_t head = 0; head < o.num_heads; ++head) {
        const int64_t offset = (layer * o.num_heads + head) * n.head_size();
        inference::convert(from + n.keys_width() + head * o.d_k, o.d_k, tokens[position].key + offset, n.instructions);
        inference::convert(from + 2 * n.keys_width() + head * o.d_v, o.d_v, tokens[position].value + offset,
                           n.instructions);
        const AttendScatteredArguments<Number> a{
            from + head * o.d_k, tokens, position + 1, offset, offset, context + row * n.values_width() + head * o.d_v};
        inference::attend_scattered(n.shape, a, weights, n.instructions);
      }
    }
  }

  void attend_to_source(int64_t layer, const float* queries, float* context, float* attention) {
    Workspace& w = *workspace_;
    const Network& n = *network_;
    const TransformerOptions& o = n.options;
    const Number* keys = cache_.cross_keys[static_cast<size_t>(layer)].data();
    const Number* values = cache_.cross_values[static_cast<size_t>(layer)].data();
    float* weights = w.weights.at_least(rows_per_sentence_ * padded_keys(longest_source_));
    for (size_t b = 0; b < sentences_.size(); ++b) {
      const Sentence& sentence = sentences_[b];
      const int64_t row = static_cast<int64_t>(b) * rows_per_sentence_;
      const int64_t padded = padded_keys(sentence.source_length);
      for (int64_t head = 0; head < o.num_heads; ++head) {
        AttendArguments<Number> a;
        a.queries = queries + row * n.keys_width() + head * o.d_k;
        a.query_stride = n.keys_width();
        a.rows = rows_per_sentence_;
        a.transposed_keys = keys + sentence.first_key + head * o.d_k * padded;
        a.values = values + sentence.first_source_row * n.values_width() + head * o.d_v;
        a.value_stride = n.values_width();
        a.count = sentence.source_length;
        a.outputs = context + row * n.values_width() + head * o.d_v;
        a.output_stride = n.values_width();
        inference::attend(n.shape, a, weights, n.instructions);
        if (attention == nullptr || (attention_.head > 0 && head + 1 != attention_.head)) continue;
        const float share = attention_.head > 0 ? 1.0F : 1.0F / static_cast<float>(o.num_heads);
        for (int64_t r = 0; r < rows_per_sentence_; ++r)
          for (int64_t s = 0; s < sentence.source_length; ++s)
            attention[(row + r) * longest_source_ + s] += weights[r * padded + s] * share;
      }
    }
  }

  std::shared_ptr<const Network> network_;
  std::shared_ptr<Workspace> workspace_;
  CacheMemory<Number>& cache_;
  AttentionChoice attention_;
  std::vector<Sentence> sentences_;
  int64_t longest_source_ = 0;
  int64_t hypotheses_ = 0;  // sentence by sentence
  int64_t length_ = 0;      // tokens decoded
  // Of a call: each hypothesis has so many rows, one behind the other.
  int64_t positions_ = 1;
  int64_t rows_ = 0;
  int64_t rows_per_sentence_ = 1;
  int64_t capacity_ = 0;  // of a row of the workspace's `past`
  bool shortlisted_ = false;
};

InferenceModel::InferenceModel(const Transformer& transformer, InferencePrecision precision, Instructions instructions,
                               const ParallelFor& parallel_for, WeightUse use)
    : workspaces_(std::make_shared<Workspaces>()) {
  if (const std::string reason = why_not(transformer->options); !reason.empty()) throw std::invalid_argument(reason);
  const torch::NoGradGuard no_grad;
  network_ = std::make_shared<const Network>(transformer, precision, instructions, parallel_for, use);
}

InferenceModel::~InferenceModel() = default;

std::string InferenceModel::why_not(const TransformerOptions& options) {
  const ScoreFunction function = options.score_function;
  if (function == ScoreFunction::scaled_dot_product || function == ScoreFunction::dot_product) return "";
  return "only dot products are written for inference, not model.score_function additive, bilinear or uniform";
}

std::unique_ptr<DecodingBatch> InferenceModel::start(const std::vector<Ids>& sources, AttentionChoice attention,
                                                     const std::vector<Ids>& shortlists) const {
  check(attention, network_->options);
  if (network_->precision == InferencePrecision::float32)
    return std::make_unique<Batch<float>>(network_, workspaces_->take(), sources, attention, shortlists);
  return std::make_unique<Batch<uint16_t>>(network_, workspaces_->take(), sources, attention, shortlists);
}

InferenceModel::Phases InferenceModel::phases() const {
  Phases phases;
  phases.encoder = workspaces_->seconds(Phase::encoder);
  phases.decoder_products = workspaces_->seconds(Phase::decoder_products);
  phases.decoder_attention = workspaces_->seconds(Phase::decoder_attention);
  phases.decoder_rest = workspaces_->seconds(Phase::decoder_rest);
  phases.output_product = workspaces_->seconds(Phase::output_product);
  return phases;
}

}  // namespace v0
}  // namespace transmute

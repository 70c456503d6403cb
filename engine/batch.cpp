// SPDX-License-Identifier: Apache-2.0
#include <transmute/engine/batch.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/engine/encoder.h>
#include <transmute/kernels/cpu/row_kernels.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {
namespace inference {

namespace {

// Adjacent sentences that share an output layer of the tokens on their shortlists: as many as fill the rows of a
// product with the default beam. More would join their lists to much of the vocabulary.
constexpr size_t kShortlistGroup = 8;

// If a layer's weights have at most so many bytes, they stay in the second-level cache while so many rows at a time go
// through the layer, and what it makes of these rows does too. Larger weights are read for all rows at once.
constexpr int64_t kCachedLayerBytes = 1 << 20;
constexpr int64_t kRowsTogether = 64;

template <class Number>
class Batch : public DecodingBatch {
 public:
  Batch(std::shared_ptr<const Network> network, std::shared_ptr<Workspace> workspace, const std::vector<Ids>& sources,
        AttentionChoice attention, const std::vector<Ids>& shortlists)
      : network_(std::move(network)),
        workspace_(std::move(workspace)),
        cache_(std::get<CacheMemory<Number>>(workspace_->caches)),
        attention_(attention) {
    sentences_.resize(sources.size());
    hypotheses_ = static_cast<int64_t>(sources.size());
    if (network_->is_ssru()) workspace_->cells.assign(sources.size() * cells_per_row(), 0);
    if (network_->has_encoder()) encode(sources);
    if (!shortlists.empty()) take(shortlists);
  }

  ~Batch() override {
    for (auto& sentence : sentences_) release(sentence);
  }

  NextToken step(const Ids& ids, int64_t positions) override {
    const auto batch = static_cast<int64_t>(sentences_.size());
    if (static_cast<int64_t>(ids.size()) != hypotheses_ * positions || (positions > 1 && hypotheses_ != batch))
      throw std::invalid_argument(fmt::format("{} ids for {} positions of {} hypotheses of {} sentences", ids.size(),
                                              positions, hypotheses_, batch));
    Workspace& w = *workspace_;
    const Network& n = *network_;
    const TransformerOptions& o = n.options;
    positions_ = positions;
    rows_ = static_cast<int64_t>(ids.size());
    rows_per_sentence_ = batch == 0 ? 0 : rows_ / batch;
    float* x = w.states.at_least(rows_ * o.d_model);
    for (int64_t row = 0; row < rows_; ++row)
      n.target_positions.add(length_ + row % positions_,
                             embedding_row(n.target_embedding, ids[static_cast<size_t>(row)]), n.embedding_scale,
                             x + row * o.d_model);
    n.normalize_embeddings(n.target_embedding_norm, x, rows_);
    if (!n.is_ssru()) take_slots();
    const std::vector<Part> parts = parts_of_rows();
    NextToken next;
    next.source_width = longest_source_;
    if (attention_.wanted) next.attention.resize(static_cast<size_t>(rows_ * longest_source_));
    for (size_t layer = 0; layer < n.decoder.size(); ++layer) {
      const auto chosen = attention_.layer > 0 ? static_cast<size_t>(attention_.layer) : n.decoder.size();
      float* attention = layer + 1 == chosen && attention_.wanted ? next.attention.data() : nullptr;
      for (const Part& part : parts) decode_layer(static_cast<int64_t>(layer), part, x, attention);
    }
    if (n.norm_first()) n.normalize(n.decoder_norm, x, rows_, x);
    length_ += positions_;
    columns_ = shortlisted_ ? longest_shortlist() : n.output.outputs();
    with_logits_ = {};
    next.columns = columns_;
    next.logits = [this](int64_t row) { return logits_of(row); };
    return next;
  }

  void select(const std::vector<int64_t>& sentences, const std::vector<int64_t>& parents) override {
    std::vector<Sentence> staying;
    std::vector<bool> stays(sentences_.size());
    for (const int64_t kept : sentences) {
      const auto old = static_cast<size_t>(kept);
      stays.at(old) = true;
      staying.push_back(std::move(sentences_[old]));
    }
    for (size_t i = 0; i < sentences_.size(); ++i)
      if (!stays[i]) release(sentences_[i]);
    sentences_ = std::move(staying);

    hypotheses_ = static_cast<int64_t>(parents.size());
    if (network_->is_ssru()) {
      select_rows(workspace_->cells, workspace_->next_cells, parents, static_cast<int64_t>(cells_per_row()),
                  static_cast<int64_t>(cells_per_row()));
    } else {
      select_rows(cache_.past, cache_.next_past, parents, capacity_, length_);
    }
  }

 private:
  // A sentence being decoded: where its source is, and its part of the cache.
  struct Sentence {
    SourceSpan source{};
    std::vector<Number*> blocks{};
    int64_t slots = 0;               // taken
    size_t group = 0;                // its shortlisted output
    std::vector<int32_t> columns{};  // columns of its shortlist's tokens there
  };

  // Adjacent sentences whose rows go through a layer together.
  struct Part {
    size_t first = 0, end = 0;
  };

  // All sentences, in parts of about equal size.
  std::vector<Part> parts_of_rows() const {
    size_t count = 1;
    if (network_->decoder_layer_bytes() <= kCachedLayerBytes)
      count = std::min(sentences_.size(), static_cast<size_t>((rows_ + kRowsTogether - 1) / kRowsTogether));
    std::vector<Part> parts;
    for (size_t i = 0; i < count; ++i)
      parts.push_back({sentences_.size() * i / count, sentences_.size() * (i + 1) / count});
    return parts;
  }

  // Numbers that the SSRUs keep of a hypothesis.
  size_t cells_per_row() const { return network_->decoder.size() * static_cast<size_t>(network_->options.d_model); }

  // The first `used` of the `width` elements of each parent's row; `next` is room for them.
  template <class T>
  static void select_rows(std::vector<T>& rows, std::vector<T>& next, const std::vector<int64_t>& parents,
                          int64_t width, int64_t used) {
    next.resize(parents.size() * static_cast<size_t>(width));
    for (size_t row = 0; row < parents.size(); ++row)
      std::copy_n(rows.data() + parents[row] * width, used, next.data() + static_cast<int64_t>(row) * width);
    std::swap(rows, next);
  }

  void release(Sentence& sentence) {
    for (Number* block : sentence.blocks) cache_.free_blocks.push_back(block);
    sentence.blocks.clear();
  }

  void encode(const std::vector<Ids>& sources) {
    const std::vector<SourceSpan> spans = encode_sources(*network_, *workspace_, cache_, sources);
    for (size_t b = 0; b < spans.size(); ++b) {
      sentences_[b].source = spans[b];
      longest_source_ = std::max(longest_source_, static_cast<int64_t>(sources[b].size()) + 1);
    }
  }

  // Makes the output layer of each group of sentences: the tokens that are on any of their lists.
  void take(const std::vector<Ids>& shortlists) {
    constexpr int32_t kOnNoList = -1;
    const PackedLinear& output = network_->output;
    std::vector<PackedLinear>& selections = workspace_->shortlisted_outputs;
    selections.resize(std::max(selections.size(), (shortlists.size() + kShortlistGroup - 1) / kShortlistGroup));
    std::vector<int32_t> column_of(static_cast<size_t>(output.outputs()), kOnNoList);
    std::vector<int64_t> tokens;
    for (size_t first = 0, group = 0; first < shortlists.size(); first += kShortlistGroup, ++group) {
      for (size_t b = first; b < std::min(first + kShortlistGroup, shortlists.size()); ++b) {
        check_shortlist(shortlists[b], output.outputs());
        sentences_[b].group = group;
        for (const int64_t token : shortlists[b]) {
          int32_t& column = column_of[static_cast<size_t>(token)];
          if (column == kOnNoList) {
            column = static_cast<int32_t>(tokens.size());
            tokens.push_back(token);
          }
          sentences_[b].columns.push_back(column);
        }
      }
      output.select(tokens, selections[group]);
      for (const int64_t token : tokens) column_of[static_cast<size_t>(token)] = kOnNoList;
      tokens.clear();
    }
    shortlisted_ = true;
  }

  int64_t longest_shortlist() const {
    size_t longest = 0;
    for (const Sentence& sentence : sentences_) longest = std::max(longest, sentence.columns.size());
    return static_cast<int64_t>(longest);
  }

  const float* logits_of(int64_t row) {
    if (row < first_row(with_logits_) || row >= end_row(with_logits_)) find_logits(sentences_around(row));
    return (shortlisted_ ? workspace_->shortlisted_logits : workspace_->logits).data() +
           (row - first_row(with_logits_)) * columns_;
  }

  // The sentences whose logits are computed with those of a row: as many as are multiplied at a time, so that the
  // search finds their logits in the cache.
  Part sentences_around(int64_t row) const {
    if (positions_ > 1) return {0, sentences_.size()};  // the search comes back to each sentence for each position
    const auto sentence = static_cast<size_t>(row / rows_per_sentence_);
    if (shortlisted_) {
      const auto is_in_group = [&](const Sentence& other) { return other.group == sentences_[sentence].group; };
      const auto first = std::find_if(sentences_.begin(), sentences_.end(), is_in_group);
      const auto end = std::find_if_not(first, sentences_.end(), is_in_group);
      return {static_cast<size_t>(first - sentences_.begin()), static_cast<size_t>(end - sentences_.begin())};
    }
    const auto count =
        static_cast<size_t>(std::max<int64_t>(1, network_->output.rows_at_a_time() / rows_per_sentence_));
    const size_t first = sentence / count * count;
    return {first, std::min(first + count, sentences_.size())};
  }

  void find_logits(const Part& part) {
    Workspace& w = *workspace_;
    with_logits_ = part;
    const float* x = w.states.data() + first_row(part) * network_->options.d_model;
    const int64_t rows = end_row(part) - first_row(part);
    if (shortlisted_) {
      find_shortlisted_logits(part, x, w.shortlisted_logits.at_least(rows * columns_));
    } else {
      network_->output.apply(x, rows, w.logits.at_least(rows * columns_), {}, w.scratch);
    }
  }

  // Each sentence's own logits, side by side. x: [rows,D]; to: [rows,L].
  void find_shortlisted_logits(const Part& part, const float* x, float* to) {
    Workspace& w = *workspace_;
    const auto all = sentences_.begin() + static_cast<int64_t>(part.end);
    for (auto first = sentences_.begin() + static_cast<int64_t>(part.first), end = first; first != all; first = end) {
      end = std::find_if(first, all, [&](const Sentence& other) { return other.group != first->group; });
      const PackedLinear& output = w.shortlisted_outputs[first->group];
      const int64_t rows = (end - first) * rows_per_sentence_;
      const float* logits = w.logits.at_least(rows * output.outputs());
      output.apply(x, rows, w.logits.data(), {}, w.scratch);
      x += rows * network_->options.d_model;
      for (auto sentence = first; sentence != end; ++sentence)
        for (int64_t row = 0; row < rows_per_sentence_; ++row, logits += output.outputs(), to += columns_) {
          float* past = to;
          for (const int32_t column : sentence->columns) *past++ = logits[column];
          std::fill(past, to + columns_, -std::numeric_limits<float>::infinity());
        }
    }
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

  int64_t first_row(const Part& part) const { return static_cast<int64_t>(part.first) * rows_per_sentence_; }
  int64_t end_row(const Part& part) const { return static_cast<int64_t>(part.end) * rows_per_sentence_; }

  // states: [rows of all,D], in place. attention: [B,rows of a sentence,S] gets the chosen weights, where not null.
  void decode_layer(int64_t index, const Part& part, float* states, float* attention) {
    Workspace& w = *workspace_;
    const Network& n = *network_;
    const int64_t rows = static_cast<int64_t>(part.end - part.first) * rows_per_sentence_;
    float* x = states + first_row(part) * n.options.d_model;
    const DecoderLayerWeights& layer = n.decoder[static_cast<size_t>(index)];
    float* projected = w.projected.at_least(rows * std::max(n.projected_width(), 2 * n.options.d_model));
    float* context = w.context.at_least(rows * n.values_width());

    const float* input = n.sublayer_input(layer.self_norm, x, rows, w);
    if (n.is_ssru()) {
      layer.ssru.apply(input, rows, projected, {}, w.scratch);
      n.scale_residual(layer.self_norm, x, rows);
      recur_from_past(index, part, projected, x);
    } else {
      layer.query_key_value.apply(input, rows, projected, {}, w.scratch);
      attend_to_past(index, part, projected, context);
      n.scale_residual(layer.self_norm, x, rows);
      layer.self_output.apply(context, rows, x, {x, false}, w.scratch);
    }
    n.end_sublayer(layer.self_norm, x, rows);

    if (n.has_encoder()) {
      input = n.sublayer_input(layer.cross.norm, x, rows, w);
      layer.cross.query.apply(input, rows, projected, {}, w.scratch);
      attend_to_source(index, part, projected, context, attention);
      n.scale_residual(layer.cross.norm, x, rows);
      layer.cross.output.apply(context, rows, x, {x, false}, w.scratch);
      n.end_sublayer(layer.cross.norm, x, rows);
    }

    const Norm& norm = layer.feed_forward.norm;
    input = n.sublayer_input(norm, x, rows, w);
    n.feed_forward(layer.feed_forward, input, x, rows, w);
    n.end_sublayer(norm, x, rows);
  }

  // projected: inputs and gates of the layer's SSRU, [rows,2,D], which continues from the cells of each row's
  // hypothesis.
  void recur_from_past(int64_t layer, const Part& part, const float* projected, float* x) {
    const int64_t d_model = network_->options.d_model;
    for (int64_t row = first_row(part); row < end_row(part); ++row, projected += 2 * d_model, x += d_model) {
      float* cells = workspace_->cells.data() + row / positions_ * static_cast<int64_t>(cells_per_row());
      recur(projected, d_model, cells + layer * d_model, x);
    }
  }

  void attend_to_past(int64_t layer, const Part& part, const float* projected, float* context) {
    Workspace& w = *workspace_;
    const Network& n = *network_;
    const TransformerOptions& o = n.options;
    float* weights = w.weights.at_least(padded_keys(length_ + positions_));
    const float* from = projected;
    for (int64_t row = first_row(part); row < end_row(part);
         ++row, from += n.projected_width(), context += n.values_width()) {
      const CachedToken<Number>* tokens = past_of(row);
      const int64_t position = length_ + row % positions_;
      for (int64_t head = 0; head < o.num_heads; ++head) {
        const int64_t offset = (layer * o.num_heads + head) * n.head_size();
        inference::convert(from + n.keys_width() + head * o.d_k, o.d_k, tokens[position].key + offset);
        inference::convert(from + 2 * n.keys_width() + head * o.d_v, o.d_v, tokens[position].value + offset);
        const AttendScatteredArguments<Number> a{from + head * o.d_k,   tokens, position + 1, offset, offset,
                                                 context + head * o.d_v};
        inference::attend_scattered(n.shape, a, weights);
        if (row + rows_per_sentence_ < end_row(part)) fetch_past(row + rows_per_sentence_, offset);
      }
    }
  }

  // While one sentence is worked on, the keys and values of the next are on their way: those of all together do not
  // fit the caches. (Not inlined, these would be left out: GCC sees no effect of them.)
  TRANSMUTE_INLINE static void fetch(const Number* first, int64_t count) {
    constexpr int64_t kLine = 64 / sizeof(Number);
    for (int64_t i = 0; i < count; i += kLine) __builtin_prefetch(first + i);
  }
  TRANSMUTE_INLINE void fetch_past(int64_t row, int64_t offset) {
    const CachedToken<Number>* tokens = past_of(row);
    for (int64_t i = 0; i < length_; ++i) {
      fetch(tokens[i].key + offset, network_->options.d_k);
      fetch(tokens[i].value + offset, network_->options.d_v);
    }
  }

  void attend_to_source(int64_t layer, const Part& part, const float* queries, float* context, float* attention) {
    Workspace& w = *workspace_;
    const Network& n = *network_;
    const TransformerOptions& o = n.options;
    const Number* keys = cache_.cross_keys[static_cast<size_t>(layer)].data();
    const Number* values = cache_.cross_values[static_cast<size_t>(layer)].data();
    float* weights = w.weights.at_least(rows_per_sentence_ * padded_keys(longest_source_ + 1));
    for (size_t b = part.first; b < part.end; ++b) {
      const SourceSpan& source = sentences_[b].source;
      const int64_t row = static_cast<int64_t>(b - part.first) * rows_per_sentence_;
      float* to = attention == nullptr ? nullptr : attention + (first_row(part) + row) * longest_source_;
      const int64_t padded = padded_keys(source.length);
      for (int64_t head = 0; head < o.num_heads; ++head) {
        AttendArguments<Number> a;
        a.queries = queries + row * n.keys_width() + head * o.d_k;
        a.query_stride = n.keys_width();
        a.rows = rows_per_sentence_;
        a.transposed_keys = keys + source.first_key + head * o.d_k * padded;
        a.values = values + source.first_row * n.values_width() + head * o.d_v;
        a.value_stride = n.values_width();
        a.count = source.length;
        a.outputs = context + row * n.values_width() + head * o.d_v;
        a.output_stride = n.values_width();
        inference::attend(n.shape, a, weights);
        if (b + 1 < part.end) {
          const SourceSpan& next = sentences_[b + 1].source;
          const int64_t head_keys = o.d_k * padded_keys(next.length);
          fetch(keys + next.first_key + head * head_keys, head_keys);
          for (int64_t s = 0; s < next.length; ++s)
            fetch(values + (next.first_row + s) * n.values_width() + head * o.d_v, o.d_v);
        }
        if (to == nullptr || (attention_.head > 0 && head + 1 != attention_.head)) continue;
        const float share = attention_.head > 0 ? 1.0F : 1.0F / static_cast<float>(o.num_heads);
        const int64_t begins = o.source_begin ? 1 : 0;  // left out: it is no token of the text
        for (int64_t r = 0; r < rows_per_sentence_; ++r)
          for (int64_t s = begins; s < source.length; ++s)
            to[r * longest_source_ + s - begins] += weights[r * padded + s] * share;
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
  // Rows of each hypothesis in a call; they are adjacent.
  int64_t positions_ = 1;
  int64_t rows_ = 0;
  int64_t rows_per_sentence_ = 1;
  int64_t capacity_ = 0;  // room in a row of the workspace's `past`
  bool shortlisted_ = false;
  int64_t columns_ = 0;  // of the logits
  Part with_logits_;     // since the last step
};

}  // namespace

std::unique_ptr<DecodingBatch> start_batch(std::shared_ptr<const Network> network, std::shared_ptr<Workspace> workspace,
                                           const std::vector<Ids>& sources, AttentionChoice attention,
                                           const std::vector<Ids>& shortlists) {
  if (network->precision == Precision::float32)
    return std::make_unique<Batch<float>>(std::move(network), std::move(workspace), sources, attention, shortlists);
  return std::make_unique<Batch<uint16_t>>(std::move(network), std::move(workspace), sources, attention, shortlists);
}

}  // namespace inference
}  // namespace v0
}  // namespace transmute

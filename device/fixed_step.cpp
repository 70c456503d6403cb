// SPDX-License-Identifier: Apache-2.0
#include <transmute/device/fixed_step.h>

#include <c10/util/Exception.h>
#include <transmute/libtorch/device.h>
#include <transmute/libtorch/libtorch.h>

#include <algorithm>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// Memory of all steps that are kept, and of the largest.
constexpr int64_t kMostBytes = int64_t{4} << 30;

int64_t doubled_until(int64_t size, int64_t least) {
  while (least < size) least *= 2;
  return least;
}

// True for 0, 1, 2, … .
bool are_the_first(const std::vector<int64_t>& places) {
  int64_t next = 0;
  return std::all_of(places.begin(), places.end(), [&](int64_t place) { return place == next++; });
}

// The memory for all tokens: of the hypotheses, twice where they are reordered, and of the sources.
int64_t bytes_of(const TransformerOptions& options, const DecoderCache& cache, const StepShape& shape) {
  const int64_t tokens = shape.rows() * shape.length * (shape.hypotheses > 1 ? 2 : 1) + shape.sentences * shape.source;
  return tokens * options.num_decoder_layers * options.num_heads * (options.d_k + options.d_v) *
         cache.layers.front().projection.weight.element_size();
}

}  // namespace

bool StepShape::operator==(const StepShape& other) const {
  return sentences == other.sentences && hypotheses == other.hypotheses && source == other.source &&
         length == other.length;
}

StepShape rounded_up(const StepShape& sizes) {
  constexpr int64_t kLeastSource = 16, kLeastLength = 32;
  const int64_t source = sizes.source == 0 ? 0 : doubled_until(sizes.source, kLeastSource);
  return {doubled_until(sizes.sentences, 1), sizes.hypotheses, source, doubled_until(sizes.length, kLeastLength)};
}

FixedStep::FixedStep(Transformer transformer, const DecoderCache& cache, const StepShape& shape, Recorder record)
    : transformer_(std::move(transformer)),
      shape_(shape),
      bytes_(bytes_of(transformer_->options, cache, shape)),
      record_(std::move(record)) {
  const TransformerOptions& options = transformer_->options;
  const int64_t heads = options.num_heads, width = options.d_k + options.d_v;
  const torch::TensorOptions type = cache.layers.front().projection.weight.options();
  for (const DecoderLayerCache& layer : cache.layers) {
    cache_.layers.push_back({layer.projection, {}, {}, {}});
    if (layer.cross.defined())
      cache_.layers.back().cross = torch::empty({shape.sentences, heads, shape.source, width}, type);
    for (size_t side = 0; side < (shape.hypotheses > 1 ? 2U : 1U); ++side)
      sides_[side].rooms.push_back(torch::empty({shape.rows(), heads, shape.length, width}, type));
  }
  if (shape.source > 0)
    cache_.source_mask = torch::empty({shape.sentences, 1, 1, shape.source}, type.dtype(torch::kBool));
  numbers_ = torch::empty({1 + 2 * shape.rows() + shape.sentences}, type.dtype(torch::kLong));
  cache_.position = numbers_.narrow(0, 0, 1);
}

void FixedStep::load(const DecoderCache& cache) {
  current_ = 0;
  for (size_t i = 0; i < cache.layers.size(); ++i) {
    // Hidden tokens must be finite: their weight is 0, and 0 times infinity is no number.
    const torch::Tensor room = sides_[0].rooms[i].zero_();
    const KeyValue tokens = cache.layers[i].self.tokens();
    if (tokens.key.defined()) {
      torch::Tensor start = room.narrow(0, 0, tokens.key.size(0)).narrow(2, 0, tokens.key.size(2));
      torch::cat_out(start, {tokens.key, tokens.value}, 3);
    }
    const torch::Tensor& cross = cache.layers[i].cross;
    if (cross.defined())
      cache_.layers[i].cross.zero_().narrow(0, 0, cross.size(0)).narrow(2, 0, cross.size(2)).copy_(cross);
  }
  const torch::Tensor& cross = cache.layers.front().cross;
  if (!cross.defined()) return;
  const torch::Tensor read = cache_.source_mask.zero_().narrow(0, 0, cross.size(0)).narrow(3, 0, cross.size(2));
  cache.source_mask.defined() ? read.copy_(cache.source_mask) : read.fill_(true);
}

void FixedStep::compute(const Side& from, Side& to) {
  const torch::Tensor ids = numbers_.narrow(0, 1, shape_.rows()).view({shape_.sentences, shape_.hypotheses});
  const torch::Tensor parents = numbers_.narrow(0, 1 + shape_.rows(), shape_.rows());
  DecoderCache cache = cache_;
  for (size_t i = 0; i < cache.layers.size(); ++i) {
    torch::Tensor room = to.rooms[i];
    if (&from != &to) torch::index_select_out(room, from.rooms[i], 0, parents);
    cache.layers[i].self = DecodedKeyValue::in_place(room, transformer_->options.d_k, cache.position);
  }
  to.logits = transformer_->project(transformer_->step(ids, cache).states);
}

torch::Tensor FixedStep::run(int64_t position, const Ids& ids, const std::vector<int64_t>& parents,
                             const std::vector<int64_t>& places) {
  const int64_t rows = shape_.rows();
  const torch::Tensor numbers =
      torch::zeros({numbers_.size(0)}, torch::kLong);  // a token and a row where nothing is used
  int64_t* const number = numbers.data_ptr<int64_t>();
  number[0] = position;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto hypotheses = static_cast<size_t>(shape_.hypotheses);
    const int64_t first = places[i / hypotheses] * shape_.hypotheses;
    const int64_t row = first + static_cast<int64_t>(i % hypotheses);
    number[1 + row] = ids[i];
    number[1 + rows + row] = first + parents[i];
  }
  std::copy(places.begin(), places.end(), number + 1 + 2 * rows);
  numbers_.copy_(on_device(numbers, numbers_.device()));

  const size_t next = shape_.hypotheses > 1 ? 1 - current_ : current_;
  const Side& from = sides_[current_];
  Side& to = sides_[next];
  const auto body = [this, &from, &to] { compute(from, to); };
  // A step's first use may be its only one.
  if (!to.replay && std::exchange(to.has_run, true)) to.replay = record_(body, numbers_.device());
  to.replay ? to.replay() : body();
  current_ = next;

  const auto count = static_cast<int64_t>(places.size());
  if (are_the_first(places)) return to.logits.narrow(0, 0, count);
  return to.logits.index_select(0, numbers_.narrow(0, 1 + 2 * rows, count));
}

DecoderCache FixedStep::cache(int64_t length, const torch::Tensor& places, const torch::Tensor& rows) const {
  DecoderCache copy = cache_.select(places, {});
  copy.length = length;
  const int64_t key_width = transformer_->options.d_k, value_width = transformer_->options.d_v;
  for (size_t i = 0; i < copy.layers.size(); ++i) {
    const torch::Tensor tokens = sides_[current_].rooms[i].narrow(2, 0, length).index_select(0, rows);
    copy.layers[i].self =
        DecodedKeyValue().append({tokens.narrow(3, 0, key_width), tokens.narrow(3, key_width, value_width)});
  }
  return copy;
}

std::unique_ptr<FixedStep> FixedSteps::take(const Transformer& transformer, const DecoderCache& cache,
                                            const StepShape& shape) {
  const int64_t bytes = bytes_of(transformer->options, cache, shape);
  if (bytes > kMostBytes) return nullptr;
  const std::lock_guard lock(mutex_);
  int64_t kept = 0;
  for (auto step = kept_.begin(); step != kept_.end(); ++step) {
    if ((*step)->shape() == shape) {
      std::unique_ptr<FixedStep> found = std::move(*step);
      kept_.erase(step);
      return found;
    }
    kept += (*step)->bytes();
  }
  for (; !kept_.empty() && kept + bytes > kMostBytes; kept_.pop_back()) kept -= kept_.back()->bytes();
  return std::make_unique<FixedStep>(transformer, cache, shape,
                                     [this](const auto& body, torch::Device device) { return record(body, device); });
}

void FixedSteps::give_back(std::unique_ptr<FixedStep> step) {
  const std::lock_guard lock(mutex_);
  kept_.push_front(std::move(step));
}

std::function<void()> FixedSteps::record(const std::function<void()>& body, torch::Device device) {
  if (!record_ || !usable_) return {};
  try {
    return record_(body, device);
  } catch (const std::exception& error) {  // LibTorch's, or of this package's kernels
    const auto* const of_libtorch = dynamic_cast<const c10::Error*>(&error);
    if (usable_.exchange(false))
      TORCH_WARN("decoding continues without CUDA graphs, because a step could not be recorded: ",
                 of_libtorch != nullptr ? of_libtorch->what_without_backtrace() : error.what());
    return {};
  }
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/data/batcher.h>

#include <transmute/common/random.h>
#include <transmute/libtorch/libtorch.h>

#include <algorithm>
#include <numeric>

namespace transmute {
inline namespace v0 {

namespace {

// Pairs are sorted by length within pools of this many batches: little padding, and in each epoch other neighbors.
// (Sorted as a whole, a small text falls into nearly the same batches every time.)
constexpr int64_t kPoolBatches = 32;

// Padded length of a pair's longer side, including the begin or end token.
int64_t padded_length(const ParallelText& text, size_t pair) {
  return static_cast<int64_t>(std::max(text.source.length(pair), text.target.length(pair))) + 1;
}

// The width of a source with its end token; plain text has neither.
size_t source_columns_of(const ParallelText& text, size_t pair) {
  return text.is_plain() ? 0 : text.source.length(pair) + 1;
}

torch::Tensor padding(size_t rows, size_t columns) {
  return torch::full({static_cast<int64_t>(rows), static_cast<int64_t>(columns)}, special_ids::kPad, torch::kLong);
}

// [B,T,S]: each target position's links share 1 among them.
torch::Tensor alignment_of(const ParallelText& text, const std::vector<size_t>& pairs, int64_t target_columns,
                           int64_t source_columns) {
  torch::Tensor alignment =
      torch::zeros({static_cast<int64_t>(pairs.size()), target_columns, source_columns}, torch::kFloat);
  float* sentence = alignment.data_ptr<float>();
  for (const size_t pair : pairs) {
    const int32_t* links = text.links.data(pair);
    const size_t numbers = text.links.length(pair);
    for (size_t begin = 0; begin < numbers;) {  // in order of the target positions
      size_t end = begin;
      while (end < numbers && links[end] == links[begin]) end += 2;
      const float share = 2.0F / static_cast<float>(end - begin);
      for (size_t i = begin; i < end; i += 2) sentence[links[i] * source_columns + links[i + 1]] = share;
      begin = end;
    }
    sentence += target_columns * source_columns;
  }
  return alignment;
}

}  // namespace

uint64_t epoch_key(EpochDraw draw, uint64_t seed, int64_t epoch, int64_t window) {
  const auto purpose = static_cast<uint64_t>(draw);
  // Leaves out the window's number, so that texts of one window keep the order that they have always had.
  return window == 0 ? combine_keys(seed, purpose, epoch) : combine_keys(seed, purpose, epoch, window);
}

std::vector<std::vector<size_t>> shuffled_batches(const ParallelText& text, int64_t batch_tokens, uint64_t pairs_key,
                                                  uint64_t batches_key) {
  std::vector<size_t> order(text.size());
  std::iota(order.begin(), order.end(), size_t{0});
  shuffle(order, pairs_key);

  std::vector<std::vector<size_t>> batches;
  for (auto begin = order.begin(); begin != order.end();) {
    auto end = begin;
    for (int64_t tokens = 0; end != order.end() && tokens < kPoolBatches * batch_tokens; ++end)
      tokens += padded_length(text, *end);
    // Sorts by target, then by source: the target side costs more, so its padding should be smallest.
    std::stable_sort(begin, end, [&](size_t a, size_t b) {
      return std::make_pair(text.target.length(a), text.source.length(a)) <
             std::make_pair(text.target.length(b), text.source.length(b));
    });
    int64_t longest = 0;
    for (bool first = true; begin != end; ++begin, first = false) {
      longest = std::max(longest, padded_length(text, *begin));
      if (first || longest * static_cast<int64_t>(batches.back().size() + 1) > batch_tokens) {
        batches.emplace_back();
        longest = padded_length(text, *begin);
      }
      batches.back().push_back(*begin);
    }
  }
  shuffle(batches, batches_key);
  return batches;
}

std::vector<std::vector<size_t>> epoch_batches(const ParallelText& text, int64_t batch_tokens, uint64_t seed,
                                               int64_t epoch) {
  return shuffled_batches(text, batch_tokens, epoch_key(EpochDraw::pairs, seed, epoch),
                          epoch_key(EpochDraw::batches, seed, epoch));
}

std::vector<std::vector<size_t>> cut_into_micro_batches(const ParallelText& text, const std::vector<size_t>& pairs,
                                                        int64_t micro_batch_tokens, int64_t workers) {
  int64_t longest = 0;
  for (const size_t pair : pairs) longest = std::max(longest, padded_length(text, pair));
  const auto rows = static_cast<int64_t>(pairs.size());
  const int64_t rows_allowed = std::max<int64_t>(1, micro_batch_tokens / longest);
  int64_t count = (rows + rows_allowed - 1) / rows_allowed;
  count = std::min(rows, (count + workers - 1) / workers * workers);
  std::vector<std::vector<size_t>> micro_batches(static_cast<size_t>(count));
  for (size_t i = 0; i < pairs.size(); ++i) micro_batches[i % micro_batches.size()].push_back(pairs[i]);
  return micro_batches;
}

Batch make_batch(const ParallelText& text, const std::vector<size_t>& pairs) {
  size_t source_columns = 0;
  size_t target_columns = 0;
  Batch batch;
  for (const size_t pair : pairs) {
    source_columns = std::max(source_columns, source_columns_of(text, pair));
    target_columns = std::max(target_columns, text.target.length(pair) + 1);
  }
  batch.source_tokens = count_source_tokens(text, pairs);
  batch.target_tokens = count_target_tokens(text, pairs);
  batch.source = padding(pairs.size(), source_columns);
  batch.target_in = padding(pairs.size(), target_columns);
  batch.target_out = padding(pairs.size(), target_columns);
  int64_t* source = batch.source.data_ptr<int64_t>();
  int64_t* target_in = batch.target_in.data_ptr<int64_t>();
  int64_t* target_out = batch.target_out.data_ptr<int64_t>();
  for (const size_t pair : pairs) {
    const int32_t* source_ids = text.source.data(pair);
    const int32_t* target_ids = text.target.data(pair);
    int64_t* source_end = std::copy(source_ids, source_ids + text.source.length(pair), source);
    if (!text.is_plain()) *source_end = special_ids::kEnd;
    target_in[0] = special_ids::kBegin;
    std::copy(target_ids, target_ids + text.target.length(pair), target_in + 1);
    *std::copy(target_ids, target_ids + text.target.length(pair), target_out) = special_ids::kEnd;
    source += source_columns;
    target_in += target_columns;
    target_out += target_columns;
  }
  if (text.links.size() == text.size())
    batch.alignment = alignment_of(text, pairs, batch.target_out.size(1), batch.source.size(1));
  return batch;
}

int64_t count_source_tokens(const ParallelText& text, const std::vector<size_t>& pairs) {
  size_t tokens = 0;
  for (const size_t pair : pairs) tokens += source_columns_of(text, pair);
  return static_cast<int64_t>(tokens);
}

int64_t count_target_tokens(const ParallelText& text, const std::vector<size_t>& pairs) {
  int64_t tokens = 0;
  for (const size_t pair : pairs) tokens += static_cast<int64_t>(text.target.length(pair)) + 1;
  return tokens;
}

}  // namespace v0
}  // namespace transmute

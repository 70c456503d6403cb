// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/data/training_text.h>

#include <transmute/common/hash.h>
#include <transmute/common/random.h>
#include <transmute/training/data/batcher.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

TrainingText::TrainingText(std::vector<WeightedCorpus> corpora) : corpora_(std::move(corpora)) {
  for (const auto& corpus : corpora_) has_links_ = has_links_ || corpus.shards->has_links();
}

void TrainingText::sample_subwords(const Tokenizer& tokenizer, const SubwordSampling& options,
                                   const LengthLimits& limits) {
  sampling_ = options;
  limits_ = limits;
  if (has_links_ && (options.source_alpha > 0 || options.target_alpha > 0))
    throw std::invalid_argument("segmentations cannot be sampled of text whose pieces are aligned");
  if (options.source_alpha > 0) source_sampler_ = std::make_shared<SubwordSampler>(tokenizer.source());
  if (options.target_alpha > 0) target_sampler_ = std::make_shared<SubwordSampler>(tokenizer.target());
}

void TrainingText::augment(const Tokenizer& tokenizer, const std::vector<Augmentation>& augmentations,
                           const LengthLimits& limits) {
  if (augmentations.empty()) return;
  if (has_links_) throw std::invalid_argument("text whose pieces are aligned cannot be augmented");
  augmentations_ = augmentations;
  augmenter_ = std::make_shared<Augmenter>(tokenizer, augmentations);
  limits_ = limits;
}

size_t TrainingText::size() const {
  size_t pairs = 0;
  for (const auto& corpus : corpora_) pairs += corpus.shards->size();
  return pairs;
}

TextCounts TrainingText::counts() const {
  TextCounts sum;
  for (const auto& corpus : corpora_) {
    const TextCounts& counts = corpus.shards->counts();
    sum.source_tokens += counts.source_tokens;
    sum.target_tokens += counts.target_tokens;
    sum.unknown_source += counts.unknown_source;
    sum.unknown_target += counts.unknown_target;
    sum.left_out.add(counts.left_out);
  }
  return sum;
}

int64_t TrainingText::epoch_tokens() const {
  double source = 0, target = 0;
  for (const auto& [shards, weight] : corpora_) {
    const auto pairs = static_cast<double>(shards->size());
    source += weight * (static_cast<double>(shards->counts().source_tokens) + pairs);
    target += weight * (static_cast<double>(shards->counts().target_tokens) + pairs);
  }
  return std::llround(std::max(source, target));
}

uint64_t TrainingText::fingerprint() const {
  const auto bits = [](double value) { return hash_bytes(&value, sizeof(value)); };
  uint64_t hash = combine_keys(bits(sampling_.source_alpha), bits(sampling_.target_alpha));
  for (const auto& corpus : corpora_) hash = combine_keys(hash, corpus.shards->key(), bits(corpus.weight));
  for (const Augmentation augmentation : augmentations_) hash = combine_keys(hash, static_cast<uint64_t>(augmentation));
  return hash;
}

Epoch::Epoch(const TrainingText& text, int64_t batch_tokens, uint64_t seed, int64_t epoch)
    : text_(text), batch_tokens_(batch_tokens), seed_(seed), epoch_(epoch) {
  for (size_t corpus = 0; corpus < text.corpora_.size(); ++corpus) {
    const auto& [shards, weight] = text.corpora_[corpus];
    for (uint64_t pass = 0; static_cast<double>(pass) < weight; ++pass) {
      passes_.push_back({shards.get(), std::min(1.0, weight - static_cast<double>(pass)), corpus, pass, blocks_});
      blocks_ += shards->blocks();
    }
  }
  windows_ = static_cast<int64_t>(std::max<size_t>(1, (blocks_ + kWindowBlocks - 1) / kWindowBlocks));
  if (windows_ == 1) return;
  order_.resize(blocks_);
  std::iota(order_.begin(), order_.end(), uint32_t{0});
  shuffle(order_, epoch_key(EpochDraw::blocks, seed, epoch));
}

const Epoch::Pass& Epoch::pass_of(size_t block) const {
  const auto after = std::upper_bound(passes_.begin(), passes_.end(), block,
                                      [](size_t number, const Pass& pass) { return number < pass.first_block; });
  return *(after - 1);
}

bool Epoch::takes_part(const Pass& pass, size_t pair) const {
  if (pass.share >= 1) return true;
  const uint64_t drawn = combine_keys(epoch_key(EpochDraw::shares, seed_, epoch_), pass.corpus, pair);
  return uniform(drawn) < pass.share;
}

std::vector<size_t> Epoch::blocks_of(int64_t window) const {
  const auto boundary = [&](int64_t number) {
    return blocks_ * static_cast<size_t>(number) / static_cast<size_t>(windows_);
  };
  std::vector<size_t> blocks;
  for (size_t i = boundary(window); i < boundary(window + 1); ++i) blocks.push_back(order_.empty() ? i : order_[i]);
  return blocks;
}

// Returns a pair as it is in this epoch and pass. `kept` is the pair as stored.
Augmenter::Pair Epoch::augmented(const Pass& pass, size_t number, const ParallelText& kept) const {
  const auto ids = [](const TokenLists& lists) { return Ids(lists.data(0), lists.data(0) + lists.length(0)); };
  Augmenter::Pair pair{ids(kept.source), ids(kept.target)};
  if (!text_.augmenter_) return pair;
  const uint64_t key = combine_keys(epoch_key(EpochDraw::augmentation, seed_, epoch_), pass.corpus, pass.pass, number);
  std::optional<Augmenter::Pair> drawn = text_.augmenter_->augment(pair.source, pair.target, key);
  const LengthLimits& limits = text_.limits_;
  const bool fits = drawn && static_cast<int64_t>(drawn->source.size()) <= limits.source_tokens &&
                    static_cast<int64_t>(drawn->target.size()) <= limits.target_tokens;
  return fits ? *std::move(drawn) : pair;
}

// Adds a pair with the text and the segmentation that it has in this epoch and pass. `kept` is the pair as stored.
void Epoch::add_drawn(const Pass& pass, size_t number, const ParallelText& kept, ParallelText& text) const {
  const Augmenter::Pair pair = augmented(pass, number, kept);
  const uint64_t key = combine_keys(epoch_key(EpochDraw::subwords, seed_, epoch_), pass.corpus, pass.pass, number);
  const auto draw = [&](const SubwordSampler* sampler, const Ids& ids, double alpha, int64_t limit, uint64_t side) {
    if (sampler == nullptr) return ids;
    Ids drawn = sampler->sample(ids, alpha, combine_keys(key, side));
    return static_cast<int64_t>(drawn.size()) <= limit ? drawn : ids;
  };
  text.source.add(
      draw(text_.source_sampler_.get(), pair.source, text_.sampling_.source_alpha, text_.limits_.source_tokens, 0));
  text.target.add(
      draw(text_.target_sampler_.get(), pair.target, text_.sampling_.target_alpha, text_.limits_.target_tokens, 1));
}

Epoch::Window Epoch::window(int64_t number) const {
  const bool is_drawn = text_.source_sampler_ || text_.target_sampler_ || text_.augmenter_;
  const std::vector<size_t> blocks = blocks_of(number);
  for (const size_t block : blocks) pass_of(block).shards->will_need(block - pass_of(block).first_block);

  Window window;
  PairBlock read;
  for (const size_t number_of_all : blocks) {
    const Pass& pass = pass_of(number_of_all);
    const size_t block = number_of_all - pass.first_block;
    pass.shards->read_block(block, read);
    for (size_t i = 0; i < read.pairs.size(); ++i) {
      const size_t pair = block * kBlockPairs + i;
      if (!takes_part(pass, pair)) continue;
      if (is_drawn) {
        ParallelText kept;
        pass.shards->copy(read.pairs[i], kept);
        add_drawn(pass, pair, kept, window.text);
      } else {
        pass.shards->copy(read.pairs[i], window.text);
        if (text_.has_links_ && !pass.shards->has_links()) window.text.links.add(Ids());
      }
    }
  }
  window.batches = shuffled_batches(window.text, batch_tokens_, epoch_key(EpochDraw::pairs, seed_, epoch_, number),
                                    epoch_key(EpochDraw::batches, seed_, epoch_, number));
  return window;
}

}  // namespace v0
}  // namespace transmute

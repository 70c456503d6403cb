// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/sampler.h>
#include <transmute/training/data/augmentation.h>
#include <transmute/training/data/parallel_text.h>
#include <transmute/training/data/token_shards.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A corpus and how much of it an epoch sees.
struct WeightedCorpus {
  std::shared_ptr<const TokenShards> shards;
  /// Times that an epoch sees each pair. With a fraction, each epoch draws other pairs.
  double weight = 1;
};

/// Options for drawing segmentations, see SubwordSampler. 0: that side keeps the tokenizer's segmentation.
struct SubwordSampling {
  double source_alpha = 0;
  double target_alpha = 0;
};

/// The training text on its way to batches: text files -> a corpus of TokenShards each, in the CorpusCache ->
/// TrainingText, all corpora with their weights -> Epoch, their order -> Window, a part of it in memory as ParallelText
/// -> Batch.
class TrainingText {
 public:
  explicit TrainingText(std::vector<WeightedCorpus> corpora);

  /// Makes each epoch draw new segmentations. A sentence that would exceed the limit keeps the tokenizer's
  /// segmentation.
  /// @throws std::invalid_argument if the tokenizer has only one segmentation, or if the pieces are aligned.
  void sample_subwords(const Tokenizer& tokenizer, const SubwordSampling& options, const LengthLimits& limits);

  /// Makes each epoch change some of its pairs in these ways. A pair that would exceed the limits stays as it is.
  /// @throws std::invalid_argument if the pieces are aligned.
  /// @throws std::invalid_argument if the pieces are aligned.
  void augment(const Tokenizer& tokenizer, const std::vector<Augmentation>& augmentations, const LengthLimits& limits);

  /// Pairs of all corpora, each counted once.
  size_t size() const;
  TextCounts counts() const;
  /// Number of tokens in an epoch, on the longer side, ends included: those of the corpora times their weights.
  int64_t epoch_tokens() const;
  /// Equal for texts whose epochs are equal: depends on the corpora, their weights, the sampling and the augmentations.
  uint64_t fingerprint() const;

 private:
  friend class Epoch;
  std::vector<WeightedCorpus> corpora_;
  bool has_links_ = false;
  std::shared_ptr<const SubwordSampler> source_sampler_, target_sampler_;  // null if no segmentations are drawn
  SubwordSampling sampling_;
  std::vector<Augmentation> augmentations_;
  std::shared_ptr<const Augmenter> augmenter_;  // null if no pairs are changed
  LengthLimits limits_;
};

/// The order of one pass over the text: a function of the text, `batch_tokens`, the seed and the epoch's number.
///
/// The text is cut into blocks of kBlockPairs neighboring pairs. Up to kWindowBlocks of them, an epoch is one window,
/// in which all pairs are shuffled; a larger text is dealt out to windows, block by block in shuffled order, and pairs
/// are shuffled within their window. So an epoch needs memory for 4 bytes a block and for the pairs of a window.
class Epoch {
 public:
  static constexpr size_t kWindowBlocks = 4096;

  /// A part of an epoch that is shuffled as a whole.
  struct Window {
    ParallelText text;
    std::vector<std::vector<size_t>> batches;  ///< numbers of the pairs in each, within the window
  };

  /// `text` must outlive this object.
  Epoch(const TrainingText& text, int64_t batch_tokens, uint64_t seed, int64_t epoch);

  int64_t number() const { return epoch_; }
  int64_t windows() const { return windows_; }
  /// Returns a window. It may have no batch if weights are fractions.
  /// @throws DamagedShards naming the file if the text is not as it was written.
  Window window(int64_t number) const;

 private:
  // One pass over a corpus, or over a share of it.
  struct Pass {
    const TokenShards* shards;
    double share;
    uint64_t corpus, pass;
    size_t first_block;  // index of its first block among those of all passes
  };
  std::vector<size_t> blocks_of(int64_t window) const;
  const Pass& pass_of(size_t block) const;
  bool takes_part(const Pass& pass, size_t pair) const;
  Augmenter::Pair augmented(const Pass& pass, size_t number, const ParallelText& kept) const;
  void add_drawn(const Pass& pass, size_t number, const ParallelText& kept, ParallelText& text) const;

  const TrainingText& text_;
  int64_t batch_tokens_;
  uint64_t seed_;
  int64_t epoch_;
  std::vector<Pass> passes_;
  size_t blocks_ = 0;
  int64_t windows_ = 1;
  std::vector<uint32_t> order_;  // of blocks; empty for one window, which has them in the text's order
};

}  // namespace v0
}  // namespace transmute

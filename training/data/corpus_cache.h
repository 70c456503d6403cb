// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/training/data/token_shards.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A folder of tokenized corpora. Each is made once, under a name that tells the content of its files, the
/// tokenizer and the limits of length: where one of them changes, it is made anew. Several processes may share the
/// folder: one makes a corpus, the others wait for it.
///
///     cache.lock                held while a corpus is looked for or made
///     contents.json             hashes of the text files, with the sizes and times for which they hold
///     train.en-0123456789abcdef a corpus, see TokenShards
class CorpusCache {
 public:
  explicit CorpusCache(std::string folder);
  ~CorpusCache();

  /// Hashes the files whose contents are not known yet. Call it before opening several corpora: open() hashes too, but
  /// writes contents.json each time.
  /// @throws std::runtime_error naming a file that cannot be read, or if the folder cannot be written to.
  void hash_contents(const std::vector<AlignedFiles>& corpora);

  /// Aligned files, or plain text, tokenized with all workers where that was not done before. A damaged corpus is made
  /// again, with a warning. Memory stays small however large the files.
  /// @throws as tokenize_files, and std::runtime_error if the folder cannot be written to, a full disk among the
  /// causes: what was there before remains.
  std::shared_ptr<const TokenShards> open(const AlignedFiles& files, const Tokenizer& tokenizer,
                                          const LengthLimits& limits, WorkerCrew& workers);

  /// Removes corpora that this object has not opened. For folders that no other process uses.
  void remove_others();

 private:
  class Contents;

  void make(const std::string& folder, const AlignedFiles& files, const Tokenizer& tokenizer,
            const LengthLimits& limits, WorkerCrew& workers, uint64_t key) const;

  std::string folder_;
  std::unique_ptr<Contents> contents_;
  std::set<std::string> opened_;  // folders of corpora
};

}  // namespace v0
}  // namespace transmute

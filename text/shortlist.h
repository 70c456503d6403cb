// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/types.h>
#include <transmute/tokenizer/tokenizer.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Chooses the few target tokens that a source's translation is likely to consist of, so that the decoder's last
/// product need not cover the whole vocabulary: the translations of the source's tokens by a table, these tokens
/// themselves if the target vocabulary has them (names), frequent tokens, single digits and punctuation, and longer
/// numbers whose digits occur in a row in the source.
class Shortlist {
 public:
  /// Reads the table, plain or gzipped.
  /// @throws std::runtime_error naming file and line, or saying that the table is of another tokenizer;
  /// std::invalid_argument where an option is negative.
  Shortlist(const ShortlistOptions& options, const Tokenizer& tokenizer);

  /// A table that is ready: target tokens by source token, and those that are on every list.
  Shortlist(std::vector<Ids> translations, Ids always)
      : translations_(std::move(translations)), always_(std::move(always)), digits_(translations_.size(), " ") {}

  /// Ascending, each once. A function of the source alone.
  Ids tokens_for(const Ids& source) const;

 private:
  void keep_copyable_tokens(const Tokenizer& tokenizer);
  void add_numbers(const Ids& source, Ids& tokens) const;

  std::vector<Ids> translations_;  // by source token; those of the end are for every source
  Ids always_;
  std::vector<std::string> digits_;                  // by source token: its text where that has digits, else a blank
  std::unordered_map<std::string, Ids> of_numbers_;  // target tokens by the digits in them
  size_t longest_number_ = 0;
};

}  // namespace v0
}  // namespace transmute

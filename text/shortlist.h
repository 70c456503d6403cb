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

/// In place of a table's file (ShortlistOptions::table): translations may have the whole vocabulary.
constexpr const char* kNoShortlist = "none";

/// Target tokens by source token, packed.
struct ShortlistTable {
  std::vector<int64_t> ends;    ///< by source token: where its translations end in `tokens`; they begin at the last end
  std::vector<int32_t> tokens;  ///< the translations of all source tokens, one list after the other
  std::vector<int32_t> always;  ///< the tokens that are on every list

  ShortlistTable() = default;
  ShortlistTable(const std::vector<Ids>& translations, const Ids& always);
  int64_t source_tokens() const { return static_cast<int64_t>(ends.size()); }
};

/// Chooses the few target tokens that a source's translation is likely to consist of, so that the decoder's last
/// product need not cover the whole vocabulary: the translations of the source's tokens by a table, these tokens
/// themselves if the target vocabulary has them (names), frequent tokens, single digits and punctuation, and longer
/// numbers whose digits occur in a row in the source.
class Shortlist {
 public:
  /// Reads the table, plain or gzipped.
  /// @throws std::runtime_error naming file and line, or saying that the table is of another tokenizer;
  /// std::invalid_argument if an option is negative.
  Shortlist(const ShortlistOptions& options, const Tokenizer& tokenizer);

  /// The same for translations of each source token, the most probable first, of which the best are taken.
  Shortlist(std::vector<Ids> translations, const ShortlistOptions& options, const Tokenizer& tokenizer);

  /// Lists that are ready. Longer numbers are on no list.
  explicit Shortlist(ShortlistTable table)
      : table_(std::move(table)), digits_(static_cast<size_t>(table_.source_tokens()), " ") {}

  /// Lists that are ready, with the longer numbers of a tokenizer.
  /// @throws std::invalid_argument if the lists are not of this tokenizer
  Shortlist(ShortlistTable table, const Tokenizer& tokenizer);

  const ShortlistTable& table() const { return table_; }

  /// Ascending, each once. A function of the source alone.
  Ids tokens_for(const Ids& source) const;

 private:
  void complete(std::vector<Ids> translations, const ShortlistOptions& options, const Tokenizer& tokenizer);
  void find_numbers(const Tokenizer& tokenizer);
  Ids numbers_of(const Ids& source) const;

  ShortlistTable table_;
  std::vector<std::string> digits_;                  // by source token: its text where that has digits, else a blank
  std::unordered_map<std::string, Ids> of_numbers_;  // target tokens by the digits in them
  size_t longest_number_ = 0;
};

}  // namespace v0
}  // namespace transmute

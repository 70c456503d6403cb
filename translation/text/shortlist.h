// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/tokenizer.h>
#include <transmute/translation/types.h>

#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The few target tokens that a source's translation is likely to be made of, so that the decoder's last product need
/// not know the whole vocabulary: the source's own tokens where the target has them (names, numbers), what a table
/// gives as their translations, and what is frequent.
class Shortlist {
 public:
  /// Reads the table, plain or gzipped.
  /// @throws std::runtime_error naming file and line, or saying that the table is of another tokenizer;
  /// std::invalid_argument where an option is negative.
  Shortlist(const ShortlistOptions& options, const Tokenizer& tokenizer);

  /// Ascending, each once. A function of the source alone.
  Ids tokens_for(const Ids& source) const;

 private:
  std::vector<Ids> translations_;  // by source token; those of the end are for every source
  Ids always_;
};

}  // namespace v0
}  // namespace transmute

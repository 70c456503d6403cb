// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/tokenizer.h>

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace checks {

/// The tokens of each word. In scripts that are written without spaces, each token is a word. The mark of a space
/// belongs to the word after it.
std::vector<ByteSpan> words_of_tokens(const std::vector<std::string>& pieces);

/// Consecutive words of the source that the translation hardly attends to.
struct Gap {
  double words = 0;  ///< how many, where a word counts in part if it gets some attention
  ByteSpan tokens;   ///< tokens of the source
};

/// The largest gap.
/// @param attention a row for each token of the translation, a column for each source token
Gap largest_gap(const std::vector<std::string>& source_tokens, const std::vector<std::vector<float>>& attention);

}  // namespace checks
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/network/search_options.h>
#include <transmute/tokenizer/special_ids.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A sentence, and the requirements on its translation.
struct SearchRequest {
  Ids source;    ///< without begin or end
  Ids prefix{};  ///< the beginning of the translation
  /// The first tokens of the prefix, such as the language, that are not part of the translation: their probability
  /// counts as 1, and neither min_length nor repetition_penalty counts them.
  int64_t forced_tokens = 0;
  std::vector<Ids> terms{};  ///< they must occur in the translation, in any order; none is empty
  /// The only tokens allowed, besides those of prefix and terms. Probabilities are normalized over them. Either all
  /// sentences of a search have one or none.
  std::optional<Ids> shortlist{};
  std::string text{};               ///< the source before it was tokenized, for SearchOptions::constraint
  bool prefix_is_complete = false;  ///< the end follows the prefix, which is only scored
  bool prefix_is_certain = false;   ///< the probability of each of its tokens counts as 1
};

/// The facts that hold for all sentences of a search.
struct SearchContext {
  /// True if a word continues from one token to the next. A term counts only if no word continues into it or out of it.
  /// If the function is empty, terms count everywhere.
  std::function<bool(int64_t before, int64_t after)> is_inside_word{};
  Ids excluded{};  ///< tokens that no translation may contain
  /// Sequences of tokens that no translation may contain, beside its prefix and terms; none is empty. The other tokens
  /// share the probability.
  std::vector<Ids> suppressed{};
  /// The text of a hypothesis' tokens. Of finished hypotheses with the same text, only the best is kept; if the
  /// function is empty, all are.
  std::function<std::string(const Ids& ids)> text_of{};
  /// The most tokens of a translation, prefix included, whatever SearchOptions::max_extra_length is.
  int64_t most_tokens = std::numeric_limits<int64_t>::max();
};

namespace search {

/// True if a search with these options looks for the best translation, instead of drawing some or listing alternatives.
inline bool is_search(const SearchOptions& options) {
  return !options.sampling && !options.alternatives;
}

/// @throws std::invalid_argument if only some requests have a shortlist, or a search with these options cannot meet one
TRANSMUTE_API void check(const std::vector<SearchRequest>& requests, const Ids& excluded, const SearchOptions& options);

/// The tokens of the columns of a sentence's logits, in ascending order: the reserved tokens (which thereby keep their
/// positions), the shortlist, and required tokens, without the excluded ones. Empty without a shortlist.
TRANSMUTE_API Ids completed_shortlist(const SearchRequest& request, const Ids& excluded);

}  // namespace search

}  // namespace v0
}  // namespace transmute

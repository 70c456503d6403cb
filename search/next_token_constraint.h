// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/tokenizer/special_ids.h>

#include <cstdint>
#include <memory>
#include <string>

namespace transmute {
inline namespace v0 {

/// Restricts the tokens of a translation, for example to a grammar, a format or a list of names. Passed as
/// SearchOptions::constraint. Must be safe to use from many threads at once.
class TRANSMUTE_API NextTokenConstraint {
 public:
  /// The state of one hypothesis. Immutable, because hypotheses with different continuations share it.
  class TRANSMUTE_API State {
   public:
    virtual ~State();
    /// The tokens that may come next, without duplicates, in any order; special_ids::kEnd if the translation may end. A
    /// hypothesis with no allowed token is dropped; if no hypothesis of the beam has one, all of them end there, even
    /// if the end is not allowed. For a token that the target vocabulary does not have, the search throws
    /// std::invalid_argument.
    virtual Ids allowed() const = 0;
    /// The state after `token`, one of the allowed tokens other than the end.
    virtual std::shared_ptr<const State> after(int64_t token) const = 0;
  };

  virtual ~NextTokenConstraint();
  /// The state before the first token of a translation. `source`: the ids of the source, without the end token. `text`:
  /// what the source was before it was tokenized, without a tag that names its language; for a language model, the
  /// prompt.
  virtual std::shared_ptr<const State> begin(const Ids& source, const std::string& text) const = 0;
};

}  // namespace v0
}  // namespace transmute

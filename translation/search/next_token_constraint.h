// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/tokenizer/special_ids.h>

#include <cstdint>
#include <memory>

namespace transmute {
inline namespace v0 {

/// Decides, token by token, what a translation may consist of: a grammar, a format, a list of names. Given to
/// SearchOptions::constraint; used by many threads at once.
class TRANSMUTE_API NextTokenConstraint {
 public:
  /// How far a hypothesis has come. Immutable, because hypotheses that continue differently share it.
  class TRANSMUTE_API State {
   public:
    virtual ~State();
    /// The tokens that may come next, each once, in any order; special_ids::kEnd where the translation may end. A
    /// hypothesis without any is given up.
    virtual Ids allowed() const = 0;
    /// The state after one of the allowed tokens other than the end.
    virtual std::shared_ptr<const State> after(int64_t token) const = 0;
  };

  virtual ~NextTokenConstraint();
  /// The state before the first token of a translation of `source`, whose ids have no end.
  virtual std::shared_ptr<const State> begin(const Ids& source) const = 0;
};

}  // namespace v0
}  // namespace transmute

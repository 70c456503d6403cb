// SPDX-License-Identifier: Apache-2.0
#include <transmute/search/next_token_constraint.h>

namespace transmute {
inline namespace v0 {

NextTokenConstraint::State::~State() = default;
NextTokenConstraint::~NextTokenConstraint() = default;

}  // namespace v0
}  // namespace transmute

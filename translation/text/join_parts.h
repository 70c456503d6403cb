// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/tokenizer.h>
#include <transmute/translation/search/hypothesis.h>
#include <transmute/translation/text/given_tokens.h>
#include <transmute/translation/types.h>

namespace transmute {
inline namespace v0 {

/// What search found, as text, without the given tokens.
Hypothesis to_hypothesis(IdHypothesis&& found, const SubwordModel& target, GivenTokens given = {});

/// Appends the translation of the next part of a text: the best hypothesis of each, joined.
void append_translation(Translation& whole, Translation&& part);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/options.h>
#include <transmute/tokenizer/tokenizer.h>

namespace transmute {
inline namespace v0 {

/// The options of a vocabulary that need not have been learned with the `given` ones: its sizes, and what its models
/// say of themselves (of two, the source's). What they do not say, or a config cannot, stays as given.
TokenizerOptions actual_options(const Tokenizer& tokenizer, const TokenizerOptions& given);

}  // namespace v0
}  // namespace transmute

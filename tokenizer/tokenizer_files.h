// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace transmute {
inline namespace v0 {

/// A tokenizer's files in a folder or an archive: one model for both languages, or one each.
constexpr const char* kSharedTokenizerFile = "tokenizer.model";
constexpr const char* kSourceTokenizerFile = "tokenizer.source.model";
constexpr const char* kTargetTokenizerFile = "tokenizer.target.model";

}  // namespace v0
}  // namespace transmute

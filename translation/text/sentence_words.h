// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace transmute {
inline namespace v0 {

/// What SentenceSplitter knows about languages: abbreviations and words that begin sentences, as described beside it.
extern const char* const kSentenceWords;

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace transmute {
inline namespace v0 {

/// Abbreviations of each language and words that begin its sentences, in lines that the source file describes.
extern const char* const kSentenceWords;

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Cuts UTF-8 text at sentence ends by Unicode's rules (UAX 29), which know no abbreviations: "Dr. Who" is cut only
/// where they see a new sentence. White space around sentences goes; a text without any is none.
std::vector<std::string> split_sentences(const std::string& text);

/// Where these sentences stand: the first byte of each, and the one behind it.
std::vector<std::pair<size_t, size_t>> sentence_spans(const std::string& text);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/translation/text/glossary.h>

#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Cuts UTF-8 text at sentence ends by Unicode's rules (UAX 29), which know no abbreviations: "Dr. Who" is cut only
/// where they see a new sentence. White space around sentences goes; a text without any is none. No cut falls into a
/// source term of the glossary.
std::vector<std::string> split_sentences(const std::string& text, const Glossary& glossary = {});

/// Where these sentences stand: the first byte of each, and the one behind it.
std::vector<std::pair<size_t, size_t>> sentence_spans(const std::string& text, const Glossary& glossary = {});

/// What stands between two sentences: a space, or nothing where either is empty or both are in Chinese or Japanese.
std::string space_between(const std::string& sentence, const std::string& next);

}  // namespace v0
}  // namespace transmute

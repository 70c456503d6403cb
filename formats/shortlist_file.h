// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/shortlist.h>
#include <transmute/tokenizer/tokenizer.h>

#include <memory>
#include <string>

namespace transmute {
inline namespace v0 {

constexpr const char* kShortlistFile = "shortlist.safetensors";  ///< the shortlist in a model folder

/// Adds a shortlist to a model folder that is being written, and its checksum to the others: tensors `ends`, int64
/// [source tokens], `tokens` and `always`, int32.
void add_shortlist(const std::string& folder, const Shortlist& shortlist);

/// Reads the shortlist of a model folder; null if it has none.
/// @throws std::runtime_error naming the file if it is damaged, not the one that was saved, or of another tokenizer
std::shared_ptr<const Shortlist> load_shortlist(const std::string& folder, const Tokenizer& tokenizer);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/foreign/vocabulary.h>
#include <transmute/text/shortlist.h>

#include <memory>
#include <string>

namespace transmute {
inline namespace v0 {
namespace formats {

/// Reads a binary shortlist of Marian (`lex.50.50.ende.s2t.bin`).
/// @param is_shared whether both sides have one vocabulary: a source's own tokens are then on its list
/// @throws std::runtime_error if it is damaged or of other vocabularies
std::shared_ptr<const Shortlist> read_marian_shortlist(const std::string& path, const Renumbering& source,
                                                       const Renumbering& target, bool is_shared);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

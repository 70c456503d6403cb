// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/protected_spans.h>

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The names of a text of which its translation has only pieces, in order: InstanceId, where the translation has
/// "InstânciaId" and, of the same name, fewer. A name has a capital after a small letter, or two full stops between its
/// letters (U.S.A. is none); it may have hyphens before capitals: Get-ChildItem. Where the translation has no name that
/// the text lacks, nothing is torn: names may be written otherwise.
std::vector<ProtectedSpan> torn_names(const std::string& text, const std::string& translation);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/preparation/pair_reader.h>

#include <optional>
#include <string>

namespace transmute {
inline namespace v0 {

/// Decodes character references of HTML, such as &amp; and &quot;, that are left over on one side alone, which has no
/// tags. Returns whether it has changed a side.
bool mend_references(TextPair& pair);

// The functions below compare what a translation must have as its source has it, and say what differs; nothing if all
// is well.

/// Tags and character references of HTML.
std::optional<std::string> find_other_markup(const TextPair& pair);

/// Placeholders of programs, such as %s, %1$s, {name} and ${x}; arguments may have another order.
std::optional<std::string> find_other_placeholders(const TextPair& pair);

/// Addresses of the web and of mail: a translation may have another one in the place of the source's, for its readers.
std::optional<std::string> find_other_addresses(const TextPair& pair);

/// Numbers, in whatever notation, see checks::compare_numbers().
std::optional<std::string> find_other_numbers(const TextPair& pair);

}  // namespace v0
}  // namespace transmute

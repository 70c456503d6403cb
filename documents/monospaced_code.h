// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <set>

namespace transmute {
inline namespace v0 {

struct XmlSource;

/// The tokens of the paragraphs, and of the runs and spans within other paragraphs, that are program code in a
/// monospaced font. Such a font alone does not make code of a text: letters, scripts of films and forms have it, too.
std::set<size_t> monospaced_code(const XmlSource& source);

}  // namespace v0
}  // namespace transmute

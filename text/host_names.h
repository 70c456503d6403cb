// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// The end of the name of a web host that begins at a byte, such as "example.org" or "gov.br"; the byte itself if there
/// is none. Names end in a country's code or in another well-known domain. Since the space after a full stop may be
/// missing, one that ends in a word ("nrk.no") needs three labels, a path, or no word after it.
size_t host_name_end(std::string_view text, size_t begin);

}  // namespace v0
}  // namespace transmute

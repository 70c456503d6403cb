// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// Bytes of the longest mark at the beginning of a packed file.
constexpr size_t kPackerMarkBytes = 10;

/// The program that packed a file, by its first bytes: xz, zstd, bzip2, zip or 7-Zip. Empty if it may be text, or is
/// gzipped. Some archives are valid UTF-8 for a while.
std::string packer_of(std::string_view beginning);

/// @throws std::runtime_error naming the file and its packer, if there is one.
void check_not_packed(const std::string& path, std::string_view beginning);

}  // namespace v0
}  // namespace transmute

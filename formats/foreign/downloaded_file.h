// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace transmute {
inline namespace v0 {
namespace formats {

/// The path of a file that a downloaded model needs.
/// @throws std::runtime_error naming it where it is missing.
std::string downloaded_file(const std::string& folder, const std::string& name);

}  // namespace formats
}  // namespace v0
}  // namespace transmute

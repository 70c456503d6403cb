// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace transmute {
inline namespace v0 {

/// The version, and in parentheses the git revision that it was built from, where there was one: "0.1.0
/// (1f2e3d4c5b6a)".
/// "-dirty" after it: with changes that were not committed.
std::string build_version();

}  // namespace v0
}  // namespace transmute

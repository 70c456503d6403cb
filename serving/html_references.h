// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace transmute {
inline namespace v0 {

/// The longest name of a reference, without "&" and ";".
constexpr size_t kLongestReference = 10;

/// The character that HTML's reference of this name stands for, such as "#228", "#xe4" or "auml": those of HTML 4, and
/// apos. 0 where it is none of them.
uint32_t referenced_character(const std::string& name);

}  // namespace v0
}  // namespace transmute

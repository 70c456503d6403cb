// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace transmute {
inline namespace v0 {

/// The text with control characters, which a terminal would obey, written as \x1b, \n and \u009b: messages may quote
/// files of strangers.
std::string without_control(const std::string& text);

}  // namespace v0
}  // namespace transmute

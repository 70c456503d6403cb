// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <yaml-cpp/node/node.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// The only document of a YAML text; a null node where there is none. Works in bounded time and memory on any bytes,
/// which YAML::LoadAll does not: on a document that begins with a comma it never returns.
/// @param where what messages call the text
/// @throws std::invalid_argument with line and column if the text is not valid or has a second document
YAML::Node parse_yaml(const std::string& text, const std::string& where);

}  // namespace v0
}  // namespace transmute

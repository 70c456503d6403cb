// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// JSON whose objects keep the order in which their members were set.
using Json = nlohmann::ordered_json;

/// Throws Json::parse_error, which says where `text` is no JSON.
Json parse_json(std::string_view text);

/// Nothing where `text` is no JSON.
std::optional<Json> parse_json_if_valid(std::string_view text);

/// On one line, or indented by `indent` spaces a level. Bytes that are no UTF-8 become U+FFFD.
std::string json_text(const Json& json, int indent = -1);

}  // namespace v0
}  // namespace transmute

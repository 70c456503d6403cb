// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// JSON whose objects keep the order in which their members were set.
using Json = nlohmann::ordered_json;

/// Limits of JSON from a stranger.
struct JsonLimits {
  size_t depth = 1000;                                  ///< most objects and arrays within each other
  size_t members = std::numeric_limits<size_t>::max();  ///< most members of the outermost object
  bool repeated_names = true;                           ///< allows a name twice in one object; the last value counts
  size_t values = std::numeric_limits<size_t>::max();   ///< most values in all; each takes many times its text
};

/// JSON beyond the limits.
class JsonLimitError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Parses a text in time linear in its length, however many members an object has; Json::parse compares each new member
/// with all others. Looking up a name takes time linear in the object's size: iterate over items() if there are many.
/// @throws Json::parse_error, which says where `text` is no JSON; JsonLimitError
Json parse_json(std::string_view text, const JsonLimits& limits = {});

/// Without a value if `text` is not JSON, or is nested too deeply.
std::optional<Json> parse_json_if_valid(std::string_view text);

/// The JSON on one line, or indented by `indent` spaces a level. Bytes that are no UTF-8 become U+FFFD.
std::string json_text(const Json& json, int indent = -1);

}  // namespace v0
}  // namespace transmute

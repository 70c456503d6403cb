// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/json.h>

#include <nlohmann/json.hpp>

namespace transmute {
inline namespace v0 {

Json parse_json(std::string_view text) {
  return Json::parse(text);
}

std::optional<Json> parse_json_if_valid(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return std::nullopt;
  return json;
}

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace v0
}  // namespace transmute

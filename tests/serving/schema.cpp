// SPDX-License-Identifier: Apache-2.0
#include <transmute/tests/serving/schema.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

namespace transmute::testing {

namespace {

const std::set<std::string> kKnownKeywords{
    "$ref",    "type",    "description", "properties", "required", "items",     "enum",  "const",
    "default", "minimum", "maximum",     "minItems",   "maxItems", "minLength", "oneOf", "additionalProperties"};

bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  throw std::logic_error("type " + type);
}

}  // namespace

Schemas::Schemas(Json document) : document_(std::move(document)) {}

const Json& Schemas::resolved(const Json& schema) const {
  if (!schema.contains("$ref")) return schema;
  return document_.at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1)));
}

std::string Schemas::fault_by_name(const Json& value, const std::string& schema) const {
  return fault(value, document_.at("components").at("schemas").at(schema));
}

std::string Schemas::fault(const Json& value, const Json& given) const {
  const Json& schema = resolved(given);
  for (const auto& [keyword, ignored] : schema.items())
    if (kKnownKeywords.count(keyword) == 0) throw std::logic_error("keyword " + keyword);
  const std::string shown = value.dump().substr(0, 80);
  if (schema.contains("type") && !has_type(value, schema["type"])) return shown + " is no " + schema["type"].dump();
  if (schema.contains("const") && value != schema["const"]) return shown + " is not " + schema["const"].dump();
  if (schema.contains("enum") && std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
    return shown + " is none of " + schema["enum"].dump();
  if (schema.contains("minimum") && value.is_number() && value < schema["minimum"]) return shown + " is too small";
  if (schema.contains("maximum") && value.is_number() && value > schema["maximum"]) return shown + " is too large";
  if (schema.contains("minLength") && value == "" && schema["minLength"] > 0) return shown + " is empty";
  if (schema.contains("minItems") && value.size() < schema["minItems"].get<size_t>()) return shown + " is too short";
  if (schema.contains("maxItems") && value.size() > schema["maxItems"].get<size_t>()) return shown + " is too long";
  if (schema.contains("oneOf")) {
    const auto fits = std::count_if(schema["oneOf"].begin(), schema["oneOf"].end(),
                                    [&](const Json& choice) { return fault(value, choice).empty(); });
    if (fits != 1) return shown + " fits " + std::to_string(fits) + " of " + schema["oneOf"].dump();
  }
  if (value.is_array() && schema.contains("items"))
    for (const Json& item : value)
      if (std::string wrong = fault(item, schema["items"]); !wrong.empty()) return "[]: " + wrong;
  if (!value.is_object() || !schema.contains("properties")) return "";
  for (const Json& name : schema.value("required", Json::array()))
    if (!value.contains(name.get<std::string>())) return shown + " lacks " + name.dump();
  for (const auto& [name, member] : value.items()) {
    const auto found = schema["properties"].find(name);
    if (found == schema["properties"].end()) {
      if (schema.contains("additionalProperties")) return shown + " has an unknown member " + name;
    } else if (std::string wrong = fault(member, *found); !wrong.empty()) {
      return name + ": " + wrong;
    }
  }
  return "";
}

const Json& Schemas::of_request(const std::string& path) const {
  return document_.at("paths").at(path).at("post").at("requestBody").at("content").at("application/json").at("schema");
}

const Json& Schemas::of_answer(const std::string& path, const std::string& method, int status) const {
  const Json& answer = document_.at("paths").at(path).at(method).at("responses").at(std::to_string(status));
  return resolved(answer).at("content").at("application/json").at("schema");
}

}  // namespace transmute::testing

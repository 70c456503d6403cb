// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/openapi.h>

#include <transmute/serving/web_sources.h>

#include <nlohmann/json.hpp>

namespace transmute {
inline namespace v0 {

namespace {

// The list of what may be one text or several.
Json& list_of(Json& one_or_several) {
  return one_or_several["oneOf"][1];
}

}  // namespace

Json openapi(const ApiLimits& limits) {
  Json document = parse_json(serving::source("openapi.json"));
  Json& schemas = document["components"]["schemas"];
  Json& plain = schemas["TranslateRequest"]["properties"];
  list_of(plain["q"])["maxItems"] = limits.texts;
  plain["alternatives"]["maximum"] = limits.beam_size - 1;
  Json& v1 = schemas["V1Request"]["properties"];
  list_of(v1["text"])["maxItems"] = limits.texts;
  list_of(v1["prefix"])["maxItems"] = limits.texts;
  v1["glossary"]["maxItems"] = limits.glossary_entries;
  for (const char* name : {"beam_size", "num_hypotheses", "alternatives"}) v1[name]["maximum"] = limits.beam_size;
  for (const char* name : {"min_length", "max_extra_length"}) v1[name]["maximum"] = limits.extra_length;
  return document;
}

Json libretranslate_spec(const ApiLimits& limits) {
  Json document = openapi(limits);
  document["info"]["title"] = "LibreTranslate";
  return document;
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
// The description of the interface by itself; that the server agrees with it is serve_test.cpp's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>
#include <transmute/serving/api_request.h>
#include <transmute/serving/openapi.h>
#include <transmute/tests/serving/schema.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace transmute::testing {
namespace {

Json description() {
  return openapi(ApiLimits());
}

// Every "$ref" below a node.
void collect_references(const Json& node, std::set<std::string>& found) {
  if (node.is_structured())
    for (const auto& [name, child] : node.items()) {
      if (name == "$ref") found.insert(child.get<std::string>());
      collect_references(child, found);
    }
}

TEST(OpenApi, RefersOnlyToWhatItDescribesAndDescribesNothingElse) {
  const Json document = description();
  EXPECT_EQ(document["openapi"], "3.1.0");
  std::set<std::string> found;
  collect_references(document, found);
  for (const std::string& reference : found)
    EXPECT_TRUE(document.contains(Json::json_pointer(reference.substr(1)))) << reference;
  for (const auto& [name, schema] : document["components"]["schemas"].items())
    // One is told of in words, because a stream has no schema.
    EXPECT_TRUE(name == "V1TextEvent" || found.count("#/components/schemas/" + name) == 1) << name;
}

TEST(OpenApi, SaysTheLibrarysDefaults) {
  const Json members = description()["components"]["schemas"]["V1Request"]["properties"];
  const SearchOptions search;
  // A model may have its own defaults of these.
  const auto fallback = [&](const char* name, const auto& value) {
    EXPECT_THAT(members[name]["description"].get<std::string>(),
                ::testing::HasSubstr(fmt::format("Default: the model's, else {}.", value)));
  };
  fallback("beam_size", search.beam_size);
  fallback("length_alpha", search.length_alpha);
  fallback("no_repeat_ngram", search.no_repeat_ngram);
  EXPECT_EQ(members["num_hypotheses"]["default"], search.num_hypotheses);
  EXPECT_EQ(members["coverage_beta"]["default"], search.coverage_beta);
  EXPECT_EQ(members["min_length"]["default"], search.min_length);
  EXPECT_EQ(members["max_extra_length"]["default"], search.max_extra_length);
  const Json sampling = description()["components"]["schemas"]["Sampling"]["properties"];
  EXPECT_EQ(sampling["seed"]["default"], SamplingOptions().seed);
  EXPECT_EQ(sampling["temperature"]["default"], SamplingOptions().temperature);
  EXPECT_EQ(sampling["top_p"]["default"], SamplingOptions().top_p);
}

TEST(OpenApi, SaysTheLimitsOfItsServer) {
  const ApiLimits limits{7, 1000, 500, 5, 9, 3};
  const Json schemas = openapi(limits)["components"]["schemas"];
  const Json plain = schemas["TranslateRequest"]["properties"], members = schemas["V1Request"]["properties"];
  EXPECT_EQ(plain["q"]["oneOf"][1]["maxItems"], 7);
  EXPECT_EQ(plain["alternatives"]["maximum"], 4);
  EXPECT_EQ(members["text"]["oneOf"][1]["maxItems"], 7);
  EXPECT_EQ(members["prefix"]["oneOf"][1]["maxItems"], 7);
  EXPECT_EQ(members["beam_size"]["maximum"], 5);
  EXPECT_EQ(members["num_hypotheses"]["maximum"], 5);
  EXPECT_EQ(members["alternatives"]["maximum"], 5);
  EXPECT_EQ(members["min_length"]["maximum"], 9);
  EXPECT_EQ(members["max_extra_length"]["maximum"], 9);
  EXPECT_EQ(members["glossary"]["maxItems"], 3);
}

TEST(Schemas, FindFaults) {
  const Schemas schemas(parse_json(R"({"components":{"schemas":{"A":{"type":"object","required":["x"],
    "additionalProperties":false,"properties":{"x":{"type":"integer","minimum":1,"maximum":3},
    "y":{"oneOf":[{"type":"string","minLength":1},{"type":"array","items":{"type":"string"},"minItems":1}]}}}}}})"));
  for (const char* good : {R"({"x":1})", R"({"x":3,"y":"a"})", R"({"x":3,"y":["a"]})"})
    EXPECT_EQ(schemas.fault_by_name(parse_json(good), "A"), "") << good;
  for (const char* bad : {"1", "{}", R"({"x":0})", R"({"x":4})", R"({"x":1.5})", R"({"x":1,"z":1})",
                          R"({"x":1,"y":[]})", R"({"x":1,"y":[1]})", R"({"x":1,"y":1})", R"({"x":1,"y":""})"})
    EXPECT_NE(schemas.fault_by_name(parse_json(bad), "A"), "") << bad;
}

}  // namespace
}  // namespace transmute::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/tests/serving/client.h>
#include <transmute/tests/serving/running_serve.h>
#include <transmute/tests/serving/schema.h>
#include <transmute/tests/serving/tiny_model_folder.h>
#include <transmute/translation/translator.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace transmute::testing {

constexpr const char* kText = "the old train is here.";

inline Json v1_request(const Json& more = Json::object()) {
  Json request{{"text", kText}, {"source", "en"}, {"target", "de"}};
  request.update(more);
  return request;
}

constexpr int kWideBeam = 1024;

// A request that takes the untrained model a second, and far longer with kWideBeam: long, wide and with all the tokens
// that it may have.
inline std::string slow_request(int beam_size = 32) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "the old train is here and the red house is near ";
  return v1_request({{"text", text}, {"beam_size", beam_size}, {"max_extra_length", 500}, {"split_sentences", false}})
      .dump();
}

// Waits until /metrics has this figure, such as "transmute_running_segments 1"; false where that takes 20 seconds.
inline bool shows(const RunningServe& server, const std::string& figure) {
  Client client(server.port());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < end) {
    if (client.get("/metrics").body.find("\n" + figure + "\n") != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

class Serve : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TinyModelFolder>();
    server_ = std::make_unique<RunningServe>(flags());
    const Answer openapi = Client(server_->port()).get("/openapi.json");
    schemas_ = std::make_unique<Schemas>(parse_json(openapi.body));
  }
  static void TearDownTestSuite() {
    schemas_.reset();
    server_.reset();
    folder_.reset();
  }
  static std::vector<std::string> flags(const std::vector<std::string>& more = {"--threads", "2"}) {
    std::vector<std::string> words{"--model", "en-de=" + folder_->path()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // The arguments of a server that a single slow_request with kWideBeam keeps busy.
  static std::vector<std::string> one_worker(std::vector<std::string> more = {}) {
    more.insert(more.end(),
                {"--threads", "1", "--max-beam-size", std::to_string(kWideBeam), "--max-tokens", "1000000000"});
    return flags(more);
  }

  static Json post(const std::string& path, const Json& request, int status = 200) {
    const Answer answer = Client(server_->port()).post(path, request.dump());
    EXPECT_EQ(answer.status, status) << answer.body;
    const Json json = parse_json(answer.body);
    EXPECT_EQ(schemas_->fault(json, schemas_->of_answer(path, "post", status)), "");
    return json;
  }
  static Json get(const std::string& path) {
    const Answer answer = Client(server_->port()).get(path);
    EXPECT_EQ(answer.status, 200) << answer.body;
    const Json json = parse_json(answer.body);
    EXPECT_EQ(schemas_->fault(json, schemas_->of_answer(path, "get", 200)), "");
    return json;
  }
  static std::string translated(const std::string& text, const TranslationOptions& options = {}) {
    return Translator(folder_->path()).translate(text, options);
  }

  inline static std::unique_ptr<TinyModelFolder> folder_;
  inline static std::unique_ptr<RunningServe> server_;
  inline static std::unique_ptr<Schemas> schemas_;
};

}  // namespace transmute::testing

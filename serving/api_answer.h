// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/json.h>
#include <transmute/documents/document.h>
#include <transmute/serving/api_request.h>
#include <transmute/serving/detection.h>
#include <transmute/text/types.h>

#include <vector>

namespace transmute {
inline namespace v0 {

/// The result of a request.
struct ApiResult {
  std::vector<Document> documents;
  std::vector<std::vector<Translation>> translations;  ///< translations of the documents' segments
  std::vector<DetectedLanguage> detected{};            ///< languages of the texts, where the source was "auto"
};

/// LibreTranslate's answer: translatedText, alternatives, detectedLanguage.
Json libretranslate_answer(const ApiRequest& request, const ApiResult& result);

/// The language as both interfaces write it.
Json json_of(const DetectedLanguage& language);

/// The answer of /v1/translate, see openapi.json.
Json v1_answer(const ApiRequest& request, const ApiResult& result);

}  // namespace v0
}  // namespace transmute

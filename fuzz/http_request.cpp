// SPDX-License-Identifier: Apache-2.0
// Bodies of requests, of LibreTranslate's interface and our own, and the texts in them, put together again.
#include <transmute/documents/document.h>
#include <transmute/fuzz/fuzz.h>
#include <transmute/serving/api_request.h>

#include <array>

using namespace transmute;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const uint8_t choice = input.byte();
  constexpr std::array<const char*, 4> kTypes{"application/json", "application/x-www-form-urlencoded", "text/plain",
                                              ""};
  HttpRequest http;
  http.method = "POST";
  http.path = (choice & 4) != 0 ? "/v1/translate" : "/translate";
  if ((choice & 8) != 0) http.query = input.text();
  http.headers["content-type"] = kTypes[choice % kTypes.size()];
  http.body = input.rest();
  fuzz::may_refuse([&] {
    const ApiRequest request = (choice & 4) != 0 ? parse_v1(http, {}) : parse_libretranslate(http, {});
    for (const std::string& text : request.texts) {
      const Document document(text, request.format, request.split_sentences.value_or(true));
      const std::string same = document.with(document.segments());
      // Between sentences, the server puts a blank of its own.
      if (request.format == TextFormat::text && !request.split_sentences.value_or(true)) fuzz::require(same == text);
    }
  });
  return 0;
}

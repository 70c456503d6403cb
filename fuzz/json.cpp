// SPDX-License-Identifier: Apache-2.0
// Our builder of JSON objects against the library's own.
#include <transmute/common/json.h>
#include <transmute/fuzz/fuzz.h>

#include <nlohmann/json.hpp>

using namespace transmute;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Json expected = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const std::optional<Json> read = parse_json_if_valid(text);
  fuzz::require(!read || !expected.is_discarded());
  if (read) fuzz::require(*read == expected && json_text(*read) == json_text(expected));
  fuzz::may_refuse([&] {
    try {
      parse_json(text, {3, 4, false, 10});
    } catch (const Json::exception&) {
    }
  });
  return 0;
}

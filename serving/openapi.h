// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/json.h>
#include <transmute/serving/api_request.h>

namespace transmute {
inline namespace v0 {

/// The description of the interface (OpenAPI 3.1): web/openapi.json with the limits of this server.
Json openapi(const ApiLimits& limits);
/// The same as LibreTranslate's /spec, by whose title Dialect recognizes a server.
Json libretranslate_spec(const ApiLimits& limits);

}  // namespace v0
}  // namespace transmute

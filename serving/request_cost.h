// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/document.h>
#include <transmute/serving/api_request.h>
#include <transmute/serving/routes.h>

#include <cstddef>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// An upper bound, quickly found, of the bytes that NFKC makes of the text, also where it folds the case.
size_t most_normalized_bytes(const std::string& text);

/// @throws ApiError (413) if the alignments that the request needs would be too large
void check_alignments(const ApiRequest& request, const std::vector<Document>& documents, const TextRoutes& routes);

/// Few characters can be many tokens, and a text of no language is translated at full length. Call it once the search
/// is known.
/// @throws ApiError (413) if the texts have more tokens than limits.tokens, weighted by what the search may need
void check_tokens(const ApiRequest& request, const std::vector<Document>& documents, const TextRoutes& routes,
                  const ApiLimits& limits);

}  // namespace v0
}  // namespace transmute

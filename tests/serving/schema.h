// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/json.h>

#include <nlohmann/json.hpp>
#include <string>

namespace transmute::testing {

/// Checks JSON against the schemas of an OpenAPI 3.1 document. Knows the keywords that the document may use, and throws
/// std::logic_error for any other, so that none is passed over.
class Schemas {
 public:
  explicit Schemas(Json document);
  /// The fault of `value`, "" where there is none. `schema` is a name of components/schemas.
  std::string fault_by_name(const Json& value, const std::string& schema) const;
  /// The same for a schema itself.
  std::string fault(const Json& value, const Json& schema) const;
  /// The schema of a JSON body: of the request, or of the answer with this status.
  const Json& of_request(const std::string& path) const;
  const Json& of_answer(const std::string& path, const std::string& method, int status) const;
  const Json& document() const { return document_; }

 private:
  const Json& resolved(const Json& schema) const;

  Json document_;
};

}  // namespace transmute::testing

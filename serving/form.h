// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/json.h>

#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// Reads the parameters of "q=…&source=en" into an object. A repeated "q" becomes a list.
/// @throws std::invalid_argument for more than 100 parameters
void read_form(std::string_view form, Json& into);

/// A file among the fields of a form.
struct FormFile {
  std::string name;     ///< name given by the client; empty without a file
  std::string content;  ///< its bytes
};

/// Reads the fields of a body of multipart/form-data (RFC 7578) likewise. `content_type` names the boundary.
/// @param file gets the file of the field "file"; null: files are refused
/// @throws std::invalid_argument for a body that is not well formed, for other files, and for more than 100 fields
void read_multipart(std::string_view body, const std::string& content_type, Json& into, FormFile* file = nullptr);

}  // namespace v0
}  // namespace transmute

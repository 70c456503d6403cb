// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cctype>
#include <string>

namespace transmute {
inline namespace v0 {

/// For names of HTML and HTTP, which are compared without regard to the case of their letters, A to Z.
inline std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace v0
}  // namespace transmute

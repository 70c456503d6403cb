// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// `text` such that a browser shows it as it is, between tags and in quoted attributes.
inline std::string html_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

/// A page of HTML with nothing outside it, in the style that all reports share: light or dark as the reader's system
/// is, down to the width of a telephone.
/// @param title plain text
/// @param body HTML, under a heading with the title
std::string report_page(const std::string& title, const std::string& body);

}  // namespace v0
}  // namespace transmute

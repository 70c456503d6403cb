// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace transmute {
inline namespace v0 {

/// A page of HTML with nothing outside it, in the style that all reports share: light or dark as the reader's system
/// is, down to the width of a telephone.
/// @param title plain text
/// @param body HTML, under a heading with the title
std::string report_page(const std::string& title, const std::string& body);

}  // namespace v0
}  // namespace transmute

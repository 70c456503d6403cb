// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// The content of a page or of a file of XML with utf-8 in the place of another encoding that it declares. What is not
/// UTF-8 is converted from that encoding, and stays as it is where this fails.
std::string in_utf8(std::string content);

/// True for a page that is XML.
bool is_xhtml(std::string_view page);

/// A page that is XML, with what HTML reads in another way written so that both read it alike: CDATA sections, and
/// empty tags such as <title/>, after which all would be a title. A page that is not well-formed stays as it is.
std::string as_html(std::string xhtml);

}  // namespace v0
}  // namespace transmute

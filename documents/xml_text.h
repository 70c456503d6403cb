// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/xml_tokens.h>

#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// True for a text, which may be a CDATA section.
bool is_xml_text(const XmlToken& token);

/// The characters that a text stands for.
std::string xml_text(std::string_view xml, const XmlToken& token);

/// The text without the control characters that XML has no way to write.
std::string without_forbidden(std::string_view text);

/// The text without spaces, tabs and line ends.
std::string without_white_space(std::string text);

/// The text as XML writes it between tags.
std::string xml_escaped(std::string_view text);

/// The text as a CDATA section.
std::string xml_cdata(std::string_view text);

}  // namespace v0
}  // namespace transmute

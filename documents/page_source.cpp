// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/page_source.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/text_file.h>
#include <transmute/documents/html_tokens.h>
#include <transmute/documents/xml_text.h>
#include <transmute/text/inline_tags.h>
#include <unicode/ucnv.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

// The number of bytes of a page in which browsers look for its encoding (section 13.2.3.2 of the HTML standard).
constexpr size_t kHeadBytes = 1024;
constexpr const char* kDeclared = "utf-8";

bool has_declaration(std::string_view xml) {
  return xml.compare(byte_order_mark_length(xml), 5, "<?xml") == 0;
}

// The encoding that a meta element names; empty if there is none.
std::string_view encoding_of_page(std::string_view page) {
  const std::string head(page.substr(0, kHeadBytes));
  for (const HtmlToken& token : html_tokens(head)) {
    if (token.name != "meta") continue;
    const std::string_view tag = page.substr(token.begin, token.end - token.begin);
    std::string charset, content, equivalent;
    for (const HtmlAttribute& attribute : attributes_of(tag)) {
      if (attribute.name == "charset") charset = attribute.value;
      if (attribute.name == "content") content = attribute.value;
      if (attribute.name == "http-equiv") equivalent = lower_case(attribute.value);
    }
    if (!charset.empty()) return tag.substr(tag.rfind(charset), charset.size());
    constexpr std::string_view kCharset = "charset=";
    const size_t at = lower_case(content).find(kCharset);
    if (equivalent != "content-type" || at == std::string::npos) continue;
    const std::string named = content.substr(at + kCharset.size());
    return tag.substr(tag.find(content) + at + kCharset.size(), std::min(named.find_first_of("; \t"), named.size()));
  }
  return {};
}

// Converts text of an encoding, without its declaration, to UTF-8. Returns nothing if the text is not in that encoding,
// or if the encoding is not known.
std::optional<std::string> converted(const std::string& text, std::string encoding) {
  // Encodings that browsers read as larger ones (section 4.2 of the Encoding standard).
  constexpr std::array<std::array<const char*, 2>, 6> kLarger{{{"iso-8859-1", "windows-1252"},
                                                               {"us-ascii", "windows-1252"},
                                                               {"gb2312", "gb18030"},
                                                               {"euc-kr", "windows-949"},
                                                               {"iso-8859-9", "windows-1254"},
                                                               {"iso-8859-11", "windows-874"}}};
  constexpr size_t kMostBytesEach = 4;  // bytes of UTF-8 for one byte of the text
  UErrorCode error = U_ZERO_ERROR;
  if (ucnv_countAliases(encoding.c_str(), &error) == 0 || text.size() > INT32_MAX / kMostBytesEach) return std::nullopt;
  if (const char* const name = ucnv_getStandardName(encoding.c_str(), "MIME", &error)) encoding = lower_case(name);
  for (const auto& [name, larger] : kLarger)
    if (encoding == name) encoding = larger;
  const icu::LocalUConverterPointer converter(ucnv_open(encoding.c_str(), &error));
  if (U_FAILURE(error)) return std::nullopt;
  // Others, such as UTF-16 and UTF-7, cannot be meant by a declaration in ASCII.
  const UConverterType type = ucnv_getType(converter.getAlias());
  if (type != UCNV_SBCS && type != UCNV_MBCS) return std::nullopt;
  ucnv_setToUCallBack(converter.getAlias(), UCNV_TO_U_CALLBACK_STOP, nullptr, nullptr, nullptr, &error);
  std::string utf8(kMostBytesEach * text.size(), '\0');
  utf8.resize(static_cast<size_t>(
      std::max(0, ucnv_toAlgorithmic(UCNV_UTF8, converter.getAlias(), utf8.data(), static_cast<int32_t>(utf8.size()),
                                     text.data(), static_cast<int32_t>(text.size()), &error))));
  const bool is_ascii_based = utf8.find(kDeclared) != std::string::npos;  // not in EBCDIC
  return U_SUCCESS(error) && is_ascii_based ? std::optional(std::move(utf8)) : std::nullopt;
}

}  // namespace

std::string in_utf8(std::string content) {
  const bool is_utf8 = find_invalid_utf8(content) == std::string::npos;
  std::string declared;
  const auto declare = [&](std::string_view encoding) {
    const std::string name = lower_case(std::string(encoding));
    if (name.empty() || name == kDeclared || name.find('<') != std::string::npos) return;
    if (declared.empty()) declared = name;
    content.replace(static_cast<size_t>(encoding.data() - content.data()), encoding.size(), kDeclared);
  };
  if (has_declaration(content))
    declare(xml_attribute(std::string_view(content).substr(0, content.find("?>")), "encoding"));
  declare(encoding_of_page(content));
  return is_utf8 || declared.empty() ? content : converted(content, declared).value_or(content);
}

bool is_xhtml(std::string_view page) {
  constexpr std::string_view kNamespace = "http://www.w3.org/1999/xhtml";
  return has_declaration(page) || page.substr(0, kHeadBytes).find(kNamespace) != std::string_view::npos;
}

std::string as_html(std::string xhtml) {
  constexpr const char* kReadAlike = "script style svg math";
  std::vector<XmlToken> tokens;
  try {
    tokens = xml_tokens(xhtml, "");
  } catch (const std::runtime_error&) {
    return xhtml;
  }
  std::string html;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view bytes = tokens[i].in(xhtml);
    const std::string name = element_name(bytes);
    if (tokens[i].kind == XmlToken::Kind::empty && !is_void_element(name)) {
      html += fmt::format("{}></{}>", bytes.substr(0, bytes.size() - 2), tokens[i].name);
    } else if (tokens[i].kind == XmlToken::Kind::cdata) {
      html += xml_escaped(xml_text(xhtml, tokens[i]));
    } else if (tokens[i].kind == XmlToken::Kind::start && lists(kReadAlike, name)) {
      html += xhtml.substr(tokens[i].begin, tokens[tokens[i].partner].end - tokens[i].begin);
      i = tokens[i].partner;
    } else {
      html += bytes;
    }
  }
  return html;
}

}  // namespace v0
}  // namespace transmute

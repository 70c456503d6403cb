// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A tag of XML, the text between two tags, or what is neither: bytes from `begin` to before `end`.
struct XmlToken {
  /// The kinds of tokens.
  enum class Kind {
    start,  ///< <p>
    end,    ///< </p>
    empty,  ///< <p/>
    text,   ///< text with its references as they are written
    cdata,  ///< <![CDATA[text]]>
    other,  ///< a comment, a processing instruction, the XML declaration, or the document type
  };
  Kind kind = Kind::text;
  size_t begin = 0, end = 0;
  std::string_view name;  ///< a tag's name with its prefix
  size_t partner = 0;     ///< number of a start tag's end tag, and the other way round; else its own number

  /// The name of a tag without its prefix.
  std::string_view local_name() const { return name.substr(name.find(':') + 1); }
  /// The token's bytes in the document.
  std::string_view in(std::string_view xml) const { return xml.substr(begin, end - begin); }
};

/// The tokens of an XML document in UTF-8, in order, with nothing between them. Tags match and nest. Declarations
/// of entities, with which a small file could become a large one or name other files, are refused. Takes linear time.
/// @param xml outlives the tokens
/// @param name of the file, for messages
/// @throws std::runtime_error if the document is not well-formed, nests elements more than 500 deep, or has such
/// declarations
std::vector<XmlToken> xml_tokens(std::string_view xml, const std::string& name);

/// The value of an attribute as it is written; empty without one.
/// @param name without a prefix, which does not count
std::string_view xml_attribute(std::string_view tag, std::string_view name);

/// The tag with another value of an attribute, which is added where there is none.
/// @param name with the prefix that the attribute gets if it is added; another one of that name counts as well
/// @param value as it is written
std::string with_xml_attribute(std::string_view tag, std::string_view name, std::string_view value);

/// Gets the name of a start tag or an empty tag, without its prefix, the tag, and the text after it.
using UseTag = std::function<void(std::string_view name, std::string_view tag, std::string_view text)>;

/// Calls `use` with each start tag and empty tag, but for what comments and CDATA sections hold. Damaged XML is not
/// refused, but read to the damage.
void for_each_tag(std::string_view xml, const UseTag& use);

}  // namespace v0
}  // namespace transmute

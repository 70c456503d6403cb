// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// The Markdown of Pandoc, Jekyll, Hugo and MkDocs as a parser of CommonMark with formulas understands it. Each byte
/// that is text keeps its place:
/// - spaces stand for blocks that are no Markdown: code of Jekyll, Hugo and MDX, formulas of LaTeX;
/// - an item of a list stands for an admonition or a tab of MkDocs, so that the indented lines after it belong to it;
/// - a quotation stands for the later paragraphs of a footnote or a definition;
/// - a heading stands for a line of a container or of a block of Python-Markdown, for an abbreviation, and for marks of
///   MyST and d2l;
/// - letters stand for what is between the braces of attributes, and for tags of site generators in addresses;
/// - an address stands for the label of a link, or for attributes in its place;
/// - marks of deleted words stand for those of highlighted ones;
/// - '%' stands for dollar signs that are none of a formula;
/// - letters stand for brackets after 10,000 lines of one paragraph.
std::string as_common_mark(std::string_view content);

/// The number of marks such as "```" with which a line begins or ends code; 0 for other lines.
size_t fence_marks(std::string_view line);

/// The length of a tag of a site generator at the beginning of a text: {{ a }}, {{< a >}}, {{% a %}}, {% a %}, {* a *}.
/// 0 for other texts.
size_t site_tag_length(std::string_view text);

/// The length of attributes at this place, or of a comment of MDX: {#id}, { .class key="value" }, {: .class}, {/* a
/// */}. 0 if there are none on one line.
size_t attributes_length(std::string_view text, size_t at);

/// The bytes before the title of an admonition or a tab of MkDocs: those of `!!! note "`, or all of `!!! note`. In
/// as_common_mark(), the item's text begins four bytes after the line. 0 for other lines.
/// @param line from its first character that is no white space
size_t bytes_before_title(std::string_view line);

}  // namespace v0
}  // namespace transmute

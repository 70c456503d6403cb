// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <md4c.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A part of the content of a paragraph, a heading or a cell.
struct MarkdownEvent {
  /// Kinds of events. A span begins with `open` and ends with `close`.
  enum class Kind { words, reference, html, code_words, soft_break, hard_break, open, close };
  Kind kind = Kind::words;
  MD_SPANTYPE span = MD_SPAN_EM;                              ///< of `open` and `close`
  size_t begin = std::string::npos, end = std::string::npos;  ///< bytes of the file; npos where these are not known
};

/// A paragraph, a heading or a cell.
struct MarkdownParagraph {
  std::vector<MarkdownEvent> events;
  bool is_cell = false;  ///< true for a cell of a table
};

/// Calls `use` for each paragraph of a Markdown file (CommonMark with GitHub's tables and deletions, and formulas with
/// Pandoc's dollar signs), in order. Code blocks, blocks of HTML and link reference definitions are none.
/// @param begin of the text, after what is no Markdown
/// @throws std::runtime_error naming the file, if it is too large
void read_markdown(const std::string& name, std::string_view content, size_t begin,
                   const std::function<void(const MarkdownParagraph& paragraph)>& use);

}  // namespace v0
}  // namespace transmute

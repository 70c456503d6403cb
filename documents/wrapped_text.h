// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace transmute {
inline namespace v0 {

/// Plain text may hold poems and addresses, whose lines stay; messages of programs seldom do.
enum class WrappedText { plain, message };

/// The text with a space in the place of each line end that only keeps lines short: the line is part of a paragraph of
/// at least 40 columns, whose lines have no room for the next one's first word (in plain text, to within three columns,
/// because people leave some): in plain text nearly all of them, and in messages half. A line that ends a sentence is
/// not joined to the next, nor one to a line of a table, with another indentation, or with the mark of a list. Lines
/// may begin with the marks of a quotation ("> "). In plain text, a line that begins with a small letter is also joined
/// to one of at least 60 columns whose sentence it continues, wherever that ends, as in copies from PDF files; and the
/// halves of a sentence that a form feed divides, with page numbers and the like, which follow the whole. Words that a
/// line end has divided become whole where the text has them undivided, too.
std::string without_wrapping(const std::string& text, WrappedText kind);

/// A translation of without_wrapping(text) with lines that are as short as those of the text, and with its columns.
std::string wrapped_like(const std::string& text, const std::string& translation, WrappedText kind);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace transmute {
inline namespace v0 {

/// The text with a space in the place of each line end that only keeps lines short: the line is part of a paragraph of
/// at least 40 columns, and the next line's first word would have made it the paragraph's longest. A line that ends
/// a sentence is not joined to the next, nor one to a line that is indented or begins with the mark of a list.
std::string without_wrapping(const std::string& text);

/// A translation of without_wrapping(text) with lines that are as short as those of the text.
std::string wrapped_like(const std::string& text, const std::string& translation);

}  // namespace v0
}  // namespace transmute

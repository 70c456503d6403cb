// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// Finds identifiers: hashes, UUIDs, keys, serial numbers, passwords, addresses of networks and the like. They have
/// letters and digits of ASCII, and -:_/+= between them, and are no words, numbers or dates. Takes linear time.
class IdentifierFinder {
 public:
  /// @param text must live as long
  explicit IdentifierFinder(std::string_view text) : text_(text) {}

  /// The end of the identifier that begins at a byte, which is not before that of the last call; the byte itself if
  /// there is none.
  size_t end_of(size_t begin);

 private:
  // The same for several runs of letters and digits.
  size_t joined_end(size_t begin);

  std::string_view text_;
  size_t next_joined_ = 0;  // no joined identifier begins before
};

/// The end of a name of program code that begins at a byte, such as my_var, a->b_c, x_y=1, std::move, f(), app.get(...)
/// and printf(3), the DATE of DATE(Year; Month), and a whole formula, =SUM(A1; B1); the byte itself if there is none. A
/// word in parentheses or with capitals within is none, and neither is what may have an accelerator, such as Save_as.
size_t code_name_end(std::string_view text, size_t begin);

/// The end of an option of a program that begins at a byte, such as --tree and --color=auto; the byte itself if there
/// is none.
size_t option_end(std::string_view text, size_t begin);

/// The end of the line that begins at a byte if it tells how a program is called, such as
/// "git add [<options>] <file>..." and "ls [OPTION]... [FILE]...", or continues such a line; the byte itself if it does
/// not, as where two words of a sentence follow the first group of brackets.
size_t synopsis_end(std::string_view text, size_t begin);

/// The end of code in backticks that begins at a byte: `a b`, ``a`b``, and with a role of reStructuredText,
/// :meth:`~a.b`; the byte itself if there is none. After a role, backticks may also enclose a text: :ref:`the next page
/// <next>`.
size_t quoted_code_end(std::string_view text, size_t begin);

}  // namespace v0
}  // namespace transmute

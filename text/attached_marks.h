// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/rewriting.h>
#include <transmute/text/tag_placement.h>

#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Marks that a word follows without a space: the asterisks of *emphasis* and *Required, and the ellipsis of a sentence
/// that goes on: ...but not now. Models write some with a space, which would turn an emphasis into two asterisks.
class AttachedMarks {
 public:
  explicit AttachedMarks(const std::string& source);

  bool exist() const;
  /// Removes the spaces that the source does not have, if the translation has as many such marks.
  void restore(Rewriting& translation) const;

 private:
  std::vector<bool> are_attached_;  // for the marks of the source before words, in order
};

/// Marks that join words without spaces, as in "on/off", Ctrl+C, plug-in and file(s), and brackets, within which there
/// are none. Models write some with spaces: "on / off", "Ctrl + C", "Plug - in", "file (s)".
class JoiningMarks {
 public:
  explicit JoiningMarks(const std::string& source);

  bool exist() const { return !no_space_before_.empty() || !no_space_after_.empty() || !joints_.empty(); }
  /// Removes the spaces on the sides on which no such mark of the source has one. Marks between words must be as many
  /// as in the source, because others may have taken their places: "email - see" for "e-mail: see".
  void restore(Rewriting& translation) const;

 private:
  std::string no_space_before_, no_space_after_;  // brackets
  std::vector<std::pair<char, size_t>> joints_;   // marks that join words, and how many the source has
  size_t clauses_ = 0;                            // the source's marks that may become dashes
  bool has_spaces_in_brackets_ = false;
};

/// The ellipsis at the end of a text, which the model does not see: "Open...". Models end some words with a comma or a
/// full stop, which it replaces: "Olá,...".
class EndingEllipsis {
 public:
  explicit EndingEllipsis(const TagSource& source);

  bool exists() const { return exists_; }
  void restore(Rewriting& translation) const;

 private:
  bool exists_ = false;
};

}  // namespace v0
}  // namespace transmute

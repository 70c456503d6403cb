// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/text_markup.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The syntax of a program's messages.
enum class MessageSyntax {
  any,   ///< ICU's where there is a plural or a selection; apostrophes of others mean themselves
  java,  ///< java.text.MessageFormat: with arguments such as {0}, two apostrophes stand for one
};

/// True for a value that is no language: an identifier, the name of a file, a version, a date or a pattern of dates, a
/// color and the like. What could be a sentence or a plain word is none of these.
bool is_no_language(const std::string& text);

/// True for a message of ICU in which two apostrophes stand for one: it has an argument such as {name}, and apostrophes
/// that are all doubled and beside a letter, a digit or a brace. A lone '' is an empty value.
bool doubles_apostrophes(std::string_view message);

/// A message of a program, as catalogs have them. A plural or a selection of ICU, such as
/// "{n, plural, one {# file} other {# files}} left", has a text of its own for each case: "# file left". So
/// have {{PLURAL:$1|file|files}} and {{GENDER:$1|…}} of MediaWiki, within their line.
class Message {
 public:
  explicit Message(const std::string& message, MessageSyntax syntax = MessageSyntax::any);

  /// True for a message that is more than one text of its format: one with a plural or a selection of ICU, which has no
  /// texts and stays if it is too large or not understood, and words in angle brackets that are no tag.
  bool has_own_texts() const { return has_cases_ || is_in_angle_brackets_; }
  /// The texts to translate; none if there is nothing, and in a value that is no language.
  std::vector<std::string> texts() const;
  /// The message with these translations of its texts.
  std::string with(const std::vector<std::string>& translations) const;

 private:
  struct Selection;
  struct Choice;
  static std::optional<Selection> find_icu(const std::string& message);
  static std::optional<Selection> find_wiki(const std::string& message);
  bool expand(const std::string& message, const std::vector<Choice>& choices, size_t repeated = 0);
  void add_wiki_lines(const std::string& message);
  void add_leaf(std::string_view text);

  std::vector<std::string> between_{""};  // bytes before each text, and after the last one
  std::vector<TextMarkup> texts_;
  size_t leaves_ = 0;
  bool has_cases_ = false, is_in_angle_brackets_ = false, doubles_apostrophes_ = false, is_wiki_ = false;
  bool has_numbered_arguments_ = false;  // true for a message with $1
};

}  // namespace v0
}  // namespace transmute

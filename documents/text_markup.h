// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A text whose markup, in the syntax of its file, becomes inline tags: <x0>, </x0>, <x1/>, <var-x2/> and <br x3/>.
class TextMarkup {
 public:
  /// Adds words.
  void add_text(std::string_view words);
  /// Adds bytes that a translation must contain as they are.
  void keep(std::string_view bytes) { keep(bytes, Kind::kept); }
  /// Likewise for bytes that readers see as a word of the sentence: program code, a formula, a variable.
  void keep_word(std::string_view bytes) { keep(bytes, Kind::kept_word); }
  /// Adds bytes that belong to the markup before them; without such, like keep().
  void keep_attached(std::string_view bytes);
  /// Adds bytes that end a line within the text; a translation must contain them too.
  void keep_line_break(std::string_view bytes);
  /// Adds the markup before some words.
  /// @returns a number for close()
  size_t open(std::string_view bytes);
  /// Adds the markup after the words that follow open().
  void close(size_t number, std::string_view bytes);

  /// True if the words have a letter.
  bool has_letters() const;
  /// The words and tags.
  std::string text() const;
  /// Writes the words between two tags as the file has them. `before` is all that is before them.
  using Encode = std::function<std::string(std::string_view words, std::string_view before)>;
  /// A translation with the markup in the place of its tags.
  std::string written(const std::string& translation, const Encode& encode) const;

 private:
  enum class Kind { words, kept, kept_word, line_break, opening, closing };
  struct Piece {
    Kind kind;
    size_t tag;         // its number
    std::string bytes;  // bytes of the file, or the words
  };
  void keep(std::string_view bytes, Kind kind);
  std::string tag_name() const;
  static std::string tag(const Piece& piece, const std::string& name);

  std::vector<Piece> pieces_;
  size_t tags_ = 0;
};

}  // namespace v0
}  // namespace transmute

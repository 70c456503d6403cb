// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A constituency tree: a phrase with its parts, or a word with its part of speech.
struct Tree {
  std::string label;             ///< the phrase's label, or the word's part of speech
  std::string word;              ///< empty: a phrase
  std::vector<Tree> children{};  ///< parts of a phrase

  bool is_word() const { return !word.empty(); }
};

bool operator==(const Tree& a, const Tree& b);

/// The root that bracketed files leave without a name.
constexpr const char* kTopLabel = "TOP";

/// Reads trees in the brackets of the Penn Treebank, `( (S (NP (NNP Ann)) (VP (VBZ sleeps))) )`, over one line or
/// several. Their roots are called TOP.
/// @param name what messages call the text, for example its path
/// @throws std::runtime_error naming the line of what is no tree, and if brackets nest more than 500 deep.
std::vector<Tree> read_trees(std::string_view text, const std::string& name);

/// The tree on one line: `(TOP (S (NP (NNP Ann)) (VP (VBZ sleeps))))`.
std::string to_brackets(const Tree& tree);

/// The tree that parsers learn and are measured on: without traces (-NONE-), phrases that are empty then, functions and
/// indices
/// (`NP-SBJ-1` and `NP=2` become `NP`).
Tree simplified(const Tree& tree);

/// The words from left to right.
std::vector<std::string> words_of(const Tree& tree);

/// The words, or labels, of a line. As in brackets, spaces, tabs and line ends separate them; other white space, such
/// as a form feed, is part of a word.
std::vector<std::string> split_words(std::string_view line);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/examples/parsing/tree.h>

#include <cstdint>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A tree as a sentence of labels, after Vinyals et al. (2015), "Grammar as a Foreign Language":
/// `(S (NP NNP )NP (VP VBZ )VP )S`. Phrases open and close with their label; a part of speech stands for its word. The
/// root, TOP, is left out.
std::string tree_text(const Tree& tree);

/// The repairs of tree_from_text to a text that is no tree over its words.
struct TreeRepairs {
  int64_t trees = 0;       ///< read in all
  int64_t repaired = 0;    ///< with any of the following
  int64_t unbalanced = 0;  ///< a phrase was closed that was not open, or not closed
  int64_t word_count = 0;  ///< more or fewer parts of speech than words
};

/// The tree over these words; its root is TOP. Of what is no tree the most is made: closing labels without a phrase are
/// passed over, open phrases are closed, empty ones removed, parts of speech beyond the words are dropped, and words
/// beyond the parts of speech become nouns (NN) of the last phrase.
/// @param repairs counts this tree
Tree tree_from_text(const std::vector<std::string>& words, const std::string& text, TreeRepairs& repairs);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/examples/parsing/tree_text.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

void write_labels(const Tree& tree, std::string& text) {
  if (!text.empty()) text += ' ';
  if (tree.is_word()) {
    text += tree.label;
    return;
  }
  text += '(' + tree.label;
  for (const Tree& child : tree.children) write_labels(child, text);
  text += " )" + tree.label;
}

// The phrases that are open, the root first.
class OpenPhrases {
 public:
  OpenPhrases() { open_.push_back({kTopLabel, "", {}}); }

  size_t depth() const { return open_.size() - 1; }
  void open(const std::string& label) { open_.push_back({label, "", {}}); }
  void add_word(const std::string& label, const std::string& word) {
    open_.back().children.push_back({label, word, {}});
  }

  // An empty one vanishes.
  void close() {
    Tree closed = std::move(open_.back());
    open_.pop_back();
    if (!closed.children.empty()) open_.back().children.push_back(std::move(closed));
  }

  // Number of phrases to close until the innermost one of this label is closed; 0: there is none.
  size_t levels_to(const std::string& label) const {
    const auto found = std::find_if(open_.rbegin(), open_.rend() - 1, [&](const Tree& t) { return t.label == label; });
    return found == open_.rend() - 1 ? 0 : static_cast<size_t>(found - open_.rbegin()) + 1;
  }

  Tree root() {
    while (depth() > 0) close();
    return std::move(open_.front());
  }

 private:
  std::vector<Tree> open_;
};

// The phrase with the last word of the tree: what follows belongs there rather than to the root.
Tree& last_phrase(Tree& tree) {
  Tree* phrase = &tree;
  while (!phrase->children.empty() && !phrase->children.back().is_word()) phrase = &phrase->children.back();
  return *phrase;
}

}  // namespace

std::string tree_text(const Tree& tree) {
  std::string text;
  for (const Tree& child : tree.children) write_labels(child, text);
  return text;
}

Tree tree_from_text(const std::vector<std::string>& words, const std::string& text, TreeRepairs& repairs) {
  constexpr size_t kMostDepth = 490;  // so that what is written can be read again
  OpenPhrases phrases;
  size_t word = 0;
  bool is_unbalanced = false, has_other_words = false;
  for (const std::string& token : split_words(text)) {
    const std::string label = token.substr(token.front() == '(' || token.front() == ')' ? 1 : 0);
    if (label.empty() || label.find_first_of("()") != std::string::npos) {
      is_unbalanced = true;
    } else if (token.front() == '(') {
      const bool is_too_deep = phrases.depth() == kMostDepth;
      if (!is_too_deep) phrases.open(label);
      is_unbalanced = is_unbalanced || is_too_deep;
    } else if (token.front() == ')') {
      const size_t levels = phrases.levels_to(label);
      is_unbalanced = is_unbalanced || levels != 1;
      for (size_t i = 0; i < levels; ++i) phrases.close();
    } else if (word < words.size()) {
      phrases.add_word(label, words[word++]);
    } else {
      has_other_words = true;
    }
  }
  is_unbalanced = is_unbalanced || phrases.depth() > 0;
  has_other_words = has_other_words || word < words.size();
  Tree tree = phrases.root();
  if (word < words.size()) {
    Tree& last = last_phrase(tree);
    for (; word < words.size(); ++word) last.children.push_back({"NN", words[word], {}});
  }
  ++repairs.trees;
  repairs.repaired += is_unbalanced || has_other_words ? 1 : 0;
  repairs.unbalanced += is_unbalanced ? 1 : 0;
  repairs.word_count += has_other_words ? 1 : 0;
  return tree;
}

}  // namespace v0
}  // namespace transmute

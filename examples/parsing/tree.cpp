// SPDX-License-Identifier: Apache-2.0
#include <transmute/examples/parsing/tree.h>

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kMostDepth = 500;
constexpr const char* kSpaces = " \t\n\r";

bool is_space(char c) {
  return std::string_view(kSpaces).find(c) != std::string_view::npos;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  std::vector<Tree> read_all() {
    std::vector<Tree> trees;
    while (skip_spaces()) {
      if (text_[at_] != '(') fail("a tree must begin with \"(\"");
      Tree tree = read(1);
      if (tree.label.empty()) tree.label = kTopLabel;
      if (tree.label != kTopLabel) tree = {kTopLabel, "", {std::move(tree)}};
      trees.push_back(std::move(tree));
    }
    return trees;
  }

 private:
  // At an opening bracket.
  Tree read(size_t depth) {
    if (depth > kMostDepth) fail(fmt::format("brackets nest more than {} deep", kMostDepth));
    ++at_;
    Tree tree;
    tree.label = std::string(read_name());
    if (depth > 1 && tree.label.empty()) fail("a phrase without a label");
    while (true) {
      if (!skip_spaces()) fail("the text ends within a tree");
      if (text_[at_] == ')') break;
      if (text_[at_] == '(') {
        if (tree.is_word()) fail(fmt::format("\"{}\" is beside a phrase", tree.word));
        tree.children.push_back(read(depth + 1));
        continue;
      }
      const std::string_view word = read_name();
      if (tree.is_word() || !tree.children.empty() || depth == 1)
        fail(fmt::format("\"{}\" has no part of speech of its own", word));
      tree.word = std::string(word);
    }
    ++at_;
    if (!tree.is_word() && tree.children.empty()) fail(fmt::format("({}) has no content", tree.label));
    return tree;
  }

  std::string_view read_name() {
    const size_t begin = at_;
    while (at_ < text_.size() && !is_space(text_[at_]) && text_[at_] != '(' && text_[at_] != ')') ++at_;
    return text_.substr(begin, at_ - begin);
  }

  bool skip_spaces() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return at_ < text_.size();
  }

  [[noreturn]] void fail(const std::string& what) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    throw std::runtime_error(fmt::format("{}:{}: {}", name_, line, what));
  }

  const std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
};

// Writes brackets within words as treebanks do.
void write_word(const std::string& word, std::string& text) {
  for (const char c : word) {
    if (c == '(') {
      text += "-LRB-";
    } else if (c == ')') {
      text += "-RRB-";
    } else {
      text += c;
    }
  }
}

void write(const Tree& tree, std::string& text) {
  text += '(' + tree.label;
  if (tree.is_word()) {
    text += ' ';
    write_word(tree.word, text);
  }
  for (const Tree& child : tree.children) {
    text += ' ';
    write(child, text);
  }
  text += ')';
}

// -LRB- and its like begin with what else separates a function.
std::string without_function(const std::string& label) {
  if (label.empty() || label.front() == '-' || label.front() == '=') return label;
  return label.substr(0, label.find_first_of("-="));
}

void gather_words(const Tree& tree, std::vector<std::string>& words) {
  if (tree.is_word()) words.push_back(tree.word);
  for (const Tree& child : tree.children) gather_words(child, words);
}

}  // namespace

bool operator==(const Tree& a, const Tree& b) {
  return a.label == b.label && a.word == b.word && a.children == b.children;
}

std::vector<Tree> read_trees(std::string_view text, const std::string& name) {
  return Reader(text, name).read_all();
}

std::string to_brackets(const Tree& tree) {
  std::string text;
  write(tree, text);
  return text;
}

Tree simplified(const Tree& tree) {
  if (tree.is_word()) return tree;
  Tree simple{without_function(tree.label), "", {}};
  for (const Tree& child : tree.children) {
    if (child.label == "-NONE-") continue;
    Tree kept = simplified(child);
    if (kept.is_word() || !kept.children.empty()) simple.children.push_back(std::move(kept));
  }
  return simple;
}

std::vector<std::string> words_of(const Tree& tree) {
  std::vector<std::string> words;
  gather_words(tree, words);
  return words;
}

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  for (size_t at = 0; (at = line.find_first_not_of(kSpaces, at)) != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kSpaces, at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace v0
}  // namespace transmute

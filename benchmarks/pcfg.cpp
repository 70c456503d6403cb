// SPDX-License-Identifier: Apache-2.0
// A probabilistic context-free grammar to compare a trained parser with: relative frequencies of a treebank's rules,
// each phrase with its parent's label (vertical markovization), rules of many children as chains that remember two
// siblings (horizontal markovization; Klein and Manning, 2003), and the best tree by CKY.

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/examples/parsing/tree.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using transmute::Tree;

constexpr double kNever = -std::numeric_limits<double>::infinity();
// Symbols of a cell whose probability is e^14 times smaller than the best one's are given up.
constexpr double kBeam = 14;
constexpr int kUnaryRounds = 4;

// The looks of an unknown word.
std::string signature_of(const std::string& word) {
  std::string signature = "<";
  const auto any = [&](auto is) { return std::any_of(word.begin(), word.end(), is); };
  if (std::isupper(static_cast<unsigned char>(word.front())) != 0) signature += 'A';
  if (any([](unsigned char c) { return std::isdigit(c) != 0; })) signature += '0';
  if (any([](unsigned char c) { return std::islower(c) != 0; })) signature += 'a';
  if (word.find('-') != std::string::npos) signature += '-';
  if (word.size() > 3) signature += word.substr(word.size() - 2);
  return signature + ">";
}

class Symbols {
 public:
  int id(const std::string& name) {
    const auto [at, is_new] = ids_.emplace(name, static_cast<int>(names_.size()));
    if (is_new) names_.push_back(name);
    return at->second;
  }
  const std::string& name(int id) const { return names_[static_cast<size_t>(id)]; }
  size_t size() const { return names_.size(); }

 private:
  std::unordered_map<std::string, int> ids_;
  std::vector<std::string> names_;
};

struct Binary {
  int parent, right;
  double log_p;
};
struct Unary {
  int parent, child;
  double log_p;
};

class Grammar {
 public:
  explicit Grammar(const std::vector<Tree>& trees) {
    std::map<std::string, int> words;
    for (const Tree& tree : trees)
      for (const std::string& word : transmute::words_of(tree)) ++words[word];
    for (const auto& [word, count] : words)
      if (count > 1) known_.insert(word);
    for (const Tree& tree : trees) count_phrase(tree, "");
    by_left_.resize(symbols_.size());
    for (const auto& [rule, count] : binaries_)
      by_left_[static_cast<size_t>(std::get<1>(rule))].push_back(
          {std::get<0>(rule), std::get<2>(rule), std::log(count / totals_[std::get<0>(rule)])});
    for (const auto& [rule, count] : unaries_)
      unary_rules_.push_back({rule.first, rule.second, std::log(count / totals_[rule.first])});
    for (const auto& [entry, count] : lexicon_)
      tags_of_[entry.second].emplace_back(entry.first, std::log(count / totals_[entry.first]));
    for (const auto& [tag, count] : open_tags_) open_.emplace_back(tag, std::log(count / totals_[tag]));
  }

  Symbols symbols_;
  std::vector<std::vector<Binary>> by_left_;
  std::vector<Unary> unary_rules_;

  // Tags that a word can have.
  const std::vector<std::pair<int, double>>& tags_of(const std::string& word) const {
    const auto found = tags_of_.find(known_.count(word) > 0 ? word : signature_of(word));
    return found != tags_of_.end() ? found->second : open_;
  }
  size_t rules() const { return binaries_.size() + unaries_.size(); }

 private:
  int count_word(const Tree& tree) {
    const int tag = symbols_.id(tree.label);
    const bool is_known = known_.count(tree.word) > 0;
    ++lexicon_[{tag, is_known ? tree.word : signature_of(tree.word)}];
    if (!is_known) ++open_tags_[tag];
    ++totals_[tag];
    return tag;
  }

  int count_phrase(const Tree& tree, const std::string& parent) {
    if (tree.is_word()) return count_word(tree);
    const std::string label = parent.empty() ? tree.label : tree.label + "^" + parent;
    std::vector<int> children;
    for (const Tree& child : tree.children) children.push_back(count_phrase(child, tree.label));
    int from = symbols_.id(label);
    const int whole = from;
    if (children.size() == 1) {
      ++unaries_[{from, children[0]}];
      ++totals_[from];
      return whole;
    }
    for (size_t i = 0; i + 1 < children.size(); ++i) {
      const bool is_last = i + 2 == children.size();
      const std::string before = i == 0 ? "" : symbols_.name(children[i - 1]) + " ";
      const int rest = is_last ? children[i + 1] : symbols_.id("@" + label + "|" + before + symbols_.name(children[i]));
      ++binaries_[{from, children[i], rest}];
      ++totals_[from];
      from = rest;
    }
    return whole;
  }

  std::set<std::string> known_;
  std::map<std::tuple<int, int, int>, double> binaries_;
  std::map<std::pair<int, int>, double> unaries_;
  std::map<std::pair<int, std::string>, double> lexicon_;
  std::map<int, double> open_tags_, totals_;
  std::unordered_map<std::string, std::vector<std::pair<int, double>>> tags_of_;
  std::vector<std::pair<int, double>> open_;
};

// The derivation of a symbol of a cell.
struct Way {
  int split = -1;  // -1: by a unary rule, or a word
  int left = -1, right = -1;
};

struct Cell {
  std::vector<double> best;
  std::vector<Way> way;
  std::vector<int> active;
};

class Parser {
 public:
  Parser(const Grammar& grammar, std::vector<std::string> words)
      : grammar_(grammar), words_(std::move(words)), length_(static_cast<int>(words_.size())) {
    cells_.resize(static_cast<size_t>(length_ * (length_ + 1)));
  }

  Tree parse(int top) {
    for (int width = 1; width <= length_; ++width)
      for (int begin = 0; begin + width <= length_; ++begin) fill(begin, begin + width);
    const Cell& whole = cell(0, length_);
    if (whole.best[static_cast<size_t>(top)] == kNever) return flat();
    std::vector<Tree> found = build(0, length_, top);
    return std::move(found.front());
  }

 private:
  Cell& cell(int begin, int end) { return cells_[static_cast<size_t>(begin * (length_ + 1) + end)]; }

  void offer(Cell& to, int symbol, double score, Way way) const {
    double& best = to.best[static_cast<size_t>(symbol)];
    if (score <= best) return;
    if (best == kNever) to.active.push_back(symbol);
    best = score;
    to.way[static_cast<size_t>(symbol)] = way;
  }

  void fill(int begin, int end) {
    Cell& to = cell(begin, end);
    to.best.assign(grammar_.symbols_.size(), kNever);
    to.way.resize(grammar_.symbols_.size());
    if (end == begin + 1)
      for (const auto& [tag, score] : grammar_.tags_of(words_[static_cast<size_t>(begin)])) offer(to, tag, score, {});
    for (int split = begin + 1; split < end; ++split) {
      const Cell& left = cell(begin, split);
      const Cell& right = cell(split, end);
      for (const int l : left.active)
        for (const Binary& rule : grammar_.by_left_[static_cast<size_t>(l)])
          if (const double r = right.best[static_cast<size_t>(rule.right)]; r != kNever)
            offer(to, rule.parent, left.best[static_cast<size_t>(l)] + r + rule.log_p, {split, l, rule.right});
    }
    for (int round = 0; round < kUnaryRounds; ++round) {
      bool changed = false;
      for (const Unary& rule : grammar_.unary_rules_) {
        const double child = to.best[static_cast<size_t>(rule.child)];
        if (child == kNever || child + rule.log_p <= to.best[static_cast<size_t>(rule.parent)]) continue;
        offer(to, rule.parent, child + rule.log_p, {-1, rule.child, -1});
        changed = true;
      }
      if (!changed) break;
    }
    prune(to);
  }

  // Chains of unary rules stay whole: what a kept symbol came from is kept in `way` and has a score at least as high.
  void prune(Cell& to) const {
    double best = kNever;
    for (const int symbol : to.active) best = std::max(best, to.best[static_cast<size_t>(symbol)]);
    const auto is_worse = [&](int symbol) { return to.best[static_cast<size_t>(symbol)] < best - kBeam; };
    for (const int symbol : to.active)
      if (is_worse(symbol)) to.best[static_cast<size_t>(symbol)] = kNever;
    to.active.erase(std::remove_if(to.active.begin(), to.active.end(),
                                   [&](int symbol) { return to.best[static_cast<size_t>(symbol)] == kNever; }),
                    to.active.end());
  }

  // The trees of a symbol: several where it is a part of a chain.
  std::vector<Tree> build(int begin, int end, int symbol) {
    const Way way = cell(begin, end).way[static_cast<size_t>(symbol)];
    const std::string& name = grammar_.symbols_.name(symbol);
    if (way.left < 0) return {{name, words_[static_cast<size_t>(begin)], {}}};
    std::vector<Tree> parts = build(begin, way.split < 0 ? end : way.split, way.left);
    if (way.split >= 0)
      for (Tree& part : build(way.split, end, way.right)) parts.push_back(std::move(part));
    if (name.front() == '@') return parts;
    return {{name.substr(0, name.find('^')), "", std::move(parts)}};
  }

  Tree flat() const {
    Tree sentence{"S", "", {}};
    for (const std::string& word : words_) sentence.children.push_back({"NN", word, {}});
    return {transmute::kTopLabel, "", {sentence}};
  }

  const Grammar& grammar_;
  std::vector<std::string> words_;
  int length_;
  std::vector<Cell> cells_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Parses with a markovized PCFG of a treebank, for comparison. Trees are one per line in brackets.");
  std::string train, test, output, reference;
  size_t most_words = 40;
  int64_t every = 1;
  app.add_option("--train", train, "trees to estimate the grammar from")->required();
  app.add_option("--test", test, "trees whose words are parsed")->required();
  app.add_option("--output", output, "the trees found")->required();
  app.add_option("--reference", reference, "the test trees that were parsed")->required();
  app.add_option("--max-words", most_words, "longer sentences are left out")->capture_default_str();
  app.add_option("--every", every, "only each n-th sentence")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Grammar grammar(transmute::read_trees(transmute::read_file(train), train));
  std::fprintf(stderr, "%zu symbols, %zu rules\n", grammar.symbols_.size(), grammar.rules());
  const int top = grammar.symbols_.id(transmute::kTopLabel);
  std::string found, wanted;
  int64_t number = 0;
  for (const Tree& tree : transmute::read_trees(transmute::read_file(test), test)) {
    std::vector<std::string> words = transmute::words_of(tree);
    if (words.size() > most_words || number++ % every != 0) continue;
    found += transmute::to_brackets(Parser(grammar, std::move(words)).parse(top)) + '\n';
    wanted += transmute::to_brackets(tree) + '\n';
  }
  transmute::write_file_atomically(output, found);
  transmute::write_file_atomically(reference, wanted);
  return 0;
}

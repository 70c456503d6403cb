// SPDX-License-Identifier: Apache-2.0
#include <transmute/examples/parsing/bracketing.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

constexpr const char* kTrace = "-NONE-";

// The labels that compare as equal have one name here.
std::string canonical(const std::string& label) {
  return label == "PRT" ? "ADVP" : label;
}

bool is_left_out(const std::string& label) {
  constexpr std::array<const char*, 7> kLeftOut{kTopLabel, kTrace, ",", ":", "``", "''", "."};
  return std::find(kLeftOut.begin(), kLeftOut.end(), label) != kLeftOut.end();
}

// evalb cuts off functions anywhere: -LRB- would have no name, but is no phrase.
std::string label_of_phrase(const std::string& label) {
  return canonical(label.substr(0, label.find_first_of("-=")));
}

using Bracket = std::tuple<size_t, size_t, std::string>;  // words from, to before, label

struct Brackets {
  std::vector<std::pair<std::string, std::string>> words;  // with their parts of speech
  std::map<Bracket, int64_t> brackets;
  int64_t count = 0;
};

void gather(const Tree& tree, Brackets& all) {
  if (tree.is_word()) {
    if (!is_left_out(tree.label)) all.words.emplace_back(tree.word, canonical(tree.label));
    return;
  }
  const size_t begin = all.words.size();
  for (const Tree& child : tree.children) gather(child, all);
  const std::string label = label_of_phrase(tree.label);
  if (begin == all.words.size() || is_left_out(label)) return;
  ++all.brackets[{begin, all.words.size(), label}];
  ++all.count;
}

Brackets brackets_of(const Tree& tree) {
  Brackets all;
  gather(tree, all);
  return all;
}

bool same_words(const Brackets& a, const Brackets& b) {
  return std::equal(a.words.begin(), a.words.end(), b.words.begin(), b.words.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

double percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

BracketCounts& BracketCounts::operator+=(const BracketCounts& other) {
  sentences += other.sentences;
  errors += other.errors;
  skipped += other.skipped;
  reference += other.reference;
  found += other.found;
  matched += other.matched;
  complete += other.complete;
  words += other.words;
  correct_tags += other.correct_tags;
  return *this;
}

BracketCounts bracket_counts(const Tree& found, const Tree& reference) {
  const Brackets own = brackets_of(found), wanted = brackets_of(reference);
  BracketCounts counts;
  counts.sentences = 1;
  if (own.words.empty()) {
    counts.skipped = 1;
    return counts;
  }
  if (!same_words(own, wanted)) {
    counts.errors = 1;
    return counts;
  }
  counts.reference = wanted.count;
  counts.found = own.count;
  for (const auto& [bracket, times] : wanted.brackets)
    if (const auto same = own.brackets.find(bracket); same != own.brackets.end())
      counts.matched += std::min(times, same->second);
  counts.complete = counts.matched == counts.reference && counts.matched == counts.found ? 1 : 0;
  counts.words = static_cast<int64_t>(own.words.size());
  for (size_t i = 0; i < own.words.size(); ++i)
    counts.correct_tags += own.words[i].second == wanted.words[i].second ? 1 : 0;
  return counts;
}

int64_t length_of(const Tree& reference) {
  if (reference.is_word()) return reference.label == kTrace ? 0 : 1;
  int64_t length = 0;
  for (const Tree& child : reference.children) length += length_of(child);
  return length;
}

BracketScores scores_of(const BracketCounts& counts) {
  BracketScores scores;
  scores.recall = percent(counts.matched, counts.reference);
  scores.precision = percent(counts.matched, counts.found);
  if (counts.matched > 0) scores.f1 = 2 * scores.precision * scores.recall / (scores.precision + scores.recall);
  scores.complete_match = percent(counts.complete, counts.sentences - counts.errors - counts.skipped);
  scores.tagging_accuracy = percent(counts.correct_tags, counts.words);
  return scores;
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/data/word_links.h>

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Where the words of `text` begin.
std::vector<size_t> word_begins(const std::string& text) {
  std::vector<size_t> begins;
  for (size_t i = 0; i < text.size(); ++i)
    if (!is_space(text[i]) && (i == 0 || is_space(text[i - 1]))) begins.push_back(i);
  return begins;
}

// For each word of `text`, its pieces. A piece of space alone goes to the word after it, one that goes over several
// words to the first.
std::vector<std::vector<int64_t>> pieces_of_words(const PlacedPieces& placed) {
  const auto& [text, spans] = placed;
  const std::vector<size_t> begins = word_begins(text);
  std::vector<std::vector<int64_t>> pieces(begins.size());
  for (size_t piece = 0; piece < spans.size(); ++piece) {
    size_t at = spans[piece].first;
    while (at < text.size() && is_space(text[at])) ++at;
    const auto after = std::upper_bound(begins.begin(), begins.end(), at);
    if (after == begins.begin()) continue;
    pieces[static_cast<size_t>(after - begins.begin()) - 1].push_back(static_cast<int64_t>(piece));
  }
  return pieces;
}

const std::vector<int64_t>& word_at(const std::vector<std::vector<int64_t>>& words, int64_t number, const char* side,
                                    const std::pair<int64_t, int64_t>& link) {
  if (number >= static_cast<int64_t>(words.size()))
    throw std::invalid_argument(
        fmt::format("{}-{}: the {} line has {} words, counted from 0", link.first, link.second, side, words.size()));
  return words[static_cast<size_t>(number)];
}

}  // namespace

std::vector<std::pair<int64_t, int64_t>> parse_word_links(const std::string& line) {
  std::vector<std::pair<int64_t, int64_t>> links;
  const char* const end = line.data() + line.size();
  for (const char* at = line.data(); at != end;) {
    if (is_space(*at)) {
      ++at;
      continue;
    }
    const char* const begin = at;
    while (at != end && !is_space(*at)) ++at;
    int32_t source = -1;
    int32_t target = -1;
    const auto first = std::from_chars(begin, at, source);
    const bool dash = first.ec == std::errc() && first.ptr != at && *first.ptr == '-';
    const auto second = dash ? std::from_chars(first.ptr + 1, at, target) : first;
    if (!dash || second.ec != std::errc() || second.ptr != at || source < 0 || target < 0)
      throw std::invalid_argument(
          fmt::format("'{}' is not a link; links are written 0-0 1-2: source word, target word, counted from 0",
                      std::string(begin, at)));
    links.emplace_back(source, target);
  }
  return links;
}

Ids piece_links(const std::vector<std::pair<int64_t, int64_t>>& word_links, const PlacedPieces& source,
                const PlacedPieces& target) {
  if (word_links.empty()) return {};
  const auto source_words = pieces_of_words(source);
  const auto target_words = pieces_of_words(target);
  std::set<std::pair<int64_t, int64_t>> links;
  for (const auto& link : word_links) {
    const std::vector<int64_t>& of_target = word_at(target_words, link.second, "target", link);
    const std::vector<int64_t>& of_source = word_at(source_words, link.first, "source", link);
    for (const int64_t t : of_target)
      for (const int64_t s : of_source) links.emplace(t, s);
  }
  Ids flat;
  for (const auto& [t, s] : links) flat.insert(flat.end(), {t, s});
  return flat;
}

}  // namespace v0
}  // namespace transmute

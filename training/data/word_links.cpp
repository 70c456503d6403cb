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

constexpr std::string_view kSpaces = " \t\n\v\f\r";

// For each word of `text`, its pieces. A piece that is only space belongs to the word after it, and a piece that covers
// several words to the first of them.
std::vector<std::vector<int64_t>> pieces_of_words(const PlacedPieces& placed) {
  const auto& [text, spans] = placed;
  std::vector<size_t> begins;
  for (const std::string_view word : words_between_spaces(text))
    begins.push_back(static_cast<size_t>(word.data() - text.data()));
  std::vector<std::vector<int64_t>> pieces(begins.size());
  for (size_t piece = 0; piece < spans.size(); ++piece) {
    const size_t at = std::min(text.find_first_not_of(kSpaces, spans[piece].first), text.size());
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

std::vector<std::string_view> words_between_spaces(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = text.find_first_not_of(kSpaces); at != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kSpaces, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kSpaces, end);
  }
  return words;
}

std::vector<std::pair<int64_t, int64_t>> parse_word_links(const std::string& line) {
  std::vector<std::pair<int64_t, int64_t>> links;
  for (const std::string_view link : words_between_spaces(line)) {
    const char* const end = link.data() + link.size();
    int32_t source = -1;
    int32_t target = -1;
    const auto first = std::from_chars(link.data(), end, source);
    const bool dash = first.ec == std::errc() && first.ptr != end && *first.ptr == '-';
    const auto second = dash ? std::from_chars(first.ptr + 1, end, target) : first;
    if (!dash || second.ec != std::errc() || second.ptr != end || source < 0 || target < 0)
      throw std::invalid_argument(
          fmt::format("'{}' is not a link; links are written 0-0 1-2: source word, target word, counted from 0", link));
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

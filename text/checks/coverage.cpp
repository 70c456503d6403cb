// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/checks/coverage.h>

#include <transmute/text/sentence_characters.h>
#include <transmute/tokenizer/piece_marks.h>

#include <algorithm>

namespace transmute {
inline namespace v0 {
namespace checks {

std::vector<ByteSpan> words_of_tokens(const std::vector<std::string>& pieces) {
  std::vector<ByteSpan> words;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const bool follows_space = i > 0 && pieces[i - 1] == kSpaceMark;
    const bool begins = words.empty() || begins_word(pieces[i]) ||
                        (!follows_space && !pieces[i].empty() &&
                         sentence_characters::is_written_without_spaces(character_at(pieces[i], 0).code));
    if (begins) words.emplace_back(i, i);
    words.back().second = i + 1;
  }
  return words;
}

// A word counts by the token that gets most attention: the others often get little. Half a token's attention, the sum
// over the translation's tokens, is enough.
Gap largest_gap(const std::vector<std::string>& source_tokens, const std::vector<std::vector<float>>& attention) {
  constexpr double kEnough = 0.5;
  std::vector<double> received(source_tokens.size());
  for (const std::vector<float>& row : attention)
    for (size_t s = 0; s < received.size(); ++s) received[s] += row[s];
  Gap gap, running;
  for (const ByteSpan& word : words_of_tokens(source_tokens)) {
    double most = 0;
    bool counts = false;
    for (size_t s = word.first; s < word.second; ++s) {
      most = std::max(most, received[s]);
      counts = counts || sentence_characters::has_letter_or_digit(source_tokens[s]);
    }
    if (!counts) continue;
    if (running.words <= 0) running = {0, {word.first, word.first}};
    running.words += 1 - most / kEnough;
    running.tokens.second = word.second;
    if (running.words > gap.words) gap = running;
  }
  return gap;
}

}  // namespace checks
}  // namespace v0
}  // namespace transmute

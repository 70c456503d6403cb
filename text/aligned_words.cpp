// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/aligned_words.h>

#include <transmute/common/ascii_case.h>
#include <transmute/text/characters.h>
#include <transmute/text/sentence_characters.h>
#include <transmute/text/written_marks.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// The part of a token that is not white space and begins at `begin` or later.
ByteSpan without_space(const std::string& text, const ByteSpan& token, size_t begin) {
  const size_t last = space_begin(text, token.first, token.second);
  return {std::min(last, std::max(begin, space_end(text, token.first, last))), last};
}

size_t largest(const std::vector<float>& row) {
  return static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

// A token as sources are read, with marks that are one character in ASCII, and the place of each byte and of the end in
// the translation.
struct ReadToken {
  std::string text;
  std::vector<size_t> places;
};

ReadToken as_read(const std::string& text, const ByteSpan& token) {
  ReadToken read;
  for (size_t at = token.first; at < token.second;) {
    const size_t end = std::min(characters::end(text, at), token.second);
    const std::string ascii = ascii_of(characters::at(text, at));
    // "…" is none of the three pieces that "..." may have.
    read.text += ascii.size() == 1 ? ascii : text.substr(at, end - at);
    for (size_t place = at; read.places.size() < read.text.size(); ++place) read.places.push_back(std::min(place, end));
    at = end;
  }
  read.places.push_back(token.second);
  return read;
}

// Finds the pieces, then the words, token by token.
class WordAligner {
 public:
  WordAligner(const std::string& source, const std::set<size_t>& cuts, const AlignedTranslation& given)
      : source_(source), cuts_(cuts), given_(given) {
    find_pieces();
    find_words();
    complete_words();
  }

  AlignedWords take() { return {std::move(pieces_), std::move(words_)}; }

 private:
  using Range = std::pair<size_t, size_t>;  // a range of pieces

  void find_pieces() {
    size_t end = 0;
    for (const ByteSpan& token : given_.source_tokens) {
      const ByteSpan words = without_space(source_, token, end);
      const size_t first = pieces_.size();
      for (size_t begin = words.first; begin < words.second; begin = end) {
        const auto cut = cuts_.upper_bound(begin);
        end = cut == cuts_.end() ? words.second : std::min(words.second, *cut);
        pieces_.emplace_back(begin, end);
      }
      of_token_.emplace_back(first, pieces_.size());
      if (first < pieces_.size()) continue;
      // A lone space belongs to the piece after it, and another byte of one character to the piece before it.
      const bool is_space = words.second == token.first;
      of_token_.back() = {first - (is_space || first == 0 ? 0 : 1), first + (is_space ? 1 : 0)};
    }
    for (auto& [first, last] : of_token_) {
      last = std::min(last, pieces_.size());
      first = std::min(first, last - std::min<size_t>(last, 1));
    }
  }

  void find_words() {
    size_t end = 0;
    bool was_punctuation = false;
    for (size_t t = 0; t < given_.target_tokens.size() && !pieces_.empty(); ++t) {
      const ByteSpan token = without_space(given_.text, given_.target_tokens[t], end);
      if (token.first == token.second) continue;
      end = token.second;
      std::vector<float> row = row_of(given_.alignment[t]);
      // The mark at the end of a sentence often attends to the end of its source, where the last weight is.
      const auto weight = std::find_if(row.rbegin(), row.rend(), [](float of_piece) { return of_piece > 0; });
      const size_t last = row.size() - 1 - (weight == row.rend() ? 0 : static_cast<size_t>(weight - row.rbegin()));
      if (is_punctuation(given_.text, token) && is_punctuation(source_, pieces_[last]))
        row[last] += std::max(0.0F, 1 - std::accumulate(row.begin(), row.end(), 0.0F));
      const ReadToken read = as_read(given_.text, token);
      const Range copied = copied_pieces(read.text, given_.alignment[t]);
      if (copied.second - copied.first < 2) {
        const bool is_copy = copied.first < copied.second;
        const size_t mark = is_copy ? token.second : end_without_mark(token);  // "2." may be one token
        add_token({token.first, mark}, row, was_punctuation);
        if (mark < token.second) add_token({mark, token.second}, row, true);
      } else {
        add_copied_token(read.places, std::move(row), copied, was_punctuation);
      }
      was_punctuation = is_punctuation(given_.text, token);
    }
  }

  // The end of a token before the mark with which it may end.
  size_t end_without_mark(const ByteSpan& token) const {
    constexpr std::string_view kMarks = ".,;:!?";
    const size_t last = token.second - 1;
    return token.first < last && kMarks.find(given_.text[last]) != std::string_view::npos ? last : token.second;
  }

  static bool is_punctuation(const std::string& text, const ByteSpan& span) {
    const std::string read = as_read(text, span).text;
    return std::none_of(read.begin(), read.end(),
                        [](char c) { return is_ascii_alphanumeric(c) || static_cast<unsigned char>(c) >= 0x80; });
  }

  // A token's attention by pieces: what goes to a token that was cut is divided by length.
  std::vector<float> row_of(const std::vector<float>& attention) const {
    std::vector<float> row(pieces_.size());
    for (size_t s = 0; s < attention.size(); ++s) {
      const auto [first, last] = of_token_[s];
      if (first == last) continue;
      const auto all = static_cast<float>(pieces_[last - 1].second - pieces_[first].first);
      for (size_t p = first; p < last; ++p)
        row[p] += attention[s] * static_cast<float>(pieces_[p].second - pieces_[p].first) / all;
    }
    return row;
  }

  // The pieces of the source token that a token attends to most, if the two have the same characters.
  Range copied_pieces(const std::string& token, const std::vector<float>& attention) const {
    const auto [first, last] = of_token_[largest(attention)];
    if (first == last) return {0, 0};
    const size_t begin = pieces_[first].first, length = pieces_[last - 1].second - begin;
    return source_.compare(begin, length, token) == 0 ? Range{first, last} : Range{0, 0};
  }

  // A copied token is cut where its original is. `places`: those of the original's bytes in the translation.
  void add_copied_token(const std::vector<size_t>& places, std::vector<float> row, const Range& pieces,
                        bool was_punctuation) {
    const auto first = row.begin() + static_cast<int64_t>(pieces.first);
    const auto last = row.begin() + static_cast<int64_t>(pieces.second);
    const float sum = std::accumulate(first, last, 0.0F);
    for (size_t p = pieces.first; p < pieces.second; ++p) {
      const size_t begin = places[pieces_[p].first - pieces_[pieces.first].first];
      const size_t end = places[pieces_[p].second - pieces_[pieces.first].first];
      std::fill(first, last, 0.0F);
      row[p] = sum;
      add_token({begin, end}, row, was_punctuation || p > pieces.first);
    }
  }

  void add_token(const ByteSpan& token, const std::vector<float>& row, bool begins_word) {
    const size_t piece = largest(row);
    if (words_.empty() || token.first > words_.back().bytes.second || begins_word ||
        is_punctuation(given_.text, token) || is_cut_within_word(words_.back().ends.second, piece)) {
      if (!words_.empty()) trim(words_.back());
      words_.push_back({token, {piece, piece}, 0, row, row});
      return;
    }
    AlignedWord& word = words_.back();
    word.bytes.second = token.second;
    word.ends.second = piece;
    ++word.tokens;
    for (size_t p = 0; p < row.size(); ++p) {
      word.row[p] += row[p];
      word.most[p] = std::max(word.most[p], row[p]);
    }
  }

  // Leaves out the pieces at both ends that a word gives nothing to: where a long text was translated part by part,
  // those of other parts, with which the rows of all words would have the square of its length.
  static void trim(AlignedWord& word) {
    const auto is_given = [](float weight) { return weight != 0; };
    const auto first = std::find_if(word.row.begin(), word.row.end(), is_given);
    const auto last = std::find_if(word.row.rbegin(), std::make_reverse_iterator(first), is_given).base();
    const auto skipped = first - word.row.begin(), end = last - word.row.begin();
    word.first = static_cast<size_t>(skipped);
    word.most = std::vector<float>(word.most.begin() + skipped, word.most.begin() + end);
    word.row = std::vector<float>(first, last);
  }

  // True if a tag is between two pieces of one word of the source.
  bool is_cut_within_word(size_t before, size_t after) const {
    if (before >= after || is_punctuation(source_, pieces_[before]) || is_punctuation(source_, pieces_[after]))
      return false;
    const auto cut = cuts_.lower_bound(pieces_[before].second);
    if (cut == cuts_.end() || *cut > pieces_[after].first) return false;
    while (before < after && pieces_[before].second == pieces_[before + 1].first) ++before;
    return before == after;
  }

  void complete_words() {
    const std::string& text = given_.text;
    if (words_.empty() && !text.empty()) words_.push_back({});
    if (!words_.empty()) trim(words_.back());
    for (size_t w = 0; w < words_.size(); ++w) {
      AlignedWord& word = words_[w];
      const bool is_last = w + 1 == words_.size();
      if (w == 0) word.bytes.first = 0;
      word.bytes.second = is_last ? text.size() : space_begin(text, word.bytes.second, words_[w + 1].bytes.first);
      for (float& weight : word.row) weight /= static_cast<float>(word.tokens);
      word.largest = word.row.empty() ? 0 : word.first + largest(word.row);
      word.sum = std::accumulate(word.row.begin(), word.row.end(), 0.0F);
    }
  }

  const std::string& source_;
  const std::set<size_t>& cuts_;
  const AlignedTranslation& given_;
  std::vector<ByteSpan> pieces_;
  std::vector<Range> of_token_;  // the pieces of each source token
  std::vector<AlignedWord> words_;
};

}  // namespace

AlignedWords align_words(const std::string& source, const std::set<size_t>& cuts,
                         const AlignedTranslation& translation) {
  return WordAligner(source, cuts, translation).take();
}

size_t space_end(const std::string& text, size_t begin, size_t end) {
  const std::string_view part = std::string_view(text).substr(0, end);
  while (begin < end && sentence_characters::is_space(characters::at(part, begin)))
    begin = characters::end(part, begin);
  return begin;
}

size_t space_begin(const std::string& text, size_t begin, size_t end) {
  std::string_view part = std::string_view(text).substr(begin, end - std::min(begin, end));
  while (sentence_characters::is_space(characters::before(part, part.size())))
    part.remove_suffix(part.size() - characters::begin(part, part.size()));
  return begin + part.size();
}

}  // namespace v0
}  // namespace transmute

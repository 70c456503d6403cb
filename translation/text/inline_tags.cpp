// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/text/inline_tags.h>

#include <transmute/common/ascii_case.h>
#include <transmute/translation/text/tag_end.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// Elements nested more deeply than any page keep their tags, but these are placed one by one. So the depth of a text
// from anybody bounds no stack.
constexpr size_t kMaxDepth = 100;

bool is_word_byte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80;
}

bool is_name_byte(char c) {
  return is_word_byte(c) || c == '_' || c == '-' || c == '.' || c == ':';
}

// How many bytes the placeholder that begins at `at` has; 0 where none does. Templates have more than a name in double
// braces, such as {{ price | currency }}; a '<' there begins a tag, which is one by itself.
size_t placeholder_length(const std::string& text, size_t at) {
  constexpr std::string_view kSigils = "$%#", kClosing = "}}}";
  const size_t first = at + (kSigils.find(text[at]) == std::string_view::npos ? 0 : 1);
  size_t begin = first;
  while (begin < text.size() && begin - first < kClosing.size() && text[begin] == '{') ++begin;
  const size_t braces = begin - first;
  if (braces == 0) return 0;
  const auto no_name = std::find_if_not(text.begin() + static_cast<int64_t>(begin), text.end(), is_name_byte);
  const size_t end = braces == 1 ? static_cast<size_t>(no_name - text.begin()) : text.find_first_of("{}<", begin);
  if (end >= text.size() || text.compare(end, braces, kClosing, 0, braces) != 0) return 0;
  return end + braces - at;
}

std::string name_of(const std::string& tag) {
  size_t begin = tag[1] == '/' ? 2 : 1;
  size_t end = begin;
  while (end < tag.size() && is_name_byte(tag[end])) ++end;
  return tag.substr(begin, end - begin);
}

bool is_space(const std::string& text, size_t at) {
  return at < text.size() && (text[at] == ' ' || text[at] == '\t');
}

}  // namespace

bool is_void_element(const std::string& element) {
  const std::string name = lower_case(element);
  constexpr std::array<const char*, 14> kVoid{"area",  "base", "br",   "col",   "embed",  "hr",    "img",
                                              "input", "link", "meta", "param", "source", "track", "wbr"};
  return std::find(kVoid.begin(), kVoid.end(), name) != kVoid.end();
}

std::vector<InlineTag> inline_tags(const std::string& text) {
  std::vector<InlineTag> tags;
  std::vector<size_t> ends = tag_ends(text);  // the next '<' has the last
  for (size_t at = 0; at < text.size();) {
    InlineTag tag{at};
    if (text[at] != '<') {
      tag.length = placeholder_length(text, at);
    } else if (ends.back() != 0) {  // not 3 < 4
      tag.length = ends.back() - at;
      if (text[at + 1] == '/') {
        tag.kind = InlineTag::Kind::closing;
      } else if (text[ends.back() - 2] != '/' && !is_void_element(name_of(text.substr(at, tag.length)))) {
        tag.kind = InlineTag::Kind::opening;
      }
    }
    const size_t next = at + std::max<size_t>(tag.length, 1);
    for (; at < next; ++at)
      if (text[at] == '<') ends.pop_back();
    if (tag.length > 0) tags.push_back(tag);
  }
  return tags;
}

TaggedText::TaggedText(const std::string& text) {
  struct Open {
    size_t tag;
    std::string name, lower;
  };
  std::vector<Open> open;  // tags that wait for their end
  bool is_apart = false;   // one<br>two are two words
  const std::vector<InlineTag> found = inline_tags(text);
  auto next = found.begin();
  for (size_t at = 0; at < text.size();) {
    if (next == found.end() || at < next->begin) {
      if (is_apart && !plain_.empty() && is_word_byte(plain_.back()) && is_word_byte(text[at])) plain_ += ' ';
      is_apart = false;
      plain_ += text[at++];
      continue;
    }
    const auto [begin, length, kind] = *next++;
    Tag tag{text.substr(at, length), plain_.size(), plain_.size()};
    tag.space_before = at > 0 && is_space(text, at - 1);
    tag.space_after = is_space(text, at + length);
    at += length;
    tag.parent = open.empty() ? 0 : open.back().tag + 1;
    std::string name = name_of(tag.text);
    std::string lower = lower_case(name);
    if (kind == InlineTag::Kind::closing) {
      auto opening = std::find_if(open.rbegin(), open.rend(), [&](const Open& other) { return other.name == name; });
      if (opening == open.rend())  // <B>…</b> of HTML
        opening = std::find_if(open.rbegin(), open.rend(), [&](const Open& other) { return other.lower == lower; });
      if (opening != open.rend()) {
        tags_[opening->tag].end = plain_.size();
        tags_[opening->tag].closing = tag.text;
        open.erase(opening.base() - 1, open.end());
        continue;
      }
    } else if (kind == InlineTag::Kind::opening) {
      if (open.size() < kMaxDepth) open.push_back({tags_.size(), std::move(name), std::move(lower)});
    } else {
      is_apart = is_apart || name != "wbr";
    }
    tags_.push_back(std::move(tag));
  }
  // What an opening tag without an end seemed to hold is its parent's.
  for (Tag& tag : tags_)
    while (tag.parent > 0 && tags_[tag.parent - 1].closing.empty()) tag.parent = tags_[tag.parent - 1].parent;
}

// Where the tags go in one translation, and the words that they go between.
class TaggedText::Placement {
 public:
  Placement(const std::vector<Tag>& tags, const std::string& translation, const std::vector<ByteSpan>& source_tokens,
            const std::vector<ByteSpan>& target_tokens, const std::vector<std::vector<float>>& alignment)
      : tags_(tags),
        translation_(translation),
        source_tokens_(source_tokens),
        target_tokens_(target_tokens),
        alignment_(alignment) {
    find_words();
    find_attention();
    ranges_.resize(tags.size());
    taken_by_.resize(tags.size() + 1);
    children_.resize(tags.size() + 1);
    for (size_t t = 0; t < tags.size(); ++t) {
      ranges_[t] = range_of(t);
      children_[tags[t].parent].push_back(t);
    }
  }

  std::string render() const { return render(0, {0, words_.size()}); }

 private:
  using Range = std::pair<size_t, size_t>;  // of words

  struct Word {
    ByteSpan bytes;
    size_t first_token, last_token;
  };

  // Runs of tokens without a space between; a mark of punctuation is a word of its own.
  void find_words() {
    bool was_mark = false;
    for (size_t token = 0; token < target_tokens_.size(); ++token) {
      auto [begin, end] = target_tokens_[token];
      while (begin < end && translation_[begin] == ' ') ++begin;
      const bool is_mark = begin < end && std::none_of(translation_.begin() + static_cast<int64_t>(begin),
                                                       translation_.begin() + static_cast<int64_t>(end), is_word_byte);
      const bool attached = !words_.empty() && begin == words_.back().bytes.second;
      if (!words_.empty() && (begin == end || (attached && !is_mark && !was_mark))) {
        words_.back().bytes.second = std::max(words_.back().bytes.second, end);
        words_.back().last_token = token;
      } else {
        words_.push_back({{begin, end}, token, token});
      }
      was_mark = is_mark;
    }
  }

  // The source tokens that may lie between those bytes: all of them, unless they are in order.
  std::pair<size_t, size_t> overlapping(size_t begin, size_t end) const {
    if (!in_order_) return {0, source_tokens_.size()};
    const auto first = std::partition_point(source_tokens_.begin(), source_tokens_.end(),
                                            [&](const ByteSpan& token) { return token.second <= begin; });
    const auto last =
        std::partition_point(first, source_tokens_.end(), [&](const ByteSpan& token) { return token.first < end; });
    return {static_cast<size_t>(first - source_tokens_.begin()), static_cast<size_t>(last - source_tokens_.begin())};
  }

  // What each word gives to each source token; many tags ask.
  void find_attention() {
    const auto is_before = [](const ByteSpan& a, const ByteSpan& b) {
      return a.first < b.first || a.second < b.second;
    };
    for (size_t s = 1; s < source_tokens_.size(); ++s)
      in_order_ = in_order_ && !is_before(source_tokens_[s], source_tokens_[s - 1]);
    to_tokens_.resize(words_.size());
    for (size_t w = 0; w < words_.size(); ++w) {
      auto& row = to_tokens_[w];
      for (const ByteSpan& token : source_tokens_) row.push_back(attention(words_[w], token.first, token.second));
      largest_.push_back(static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin()));
      sums_.push_back(std::accumulate(row.begin(), row.end(), 0.0F));
    }
  }

  bool is_within(size_t token, size_t begin, size_t end) const {
    return source_tokens_[token].first < end && source_tokens_[token].second > begin;
  }

  // The part of a word's attention that goes to source bytes from `begin` to before `end`.
  float attention(const Word& word, size_t begin, size_t end) const {
    float sum = 0;
    const auto [first, last] = overlapping(begin, end);
    for (size_t t = word.first_token; t <= word.last_token; ++t)
      for (size_t s = first; s < last; ++s)
        if (is_within(s, begin, end)) sum += alignment_[t][s];
    return sum / static_cast<float>(word.last_token - word.first_token + 1);
  }

  // How much more of the word belongs to a token of those source bytes than to any other, or to the source's end.
  float belonging(size_t word, size_t begin, size_t end) const {
    const auto& row = to_tokens_[word];
    float inside = 0, outside = 0;
    if (is_within(largest_[word], begin, end)) {
      inside = std::max(inside, row[largest_[word]]);
      for (size_t s = 0; s < row.size(); ++s)
        if (!is_within(s, begin, end)) outside = std::max(outside, row[s]);
    } else {
      outside = std::max(outside, row[largest_[word]]);
      const auto [first, last] = overlapping(begin, end);
      for (size_t s = first; s < last; ++s)
        if (is_within(s, begin, end)) inside = std::max(inside, row[s]);
    }
    return inside - std::max(outside, 1 - sums_[word]);
  }

  Range parent_range(const Tag& tag) const {
    return tag.parent == 0 ? Range{0, words_.size()} : ranges_[tag.parent - 1];
  }

  // Earlier tags have their ranges.
  Range range_of(size_t number) {
    const Tag& tag = tags_[number];
    return tag.closing.empty() ? point_of(number) : span_of(number);
  }

  // For each word of a tag's content (0: of the text) the child that has it, from 1; empty where none has any.
  const std::vector<size_t>& taken_in(size_t parent) const { return taken_by_[parent]; }

  void take(size_t number, Range words) {
    const size_t parent = tags_[number].parent;
    const Range around = parent_range(tags_[number]);
    if (taken_by_[parent].empty()) taken_by_[parent].resize(around.second - around.first);
    for (size_t word = words.first; word < words.second; ++word) taken_by_[parent][word - around.first] = number + 1;
  }

  // The source tokens of what the tag stands in: of its parent, or of the text.
  std::pair<size_t, size_t> content_around(const Tag& tag) const {
    if (tag.parent == 0) return {0, source_tokens_.size()};
    return overlapping(tags_[tag.parent - 1].begin, tags_[tag.parent - 1].end);
  }

  // All words, of a tag around all there is, whatever they attend to: a final period may belong to the source's end.
  // Else the words in a row that attend most to the tag's content, among those that no sibling has: where a sum falls
  // below nothing, what follows is better off without it.
  Range span_of(size_t number) {
    const Tag& tag = tags_[number];
    const Range around = parent_range(tag);
    const std::vector<size_t>& taken = taken_in(tag.parent);
    const auto [first, last] = overlapping(tag.begin, tag.end);
    bool has_content = false;
    for (size_t s = first; s < last && !has_content; ++s) has_content = is_within(s, tag.begin, tag.end);
    if (!has_content) return point_of(number);
    if (in_order_ && taken.empty() && around.first < around.second && std::pair{first, last} == content_around(tag)) {
      take(number, around);
      return around;
    }
    Range best{0, 0};
    float best_gain = -1, gain = -1;
    size_t begin = around.first;
    for (size_t word = around.first; word < around.second; ++word) {
      if (!taken.empty() && taken[word - around.first] != 0) {
        gain = -1;
        continue;
      }
      if (gain < 0) {
        gain = 0;
        begin = word;
      }
      gain += belonging(word, tag.begin, tag.end);
      if (gain > best_gain) {
        best_gain = gain;
        best = {begin, word + 1};
      }
    }
    if (best.first == best.second) return point_of(number);
    take(number, best);
    return best;
  }

  // Before the word that attends most to what follows the tag.
  Range point_of(size_t number) {
    const Tag& tag = tags_[number];
    const Range around = parent_range(tag);
    const auto [found, is_new] = points_.try_emplace({tag.parent, tag.end}, around.second);
    if (is_new) found->second = point_in(around, tag.end);
    size_t word = found->second;
    const std::vector<size_t>& taken = taken_in(tag.parent);
    if (!taken.empty() && word > around.first && word < around.second) {  // not into a sibling
      const size_t sibling = taken[word - around.first];
      if (sibling != 0 && taken[word - 1 - around.first] == sibling) word = ranges_[sibling - 1].second;
    }
    return {word, word};
  }

  size_t point_in(Range around, size_t source_place) const {
    const auto follows = [&](const ByteSpan& token) { return token.second > source_place; };
    const auto next = std::find_if(source_tokens_.begin(), source_tokens_.end(), follows);
    if (next == source_tokens_.end()) return around.second;
    if (next == source_tokens_.begin()) return around.first;
    size_t word = around.second;
    float most = 0;
    for (size_t w = around.first; w < around.second; ++w) {
      const float here = attention(words_[w], std::max(next->first, source_place), next->second);
      if (here > most) {
        most = here;
        word = w;
      }
    }
    return word;
  }

  std::string between(size_t from, size_t to) const { return translation_.substr(from, to - from); }
  size_t word_begin(size_t word) const { return words_[word].bytes.first; }
  size_t word_end(size_t word) const { return words_[word].bytes.second; }

  // The words of a range with the tags that have this parent.
  std::string render(size_t parent, Range range) const {
    std::vector<size_t> children = children_[parent];
    std::stable_sort(children.begin(), children.end(), [&](size_t a, size_t b) { return ranges_[a] < ranges_[b]; });
    std::string text;
    size_t word = range.first;
    bool gap_is_written = true;  // the space before the next word
    const auto write_gap = [&] {
      if (!gap_is_written && word > range.first && word < range.second)
        text += between(word_end(word - 1), word_begin(word));
      gap_is_written = true;
    };
    const auto write_words_before = [&](size_t end) {
      for (; word < end; ++word) {
        write_gap();
        text += between(word_begin(word), word_end(word));
        gap_is_written = false;
      }
    };
    for (const size_t child : children) {
      const Tag& tag = tags_[child];
      const Range place = ranges_[child];
      write_words_before(place.first);
      if (place.first < place.second) {
        write_gap();
        text += tag.text + render(child + 1, place) + tag.closing;
        word = place.second;
        gap_is_written = false;
        continue;
      }
      if (tag.space_before && !text.empty() && text.back() != ' ') {
        text += ' ';
        if (!tag.space_after) gap_is_written = true;
      }
      text += tag.text + (tag.closing.empty() ? "" : render(child + 1, place) + tag.closing);
      const bool gap_follows =
          !gap_is_written && word > range.first && word < range.second && word_end(word - 1) < word_begin(word);
      if (tag.space_after && !gap_follows && word < range.second) text += ' ';
    }
    write_words_before(range.second);
    return text;
  }

  const std::vector<Tag>& tags_;
  const std::string& translation_;
  const std::vector<ByteSpan>& source_tokens_;
  const std::vector<ByteSpan>& target_tokens_;
  const std::vector<std::vector<float>>& alignment_;
  std::vector<Word> words_;
  std::vector<std::vector<float>> to_tokens_;  // of words
  std::vector<size_t> largest_;                // of each word's attention, the token that has it
  std::vector<float> sums_;
  bool in_order_ = true;  // source tokens
  std::vector<Range> ranges_;
  std::vector<std::vector<size_t>> taken_by_;
  std::map<std::pair<size_t, size_t>, size_t> points_;  // of a parent and a place in the source, before siblings
  std::vector<std::vector<size_t>> children_;           // of each parent
};

std::string TaggedText::restore(const std::string& translation, const std::vector<ByteSpan>& source_tokens,
                                const std::vector<ByteSpan>& target_tokens,
                                const std::vector<std::vector<float>>& alignment) const {
  return Placement(tags_, translation, source_tokens, target_tokens, alignment).render();
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/tag_placement.h>

#include <transmute/common/ascii_case.h>
#include <transmute/text/characters.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

bool is_alnum_at(const std::string& text, size_t at) {
  return characters::is_letter_or_digit(characters::at(text, at));
}

bool is_alnum_before(const std::string& text, size_t at) {
  return characters::is_letter_or_digit(characters::before(text, at));
}

// True for a full stop, a comma or a closing bracket, but not for quotation marks and dashes.
bool is_closing_mark(const std::string& text, size_t at) {
  const UChar32 c = characters::at(text, space_end(text, at, text.size()));
  return c >= 0 && (u_hasBinaryProperty(c, UCHAR_TERMINAL_PUNCTUATION) != 0 || u_charType(c) == U_END_PUNCTUATION);
}

bool are_closing_marks(const std::string& text, const ByteSpan& bytes) {
  size_t at = bytes.first;
  while (at < bytes.second && is_closing_mark(text, at)) at = characters::end(text, space_end(text, at, text.size()));
  return at >= bytes.second;
}

bool is_word(TagRole role) {
  return role == TagRole::text || role == TagRole::argument || role == TagRole::marker;
}

// Finds the places of the tags in one translation, and the words between which they are.
class Placement {
 public:
  Placement(const TagSource& source, const AlignedTranslation& given)
      : source_(source), tags_(source.tags), translation_(given.text) {
    std::set<size_t> cuts;
    for (const TagSource::Tag& tag : tags_) cuts.insert({tag.content.first, tag.content.second});
    AlignedWords aligned = align_words(source.plain, cuts, given);
    pieces_ = std::move(aligned.pieces);
    words_ = std::move(aligned.words);
    ranges_.resize(tags_.size());
    taken_by_.resize(tags_.size() + 1);
    children_.resize(tags_.size() + 1);
    for (size_t t = 0; t < tags_.size(); ++t) children_[tags_[t].parent].push_back(t);
    for (const bool has_content : {true, false})
      for (size_t t = 0; t < tags_.size(); ++t)
        if ((tags_[t].closing.second > 0) == has_content) ranges_[t] = range_of(t);
    const auto is_in_prefix = [&](const AlignedWord& word) { return word.bytes.first < given.prefix; };
    const auto after_prefix = std::partition_point(words_.begin(), words_.end(), is_in_prefix);
    find_marks(0, static_cast<size_t>(after_prefix - words_.begin()));
    order_marks();
    std::stable_sort(keys_.begin(), keys_.end(), [](const Keys& a, const Keys& b) {
      return std::make_pair(a.word, a.at) < std::make_pair(b.word, b.at);
    });
  }

  TaggedTranslation render() const {
    TaggedTranslation result{"", {}, std::vector<size_t>(tags_.size())};
    auto mark = marks_.begin();
    for (size_t gap = 0; gap <= words_.size(); ++gap) {
      std::vector<Mark> here;
      for (; mark != marks_.end() && mark->gap == gap; ++mark) here.push_back(*mark);
      write_gap(here, gap, result);
      if (gap == words_.size()) break;
      write_word(gap, result);
    }
    if (words_.empty())
      for (const Keys& keys : keys_) result.text += keys.text;
    return result;
  }

 private:
  using Range = std::pair<size_t, size_t>;  // a range of words, or of pieces

  // An opening or closing tag before the word `gap`, or at the end.
  struct Mark {
    size_t tag;
    size_t gap;
    ByteSpan bytes;    // bytes of the source's text
    size_t place;      // in the plain text
    int depth;         // 1: what follows is inside of it; -1: outside
    bool is_wordless;  // there are no words between it and its other half
  };

  // Keys of a word of the source, with their brackets, in place of bytes of a word of the translation.
  struct Keys {
    size_t word, at, length;
    std::string text;
    size_t tag;
  };

  std::string between(size_t from, size_t to) const { return translation_.substr(from, to - from); }

  std::string space_after(size_t piece) const {
    const size_t begin = pieces_[piece].second;
    return source_.plain.substr(begin, pieces_[piece + 1].first - begin);
  }

  // The pieces between those bytes of the plain text.
  Range pieces_in(const ByteSpan& bytes) const {
    const auto first = std::partition_point(pieces_.begin(), pieces_.end(),
                                            [&](const ByteSpan& piece) { return piece.second <= bytes.first; });
    const auto last =
        std::partition_point(first, pieces_.end(), [&](const ByteSpan& piece) { return piece.first < bytes.second; });
    return {static_cast<size_t>(first - pieces_.begin()), static_cast<size_t>(last - pieces_.begin())};
  }

  // The pieces and the words of what the tag is in: of its parent, or of the text.
  Range pieces_around(const TagSource::Tag& tag) const {
    return tag.parent == 0 ? Range{0, pieces_.size()} : pieces_in(tags_[tag.parent - 1].content);
  }
  Range words_around(const TagSource::Tag& tag) const {
    return tag.parent == 0 ? Range{0, words_.size()} : ranges_[tag.parent - 1];
  }

  // The amount by which more of the word belongs to one of those pieces than to any other. A word that belongs to the
  // source's end may be between words of the pieces.
  static float belonging(const AlignedWord& word, const Range& pieces) {
    const auto [first, last] = pieces;
    const size_t end = word.first + word.row.size();
    const auto most = [&](size_t from, size_t to) {
      float weight = 0;
      for (size_t p = std::max(from, word.first); p < std::min(to, end); ++p)
        weight = std::max(weight, word.row[p - word.first]);
      return weight;
    };
    float inside = most(word.largest, word.largest + 1), outside = inside;
    if (word.largest >= first && word.largest < last) {
      outside = std::max(most(0, first), most(last, end));
    } else {
      inside = most(first, last);
    }
    constexpr float kIdle = -0.01F;
    const float gain = inside - outside;
    const bool is_idle = 1 - word.sum > std::max(inside, outside);
    return is_idle ? std::min(gain, kIdle) : gain;
  }

  // Marks the words as a tag's, for its siblings.
  Range take(size_t number, const Range& words) {
    const size_t parent = tags_[number].parent;
    const Range around = words_around(tags_[number]);
    if (taken_by_[parent].empty()) taken_by_[parent].resize(around.second - around.first);
    for (size_t word = words.first; word < words.second; ++word) taken_by_[parent][word - around.first] = number + 1;
    return words;
  }

  // Marks often take all of the attention to the sentence's end, and so would outweigh words.
  static constexpr float kOfMark = 0.01F;

  // The words of a tag's content, for which those of earlier tags are known. A tag around all there is gets all words,
  // whatever they attend to: a final period may belong to the source's end. Others get the words in a row that attend
  // most to their content, among those that no sibling has: where a sum falls below nothing, what follows is better off
  // without it. Marks are at their ends only where the content has some there, but for the one that follows it.
  Range range_of(size_t number) {
    const TagSource::Tag& tag = tags_[number];
    const Range around = words_around(tag), pieces = pieces_in(tag.content);
    if (pieces.first == pieces.second) return point_of(number);
    const std::vector<size_t>& taken = taken_by_[tag.parent];
    if (taken.empty() && around.first < around.second && pieces == pieces_around(tag)) return take(number, around);
    const bool begins_with_mark = is_closing_mark(source_.plain, tag.content.first);
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
      const float more = belonging(words_[word], pieces);
      gain += more > 0 && is_mark(word) && !begins_with_mark ? kOfMark * more : more;
      if (gain > best_gain) {
        best_gain = gain;
        best = {begin, word + 1};
      }
    }
    best = without_marks_of_others(best, tag.content);
    best = copy_within(best, tag.content);
    if (best.first < best.second) best = with_joined_words(best, around, taken, tag.content);
    if (best.first < best.second && is_suffix(tag.content) &&
        !is_alnum_before(translation_, words_[best.first].bytes.first))
      best.second = best.first;
    return best.first == best.second ? point_of(number) : take(number, best);
  }

  bool is_mark(size_t word) const { return are_closing_marks(translation_, words_[word].bytes); }

  // The words of a range without the marks at its ends, if the content has none there. Of a mark that follows the
  // content, the words have none either, unless it comes with the one that the content ends with.
  Range without_marks_of_others(Range words, const ByteSpan& content) const {
    const size_t last = characters::begin(source_.plain, space_begin(source_.plain, content.first, content.second));
    const size_t next = space_end(source_.plain, content.second, source_.plain.size());
    const auto has = [&](size_t word, size_t mark) {
      const std::string character = source_.plain.substr(mark, characters::end(source_.plain, mark) - mark);
      return between(words_[word].bytes.first, words_[word].bytes.second).find(character) != std::string::npos;
    };
    const auto is_of_content = [&](size_t word) {
      return is_closing_mark(source_.plain, last) &&
             (!is_closing_mark(source_.plain, next) || has(word, last) || !has(word, next));
    };
    if (!is_closing_mark(source_.plain, content.first))
      while (words.first < words.second && is_mark(words.first)) ++words.first;
    while (words.first < words.second && is_mark(words.second - 1) && !is_of_content(words.second - 1)) --words.second;
    return words;
  }

  // The words among these that are a copy of the content, such as a name without the translation's article before it;
  // all where none are.
  Range copy_within(const Range& words, const ByteSpan& content) const {
    const size_t begin = space_end(source_.plain, content.first, content.second);
    const size_t length = space_begin(source_.plain, begin, content.second) - begin;
    const std::string_view copied = std::string_view(source_.plain).substr(begin, length);
    for (size_t first = words.first; first < words.second; ++first) {
      const size_t end = words_[first].bytes.first + copied.size();
      if (translation_.compare(words_[first].bytes.first, copied.size(), copied) != 0) continue;
      for (size_t last = first; last < words.second && words_[last].bytes.second <= end; ++last)
        if (words_[last].bytes.second == end) return {first, last + 1};
    }
    return words;
  }

  // The words of a range, of which no end is at a hyphen within a word, unless the content's is: "<b>Certifique-</b>se"
  // would be no emphasis in Markdown.
  Range with_joined_words(Range words, const Range& around, const std::vector<size_t>& taken,
                          const ByteSpan& content) const {
    const auto may_join = [&](size_t word) {  // to the one before it
      return words_[word - 1].bytes.second == words_[word].bytes.first &&
             is_alnum_at(translation_, words_[word].bytes.first);
    };
    const auto is_free = [&](size_t word) { return taken.empty() || taken[word - around.first] == 0; };
    const size_t end = words_[words.second - 1].bytes.second;
    if (source_.plain[content.second - 1] != '-' && translation_[end - 1] == '-' &&
        is_alnum_before(translation_, end - 1))
      while (words.second < around.second && is_free(words.second) && may_join(words.second)) ++words.second;
    return words;
  }

  // True for the letters of "21st" that are raised. No other word of the translation is.
  bool is_suffix(const ByteSpan& content) const {
    constexpr size_t kLongest = 3;
    const auto [begin, end] = content;
    if (end - begin > kLongest || !characters::is_digit(characters::before(source_.plain, begin)) ||
        is_alnum_at(source_.plain, end))
      return false;
    return std::all_of(source_.plain.begin() + static_cast<std::ptrdiff_t>(begin),
                       source_.plain.begin() + static_cast<std::ptrdiff_t>(end), is_ascii_small);
  }

  // The next word that begins with a letter or a digit, else the one before, else the given one.
  size_t word_for_accelerator(size_t word, const Range& around) const {
    const auto fits = [&](size_t w) { return is_alnum_at(translation_, words_[w].bytes.first); };
    for (size_t w = word; w < around.second; ++w)
      if (fits(w)) return w;
    for (size_t w = word; w > around.first; --w)
      if (fits(w - 1)) return w - 1;
    return word;
  }

  // Before the word that attends most to what follows the tag; after what precedes it if it is attached to that alone.
  Range point_of(size_t number) {
    const TagSource::Tag& tag = tags_[number];
    const Range around = words_around(tag);
    const auto [found, is_new] = points_.try_emplace({tag.parent, tag.content}, around.second);
    if (is_new) found->second = point_in(around, pieces_around(tag), tag.content);
    size_t word = found->second;
    const std::vector<size_t>& taken = taken_by_[tag.parent];
    if (!taken.empty() && word > around.first && word < around.second) {  // not into a sibling
      const size_t sibling = taken[word - around.first];
      const bool is_after = sibling != 0 && tags_[sibling - 1].content.first < tag.content.first;
      if (sibling != 0 && taken[word - 1 - around.first] == sibling)
        word = is_after ? ranges_[sibling - 1].second : ranges_[sibling - 1].first;
    }
    if (tag.role == TagRole::accelerator) word = word_for_accelerator(word, around);
    return {word, word};
  }

  size_t point_in(const Range& words, const Range& pieces, const ByteSpan& bytes) const {
    const size_t next = pieces_in({bytes.second, bytes.second}).first;
    if (next >= pieces.second) return words.second;
    if (next <= pieces.first) return words.first;
    if (is_line_end(bytes.second)) {
      size_t word = words.first;
      while (word < words.second && words_[word].largest < next) ++word;
      const bool is_apart = std::all_of(words_.begin() + static_cast<std::ptrdiff_t>(word),
                                        words_.begin() + static_cast<std::ptrdiff_t>(words.second),
                                        [&](const AlignedWord& other) { return other.largest >= next; });
      if (is_apart) return word;
    }
    const bool is_attached =
        pieces_[next - 1].second == bytes.first && pieces_[next].first > bytes.second && !is_separator(bytes.second);
    const size_t neighbor = is_attached ? next - 1 : next;
    size_t best = words.second;
    for (size_t word = words.first; word < words.second; ++word)
      if (words_[word].most_to(neighbor) > (best == words.second ? 0 : words_[best].most_to(neighbor))) best = word;
    return best == words.second || !is_attached ? best : best + 1;
  }

  // Lists the tags in the order of the translation, those within `parent` from the word `gap` on.
  void find_marks(size_t parent, size_t gap) {
    std::vector<size_t>& children = children_[parent];
    std::stable_sort(children.begin(), children.end(), [&](size_t a, size_t b) { return ranges_[a] < ranges_[b]; });
    for (const size_t child : children) {
      const TagSource::Tag& tag = tags_[child];
      if (tag.role == TagRole::mnemonic) {
        find_keys(child);
        continue;
      }
      const size_t begin = std::max(gap, ranges_[child].first);
      gap = std::max(begin, ranges_[child].second);
      const bool has_content = tag.closing.second > 0;
      marks_.push_back({child, begin, tag.opening, tag.content.first, has_content ? 1 : 0, begin == gap});
      find_marks(child + 1, begin);
      if (has_content) marks_.push_back({child, gap, tag.closing, tag.content.second, -1, begin == gap});
    }
  }

  // The place of these letters in a word among the given bytes, if it is at a word's beginning or need not be; npos
  // without one.
  size_t find_key(const std::string& key, const ByteSpan& bytes, bool at_beginning) const {
    const std::string words = lower_case(between(bytes.first, bytes.second)), letters = lower_case(key);
    size_t at = words.find(letters);
    while (at_beginning && at != std::string::npos && is_alnum_before(translation_, bytes.first + at))
      at = words.find(letters, at + 1);
    return at == std::string::npos ? at : bytes.first + at;
  }

  // Puts the keys of a word into the words that translate it, else, where these lack one, after them.
  void find_keys(size_t number) {
    const auto [begin, end] = tags_[number].opening;
    const auto [first, last] = ranges_[number];
    std::vector<Keys> found;
    std::string all;
    ByteSpan bytes{0, 0};
    if (first < last) bytes = {words_[first].bytes.first, words_[last - 1].bytes.second};
    bool are_in_words = true;
    for (size_t at = source_.text.find('[', begin); at < end; at = source_.text.find('[', at + 1)) {
      const std::string key = source_.text.substr(at + 1, source_.text.find(']', at) - at - 1);
      all += key;
      size_t place = found.empty() ? find_key(key, bytes, true) : std::string::npos;
      if (place == std::string::npos) place = find_key(key, bytes, false);
      are_in_words = are_in_words && place != std::string::npos;
      if (!are_in_words) continue;
      size_t word = first;
      while (words_[word].bytes.second <= place) ++word;
      found.push_back({word, place, key.size(), '[' + key + ']', number});
      bytes.first = place + key.size();
    }
    if (are_in_words) {
      keys_.insert(keys_.end(), found.begin(), found.end());
    } else if (last == 0) {
      keys_.push_back({0, words_.empty() ? 0 : words_[0].bytes.first, 0, '[' + all + "] ", number});
    } else {
      keys_.push_back({last - 1, words_[last - 1].bytes.second, 0, " [" + all + ']', number});
    }
  }

  // Puts the tags whose order counts into that of the source, at the places that all of them have.
  void order_marks() {
    std::vector<size_t> numbers, in_order;  // numbers of marks
    for (size_t m = 0; m < marks_.size(); ++m)
      if (tags_[marks_[m].tag].role == TagRole::argument) numbers.push_back(m);
    in_order = numbers;
    std::sort(in_order.begin(), in_order.end(), [&](size_t a, size_t b) { return marks_[a].tag < marks_[b].tag; });
    const std::vector<Mark> found = marks_;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const size_t gap = marks_[numbers[i]].gap;
      marks_[numbers[i]] = found[in_order[i]];
      marks_[numbers[i]].gap = gap;
    }
  }

  // True if the words on both sides of a gap translate neighbors of the source, with as much space between them.
  bool is_copied(size_t gap) const {
    if (pieces_.empty() || words_.empty()) return false;
    if (gap == 0) return words_.front().ends.first == 0;
    const size_t before = words_[gap - 1].ends.second;
    if (gap == words_.size()) return before + 1 == pieces_.size();
    return before + 1 == words_[gap].ends.first && space_after(before).empty() == space_in(gap).empty();
  }

  // True if a space of the plain text is not one of the text.
  bool is_separator(size_t place) const {
    return std::binary_search(source_.separators.begin(), source_.separators.end(), place);
  }

  bool is_line_end(size_t place) const {
    return std::binary_search(source_.line_ends.begin(), source_.line_ends.end(), place);
  }

  // True if the space of a copied gap is only such a one.
  bool adds_space(size_t gap) const {
    const size_t before = words_[gap - 1].ends.second;
    return space_after(before).size() == 1 && is_separator(pieces_[before].second);
  }

  // True for the gap of a <br> without spaces around it.
  bool is_next_line(const std::vector<Mark>& marks, size_t gap) const {
    if (gap == 0 || gap == words_.size()) return false;
    return std::any_of(marks.begin(), marks.end(), [&](const Mark& mark) {
      const size_t next = pieces_in({mark.place, mark.place}).first;
      return is_line_end(mark.place) && is_separator(mark.place) && words_[gap - 1].largest < next &&
             words_[gap].largest >= next;
    });
  }

  std::string space_in(size_t gap) const {
    if (gap == 0 || gap == words_.size()) return "";
    return between(words_[gap - 1].bytes.second, words_[gap].bytes.first);
  }

  // The source's space on one side of a tag. Either end of the text is as good as a space.
  std::string space_before(const Mark& mark, const std::string& at_end) const {
    const size_t begin = space_begin(source_.text, 0, mark.bytes.first);
    if (begin < mark.bytes.first) return source_.text.substr(begin, mark.bytes.first - begin);
    return pieces_.empty() || mark.place <= pieces_.front().first ? at_end : "";
  }
  std::string space_after(const Mark& mark, const std::string& at_end) const {
    const size_t end = space_end(source_.text, mark.bytes.second, source_.text.size());
    if (end > mark.bytes.second) return source_.text.substr(mark.bytes.second, end - mark.bytes.second);
    return pieces_.empty() || mark.place >= pieces_.back().second ? at_end : "";
  }

  // True if nothing but white space is between two tags of the source.
  bool are_neighbors(const Mark& a, const Mark& b) const {
    return a.bytes.second <= b.bytes.first && space_end(source_.text, a.bytes.second, b.bytes.first) == b.bytes.first;
  }

  // The spaces before each of these tags and after the last one: where the gap is copied, those of the source; else
  // those around tags without words. After words, none are before a full stop that the translation has no space before.
  std::vector<std::string> spaces_around(const std::vector<Mark>& marks, size_t gap, bool copied) const {
    const std::string space = space_in(gap);
    std::vector<std::string> spaces(marks.size() + 1);
    for (size_t i = 0; i < spaces.size(); ++i) {
      const Mark *const before = i > 0 ? &marks[i - 1] : nullptr, *const after = i < marks.size() ? &marks[i] : nullptr;
      if (before != nullptr && after != nullptr && are_neighbors(*before, *after)) {
        spaces[i] = source_.text.substr(before->bytes.second, after->bytes.first - before->bytes.second);
        continue;
      }
      if ((before == nullptr && gap == 0) || (after == nullptr && gap == words_.size())) continue;
      const bool is_at_end_of_element =
          before != nullptr && after != nullptr && (before->depth > 0 || after->depth < 0);
      if (is_at_end_of_element && !copied) continue;
      const bool begins_copy = copied && gap == 0;
      if (after == nullptr && !begins_copy && space.empty() && is_closing_mark(translation_, words_[gap].bytes.first))
        continue;
      if (before != nullptr && (copied || before->is_wordless)) spaces[i] = space_after(*before, space);
      if (spaces[i].empty() && after != nullptr && (copied || after->is_wordless))
        spaces[i] = space_before(*after, space);
    }
    return spaces;
  }

  // Adds spaces between protected words and words that they are not glued to in the source.
  void separate_words(const std::vector<Mark>& marks, size_t gap, std::vector<std::string>& spaces) const {
    for (size_t i = 0; i < marks.size(); ++i) {
      if (!is_word(tags_[marks[i].tag].role)) continue;
      const auto [begin, end] = marks[i].bytes;
      if (i == 0 && spaces[0].empty() && gap > 0 && !is_alnum_before(source_.text, begin) &&
          is_alnum_before(translation_, words_[gap - 1].bytes.second))
        spaces[0] += ' ';
      if (!spaces[i + 1].empty()) continue;
      const bool is_last = i + 1 == marks.size();
      const bool is_glued = is_last ? gap == words_.size() || is_alnum_at(source_.text, end) ||
                                          !is_alnum_at(translation_, words_[gap].bytes.first)
                                    : !is_word(tags_[marks[i + 1].tag].role) || marks[i + 1].bytes.first == end;
      if (!is_glued) spaces[i + 1] += ' ';
    }
  }

  void write_word(size_t number, TaggedTranslation& to) const {
    const auto [begin, end] = words_[number].bytes;
    to.places.emplace_back(begin, to.text.size());
    size_t copied = begin;
    auto keys =
        std::partition_point(keys_.begin(), keys_.end(), [&](const Keys& other) { return other.word < number; });
    for (; keys != keys_.end() && keys->word == number; ++keys) {
      to.text += between(copied, keys->at);
      to.tags[keys->tag] = to.text.size();
      to.text += keys->text;
      copied = keys->at + keys->length;
      to.places.emplace_back(copied, to.text.size());
    }
    to.text += between(copied, end);
  }

  // The space of the translation, which the spaces around the tags may replace, is outside of the elements beside it.
  void write_gap(const std::vector<Mark>& marks, size_t gap, TaggedTranslation& to) const {
    const std::string space = space_in(gap);
    if (marks.empty()) {
      to.text += space;
      return;
    }
    const bool copied = is_copied(gap);
    std::vector<std::string> spaces = spaces_around(marks, gap, copied);
    if (!space.empty() && !(copied && adds_space(gap)) && !is_next_line(marks, gap)) {
      std::vector<int> depths{0};
      for (const Mark& mark : marks) depths.push_back(depths.back() + mark.depth);
      const int least = *std::min_element(depths.begin(), depths.end());
      bool has_space = false;
      size_t outermost = 0;
      for (size_t i = 0; i < depths.size(); ++i) {
        has_space = has_space || (!spaces[i].empty() && (copied || depths[i] == least));
        if (depths[i] == least) outermost = i;
      }
      if (!has_space) spaces[outermost] = space;
    }
    separate_words(marks, gap, spaces);
    to.text += spaces[0];
    for (size_t i = 0; i < marks.size(); ++i) {
      const auto [begin, end] = marks[i].bytes;
      if (marks[i].depth >= 0) to.tags[marks[i].tag] = to.text.size();
      to.text += source_.text.substr(begin, end - begin) + spaces[i + 1];
    }
  }

  const TagSource& source_;
  const std::vector<TagSource::Tag>& tags_;
  const std::string& translation_;
  std::vector<ByteSpan> pieces_;  // pieces of the source
  std::vector<AlignedWord> words_;
  std::vector<Range> ranges_;                             // the words that each tag surrounds
  std::vector<std::vector<size_t>> taken_by_;             // by parent and word: 1 + the child that has it; or empty
  std::map<std::pair<size_t, ByteSpan>, size_t> points_;  // by parent and content, before siblings
  std::vector<std::vector<size_t>> children_;             // children of each parent
  std::vector<Mark> marks_;                               // in the order of the translation
  std::vector<Keys> keys_;                                // likewise
};

}  // namespace

size_t place_in(const Places& places, size_t at) {
  const auto next = std::upper_bound(places.begin(), places.end(), at,
                                     [](size_t byte, const auto& place) { return byte < place.first; });
  return next == places.begin() ? at : std::prev(next)->second + at - std::prev(next)->first;
}

ByteSpan span_in(const Places& places, const ByteSpan& span) {
  if (span.first == span.second) return span;
  return {place_in(places, span.first), place_in(places, span.second - 1) + 1};
}

TaggedTranslation place_tags(const TagSource& source, const AlignedTranslation& translation) {
  if (source.tags.empty()) return {translation.text, {{0, 0}}, {}};
  return Placement(source, translation).render();
}

}  // namespace v0
}  // namespace transmute

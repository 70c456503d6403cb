// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/inline_tags.h>

#include <transmute/common/ascii_case.h>
#include <transmute/common/utf8.h>
#include <transmute/text/characters.h>
#include <transmute/text/identifiers.h>
#include <transmute/text/sentence_characters.h>
#include <transmute/text/tag_end.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// Elements nested more deeply than any page keep their tags, but these are placed one by one. So the depth of a text
// from anybody bounds no stack.
constexpr size_t kMaxDepth = 100;

bool is_word_byte(char c) {
  return is_ascii_alphanumeric(c) || static_cast<unsigned char>(c) >= 0x80;
}

bool is_name_byte(char c) {
  return is_word_byte(c) || c == '_' || c == '-' || c == '.' || c == ':';
}

// The number of bytes of the placeholder that begins at `at`; 0 if there is none. Templates have more than a name in
// double braces, such as {{ price | currency }}; a '<' there begins a tag, which is one by itself.
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

// The length of the tag at `at` whose name is a number: react-i18next has <1>, </1> and <1/>. 0 if there is none.
size_t numbered_tag_length(const std::string& text, size_t at) {
  const size_t digits = at + 1 + (text.compare(at + 1, 1, "/") == 0 ? 1 : 0);
  const size_t end = text.find_first_not_of("0123456789", digits);
  if (end == std::string::npos || end == digits) return 0;
  const size_t last = end + (digits == at + 1 && text[end] == '/' ? 1 : 0);
  return text.compare(last, 1, ">") == 0 ? last + 1 - at : 0;
}

// Tells tags with content from tags without. A void element of HTML has content where its end tag follows: catalogs
// have elements of their own, such as <link>. A number in angle brackets is text where no end tag follows.
void find_content(const std::string& text, std::vector<InlineTag>& tags) {
  using Kind = InlineTag::Kind;
  std::map<std::string, size_t> ends;  // number of end tags that have no start tag yet, by name
  for (auto tag = tags.rbegin(); tag != tags.rend(); ++tag) {
    if (text[tag->begin] != '<') continue;
    const std::string name = lower_case(name_of(text.substr(tag->begin, tag->length)));
    size_t& waiting = ends[name];
    if (tag->kind == Kind::closing) {
      ++waiting;
    } else if (name == "br" || name == "wbr") {
      tag->kind = name == "br" ? Kind::empty : Kind::attached;
    } else if (tag->kind == Kind::opening && waiting > 0) {
      --waiting;
    } else if (is_void_element(name)) {
      tag->kind = Kind::empty;
    } else if (tag->kind == Kind::opening && is_ascii_digit(name.front())) {
      tag->length = 0;
    }
  }
  const auto is_text = [](const InlineTag& tag) { return tag.length == 0; };
  tags.erase(std::remove_if(tags.begin(), tags.end(), is_text), tags.end());
}

// True if the text has such a character outside of these tags, or a word with a key.
bool has_character(const std::string& text, const std::vector<InlineTag>& tags, UBool (*is_such)(UChar32)) {
  auto tag = tags.begin();
  for (size_t at = 0; at < text.size();) {
    if (tag != tags.end() && at == tag->begin) {
      if (tag->kind == InlineTag::Kind::mnemonic) return true;
      at += tag++->length;
      continue;
    }
    const Character character = character_at(text, at);
    if (is_such(character.code) != 0) return true;
    at = character.end;
  }
  return false;
}

// True for the neighbors of a dash without spaces around it, which would make one word of two if it were a hyphen.
bool joins_clauses(UChar32 before, UChar32 after) {
  const auto is_one = [](UChar32 c) { return c >= 0 && !u_isUWhiteSpace(c) && u_charType(c) != U_DASH_PUNCTUATION; };
  const auto type = static_cast<UCharCategory>(u_charType(after));
  return is_one(before) && is_one(after) &&
         (u_isalnum(after) || type == U_INITIAL_PUNCTUATION || type == U_START_PUNCTUATION);
}

// True for the emoji of "Great 👍!" and "(Great 👍)". The symbols of "the #, the <, and", which a vocabulary may lack,
// are of one byte.
bool is_between_space_and_mark(const std::string& text, size_t begin, size_t end) {
  constexpr std::string_view kMarks = ".,;:!?)]";
  return end - begin > 1 && begin > 0 && text[begin - 1] == ' ' && end < text.size() &&
         kMarks.find(text[end]) != std::string_view::npos;
}

// True for the symbols between the items of a line: A → B, A ● B.
bool separates(const std::string& text, const ProtectedSpan& span) {
  const auto is_space = [&](size_t at) { return at < text.size() && text[at] == ' '; };
  const UChar32 c = characters::at(text, span.begin);
  constexpr UChar32 kFirstArrow = 0x2190, kLastArrow = 0x21FF;
  const int8_t type = u_charType(c);
  const bool is_symbol = type == U_OTHER_SYMBOL || type == U_OTHER_NUMBER || (c >= kFirstArrow && c <= kLastArrow);
  return is_symbol && !u_hasBinaryProperty(c, UCHAR_EMOJI) && is_space(span.begin - 1) &&
         is_space(span.begin + span.length);
}

// Entities and escapes such as &nbsp; and \n are no words.
TagRole role_of(ProtectedKind kind, char first) {
  if (first == '\\' || (first == '&' && kind == ProtectedKind::placeholder)) return TagRole::markup;
  if (kind == ProtectedKind::argument) return TagRole::argument;
  if (kind == ProtectedKind::marker) return TagRole::marker;
  return kind == ProtectedKind::accelerator ? TagRole::accelerator : TagRole::text;
}

bool comes_first(const InlineTag& a, const InlineTag& b) {
  return a.begin < b.begin;
}

// The marks of emphasized words, as people write them in plain text: *one*, **two words**, _three_, __four words__.
// Those of code, as in *args, my_name and 2*3*4, do not come in pairs around words; __init__ is a name.
std::vector<InlineTag> emphasis_tags(const std::string& text, size_t begin, size_t end) {
  constexpr size_t kMostMarks = 2, kMostBytes = 300;
  constexpr std::string_view kMarks = "*_", kOfCode = "={}<>\\|@/";
  const std::string_view words = std::string_view(text).substr(0, end);
  const auto is_of_word = [&](UChar32 c) { return characters::is_letter_or_digit(c); };
  std::vector<InlineTag> tags;
  InlineTag opening;  // without length where there is none
  const auto are_words = [&](std::string_view content) {
    return content.size() <= kMostBytes && content.find_first_of(kOfCode) == std::string::npos &&
           (words[opening.begin] == '*' || opening.length == 1 || content.find(' ') != std::string::npos);
  };
  for (size_t at = words.find_first_of(kMarks, begin), next = at; at < end; at = words.find_first_of(kMarks, next)) {
    next = std::min(words.find_first_not_of(words[at], at), end);
    const size_t content = opening.begin + opening.length;
    const UChar32 before = at == begin ? ' ' : characters::before(words, at);
    const UChar32 after = next == end ? ' ' : characters::at(words, next);
    const bool is_inside = opening.length > 0 && words[at] == words[opening.begin];
    if (is_inside && next - at == opening.length && !u_isUWhiteSpace(before) && !is_of_word(after) &&
        are_words(words.substr(content, at - content))) {
      tags.push_back(opening);
      tags.push_back({at, next - at, InlineTag::Kind::closing});
      opening.length = 0;
    } else if (opening.length == 0 || is_inside) {
      const bool may_open = next - at <= kMostMarks && !is_of_word(before) && before != '\\' &&
                            (is_of_word(after) || sentence_characters::is_opener(after));
      opening = {at, may_open ? next - at : 0, InlineTag::Kind::opening};
    }
  }
  return tags;
}

// The lines that tell how a program is called, which may follow a label: "Usage: git add [<options>] <file>...".
std::vector<ByteSpan> synopses(const std::string& text) {
  std::vector<ByteSpan> found;
  if (text.find_first_of("[<(") == std::string::npos) return found;
  for (size_t line = 0, end = 0; line < text.size(); line = end + 1) {
    end = std::min(text.find('\n', line), text.size());
    const std::string_view so_far = std::string_view(text).substr(0, end);
    const size_t begin = std::min(text.find_first_not_of(' ', line), end), label = so_far.find(": ", begin);
    size_t at = begin, last = synopsis_end(text, at);
    if (last == at && label != so_far.npos)
      last = synopsis_end(text, at = std::min(so_far.find_first_not_of(' ', label + 1), end));
    if (last > at) found.emplace_back(at, last);
  }
  return found;
}

// Puts a word in place of each of these lines and of the tags in it, unless it is not protected.
std::vector<InlineTag> with_synopses(const std::string& text, std::vector<InlineTag> tags,
                                     const std::function<bool(const ProtectedSpan&)>& is_protected) {
  const std::vector<ByteSpan> lines = synopses(text);
  if (lines.empty()) return tags;
  std::vector<InlineTag> all;
  auto tag = tags.begin();
  const auto is_before = [&](size_t place) { return tag != tags.end() && tag->begin < place; };
  for (const auto& [begin, end] : lines) {
    if (!is_protected({begin, end - begin, ProtectedKind::identifier})) continue;
    for (; is_before(begin); ++tag) all.push_back(*tag);
    while (is_before(end)) ++tag;
    all.push_back({begin, end - begin, InlineTag::Kind::empty, TagRole::text});
  }
  all.insert(all.end(), tag, tags.end());
  return all;
}

// The end of a word such as E[x]tract, [c]reate and e[xp]i[r]ation, in which brackets mark the keys of an option; the
// place itself if none begins there. Those of file[s], list[T] and [re]start are others.
size_t mnemonic_end(std::string_view text, size_t begin) {
  constexpr size_t kMostKeys = 3;
  constexpr std::string_view kOfCode = "_=([{$\\";
  const auto is_letter = [&](size_t at) { return u_isalpha(characters::at(text, at)) != 0; };
  bool has_key = false;
  size_t at = begin;
  while (at < text.size()) {
    if (text[at] == '[') {
      size_t end = at + 1;
      while (end < text.size() && is_ascii_letter(text[end])) ++end;
      const size_t keys = end - at - 1;
      if (keys == 0 || keys > (at == begin ? 1 : kMostKeys) || text.compare(end, 1, "]") != 0 || !is_letter(end + 1))
        return begin;
      has_key = true;
      at = end + 1;
    } else if (is_letter(at) || (text[at] == '-' && at > begin && is_letter(at + 1))) {
      at = characters::end(text, at);
    } else {
      break;
    }
  }
  const bool is_code = at < text.size() && (is_ascii_digit(text[at]) || kOfCode.find(text[at]) != std::string::npos);
  return has_key && !is_code ? at : begin;
}

// Counts the quotations that are open at places of a text, which are asked for in ascending order.
class OpenQuotations {
 public:
  OpenQuotations(std::string_view text, size_t begin) : text_(text), at_(begin) {}

  bool has_any(size_t place) {
    for (; at_ < place; at_ = characters::end(text_, at_)) {
      const UChar32 c = characters::at(text_, at_);
      const bool is_apostrophe = c == U'\u2018' || c == U'\u2019';
      if (c == '"') {
        count_ = count_ > 0 ? 0 : 1;
      } else if (u_charType(c) == U_INITIAL_PUNCTUATION && !is_apostrophe) {
        ++count_;
      } else if (u_charType(c) == U_FINAL_PUNCTUATION && !is_apostrophe && count_ > 0) {
        --count_;
      }
    }
    return count_ > 0;
  }

 private:
  std::string_view text_;
  size_t at_, count_ = 0;
};

// The words with keys. In a quotation, a bracket marks a letter that the writer has changed, as in "[t]he court", and
// has no use in a translation.
std::vector<InlineTag> mnemonic_tags(const std::string& text, size_t begin, size_t end) {
  constexpr std::string_view kOfCode = "_-./\\$=]";
  const std::string_view words = std::string_view(text).substr(0, end);
  OpenQuotations quotations(words, begin);
  std::vector<InlineTag> tags;
  for (size_t at = words.find('[', begin); at != std::string_view::npos; at = words.find('[', at)) {
    size_t first = at++;
    while (first > begin && u_isalpha(characters::before(words, first)) != 0) first = characters::begin(words, first);
    const bool is_of_code =
        first > begin && (is_ascii_digit(words[first - 1]) || kOfCode.find(words[first - 1]) != std::string_view::npos);
    const size_t last = is_of_code ? first : mnemonic_end(words, first);
    if (last == first) continue;
    at = last;
    if (!quotations.has_any(first)) {
      tags.push_back({first, last - first, InlineTag::Kind::mnemonic, TagRole::mnemonic});
      continue;
    }
    for (size_t bracket = first; bracket < last; ++bracket)
      if (words[bracket] == '[' || words[bracket] == ']') tags.push_back({bracket, 1, InlineTag::Kind::dropped});
  }
  return tags;
}

// Adds the tags of emphasized words and those with keys to the tags between the same two places, which are those from
// number `first` on.
void add_words(const std::vector<InlineTag>& marks, const std::vector<InlineTag>& mnemonics,
               const std::function<bool(const ProtectedSpan&)>& is_protected, size_t first,
               std::vector<InlineTag>& found) {
  const std::vector<InlineTag> others(found.begin() + static_cast<int64_t>(first), found.end());
  const auto is_free = [&](const InlineTag& mark, ProtectedKind kind) {
    const auto after = std::partition_point(
        others.begin(), others.end(), [&](const InlineTag& other) { return other.begin + other.length <= mark.begin; });
    return (after == others.end() || mark.begin + mark.length <= after->begin) &&
           is_protected({mark.begin, mark.length, kind});
  };
  for (size_t i = 0; i < marks.size(); i += 2)
    if (is_free(marks[i], ProtectedKind::emphasis) && is_free(marks[i + 1], ProtectedKind::emphasis))
      found.insert(found.end(), {marks[i], marks[i + 1]});
  for (const InlineTag& mnemonic : mnemonics)
    if (is_free(mnemonic, ProtectedKind::mnemonic)) found.push_back(mnemonic);
  std::sort(found.begin() + static_cast<int64_t>(first), found.end(), comes_first);
}

// Tells for places of a text, which are asked for in ascending order, whether they are within a tag or an element.
class TagDepth {
 public:
  explicit TagDepth(const std::vector<InlineTag>& tags) : tags_(tags) {}

  bool is_outside(size_t place) {
    for (; next_ < tags_.size() && tags_[next_].begin < place; ++next_) {
      const InlineTag& tag = tags_[next_];
      end_ = tag.begin + tag.length;
      if (tag.kind == InlineTag::Kind::opening) ++depth_;
      if (tag.kind == InlineTag::Kind::closing && depth_ > 0) --depth_;
    }
    return depth_ == 0 && end_ <= place;
  }

 private:
  const std::vector<InlineTag>& tags_;
  size_t next_ = 0, depth_ = 0, end_ = 0;
};

}  // namespace

bool is_void_element(const std::string& element) {
  const std::string name = lower_case(element);
  constexpr std::array<const char*, 14> kVoid{"area",  "base", "br",   "col",   "embed",  "hr",    "img",
                                              "input", "link", "meta", "param", "source", "track", "wbr"};
  return std::find(kVoid.begin(), kVoid.end(), name) != kVoid.end();
}

bool ends_line(const std::string& text, const InlineTag& tag) {
  return text[tag.begin] == '<' && lower_case(name_of(text.substr(tag.begin, tag.length))) == "br";
}

bool is_word_tag(const std::string& text, const InlineTag& tag) {
  return tag.kind == InlineTag::Kind::empty && text.compare(tag.begin, kWordTag.size(), kWordTag) == 0;
}

std::vector<InlineTag> inline_tags(const std::string& text) {
  std::vector<InlineTag> tags;
  std::vector<size_t> ends = tag_ends(text);  // the next '<' has the last
  for (size_t at = 0; at < text.size();) {
    InlineTag tag{at};
    if (text[at] != '<') {
      tag.length = placeholder_length(text, at);
    } else {
      tag.length = ends.back() != 0 ? ends.back() - at : numbered_tag_length(text, at);  // 0 for 3 < 4
      if (text[at + 1] == '/') {
        tag.kind = InlineTag::Kind::closing;
      } else if (tag.length > 0 && text[at + tag.length - 2] != '/') {
        tag.kind = InlineTag::Kind::opening;
      }
    }
    const size_t next = at + std::max<size_t>(tag.length, 1);
    for (; at < next; ++at)
      if (text[at] == '<') ends.pop_back();
    if (tag.length > 0) tags.push_back(tag);
  }
  find_content(text, tags);
  return tags;
}

std::vector<InlineTag> tags_and_spans(const std::string& text, bool has_tags,
                                      const std::function<bool(const ProtectedSpan& span)>& is_protected,
                                      const IsUnknown& is_unknown) {
  const std::vector<InlineTag> tags =
      with_synopses(text, has_tags ? inline_tags(text) : std::vector<InlineTag>{}, is_protected);
  std::vector<InlineTag> found;
  bool has_spans = false;
  size_t begin = 0;
  const auto add_spans = [&](size_t end) {  // of the text between two elements' tags
    const size_t first = found.size();
    const std::vector<InlineTag> emphasis = emphasis_tags(text, begin, end);
    const auto is_emphasis = [&](const ProtectedSpan& span) {  // and no accelerator: _Open file_
      return span.kind == ProtectedKind::accelerator &&
             std::binary_search(emphasis.begin(), emphasis.end(), InlineTag{span.begin}, comes_first);
    };
    // A dash after a tag is within a sentence.
    for (ProtectedSpan span : protected_spans(text.substr(begin, end - begin), is_unknown, begin == 0)) {
      span.begin += begin;
      if (span.kind == ProtectedKind::invisible || span.kind == ProtectedKind::ascii) {
        const bool is_ascii = span.kind == ProtectedKind::ascii;
        found.push_back({span.begin, span.length, is_ascii ? InlineTag::Kind::ascii : InlineTag::Kind::dropped});
        continue;
      }
      if (is_emphasis(span) || !is_protected(span)) continue;
      const TagRole role = role_of(span.kind, text[span.begin]);
      const bool is_attached = role == TagRole::accelerator;
      found.push_back({span.begin, span.length, is_attached ? InlineTag::Kind::attached : InlineTag::Kind::empty, role,
                       span.kind == ProtectedKind::unknown && separates(text, span)});
      has_spans = true;
    }
    add_words(emphasis, mnemonic_tags(text, begin, end), is_protected, first, found);
  };
  for (const InlineTag& tag : tags) {
    const bool is_synopsis = tag.role == TagRole::text;
    if (text[tag.begin] != '<' && !is_synopsis) continue;
    add_spans(tag.begin);
    found.push_back(tag);
    if (is_synopsis) has_spans = true;
    if (is_word_tag(text, tag) && is_protected({tag.begin, tag.length, ProtectedKind::placeholder})) {
      found.back().role = TagRole::text;
      has_spans = true;
    }
    begin = tag.begin + tag.length;
  }
  add_spans(text.size());
  std::vector<InlineTag> all;  // with the placeholders that are in no span
  auto next = found.begin();
  for (const InlineTag& tag : tags) {
    for (; next != found.end() && next->begin <= tag.begin; ++next) all.push_back(*next);
    const bool is_new = all.empty() || all.back().begin + all.back().length <= tag.begin;
    if (is_new && (next == found.end() || tag.begin + tag.length <= next->begin)) all.push_back(tag);
  }
  all.insert(all.end(), next, found.end());
  if (has_character(text, all, has_spans ? u_isalpha : u_isalnum)) return all;  // numbers may have to be translated
  const size_t first = space_end(text, 0, text.size());
  const ProtectedSpan whole{first, space_begin(text, first, text.size()) - first};
  if (!has_spans && (whole.length == 0 || !is_protected(whole))) return all;
  return {{whole.begin, whole.length, InlineTag::Kind::empty, TagRole::text}};
}

TaggedText::TaggedText(const std::string& text, const std::vector<InlineTag>& tags, std::vector<std::string> unknown)
    : source_{text, {}, {}, {}, {}, {}, {}}, unknown_(std::move(unknown)) {
  struct Open {
    size_t tag;
    std::string name, lower;
  };
  std::vector<Open> open;  // tags that wait for their end
  std::string& plain = source_.plain;
  bool is_apart = false, is_next_line = false;  // one<br>two are two words, and "One.<br>Two." two sentences
  const auto are_joined = [&](char next) {
    if (plain.empty() || !(is_apart || is_next_line)) return false;
    if (is_next_line) return plain.back() != ' ' && next != ' ';
    return is_word_byte(plain.back()) && is_word_byte(next);
  };
  const auto separate = [&] {
    source_.separators.push_back(plain.size());
    plain += ' ';
  };
  size_t neighbors_end = 0;  // of the tags beside each other that the last mark is one of
  const auto add_in_ascii = [&](size_t number) {
    const InlineTag& mark = tags[number];
    const std::string written = text.substr(mark.begin, mark.length);
    const std::string read = ascii_of(characters::at(written, 0));
    if (mark.begin >= neighbors_end) {
      neighbors_end = mark.begin;
      for (size_t i = number; i < tags.size() && tags[i].begin == neighbors_end; ++i) neighbors_end += tags[i].length;
    }
    const UChar32 before = characters::before(plain, plain.size()), after = characters::at(text, neighbors_end);
    const bool is_dash = (written == "—" || written == "―") && joins_clauses(before, after);
    const bool is_fraction = characters::is_digit(read[0]) && characters::is_digit(before);  // 1½
    if (is_dash || is_fraction) separate();
    source_.marks.push_back({plain.size(), written, read, is_fraction});
    for (const char c : read) {
      source_.places.emplace_back(plain.size(), mark.begin);
      plain += c;
    }
    if (is_dash) separate();
  };
  const auto add_mnemonic = [&](size_t begin, size_t end) {
    TagSource::Tag word{{begin, end}, {end, end}, {plain.size(), 0}, open.empty() ? 0 : open.back().tag + 1};
    word.role = TagRole::mnemonic;
    for (size_t at = begin; at < end; ++at) {
      if (text[at] == '[' || text[at] == ']') continue;
      source_.places.emplace_back(plain.size(), at);
      plain += text[at];
    }
    word.content.second = plain.size();
    source_.tags.push_back(word);
  };
  auto next = tags.begin();
  for (size_t at = 0, behind = 0; at < text.size();) {
    const auto is_text_of = [&](InlineTag::Kind kind) { return next != tags.end() && next->kind == kind; };
    if (next == tags.end() || at < next->begin || is_text_of(InlineTag::Kind::ascii) ||
        is_text_of(InlineTag::Kind::mnemonic)) {
      const bool is_tag = next != tags.end() && at == next->begin;
      const bool is_ascii = is_tag && next->kind == InlineTag::Kind::ascii;
      if (are_joined(is_ascii ? '-' : text[at])) separate();
      is_apart = is_next_line = false;
      if (is_tag) {
        if (is_ascii) {
          add_in_ascii(static_cast<size_t>(next - tags.begin()));
        } else {
          add_mnemonic(next->begin, next->begin + next->length);
        }
        at = behind = next->begin + next->length;
        ++next;
        continue;
      }
      if (at == behind) source_.places.emplace_back(plain.size(), at);
      plain += text[at++];
      continue;
    }
    if (next->separates || ends_line(text, *next)) {
      is_next_line = true;
      std::vector<size_t>& ends = source_.line_ends;
      if (ends.empty() || ends.back() != plain.size()) ends.push_back(plain.size());
    }
    const auto [begin, length, kind, role, separates] = *next++;
    at += length;
    behind = at;
    if (kind == InlineTag::Kind::dropped) continue;
    if (role == TagRole::text && is_between_space_and_mark(text, begin, at) && plain.size() > 1 &&
        plain.back() == ' ') {
      plain.pop_back();  // "Great !" is read as "Great!"
      if (source_.places.back().first == plain.size()) source_.places.pop_back();
    }
    const size_t parent = open.empty() ? 0 : open.back().tag + 1;
    TagSource::Tag tag{{begin, at}, {}, {plain.size(), plain.size()}, parent, role};
    std::string name = name_of(text.substr(begin, length));
    std::string lower = lower_case(name);
    if (kind == InlineTag::Kind::closing) {
      auto opening = std::find_if(open.rbegin(), open.rend(), [&](const Open& other) { return other.name == name; });
      if (opening == open.rend())  // <B>…</b> of HTML
        opening = std::find_if(open.rbegin(), open.rend(), [&](const Open& other) { return other.lower == lower; });
      if (opening != open.rend()) {
        source_.tags[opening->tag].content.second = plain.size();
        source_.tags[opening->tag].closing = tag.opening;
        open.erase(opening.base() - 1, open.end());
        continue;
      }
    } else if (kind == InlineTag::Kind::opening) {
      if (open.size() < kMaxDepth) open.push_back({source_.tags.size(), std::move(name), std::move(lower)});
    } else {
      is_apart = is_apart || kind == InlineTag::Kind::empty;
    }
    source_.tags.push_back(tag);
  }
  // The content that an opening tag without an end seemed to have is its parent's.
  for (TagSource::Tag& tag : source_.tags)
    while (tag.parent > 0 && source_.tags[tag.parent - 1].closing.second == 0)
      tag.parent = source_.tags[tag.parent - 1].parent;
}

std::vector<size_t> sentence_ends(const std::string& text, bool has_tags, const SentenceSplitter& splitter,
                                  const Glossary& glossary) {
  const std::vector<InlineTag> tags = has_tags ? inline_tags(text) : std::vector<InlineTag>{};
  const TaggedText tagged(text, tags);
  const std::vector<ByteSpan> sentences = splitter.spans(tagged.plain(), glossary, tagged.line_ends());
  TagDepth depth(tags);
  std::vector<size_t> ends;
  auto tag = tags.begin();
  for (size_t i = 0; i + 1 < sentences.size(); ++i) {
    size_t end = span_in(tagged.source().places, sentences[i]).second;
    const size_t next = place_in(tagged.source().places, sentences[i + 1].first);
    while (!depth.is_outside(end)) {
      while (tag != tags.end() && tag->begin < end) ++tag;
      if (tag == tags.end() || tag->begin >= next) break;
      end = tag->begin + tag->length;
    }
    if (end <= next && depth.is_outside(end)) ends.push_back(end);
  }
  return ends;
}

}  // namespace v0
}  // namespace transmute

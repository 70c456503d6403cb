// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/subtitle_text.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/html.h>
#include <transmute/common/utf8.h>
#include <transmute/documents/html_references.h>
#include <transmute/documents/paired_marks.h>
#include <transmute/documents/text_columns.h>
#include <transmute/text/characters.h>
#include <transmute/text/sentence_characters.h>
#include <transmute/text/sentences.h>
#include <transmute/text/tag_end.h>
#include <unicode/ubrk.h>
#include <unicode/utext.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kLineColumns = 42;  // what viewers can read

constexpr std::string_view kCueSpaces = " \n\r\t";

bool is_cue_space(char c) {
  return kCueSpaces.find(c) != std::string_view::npos;
}

// A tag, a line break or a stretch of words.
struct CuePiece {
  enum class Kind { words, tag, line_break };
  Kind kind;
  std::string text;
  size_t partner = std::string::npos;  // the piece that ends a tag, or that it ends
};

size_t tag_length(const std::string& text, size_t at, const SubtitleSyntax& syntax) {
  if (syntax.has_overrides) {
    const size_t end = text[at] == '{' ? text.find('}', at) : std::string::npos;
    return end == std::string::npos ? 0 : end + 1 - at;
  }
  if (text.compare(at, 2, "{\\") == 0) {  // players of SubRip know positions in this form
    const size_t end = text.find('}', at);
    return end == std::string::npos ? 0 : end + 1 - at;
  }
  const bool is_time = text[at] == '<' && at + 1 < text.size() && is_ascii_digit(text[at + 1]) && syntax.has_references;
  if (!is_time && !begins_tag(text, at)) return 0;
  const size_t end = text.find('>', at);
  return end == std::string::npos ? 0 : end + 1 - at;
}

size_t line_break_length(const std::string& text, size_t at, const SubtitleSyntax& syntax) {
  if (!syntax.has_overrides) return text[at] == '\n' ? 1 : text.compare(at, 2, "\r\n") == 0 ? 2 : 0;
  return text.compare(at, 2, "\\N") == 0 || text.compare(at, 2, "\\n") == 0 ? 2 : 0;
}

std::vector<CuePiece> cue_pieces(const std::string& text, const SubtitleSyntax& syntax) {
  // The ends of the last tags of each kind, so that many without an end take linear time.
  const size_t last_brace = text.rfind('}') + 1, last_angle = text.rfind('>') + 1;
  std::vector<CuePiece> pieces;
  for (size_t at = 0; at < text.size();) {
    size_t length = at < (text[at] == '{' ? last_brace : last_angle) ? tag_length(text, at, syntax) : 0;
    const size_t line_break = line_break_length(text, at, syntax);
    if (length > 0) {
      const bool is_time = text[at] == '<' && is_ascii_digit(text[at + 1]);  // of a word of the source
      if (!is_time) pieces.push_back({CuePiece::Kind::tag, text.substr(at, length)});
    } else if (line_break > 0) {
      length = line_break;
      pieces.push_back({CuePiece::Kind::line_break, text.substr(at, length)});
    } else {
      const bool is_hard_space = syntax.has_overrides && text.compare(at, 2, "\\h") == 0;
      length = is_hard_space ? 2 : 1;
      if (pieces.empty() || pieces.back().kind != CuePiece::Kind::words) pieces.push_back({CuePiece::Kind::words, ""});
      pieces.back().text += is_hard_space ? ' ' : text[at];
    }
    at += length;
  }
  return pieces;
}

// "i" of <i>, "/i" of </i>, "c" of <c.yellow>; of {\i1} and {\i0}: "i" and "/i".
std::string tag_name(const std::string& tag) {
  if (tag.front() == '<') return tag.substr(1, tag.find_first_of(" .\t>", 1) - 1);
  const bool is_switch = tag.size() == 5 && tag[1] == '\\' && (tag[3] == '0' || tag[3] == '1');
  if (!is_switch) return "";
  return (tag[3] == '0' ? "/" : "") + std::string(1, tag[2]);
}

void find_partners(std::vector<CuePiece>& pieces) {
  PairedMarks marks;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const std::string name = pieces[i].kind == CuePiece::Kind::tag ? tag_name(pieces[i].text) : "";
    if (name.empty()) continue;
    if (name.front() != '/') {
      marks.begin(name, i);
    } else if (const auto start = marks.end(name.substr(1))) {
      pieces[i].partner = *start;
      pieces[*start].partner = i;
    }
  }
}

// Tags that end with a line and begin again with the next, "</i>" and "<i>", are one.
void join_tags_of_lines(std::vector<CuePiece>& pieces) {
  std::vector<bool> is_dropped(pieces.size());
  for (size_t i = 0; i + 2 < pieces.size(); ++i) {
    const CuePiece &end = pieces[i], &begin = pieces[i + 2];
    const bool ends_pair = end.partner < i, begins_pair = begin.partner != std::string::npos && begin.partner > i + 2;
    if (!ends_pair || !begins_pair || pieces[i + 1].kind != CuePiece::Kind::line_break ||
        pieces[end.partner].text != begin.text)
      continue;
    is_dropped[i] = is_dropped[i + 2] = true;
    pieces[begin.partner].partner = end.partner;
    pieces[end.partner].partner = begin.partner;
  }
  std::vector<size_t> places(pieces.size());
  std::vector<CuePiece> kept;
  for (size_t i = 0; i < pieces.size(); ++i) {
    places[i] = kept.size();
    if (!is_dropped[i]) kept.push_back(std::move(pieces[i]));
  }
  for (CuePiece& piece : kept)
    if (piece.partner != std::string::npos) piece.partner = places[piece.partner];
  pieces = std::move(kept);
}

bool is_blank_piece(const CuePiece& piece) {
  return piece.kind == CuePiece::Kind::words && std::all_of(piece.text.begin(), piece.text.end(), is_cue_space);
}

// The bounds of the words that need tags: those around all of them do not.
std::pair<size_t, size_t> within_tags(const std::vector<CuePiece>& pieces) {
  size_t first = 0, last = pieces.size();
  while (first < last) {
    const CuePiece &front = pieces[first], &back = pieces[last - 1];
    const auto stands_alone = [](const CuePiece& piece) {
      return is_blank_piece(piece) || piece.kind == CuePiece::Kind::line_break ||
             (piece.kind == CuePiece::Kind::tag && piece.partner == std::string::npos);
    };
    if (stands_alone(front)) {
      ++first;
    } else if (stands_alone(back)) {
      --last;
    } else if (front.kind == CuePiece::Kind::tag && front.partner + 1 == last) {
      ++first, --last;
    } else {
      break;
    }
  }
  return {first, last};
}

// A translation: its text, and the tags at bytes of it.
struct PlacedTag {
  size_t at, number;
  enum class Kind { opening, closing, single } kind;
};
struct PlainCues {
  std::string text;
  std::vector<PlacedTag> tags;
};

PlainCues plain_of(const std::string& html, const SubtitleSyntax& syntax) {
  PlainCues result;
  std::vector<size_t> open;
  for (size_t at = 0; at < html.size();) {
    if (html[at] != '<') {
      const std::string words = html.substr(at, html.find('<', at) - at);
      const std::string text = syntax.has_references ? words : with_references_decoded(words);
      const bool is_spaced = !result.text.empty() && result.text.back() == ' ';
      const bool is_mark = std::string_view(",.").find(text.front()) != std::string_view::npos &&
                           (text.size() == 1 || is_cue_space(text[1]));  // unlike ".NET" and "..."
      if (is_spaced && is_mark) {                                        // "one <img 0>, two"
        result.text.pop_back();
        for (auto tag = result.tags.rbegin(); tag != result.tags.rend() && tag->at > result.text.size(); ++tag)
          tag->at = result.text.size();
      }
      result.text += text.substr(is_spaced && text.front() == ' ' ? 1 : 0);  // a tag between two spaces may vanish
      at += words.size();
      continue;
    }
    const size_t end = std::min(html.find('>', at), html.size() - 1);
    size_t number = 0;
    std::from_chars(html.data() + std::min(html.find(' ', at), end) + 1, html.data() + end, number);
    if (html.compare(at, 2, "</") == 0) {
      if (!open.empty()) {
        result.tags.push_back({result.text.size(), open.back(), PlacedTag::Kind::closing});
        open.pop_back();
      }
    } else {
      const bool is_pair = html.compare(at, 3, "<b ") == 0;
      result.tags.push_back({result.text.size(), number, is_pair ? PlacedTag::Kind::opening : PlacedTag::Kind::single});
      if (is_pair) open.push_back(number);
    }
    at = end + 1;
  }
  return result;
}

// Places at which a line may end, both ends of the text included.
std::vector<size_t> line_ends(const std::string& text) {
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<UText, UText* (*)(UText*)> utf8(
      utext_openUTF8(nullptr, text.data(), static_cast<int64_t>(text.size()), &status), utext_close);
  const std::unique_ptr<UBreakIterator, void (*)(UBreakIterator*)> breaks(ubrk_open(UBRK_LINE, "", nullptr, 0, &status),
                                                                          ubrk_close);
  ubrk_setUText(breaks.get(), utf8.get(), &status);
  if (U_FAILURE(status)) throw std::runtime_error("ICU finds no line breaks: " + std::string(u_errorName(status)));
  std::vector<size_t> ends;
  for (int32_t at = ubrk_first(breaks.get()); at != UBRK_DONE; at = ubrk_next(breaks.get()))
    ends.push_back(static_cast<size_t>(at));
  return ends;
}

// The text from `begin` to before `end` without the spaces at its end.
size_t without_spaces(const std::string& text, size_t begin, size_t end) {
  while (end > begin && is_cue_space(text[end - 1])) --end;
  return end;
}

// A text with the columns before each of its bytes.
class MeasuredText {
 public:
  explicit MeasuredText(const std::string& text) : text_(text), columns_(text.size() + 1) {
    for (const Character& c : Characters(text)) {
      std::fill(columns_.begin() + c.begin + 1, columns_.begin() + c.end, columns_[c.begin]);
      columns_[c.end] = columns_[c.begin] + columns_of(c.code);
    }
  }

  const std::string& text() const { return text_; }

  // The columns of a part without the spaces at its end.
  size_t width(size_t begin, size_t end) const { return columns(begin, without_spaces(text_, begin, end)); }
  size_t columns(size_t begin, size_t end) const { return columns_[end] - columns_[begin]; }

 private:
  const std::string& text_;
  std::vector<size_t> columns_;
};

bool ends_clause(const std::string& text, size_t end) {
  const UChar32 last = characters::before(text, without_spaces(text, 0, end));
  return sentence_characters::is_one_of(last, U".,;:!?…。，、；：！？،؛؟।");
}

// The least costly way to cut a text at some of `ends` into parts, which cost(part, begin, end) tells. Returns the ends
// of the parts.
template <class Cost>
std::vector<size_t> best_cuts(const std::vector<size_t>& ends, size_t parts, const Cost& cost) {
  const double none = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> best(parts + 1, std::vector<double>(ends.size(), none));
  std::vector<std::vector<size_t>> from(parts + 1, std::vector<size_t>(ends.size()));
  best[0][0] = 0;
  for (size_t part = 0; part < parts; ++part)
    for (size_t begin = 0; begin < ends.size(); ++begin) {
      if (best[part][begin] == none) continue;
      for (size_t end = begin; end < ends.size(); ++end) {
        const double sum = best[part][begin] + cost(part, ends[begin], ends[end]);
        if (sum < best[part + 1][end]) best[part + 1][end] = sum, from[part + 1][end] = begin;
      }
    }
  std::vector<size_t> cuts(parts);
  size_t end = ends.size() - 1;
  for (size_t part = parts; part-- > 0; end = from[part + 1][end]) cuts[part] = ends[end];
  return cuts;
}

size_t room_of_line(const CueText& cue) {
  return std::max(kLineColumns, cue.longest_line);
}

double squared(double number) {
  return number * number;
}

size_t count_tags(const std::vector<CueText>& cues) {
  size_t tags = 0;
  for (const CueText& cue : cues) tags += cue.opening_tags.size();
  return tags;
}

// The place before which the translation has the words of each cue but the last, in bytes; none if that is unknown.
std::vector<std::optional<size_t>> aligned_ends(const PlainCues& plain, const std::vector<CueText>& cues) {
  std::vector<std::optional<size_t>> ends(cues.size());
  const size_t first = count_tags(cues);
  for (const PlacedTag& tag : plain.tags)
    if (tag.number >= first && tag.number - first + 1 < cues.size()) ends[tag.number - first] = tag.at;
  size_t before = 0;
  for (const std::optional<size_t>& end : ends) {
    if (end && (*end <= before || *end >= plain.text.size())) return std::vector<std::optional<size_t>>(cues.size());
    before = end.value_or(before);
  }
  return ends;
}

// The ends of the cues' parts.
std::vector<size_t> cuts_among_cues(const PlainCues& plain, const MeasuredText& measured,
                                    const std::vector<CueText>& cues, const std::vector<double>& shares) {
  const std::string& text = plain.text;
  if (cues.size() == 1) return {text.size()};
  const auto all = static_cast<double>(measured.columns(0, text.size()));
  const std::vector<std::optional<size_t>> aligned = aligned_ends(plain, cues);
  return best_cuts(line_ends(text), cues.size(), [&](size_t cue, size_t begin, size_t end) {
    const auto own = static_cast<double>(measured.width(begin, end));
    const auto room = static_cast<double>(room_of_line(cues[cue]) * cues[cue].most_lines);
    constexpr double kFromShare = 10, kFromAligned = 5;  // columns that cost 1
    double cost = squared((own - all * shares[cue]) / kFromShare) + squared(std::max(0.0, own - room));
    bool is_aligned = false;
    if (const auto place = aligned[cue]) {
      const size_t distance = measured.width(std::min(*place, end), std::max(*place, end));
      is_aligned = distance == 0;
      cost += squared(static_cast<double>(distance) / kFromAligned);
    }
    if (own == 0) cost += 1000;
    if (!is_aligned && !ends_clause(text, end)) cost += 5;
    return cost;
  });
}

// The ends of at most `lines` lines of about the same length, from the first place to the last.
std::vector<size_t> even_lines(const MeasuredText& text, const std::vector<size_t>& places, size_t lines) {
  const size_t all = text.columns(places.front(), places.back());
  std::vector<size_t> ends;
  for (size_t i = 1, so_far = 0, line = 1; i + 1 < places.size(); ++i) {
    so_far += text.columns(places[i - 1], places[i]);
    if (so_far * lines < line * all) continue;
    ends.push_back(places[i]);
    line = so_far * lines / all + 1;
  }
  ends.push_back(places.back());
  return ends;
}

// The ends of the lines of one cue, whose text is from `begin` to before `end`.
std::vector<size_t> cuts_into_lines(const MeasuredText& measured, size_t begin, size_t end, const CueText& cue) {
  const std::string& text = measured.text();
  const size_t all = measured.width(begin, end), room = room_of_line(cue);
  const size_t words_end = without_spaces(text, begin, end);
  size_t words_begin = begin;
  while (words_begin < words_end && is_cue_space(text[words_begin])) ++words_begin;
  std::vector<size_t> places{begin};
  for (const size_t place : line_ends(text))
    if (place > words_begin && place < words_end) places.push_back(place);
  places.push_back(end);
  // An empty line would end a cue: a word that is too long for one line is not divided.
  const size_t lines = std::min({cue.most_lines, (all + room - 1) / std::max<size_t>(room, 1), places.size() - 1});
  if (lines <= 1) return {end};
  constexpr size_t kMostSearched = 500;  // columns; the search takes more than their square
  if (all > kMostSearched) return even_lines(measured, places, lines);
  const double share = static_cast<double>(all) / static_cast<double>(lines);
  return best_cuts(places, lines, [&](size_t, size_t from, size_t to) {
    const auto own = static_cast<double>(measured.width(from, to));
    return squared((own - share) / 10) + squared(std::max(0.0, own - static_cast<double>(room))) +
           (ends_clause(text, to) ? 0 : 1) + (own == 0 ? 1000 : 0);
  });
}

// Writes the cues one after another. Tags that are open at the end of a cue end there, and begin again in the next.
class CueWriter {
 public:
  CueWriter(const PlainCues& plain, const std::vector<CueText>& cues) : plain_(plain) {
    for (const CueText& cue : cues) {
      opening_.insert(opening_.end(), cue.opening_tags.begin(), cue.opening_tags.end());
      closing_.insert(closing_.end(), cue.closing_tags.begin(), cue.closing_tags.end());
    }
  }

  std::string write(size_t begin, const std::vector<size_t>& lines, const std::string& line_break) {
    std::string cue;
    for (const size_t number : open_) cue += opening_[number];
    for (size_t line = 0; line < lines.size(); ++line) {
      const size_t end = without_spaces(plain_.text, begin, lines[line]);
      if (line > 0) cue += line_break;
      for (size_t at = begin; at < end; ++at) {
        write_tags(cue, at, false);
        cue += plain_.text[at];
      }
      write_tags(cue, lines[line], lines[line] < plain_.text.size());
      begin = lines[line];
    }
    for (size_t i = open_.size(); i-- > 0;) cue += closing_[open_[i]];
    return cue;
  }

 private:
  // `only_closing`: the others belong to the words that follow.
  void write_tags(std::string& cue, size_t at, bool only_closing) {
    for (; next_ < plain_.tags.size() && plain_.tags[next_].at <= at; ++next_) {
      const PlacedTag& tag = plain_.tags[next_];
      if (only_closing && tag.at == at && tag.kind != PlacedTag::Kind::closing) return;
      if (tag.number >= opening_.size()) continue;
      if (tag.kind == PlacedTag::Kind::closing) {
        cue += closing_[tag.number];
        open_.erase(std::remove(open_.begin(), open_.end(), tag.number), open_.end());
        continue;
      }
      cue += opening_[tag.number];
      if (tag.kind == PlacedTag::Kind::opening) open_.push_back(tag.number);
    }
  }

  const PlainCues& plain_;
  std::vector<std::string> opening_, closing_;
  std::vector<size_t> open_;
  size_t next_ = 0;
};

}  // namespace

CueText read_cue_text(const std::string& text, const SubtitleSyntax& syntax, size_t first_tag) {
  std::vector<CuePiece> pieces = cue_pieces(text, syntax);
  find_partners(pieces);
  join_tags_of_lines(pieces);
  const auto [first, last] = within_tags(pieces);
  CueText cue;
  size_t lines = 1, line = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const CuePiece& piece = pieces[i];
    if (i < first || i >= last) {
      (i < first ? cue.before : cue.after) += piece.text;
      continue;
    }
    if (piece.kind == CuePiece::Kind::words) {
      cue.words += piece.text;
      cue.html += syntax.has_references ? piece.text : html_escaped(piece.text);
      line += columns_in(piece.text);
      cue.longest_line = std::max(cue.longest_line, line);
    } else if (piece.kind == CuePiece::Kind::line_break) {
      const std::string next = i + 1 < last ? pieces[i + 1].text : "";
      if (cue.html.empty() || next.empty()) cue.html += ' ';
      if (!is_cue_space(cue.html.back())) cue.html += space_between(cue.html, next);
      if (line > 0) cue.most_lines = std::max(cue.most_lines, ++lines);
      line = 0;
    } else if (piece.partner != std::string::npos && piece.partner < i) {
      cue.html += "</b>";
    } else {
      const bool is_pair = piece.partner != std::string::npos;
      cue.html += fmt::format("<{} {}>", is_pair ? "b" : "img", first_tag + cue.opening_tags.size());
      cue.opening_tags.push_back(piece.text);
      cue.closing_tags.push_back(is_pair ? pieces[piece.partner].text : "");
    }
  }
  const size_t words_end = without_spaces(cue.html, 0, cue.html.size());
  cue.after.insert(0, cue.html, words_end);
  cue.html.resize(words_end);
  const size_t words_begin = std::min(cue.html.find_first_not_of(kCueSpaces), words_end);
  cue.before.append(cue.html, 0, words_begin);
  cue.html.erase(0, words_begin);
  return cue;
}

std::string joined_cues(const std::vector<CueText>& cues) {
  std::string text;
  size_t border = count_tags(cues);
  for (const CueText& cue : cues) text += (text.empty() ? "" : fmt::format(" <img {}>", border++)) + cue.html;
  return text;
}

size_t leading_tags(const std::string& text, const SubtitleSyntax& syntax) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t length = is_cue_space(text[at]) ? 1 : tag_length(text, at, syntax);
    if (length == 0) break;
    at += length;
  }
  return at;
}

std::vector<std::string> divide_among_cues(const std::string& html, const std::vector<CueText>& cues,
                                           const std::vector<double>& shares, const SubtitleSyntax& syntax) {
  const PlainCues plain = plain_of(html, syntax);
  CueWriter writer(plain, cues);
  std::vector<std::string> result;
  size_t begin = 0;
  const MeasuredText measured(plain.text);
  const std::vector<size_t> cuts = cuts_among_cues(plain, measured, cues, shares);
  for (size_t i = 0; i < cues.size(); ++i) {
    const std::vector<size_t> lines = cuts_into_lines(measured, begin, cuts[i], cues[i]);
    result.push_back(cues[i].before + writer.write(begin, lines, syntax.line_break) + cues[i].after);
    begin = cuts[i];
  }
  return result;
}

}  // namespace v0
}  // namespace transmute

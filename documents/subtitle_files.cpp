// SPDX-License-Identifier: Apache-2.0
// Subtitles: SubRip, WebVTT, and SubStation Alpha.
#include <transmute/common/ascii_case.h>
#include <transmute/common/text_file.h>
#include <transmute/documents/file_formats.h>
#include <transmute/documents/html_references.h>
#include <transmute/documents/subtitle_text.h>
#include <transmute/text/sentence_characters.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// A subtitle: when it is shown, and where its text is in the file.
struct Cue {
  size_t begin, end;
  int64_t start_ms, end_ms;
  std::string voice;  // cues of different ones have no sentence in common
};

// A line of a cue in the file, without the dash of a speaker.
struct CueLine {
  size_t begin, end, dash;  // bytes of the dash, which is before `begin`
  CueText text{};
  std::optional<std::pair<size_t, size_t>> source{};  // the group and its cue that are translated for this line
};

// Bytes of the file that have another text in the translation.
struct Edit {
  size_t begin, end;
  std::string text;
};

// A stretch of the file that is translated as one text: cues, or lines of them.
struct CueGroup {
  std::vector<Cue> cues;
  std::vector<CueText> words;
  std::vector<CueLine> repeats{};  // lines that show the words of one of the cues again
};

bool stands_first(std::string_view text, std::string_view beginning) {
  return text.compare(0, beginning.size(), beginning) == 0;
}

// The first character that is a letter or a digit; 0 without one.
UChar32 first_letter(const std::string& html) {
  UChar32 first = 0;
  sentence_characters::all_characters(with_references_decoded(html), [&](UChar32 c) {
    first = u_isalnum(c) != 0 ? c : 0;
    return first == 0;
  });
  return first;
}

bool stands_last(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// True if a text ends as a sentence, a heading or a sound does.
bool ends_sentence(std::string_view text) {
  const auto strip = [&](std::string_view mark) {
    const bool is_there = stands_last(text, mark);
    if (is_there) text.remove_suffix(mark.size());
    return is_there;
  };
  while (strip("</b>") || strip("\"") || strip("&quot;") || strip("&#39;") || strip("”") || strip("»") || strip("’") ||
         strip("'") || strip(" ")) {
  }
  for (const char* mark :
       {".", "!", "?", "…", ":", ";", "。", "！", "？", "♪", "♫", " #", ")", "]", "）", "］", "—", "–", "۔", "؟", "।"})
    if (strip(mark)) return true;
  return text.empty();
}

bool begins_with_dash(std::string_view text) {
  return stands_first(text, "-") || stands_first(text, "–") || stands_first(text, "—") || stands_first(text, ">>");
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kBrackets{
    {{"[", "]"}, {"(", ")"}, {"［", "］"}, {"（", "）"}}};  // around sounds and the names of speakers

bool begins_with_note(std::string_view text) {
  return stands_first(text, "♪") || stands_first(text, "♫") || stands_first(text, "# ");
}

bool ends_with_note(std::string_view text) {
  return stands_last(text, "♪") || stands_last(text, "♫") || stands_last(text, " #");
}

bool begins_with_bracket(std::string_view text) {
  return std::any_of(kBrackets.begin(), kBrackets.end(),
                     [&](const auto& brackets) { return stands_first(text, brackets.first); });
}

// True for a sound such as "[door opens]", or the end of one that has begun.
bool is_in_brackets(std::string_view beginning, std::string_view end) {
  return std::any_of(kBrackets.begin(), kBrackets.end(), [&](const auto& brackets) {
    return stands_first(beginning, brackets.first) && stands_last(end, brackets.second);
  });
}

// The bytes of a name before a colon that a text begins with, such as "JOHN" or "Dr. Ann Lee"; 0 if there is none.
size_t speaker_length(std::string_view text) {
  constexpr size_t kLongestName = 40;
  constexpr int kMostWords = 3;
  const size_t colon = text.substr(0, kLongestName).find_first_of(":,;!?");
  if (colon >= text.size() || text.substr(colon, 2).find_first_not_of(": ") != std::string_view::npos) return 0;
  const std::string_view name = text.substr(0, colon);
  const bool is_short = std::count(name.begin(), name.end(), ' ') < kMostWords;
  return is_short && u_isupper(first_letter(std::string(name))) != 0 ? colon : 0;
}

bool has_small_letters(std::string_view text) {
  return !sentence_characters::all_characters(text, [](UChar32 c) { return u_islower(c) == 0; });
}

// True for a cue of several words in capitals beside one that is not: a sign, a title or a shout is a text of its own.
bool differ_in_case(std::string_view before, std::string_view next) {
  const bool is_next_small = has_small_letters(next);
  if (has_small_letters(before) == is_next_small || u_isupper(first_letter(std::string(next))) == 0) return false;
  return (is_next_small ? before : next).find(' ') != std::string_view::npos;
}

// True for "JOHN: I am tired.", in any place; in a text in capitals, others than names have a colon after them.
bool begins_with_speaker(std::string_view text) {
  const size_t name = speaker_length(text);
  return name > 0 && !has_small_letters(text.substr(0, name)) && has_small_letters(text.substr(name));
}

// The place of the words after the dashes, the ">>" and the spaces at `at`.
size_t words_begin(std::string_view line, size_t at) {
  constexpr std::array<std::string_view, 5> kMarks{" ", "-", ">", "–", "—"};
  while (true) {
    const auto mark = std::find_if(kMarks.begin(), kMarks.end(),
                                   [&](std::string_view mark) { return stands_first(line.substr(at), mark); });
    if (mark == kMarks.end()) return at;
    at += mark->size();
  }
}

class Subtitles : public DocumentFile {
 public:
  Subtitles(std::string content, const std::vector<Cue>& cues, const SubtitleSyntax& syntax)
      : content_(std::move(content)), syntax_(syntax) {
    add(cues);
    for (const CueGroup& group : groups_) {
      texts_.push_back(joined_cues(group.words));
    }
  }

  TextFormat text_format() const override { return TextFormat::html; }

  std::string with(const std::vector<std::string>& translations) const override {
    std::vector<Edit> edits;
    for (size_t i = 0; i < groups_.size(); ++i) {
      const CueGroup& group = groups_[i];
      if (with_references_decoded(translations[i]) == with_references_decoded(texts_[i])) continue;
      const std::vector<std::string> parts = divide_among_cues(translations[i], group.words, shares_of(group), syntax_);
      for (size_t cue = 0; cue < parts.size(); ++cue)
        edits.push_back({group.cues[cue].begin, group.cues[cue].end, parts[cue]});
      for (const CueLine& line : group.repeats) {
        const CueText& source = group.words[line.source->second];
        const std::string& part = parts[line.source->second];
        const size_t size = part.size() - source.before.size() - source.after.size();
        edits.push_back(
            {line.begin, line.end, line.text.before + part.substr(source.before.size(), size) + line.text.after});
      }
    }
    std::sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
    std::string result;
    size_t at = 0;
    for (const Edit& edit : edits) {
      result += content_.substr(at, edit.begin - at) + edit.text;
      at = edit.end;
    }
    return result + content_.substr(at);
  }

 private:
  // Rolling captions, such as those that YouTube makes, begin a cue with the last lines of the cue before. Each line of
  // theirs is translated once.
  void add(const std::vector<Cue>& cues) {
    std::vector<CueLine> before, lines, next = cues.empty() ? before : lines_of(cues.front());
    size_t repeated = 0;  // number of the lines that the cue before has, too
    for (size_t i = 0; i < cues.size(); ++i) {
      lines = std::move(next);
      next = i + 1 < cues.size() ? lines_of(cues[i + 1]) : std::vector<CueLine>();
      const size_t repeated_next = common_lines(lines, next);
      if (repeated + repeated_next == 0) add(cues[i]);
      for (size_t line = 0; line < lines.size() && repeated + repeated_next > 0; ++line) {
        if (line < repeated) lines[line].source = before[before.size() - repeated + line].source;
        if (lines[line].source)
          groups_[lines[line].source->first].repeats.push_back(lines[line]);
        else
          add_line(cues[i], lines[line]);
      }
      before = std::move(lines);
      repeated = repeated_next;
    }
  }

  void add_line(Cue cue, CueLine& line) {
    cue.begin = line.begin - line.dash;
    cue.end = line.end;
    add(cue);
    if (groups_.empty() || groups_.back().cues.back().end != line.end) return;  // it has no letters
    groups_.back().words.back().most_lines = 1;
    constexpr size_t kMostBytes = 2000;  // a longer one might be tags, and make short repeats as long
    if (cue.end - cue.begin <= kMostBytes) line.source = {groups_.size() - 1, groups_.back().cues.size() - 1};
  }

  // The lines that have words. SubStation Alpha has no rolling captions, but may have a line in several layers.
  std::vector<CueLine> lines_of(const Cue& cue) const {
    const std::string_view line_break = syntax_.line_break, text = std::string_view(content_).substr(0, cue.end);
    std::vector<CueLine> lines;
    for (size_t at = cue.begin, next = 0; at < cue.end && !syntax_.has_overrides; at = next + line_break.size()) {
      next = std::min(text.find(line_break, at), cue.end);
      const std::string line = content_.substr(at, next - at);
      const size_t first = leading_tags(line, syntax_);
      const size_t dash = begins_with_dash(std::string_view(line).substr(first)) ? words_begin(line, first) : 0;
      CueLine found{at + dash, next, dash, read_cue_text(line.substr(dash), syntax_)};
      if (!found.text.words.empty()) lines.push_back(std::move(found));
    }
    return lines;
  }

  // The number of lines with which one cue ends and the next begins.
  static size_t common_lines(const std::vector<CueLine>& before, const std::vector<CueLine>& after) {
    constexpr size_t kMostLines = 4;  // that are shown at a time
    if (std::max(before.size(), after.size()) > kMostLines) return 0;
    size_t count = std::min(before.size(), after.size());
    const auto are_common = [&] {
      return std::equal(before.end() - static_cast<std::ptrdiff_t>(count), before.end(), after.begin(),
                        [](const CueLine& a, const CueLine& b) { return a.text.words == b.text.words; });
    };
    while (count > 0 && !are_common()) --count;
    return count;
  }

  void add(const Cue& cue) {
    const std::vector<Cue> parts = parts_of(cue);
    const std::string_view line_break = syntax_.line_break;
    for (const Cue& part : parts) {
      const std::string text = content_.substr(part.begin, part.end - part.begin);
      CueText words = read_cue_text(text, syntax_);
      if (!has_letters(words.html)) continue;
      const bool is_first = part.begin == cue.begin;
      if (is_first && !groups_.empty() && continues(groups_.back(), part, words)) {
        CueGroup& group = groups_.back();
        size_t tags = 0;
        for (const CueText& before : group.words) tags += before.opening_tags.size();
        group.cues.push_back(part);
        group.words.push_back(read_cue_text(text, syntax_, tags));
      } else {
        const bool has_dash = !is_first && !stands_last(std::string_view(content_).substr(0, part.begin), line_break);
        groups_.push_back({{part}, {std::move(words)}});
        is_closed_ = has_dash && parts.size() > 1;
      }
    }
  }

  // True if a sentence that the cues have begun continues in the next one.
  bool continues(const CueGroup& group, const Cue& next, const CueText& words) const {
    constexpr size_t kMostCues = 6, kMostBytes = 500;
    constexpr int64_t kLongestPause = 2000, kShortPause = 500, kLongestCue = 15'000;
    const Cue& last = group.cues.back();
    const int64_t pause = next.start_ms - last.end_ms;
    size_t bytes = words.html.size();
    for (const CueText& before : group.words) bytes += before.html.size();
    if (is_closed_ || group.cues.size() == kMostCues || bytes > kMostBytes || last.voice != next.voice) return false;
    if (last.end_ms - last.start_ms > kLongestCue) return false;  // a chapter
    if (pause > kLongestPause || next.start_ms < last.start_ms || ends_sentence(group.words.back().html)) return false;
    if (differ_in_case(group.words.back().words, words.words)) return false;
    const std::string_view text = words.html;
    if (begins_with_dash(text) || begins_with_bracket(text) || begins_with_note(text) || begins_with_speaker(text))
      return false;
    return u_isupper(first_letter(words.html)) == 0 || pause <= kShortPause;
  }

  // The parts of a cue that have no sentence in common: what each voice says, sounds, and lines of lyrics. Dashes are
  // no part of them.
  std::vector<Cue> parts_of(const Cue& cue) const {
    const std::string_view line_break = syntax_.line_break;
    const std::string text = content_.substr(cue.begin, cue.end - cue.begin);
    std::vector<Cue> parts;
    std::string beginning, before;  // words of the first line of the part, and of the last line
    std::string color, color_before;
    bool has_dashes = false;  // the part's first line does
    size_t lines = 0;
    for (size_t at = 0, end = 0; at < text.size(); at = end + line_break.size(), ++lines) {
      end = std::min(text.find(line_break, at), text.size());
      std::string line = text.substr(at, end - at);
      if (!line.empty() && line.back() == '\r') line.pop_back();
      const size_t first = leading_tags(line, syntax_), words = words_begin(line, first);
      const bool has_voice = stands_first(line, "<v") && cue.end - cue.begin > line.size() + 1;
      const bool has_dash = begins_with_dash(std::string_view(line).substr(first));
      const size_t begin = has_voice || has_dash ? words : 0;
      const std::string plain = read_cue_text(line.substr(begin), syntax_).words;
      const bool follows_dash = has_dash && (has_dashes || ends_sentence(before));
      color_before = std::exchange(color, color_of(line));
      const bool has_other_color = !color.empty() && !color_before.empty() && color != color_before;
      if (parts.empty() || has_voice || follows_dash || has_other_color || begins_part(beginning, before, plain)) {
        parts.push_back({cue.begin + at + begin, 0, cue.start_ms, cue.end_ms, cue.voice});
        beginning = plain;
        has_dashes = has_dash;
      }
      parts.back().end = cue.begin + at + line.size();
      before = plain;
    }
    return parts.size() == 1 && lines > 1 ? std::vector<Cue>{cue} : parts;
  }

  // The tag for the color of a whole line, which tells who speaks; empty without one.
  static std::string color_of(const std::string& line) {
    for (const auto& [opening, closing] : {std::pair("<font color", "</font>"), std::pair("<c.", "</c>")})
      if (stands_first(line, opening) && stands_last(line, closing) &&
          line.find(closing) + std::string_view(closing).size() == line.size())
        return lower_case(line.substr(0, line.find('>')));
    return "";
  }

  // True if a line begins another part of a cue than the lines before it: the part's first, and the last.
  static bool begins_part(std::string_view beginning, std::string_view before, std::string_view line) {
    if (begins_with_note(line) || ends_with_note(before) || begins_with_speaker(line)) return true;
    if (is_in_brackets(line, line) || is_in_brackets(beginning, before)) return true;
    const auto is_name = [](std::string_view text) {
      const size_t name = speaker_length(text);
      return name > 0 && name + 1 == text.size();
    };
    if (is_name(before) || (is_name(line) && has_small_letters(before) && !has_small_letters(line))) return true;
    const bool has_capitals = u_isupper(first_letter(std::string(before))) != 0;
    if (has_capitals && !has_small_letters(before) && differ_in_case(before, line)) return true;  // a sign or a title
    return ends_sentence(before) && (speaker_length(line) > 0 || begins_with_bracket(line));
  }

  static std::vector<double> shares_of(const CueGroup& group) {
    int64_t all = 0;
    for (const Cue& cue : group.cues) all += std::max<int64_t>(1, cue.end_ms - cue.start_ms);
    std::vector<double> shares;
    for (const Cue& cue : group.cues)
      shares.push_back(static_cast<double>(std::max<int64_t>(1, cue.end_ms - cue.start_ms)) / static_cast<double>(all));
    return shares;
  }

  std::string content_;
  SubtitleSyntax syntax_;
  std::vector<CueGroup> groups_;
  bool is_closed_ = false;  // the last one
};

// A line of a file: its bytes without the line end, and where the next one begins.
struct FileLine {
  size_t begin, end, next;
};

FileLine line_at(std::string_view text, size_t at) {
  const size_t found = std::min(text.find('\n', at), text.size());
  const size_t end = found > at && text[found - 1] == '\r' ? found - 1 : found;
  return {at, end, std::min(found + 1, text.size())};
}

bool is_empty_line(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

const char* line_end_of(const std::string& content) {
  return content.find("\r\n") == std::string::npos ? "\n" : "\r\n";
}

// A time such as 01:02:03,400, 02:03.400 or 1:02:03.40, in milliseconds, which the text begins with.
std::optional<int64_t> read_time(std::string_view& text) {
  int64_t number = 0, seconds = 0, ms = 0, unit = 1000;
  bool in_fraction = false;
  constexpr int64_t kMostInNumber = 1'000'000;
  size_t digits = 0, colons = 0, at = 0;
  for (; at < text.size() && at < 20; ++at) {
    const char c = text[at];
    if (is_ascii_digit(c)) {
      ++digits;
      if (in_fraction) {
        unit /= 10;
        ms += unit * (c - '0');
      } else {
        number = number * 10 + (c - '0');
        if (number > kMostInNumber) return std::nullopt;
      }
    } else if (!in_fraction && digits > 0 && (c == ':' || c == ',' || c == '.')) {
      seconds = (seconds + number) * (c == ':' ? 60 : 1);
      number = 0;
      in_fraction = c != ':';
      if (c == ':' && ++colons > 2) return std::nullopt;
    } else {
      break;
    }
  }
  if (digits < 2) return std::nullopt;
  text.remove_prefix(at);
  return (seconds + number) * 1000 + ms;
}

// The times of a line such as 00:00:01,000 --> 00:00:02,500, which some programs follow with more.
std::optional<std::pair<int64_t, int64_t>> read_times(std::string_view line) {
  const auto skip_spaces = [&] { line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size())); };
  skip_spaces();
  const auto start = read_time(line);
  skip_spaces();
  if (!start || !stands_first(line, "-->")) return std::nullopt;
  line.remove_prefix(3);
  skip_spaces();
  const auto end = read_time(line);
  if (!end) return std::nullopt;
  return std::make_pair(*start, *end);
}

// "Ann" of a text that begins with WebVTT's <v Ann>.
std::string voice_of(std::string_view text) {
  return stands_first(text, "<v ") || stands_first(text, "<v.") ? std::string(text.substr(0, text.find('>'))) : "";
}

// True if another cue begins at `at`, or the file ends: a line of two times, perhaps after its number.
bool begins_cue(std::string_view text, size_t at) {
  if (at == text.size()) return true;
  for (int line = 0; line < 2 && at < text.size(); ++line) {
    const FileLine here = line_at(text, at);
    if (text.substr(here.begin, here.end - here.begin).find("->") != std::string_view::npos) return true;
    at = here.next;
  }
  return false;
}

// The meaning of an empty line after the text of a cue.
enum class EmptyLine {
  ends_cue,
  may_be_in_cue,  // unless another cue follows it
};

// The cues of a file with lines of two times, each followed by a text that an empty line ends. Text after an empty line
// in a cue is another cue of the same times. None: the file has no such lines.
std::optional<std::vector<Cue>> read_timed_blocks(const std::string& content, EmptyLine empty_line) {
  std::optional<std::vector<Cue>> cues;
  const std::string_view text = content;
  bool has_more = false;  // the cue of the times before
  std::pair<int64_t, int64_t> times;
  for (size_t at = 0; at < text.size();) {
    if (!has_more) {
      const FileLine line = line_at(text, at);
      at = line.next;
      const auto found = read_times(text.substr(line.begin, line.end - line.begin));
      if (!found) continue;
      times = *found;
    }
    Cue cue{at, at, times.first, times.second, ""};
    bool is_number = false;  // the line before
    for (size_t before = at; at < text.size();) {
      const FileLine words = line_at(text, at);
      const std::string_view here = text.substr(words.begin, words.end - words.begin);
      if (here.empty()) break;
      if (read_times(here)) {  // the empty line is missing before the next cue
        if (is_number) cue.end = before;
        break;
      }
      at = words.next;
      if (is_empty_line(here)) continue;  // such a line ends no cue, but has no words
      is_number = here.find_first_not_of("0123456789") == std::string_view::npos;
      before = cue.end;
      cue.end = words.end;
    }
    cue.voice = voice_of(text.substr(cue.begin, cue.end - cue.begin));
    if (!cues) cues.emplace();
    if (cue.end > cue.begin) cues->push_back(cue);
    at = std::min(text.find_first_not_of("\r\n", at), text.size());
    has_more = empty_line == EmptyLine::may_be_in_cue && !begins_cue(text, at);
  }
  return cues;
}

// True for JSON, which programs read.
bool is_metadata(std::string_view text) {
  const std::string_view after = text.substr(std::min(text.find_first_not_of(" \t\r\n", 1), text.size()), 1);
  return (text.front() == '{' && after == "\"" && text.back() == '}') ||
         (text.front() == '[' && after == "{" && text.back() == ']');
}

// The lines of dialogue of SubStation Alpha. Its fields are between commas; the last is the text.
class DialogueReader {
 public:
  explicit DialogueReader(std::string_view text) : text_(text) {}

  std::vector<Cue> read() {
    for (size_t at = 0; at < text_.size();) {
      const FileLine line = line_at(text_, at);
      at = line.next;
      const std::string_view words = text_.substr(line.begin, line.end - line.begin);
      if (stands_first(words, "[")) in_events_ = lower_case(std::string(words)).find("[events]") == 0;
      if (in_events_ && stands_first(words, "Format:")) read_format(words);
      if (in_events_ && stands_first(words, "Dialogue:")) read_dialogue(line, words);
    }
    return std::move(cues_);
  }
  bool has_events() const { return !fields_.empty(); }

 private:
  static std::string trimmed(std::string_view text) {
    const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
    return std::string(text.substr(begin, text.find_last_not_of(" \t") + 1 - begin));
  }

  static bool is_drawing(std::string_view text) {
    for (size_t at = text.find("\\p"); at != std::string_view::npos; at = text.find("\\p", at + 1))
      if (at + 2 < text.size() && text[at + 2] >= '1' && text[at + 2] <= '9') return true;
    return false;
  }
  static bool has_syllables(std::string_view text) {  // of a song
    return text.find("\\k") != std::string_view::npos || text.find("\\K") != std::string_view::npos;
  }

  void read_format(std::string_view line) {
    fields_.clear();
    for (size_t at = line.find(':') + 1; at <= line.size();) {
      const size_t end = std::min(line.find(',', at), line.size());
      fields_.push_back(trimmed(line.substr(at, end - at)));
      at = end + 1;
    }
  }

  void read_dialogue(const FileLine& line, std::string_view words) {
    Cue cue{line.end, line.end, 0, 0, ""};
    size_t at = words.find(':') + 1;
    for (size_t field = 0; field + 1 < fields_.size(); ++field) {
      const size_t end = words.find(',', at);
      if (end == std::string_view::npos) return;
      const std::string value = trimmed(words.substr(at, end - at));
      std::string_view time = value;
      if (fields_[field] == "Start") cue.start_ms = read_time(time).value_or(0);
      if (fields_[field] == "End") cue.end_ms = read_time(time).value_or(0);
      if (fields_[field] == "Style" || fields_[field] == "Name" || fields_[field] == "Layer") cue.voice += value + ',';
      at = end + 1;
    }
    cue.begin = line.begin + at;
    const std::string_view text = words.substr(at);
    if (text.find('{') != std::string_view::npos && (is_drawing(text) || has_syllables(text))) return;
    cues_.push_back(std::move(cue));
  }

  std::string_view text_;
  std::vector<std::string> fields_;
  std::vector<Cue> cues_;
  bool in_events_ = false;
};

}  // namespace

std::unique_ptr<DocumentFile> open_srt(const std::string& name, std::string content, const DocumentFileOptions&) {
  const auto cues = read_timed_blocks(content, EmptyLine::may_be_in_cue);
  const char* const line_end = line_end_of(content);
  if (!cues && !is_empty_line(content.substr(0, content.find('\n'))))
    throw std::runtime_error(name + ": has no subtitles of SubRip (no line such as 00:00:01,000 --> 00:00:02,500)");
  return std::make_unique<Subtitles>(std::move(content), cues.value_or(std::vector<Cue>()),
                                     SubtitleSyntax{line_end, false, false});
}

std::unique_ptr<DocumentFile> open_vtt(const std::string& name, std::string content, const DocumentFileOptions&) {
  if (content.compare(byte_order_mark_length(content), 6, "WEBVTT") != 0)
    throw std::runtime_error(name + ": is no WebVTT file (its first line is not WEBVTT)");
  std::vector<Cue> cues = read_timed_blocks(content, EmptyLine::ends_cue).value_or(std::vector<Cue>());
  const std::string_view text = content;
  const auto is_no_text = [&](const Cue& cue) { return is_metadata(text.substr(cue.begin, cue.end - cue.begin)); };
  cues.erase(std::remove_if(cues.begin(), cues.end(), is_no_text), cues.end());
  const char* const line_end = line_end_of(content);
  return std::make_unique<Subtitles>(std::move(content), cues, SubtitleSyntax{line_end, true, false});
}

std::unique_ptr<DocumentFile> open_ass(const std::string& name, std::string content, const DocumentFileOptions&) {
  DialogueReader reader(content);
  const std::vector<Cue> cues = reader.read();
  if (!reader.has_events())
    throw std::runtime_error(name + ": has no subtitles of SubStation Alpha (no [Events] with a line Format:)");
  return std::make_unique<Subtitles>(std::move(content), cues, SubtitleSyntax{"\\N", false, true});
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/document.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/documents/html_markup.h>
#include <transmute/documents/html_references.h>
#include <transmute/documents/html_tokens.h>
#include <transmute/documents/markdown_dialects.h>
#include <transmute/documents/message.h>
#include <transmute/documents/text_columns.h>
#include <transmute/text/inline_tags.h>
#include <transmute/text/sentence_characters.h>
#include <transmute/text/sentences.h>
#include <transmute/text/tag_end.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace transmute {
inline namespace v0 {

namespace {

// References that segments have for text that only looks like one get a semicolon; one without it was written by the
// model.
bool begins_reference(const std::string& text, size_t at) {
  const size_t length = text[at] == '&' ? reference_at(text, at).length : 0;
  return length > 0 && text[at + length - 1] == ';';
}

// Text without markup, with its references decoded. What would begin markup or a reference then is written as one.
std::string decoded(const std::string& text) {
  const std::string result = with_references_decoded(text);
  std::string safe;
  for (size_t at = 0; at < result.size(); ++at) {
    if (begins_markup(result, at)) {
      safe += "&lt;";
    } else if (begins_reference(result, at)) {
      safe += "&amp;";
    } else {
      safe += result[at];
    }
  }
  return safe;
}

// Writes a translation with the tags of its source. Everything else appears in browsers literally: no model adds markup
// to a page.
std::string encoded(const std::string& text, const std::map<std::string, std::string>& tags) {
  size_t longest = 0;
  for (const auto& [tag, html] : tags) longest = std::max(longest, tag.size());
  std::vector<size_t> ends = tag_ends(text);  // the next '<' has the last
  std::string result;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '<') {
      const size_t end = ends.back();
      const auto tag = end == 0 || end - at > longest ? tags.end() : tags.find(text.substr(at, end - at));
      if (tag == tags.end()) {
        result += "&lt;";
        ends.pop_back();
        continue;
      }
      result += tag->second;
      for (; at < end; ++at)
        if (text[at] == '<') ends.pop_back();
      --at;
    } else if (text[at] == '&') {
      result += begins_reference(text, at) ? "&" : "&amp;";
    } else if (text[at] == '>') {
      result += "&gt;";
    } else {
      result += text[at];
    }
  }
  return result;
}

// Writes text into a value that has these quotation marks around it, or none.
std::string quoted(const std::string& text, char quote) {
  return quote == 0 ? '"' + with_marks_escaped(text, '"') + '"' : with_marks_escaped(text, quote);
}

bool is_of_ruby(const std::string& html) {
  return lists("rp rt rtc", element_name(html));
}

// True for the reading of a word in kana or bopomofo, which another word does not have, and for a bracket around it.
bool is_reading(const std::string& html) {
  constexpr std::string_view kFirstByte = "\xE3";
  return is_of_ruby(html) && (element_name(html) == "rp" || html.compare(html.find('>') + 1, 1, kFirstByte) == 0);
}

// A short string that does not occur in the text, even with a digit after it.
std::string unused_name(const std::string& text) {
  size_t digits = 1, numbers = 10;  // more than the text has room for
  for (; numbers <= text.size(); numbers *= 10) ++digits;
  std::vector<bool> is_used(numbers);
  for (size_t x = text.find('x'); x != std::string::npos; x = text.find('x', x + 1)) {
    const std::string number = text.substr(x + 1, digits);
    if (number.size() == digits && number.find_first_not_of("0123456789") == std::string::npos)
      is_used[std::stoul(number)] = true;
  }
  const auto unused = std::find(is_used.begin(), is_used.end(), false) - is_used.begin();
  return fmt::format("x{:0{}}", unused, digits);
}

bool is_line_break(char c) {
  return c == '\n' || c == '\r';
}

// True if a segment may have an inline tag of HTML as it is: TaggedText reads it as a browser does (to that, names are
// alike in capitals and "/>" closes no element), it has no line breaks, and it is no longer than a tag that somebody
// wrote by hand.
bool may_stand(const std::string& tag) {
  constexpr size_t kLongest = 4096;
  if (tag.size() > kLongest || std::any_of(tag.begin(), tag.end(), is_line_break)) return false;
  const std::string name = element_name(tag);
  const bool is_end = tag[1] == '/';
  const bool has_capitals = tag.compare(is_end ? 2 : 1, name.size(), name) != 0;
  const bool seems_empty = !is_end && tag[tag.size() - 2] == '/' && !is_void_element(name);
  if (has_capitals || seems_empty) return false;
  const std::vector<InlineTag> tags = inline_tags(tag);
  return !tags.empty() && tags.front().length == tag.size();
}

// All other tags are shortened to their names.
std::string shortened(const std::string& tag, const std::string& attribute) {
  const std::string name = element_name(tag);
  return (tag[1] == '/' ? "</" : "<") + name + ' ' + attribute + (is_void_element(name) ? "/>" : ">");
}

// The bytes between the white space at both ends of some pieces of a text, of whatever width; {0, 0} where there is
// nothing else. HTML's references to white space count, but for those without a semicolon: "&#160" before "3" would
// become another. So do invisible characters beside it, with which newsletters fill their previews.
ByteSpan within_space(const std::string& text, const std::vector<HtmlPiece>& pieces, TextFormat format) {
  size_t first = std::string::npos, last = 0;
  bool is_after_space = true;
  for (const HtmlPiece& piece : pieces) {
    const auto size = static_cast<int32_t>(piece.end);
    for (auto at = static_cast<int32_t>(piece.begin); at < size;) {
      const auto place = static_cast<size_t>(at);
      UChar32 c = 0;
      if (piece.kind != HtmlKind::text) {
        at = size;
      } else if (format == TextFormat::html && begins_reference(text, place)) {
        const CharacterReference reference = reference_at(text, place);
        c = static_cast<UChar32>(reference.characters.front());
        at += static_cast<int32_t>(reference.length);
      } else {
        U8_NEXT(text.data(), at, size, c);  // invalid bytes come as c < 0
      }
      is_after_space = piece.kind == HtmlKind::text && c >= 0 &&
                       (u_isUWhiteSpace(c) != 0 ||
                        (is_after_space && u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT) != 0 &&
                         u_hasBinaryProperty(c, UCHAR_BIDI_CONTROL) == 0));
      if (is_after_space) continue;
      first = std::min(first, place);
      last = static_cast<size_t>(at);
    }
  }
  return {std::min(first, last), last};
}

ByteSpan within_space(const std::string& text) {
  return within_space(text, {{HtmlKind::text, 0, text.size()}}, TextFormat::text);
}

// The number of bytes of the dots at `at` that lead to the number of a page in a table of contents, and of this number,
// which may be elsewhere: "...... 12", ". . . . . .". 0 for the dots of a sentence, and within others.
size_t leader_length(const std::string& text, size_t at) {
  constexpr size_t kFewestDots = 5;
  const auto is_dot = [&](size_t place) { return place < text.size() && text[place] == '.'; };
  if (is_dot(at - 1) || (at > 1 && text[at - 1] == ' ' && is_dot(at - 2))) return 0;
  size_t dots = 1, end = at + 1;
  for (; is_dot(end) || (is_dot(end + 1) && text[end] == ' '); ++dots) end += is_dot(end) ? 1 : 2;
  const size_t number = std::min(text.find_first_not_of(' ', end), text.size());
  const size_t number_end = std::min(text.find_first_not_of("0123456789-ivx", number), text.size());
  const size_t next = std::min(text.find_first_not_of(' ', number_end), text.size());
  const bool ends_line = next == text.size() || text[next] == '\r' || text[next] == '\n';
  return dots >= kFewestDots && ends_line ? number_end - at : 0;
}

// The number of bytes of the line end, the tab or the leader at `at`; 0 if there is none. "\r\n" is two, with an empty
// line between.
size_t line_end_at(const std::string& text, size_t at) {
  if (text[at] >= '\t' && text[at] <= '\r') return 1;
  if (text[at] == '.') return leader_length(text, at);
  for (const std::string_view end : {"\u0085", "\u2028", "\u2029"})
    if (text.compare(at, end.size(), end) == 0) return end.size();
  return 0;
}

// The length of Markdown's fenced code that begins at `at`, up to the end of its last line; 0 if there is none.
size_t fenced_code_length(std::string_view text, size_t at) {
  constexpr size_t kMostBytes = 1 << 14;  // limit, so that many fences without an end take linear time
  if (text[at] != '`' && text[at] != '~') return 0;
  const size_t before = at == 0 ? std::string_view::npos : text.find_last_not_of(" \t", at - 1);
  if (before != std::string_view::npos && text[before] != '\n') return 0;
  text = text.substr(at, kMostBytes);
  size_t end = text.find('\n');
  const size_t marks = fence_marks(text.substr(0, end));
  while (marks > 0 && end != std::string_view::npos) {
    const size_t begin = end + 1;
    end = text.find('\n', begin);
    std::string_view line = text.substr(begin, end - begin);
    line = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    if (line.substr(0, 1) == text.substr(0, 1) && line.size() >= marks && fence_marks(line) == line.size())
      return std::min(end, text.size());
  }
  return 0;
}

// The length of the line at `at` if it has a command after a prompt, "$ make install", with the lines that continue it
// after a backslash; 0 otherwise.
size_t command_length(std::string_view text, size_t at) {
  if (at > 0 && text[at - 1] != '\n') return 0;
  const size_t prompt = at + indentation_length(text.substr(at));
  if (text.substr(prompt, 2) != "$ " || prompt + 2 == text.size() || !is_ascii_small(text[prompt + 2])) return 0;
  size_t end = std::min(text.find('\n', prompt), text.size());
  while (end < text.size() && text[end - 1] == '\\') end = std::min(text.find('\n', end + 1), text.size());
  return end - at;
}

// True for a bar between the texts of a message, such as "Image files|*.png", "Yes|No" and "1 file|{n} files", but not
// for those of "on|off", "TCP|UDP" and "--format=PDF|HTML" within a sentence.
bool divides_message(const std::string& text, size_t begin, size_t at) {
  if (text[at] != '|' || at == begin || at + 1 == text.size()) return false;
  const char before = text[at - 1], next = text[at + 1];
  const bool may_begin =
      is_ascii_capital(next) || is_ascii_digit(next) || std::string_view("*{[<%").find(next) != std::string_view::npos;
  const bool are_capitals = is_ascii_capital(before) && is_ascii_capital(next);
  if (!may_begin || before == ' ' || before == '|' || are_capitals) return false;
  constexpr size_t kLongestOption = 64;
  const size_t near = at - std::min(at - begin, kLongestOption);
  const std::string_view beginning = std::string_view(text).substr(near, at - near);
  const std::string_view word = beginning.substr(beginning.rfind(' ') + 1);
  return word.front() != '-' && word.find('=') == std::string_view::npos;
}

// True for a list without spaces after its semicolons, such as the keywords of a program: "folder;file manager;", but
// not for one of codes: "en;de;fr".
bool is_list(const std::string& text) {
  constexpr size_t kFewest = 2, kLongestItem = 40, kLongestCode = 2;
  size_t semicolons = 0, begin = 0, longest = 0;
  for (size_t at = text.find(';'); at != std::string::npos; at = text.find(';', begin)) {
    const bool has_next = at + 1 < text.size();
    if (has_next && !is_ascii_alphanumeric(text[at + 1])) return false;
    ++semicolons;
    longest = std::max(longest, at - begin);
    begin = at + 1;
  }
  longest = std::max(longest, text.size() - begin);
  return semicolons >= kFewest && longest > kLongestCode && longest <= kLongestItem &&
         text.find_first_of(":={}<>[]&|\"\\\n") == std::string::npos && text.find("()") == std::string::npos;
}

// The bytes of "  -o FILE    write to FILE" before what the option does: names of options, and spaces that make
// columns.
size_t option_column(const std::string& line) {
  const size_t option = std::min(line.find_first_not_of(' '), line.size());
  const size_t name = line.find_first_not_of('-', option), end = line.find("  ", option);
  const size_t words = line.find_first_not_of(' ', end);
  if (name == option || name >= line.size() || end == std::string::npos || words == std::string::npos ||
      !is_ascii_letter(line[name]) || std::string_view(".:!?").find(line[end - 1]) != std::string_view::npos)
    return 0;
  return words;
}

// Text with inline tags, cut at the sentence ends that lie outside of every element.
std::vector<std::string> tagged_sentences(const std::string& text, const Glossary& glossary,
                                          const SentenceSplitter& splitter) {
  std::vector<std::string> sentences;
  size_t begin = 0;
  const auto take = [&](size_t end) {
    const std::string whole = text.substr(begin, end - begin);
    const auto [first, last] = within_space(whole);
    if (first < last) sentences.push_back(whole.substr(first, last - first));
    begin = end;
  };
  for (const size_t end : sentence_ends(text, true, splitter, glossary)) take(end);
  take(text.size());
  return sentences;
}

// True if a text is more than space, of whatever width or none: models have no translation for a no-break space or a
// soft hyphen alone.
bool is_more_than_space(const std::string& text) {
  return !sentence_characters::all_characters(text, [](UChar32 c) {
    return c >= 0 && (u_isUWhiteSpace(c) != 0 || u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT) != 0);
  });
}

// True if there is more to translate than space, numbers and signs.
bool has_words(const std::string& html, const std::vector<HtmlPiece>& pieces) {
  return std::any_of(pieces.begin(), pieces.end(), [&](const HtmlPiece& piece) {
    return piece.kind == HtmlKind::text &&
           has_letters(std::string_view(html).substr(piece.begin, piece.end - piece.begin));
  });
}

}  // namespace

Document::Document(const std::string& text) {
  add_segment(text);
}

Document::Document(const std::string& text, TextFormat format, bool split_sentences, const Glossary& glossary,
                   const SentenceSplitter& splitter)
    : format_(format) {
  const SentencesOf sentences_of = [&](const std::string& words) -> std::vector<std::string> {
    if (!split_sentences) return {words};
    return format == TextFormat::text ? splitter.split(words, glossary) : tagged_sentences(words, glossary, splitter);
  };
  if (format == TextFormat::html) {
    add_html(text, sentences_of);
  } else {
    add_lines(text, sentences_of);
  }
}

void Document::add_segment(const std::string& text) {
  segments_.push_back(text);
  follows_sentence_.push_back(false);
  is_in_value_.push_back(false);
  between_.emplace_back();
  if (format_ != TextFormat::html) return;
  std::map<std::string, Markup>& tags = tags_.emplace_back();
  for (const InlineTag& found : inline_tags(text)) {
    const std::string tag = text.substr(found.begin, found.length);
    const auto kept = kept_.find(tag);
    if (tag.front() == '<') tags.emplace(tag, kept == kept_.end() ? Markup{tag} : kept->second);
  }
}

// A line ends at a line end or a leader outside of tags, at <br>, at the gaps between columns of plain text, and at a
// bar or a semicolon that divides a message. Fenced code of a message stays, and so do commands, if the text has other
// lines: "$ per month" alone is none.
void Document::add_lines(const std::string& text, const SentencesOf& sentences_of) {
  const auto has_bar = [&](const ProtectedSpan& span) {
    return text.substr(span.begin, span.length).find('|') != std::string::npos;
  };
  const std::vector<InlineTag> tags =
      format_ == TextFormat::tags ? tags_and_spans(text, true, has_bar, {}) : std::vector<InlineTag>{};
  const bool has_items = format_ == TextFormat::tags && is_list(text);
  const auto add = [&](const std::string& line) {
    if (has_items && is_no_language(line)) {
      between_.back().html += line;
    } else {
      add_line(line, sentences_of);
    }
  };
  auto tag = tags.begin();
  const bool has_lines = text.find('\n') != std::string::npos;
  size_t begin = 0, brackets = 0;  // number of open brackets
  bool is_row = false;
  for (size_t at = 0; at < text.size();) {
    if (format_ == TextFormat::text && (at == 0 || text[at - 1] == '\n')) is_row = is_row_with_bars(text, at);
    const size_t command = has_lines ? command_length(text, at) : 0;
    const size_t code_end = at + (command == 0 && format_ == TextFormat::tags ? fenced_code_length(text, at) : command);
    if (code_end > at) {
      between_.back().html += text.substr(begin, code_end - begin);
      begin = at = code_end;
      while (tag != tags.end() && tag->begin < at) ++tag;
      continue;
    }
    const bool is_tag = tag != tags.end() && at == tag->begin;
    size_t line_end = !is_tag ? line_end_at(text, at) : ends_line(text, *tag) ? tag->length : 0;
    if (format_ == TextFormat::text && line_end == 0) line_end = is_row && text[at] == '|' ? 1 : gap_length(text, at);
    if (!is_tag && format_ == TextFormat::tags) {
      if (std::string_view("([{").find(text[at]) != std::string_view::npos) ++brackets;
      if (std::string_view(")]}").find(text[at]) != std::string_view::npos && brackets > 0) --brackets;
      const bool ends_item = has_items && text[at] == ';';
      if (brackets == 0 && (ends_item || divides_message(text, begin, at))) line_end = 1;
    }
    if (line_end > 0) {
      add(text.substr(begin, at - begin));
      between_.back().html += text.substr(at, line_end);
      begin = at + line_end;
    }
    at += is_tag ? tag->length : std::max<size_t>(line_end, 1);
    if (is_tag) ++tag;
  }
  add(text.substr(begin));
}

void Document::add_line(const std::string& line, const SentencesOf& sentences_of) {
  if (!is_more_than_space(line)) {
    between_.back().html += line;
    return;
  }
  auto [first, last] = within_space(line);
  if (format_ == TextFormat::tags) first = std::max(first, option_column(line.substr(0, last)));
  between_.back().html += line.substr(0, first);
  add_sentences(sentences_of(line.substr(first, last - first)));
  between_.back().html += line.substr(last);
}

void Document::add_sentences(const std::vector<std::string>& sentences) {
  for (size_t i = 0; i < sentences.size(); ++i) {
    add_segment(sentences[i]);
    follows_sentence_.back() = i > 0;
  }
}

void Document::add_html(const std::string& html, const SentencesOf& sentences_of) {
  placeholder_ = unused_name(html);
  std::vector<HtmlPiece> line;
  for (const HtmlPiece& piece : html_pieces(html)) {
    if (piece.kind != HtmlKind::border) {
      line.push_back(piece);
      continue;
    }
    add_inline_html(html, line, sentences_of);
    line.clear();
    add_between(markup_of(html, piece, sentences_of));
  }
  add_inline_html(html, line, sentences_of);
}

// Text between two elements that are not inline: white space around it stays, tags within move with their words.
void Document::add_inline_html(const std::string& html, std::vector<HtmlPiece>& pieces,
                               const SentencesOf& sentences_of) {
  if (pieces.empty()) return;
  if (!has_words(html, pieces)) {
    for (const HtmlPiece& piece : pieces) add_between(markup_of(html, piece, sentences_of));
    return;
  }
  const size_t begin = pieces.front().begin, end = pieces.back().end;
  const auto [first, last] = within_space(html, pieces, format_);
  for (HtmlPiece& piece : pieces) {
    piece.begin = std::max(piece.begin, first);
    piece.end = std::min(piece.end, last);
  }
  between_.back().html += html.substr(begin, first - begin);
  add_sentences(sentences_of(for_model(html, pieces, sentences_of)));
  between_.back().html += html.substr(last, end - last);
}

// Adds a piece as it is written, with the texts of its values as segments.
Document::Markup Document::markup_of(const std::string& html, const HtmlPiece& piece, const SentencesOf& sentences_of) {
  Markup markup{html.substr(piece.begin, piece.end - piece.begin)};
  for (const HtmlValue& value : piece.values) {
    std::vector<HtmlPiece> text{{HtmlKind::text, value.begin, value.end}};
    if (!has_words(html, text)) continue;
    const auto [begin, end] = value.quote == 0 ? ByteSpan{value.begin, value.end} : within_space(html, text, format_);
    text.front() = {HtmlKind::text, begin, end};
    const size_t segment = segments_.size();
    add_sentences(sentences_of(for_model(html, text, sentences_of)));
    std::fill(is_in_value_.begin() + static_cast<int64_t>(segment), is_in_value_.end(), true);
    markup.values.push_back({begin - piece.begin, end - piece.begin, value.quote, segment, segments_.size()});
  }
  return markup;
}

void Document::add_between(Markup markup) {
  Markup& before = between_.back();
  for (Value& value : markup.values) {
    value.begin += before.html.size();
    value.end += before.html.size();
    before.values.push_back(value);
  }
  before.html += markup.html;
}

// Puts it on one line, with the references of its text decoded, an empty tag for each element that is kept, and short
// tags.
std::string Document::for_model(const std::string& html, const std::vector<HtmlPiece>& pieces,
                                const SentencesOf& sentences_of) {
  std::string result;
  for (const HtmlPiece& piece : pieces) {
    if (piece.begin >= piece.end) continue;  // white space at an end
    Markup markup = markup_of(html, piece, sentences_of);
    const std::string& part = markup.html;
    if (piece.kind == HtmlKind::text) {
      std::string line = decoded(part);
      std::replace_if(line.begin(), line.end(), is_line_break, ' ');
      result += line;
    } else if (piece.kind == HtmlKind::inline_tag && markup.values.empty() && may_stand(part)) {
      result += part;
    } else {
      const std::string name = placeholder_ + std::to_string(kept_.size());
      const auto begins_with = [&](std::string_view beginning) {
        return part.compare(0, beginning.size(), beginning) == 0;
      };
      const bool is_word =
          piece.kind == HtmlKind::kept && !begins_with("<!--") && !begins_with("<svg") && !is_of_ruby(part);
      const std::string tag = is_word                        ? std::string(kWordTag) + name + "/>"
                              : piece.kind == HtmlKind::kept ? '<' + name + "/>"
                                                             : shortened(part, name);
      kept_.emplace(tag, std::move(markup));
      result += tag;
    }
  }
  return result;
}

std::string Document::with(const std::vector<std::string>& translations) const {
  return beginning(translations, segments_.size());
}

std::string Document::beginning(const std::vector<std::string>& translations, size_t unfinished) const {
  std::string text = between_.front().html, before;  // before: the last sentence of the same line or element
  for (size_t i = 0; i < segments_.size() && i <= unfinished; ++i) {
    if (!is_in_value_[i]) {
      const std::string sentence = without_tags(translations[i]);
      if (!follows_sentence_[i]) before.clear();
      // A < of text that is not translated, as in SVG, must not begin a tag with a letter that follows it now.
      if (format_ == TextFormat::html && !text.empty() && text.back() == '<' && translations[i] != segments_[i])
        text.replace(text.size() - 1, 1, "&lt;");
      text += space_between(before, sentence) + written(translations, i);
      if (!sentence.empty()) before = sentence;
    }
    if (i < unfinished) text += written(translations, between_[i + 1]);
  }
  return text;
}

std::string Document::without_tags(const std::string& translation) const {
  return format_ == TextFormat::text ? translation : TaggedText(translation).plain();
}

std::string Document::written(const std::vector<std::string>& translations, size_t segment) const {
  if (format_ != TextFormat::html) return translations[segment];
  std::map<std::string, std::string> tags;
  const bool is_changed = translations[segment] != segments_[segment];
  for (const auto& [tag, markup] : tags_[segment])
    tags.emplace(tag, is_changed && is_reading(markup.html) ? "" : written(translations, markup));
  return encoded(translations[segment], tags);
}

std::string Document::written(const std::vector<std::string>& translations, const Markup& markup) const {
  std::string html;
  size_t end = 0;
  for (const Value& value : markup.values) {
    html += markup.html.substr(end, value.begin - end);
    end = value.end;
    std::string text, before;
    bool is_changed = false;
    for (size_t i = value.first_segment; i < value.end_segment; ++i) {
      text += space_between(before, translations[i]) + encoded(translations[i], {});
      before = translations[i];
      is_changed = is_changed || translations[i] != segments_[i];
    }
    html += is_changed ? quoted(text, value.quote) : markup.html.substr(value.begin, end - value.begin);
  }
  return html + markup.html.substr(end);
}

}  // namespace v0
}  // namespace transmute

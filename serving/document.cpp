// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/document.h>

#include <transmute/common/text_file.h>
#include <transmute/serving/html_references.h>
#include <transmute/translation/text/inline_tags.h>
#include <transmute/translation/text/sentences.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr const char* kSpace = " \t\r\n\f\v";

constexpr std::array<const char*, 33> kInlineElements{
    "a",   "abbr", "acronym", "b",    "bdi",    "bdo",    "big", "br",  "cite",  "data", "del",
    "dfn", "em",   "font",    "i",    "img",    "input",  "ins", "kbd", "label", "mark", "q",
    "s",   "samp", "small",   "span", "strike", "strong", "sub", "sup", "time",  "u",    "wbr"};
constexpr std::array<const char*, 8> kUntouchedElements{"script", "style",    "pre", "code",
                                                        "head",   "textarea", "svg", "math"};

template <size_t N>
bool contains(const std::array<const char*, N>& names, const std::string& name) {
  return std::any_of(names.begin(), names.end(), [&](const char* other) { return name == other; });
}

// "div" of "<div class=…>" and "</div>"; empty for a comment, a declaration and what is no tag.
std::string element_name(std::string_view tag) {
  size_t at = tag.size() > 1 && tag[1] == '/' ? 2 : 1;
  std::string name;
  for (; at < tag.size() && std::isalnum(static_cast<unsigned char>(tag[at])) != 0; ++at)
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(tag[at])));
  return name;
}

// Behind the '>' of the tag that a text begins with, as a browser reads it: quotes count only behind an equals sign,
// and another '<' is part of the tag. npos where it has none.
size_t tag_end(std::string_view tag) {
  size_t end = tag.find('>');
  for (size_t i = 1; i < end && end != std::string_view::npos; ++i) {
    if ((tag[i] != '"' && tag[i] != '\'') || tag[tag.find_last_not_of(kSpace, i - 1)] != '=') continue;
    i = tag.find(tag[i], i + 1);
    if (i == std::string_view::npos) return i;
    if (i > end) end = tag.find('>', i);
  }
  return end == std::string_view::npos ? end : end + 1;
}

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

// Where the markup that begins at `at`, a '<', ends: npos where it begins none. To a browser, what is never closed is
// markup up to the end of the text.
size_t markup_end(const std::string& html, size_t at) {
  const auto after = [&](const char* mark) {
    const size_t found = html.find(mark, at);
    return found == std::string::npos ? html.size() : found + std::strlen(mark);
  };
  if (html.compare(at, 4, "<!--") == 0) return after("-->");
  if (at + 1 >= html.size()) return std::string::npos;
  const char next = html[at + 1];
  if (next == '!' || next == '?') return after(">");
  if (!is_letter(next) && next != '/') return std::string::npos;
  const size_t length = tag_end(std::string_view(html).substr(at));
  return length == std::string_view::npos ? html.size() : at + length;
}

// Behind the element's end tag, or the end of the text.
size_t element_end(const std::string& html, size_t from, const std::string& name) {
  for (size_t at = html.find("</", from); at != std::string::npos; at = html.find("</", at + 2)) {
    if (element_name(std::string_view(html).substr(at, name.size() + 3)) != name) continue;
    const size_t end = html.find('>', at);
    return end == std::string::npos ? html.size() : end + 1;
  }
  return html.size();
}

// Where the reference that begins at `at`, a '&', has its semicolon; npos where it is none.
size_t reference_end(const std::string& text, size_t at) {
  const size_t end = std::string_view(text).substr(at, kLongestReference + 1).find(';');
  return end == std::string_view::npos ? std::string::npos : at + end;
}

// Text without markup, with its references decoded. A '<' that would begin markup then is written as a reference.
std::string decoded(const std::string& text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text[at] == '&' ? reference_end(text, at) : std::string::npos;
    const uint32_t code = end == std::string::npos ? 0 : referenced_character(text.substr(at + 1, end - at - 1));
    if (code == 0) {
      result += text[at++];
    } else {
      append_utf8(result, code);
      at = end + 1;
    }
  }
  std::string safe;
  for (size_t at = 0; at < result.size(); ++at) {
    const char next = at + 1 < result.size() ? result[at + 1] : ' ';
    const bool begins_markup = result[at] == '<' && (is_letter(next) || next == '/' || next == '!' || next == '?');
    safe += begins_markup ? "&lt;" : result.substr(at, 1);
  }
  return safe;
}

// Hands out the text between markup, and the markup, in order.
template <class OnText, class OnMarkup>
void walk(const std::string& html, const OnText& on_text, const OnMarkup& on_markup) {
  size_t text = 0;
  for (size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at)) {
    const size_t end = markup_end(html, at);
    if (end == std::string::npos) {
      ++at;
      continue;
    }
    on_text(html.substr(text, at - text));
    on_markup(html.substr(at, end - at));
    text = at = end;
  }
  on_text(html.substr(text));
}

// Inline HTML with the references of its text decoded; those within tags stay.
std::string decoded_between_tags(const std::string& html) {
  std::string result;
  walk(
      html, [&](const std::string& text) { result += decoded(text); }, [&](const std::string& tag) { result += tag; });
  return result;
}

std::set<std::string> tags_of(const std::string& html) {
  std::set<std::string> tags;
  walk(
      html, [](const std::string&) {}, [&](const std::string& tag) { tags.insert(tag); });
  return tags;
}

// A translation with the tags of its source. A browser shows everything else as it is: no model adds markup to a page.
std::string encoded(const std::string& text, const std::string& source) {
  const std::set<std::string> tags = tags_of(source);
  size_t longest = 0;
  for (const std::string& tag : tags) longest = std::max(longest, tag.size());
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t length =
        text[at] == '<' ? tag_end(std::string_view(text).substr(at, longest)) : std::string_view::npos;
    if (length != std::string_view::npos && tags.count(text.substr(at, length)) > 0) {
      result.append(text, at, length);
      at += length;
      continue;
    }
    if (text[at] == '&') {
      const size_t semicolon = reference_end(text, at);
      const bool is_reference =
          semicolon != std::string::npos && referenced_character(text.substr(at + 1, semicolon - at - 1)) != 0;
      result += is_reference ? "&" : "&amp;";
    } else if (text[at] == '<') {
      result += "&lt;";
    } else if (text[at] == '>') {
      result += "&gt;";
    } else {
      result += text[at];
    }
    ++at;
  }
  return result;
}

// The inline tag at a place of the text. A browser's view of it may be longer; then it counts as one that stays open.
InlineTag tag_at(const std::string& text, size_t at, TextFormat format) {
  InlineTag tag = inline_tag_at(text, at);
  if (format != TextFormat::html || text[at] != '<') return tag;
  const size_t end = markup_end(text, at);
  const size_t length = end == std::string::npos ? 0 : end - at;
  if (tag.length != length) tag.kind = InlineTag::Kind::opening;
  tag.length = length;
  return tag;
}

// Text with inline tags, cut at the sentence ends that lie outside of every element.
std::vector<std::string> tagged_sentences(const std::string& text, TextFormat format) {
  std::string plain;
  std::vector<size_t> places;  // of the plain bytes in the text
  std::vector<bool> is_inside(text.size() + 1);
  size_t depth = 0;
  for (size_t at = 0; at < text.size();) {
    const InlineTag tag = tag_at(text, at, format);
    if (tag.length == 0) {
      is_inside[at] = depth > 0;
      places.push_back(at);
      plain += text[at++];
      continue;
    }
    for (size_t i = at; i < at + tag.length; ++i) is_inside[i] = i > at || depth > 0;
    if (tag.kind == InlineTag::Kind::opening) ++depth;
    if (tag.kind == InlineTag::Kind::closing && depth > 0) --depth;
    at += tag.length;
  }
  std::vector<std::string> sentences;
  size_t begin = 0, before_end = 0;  // of the last byte of the sentence before
  const auto take = [&](size_t end) {
    const std::string_view whole = std::string_view(text).substr(begin, end - begin);
    const size_t first = whole.find_first_not_of(kSpace), last = whole.find_last_not_of(kSpace);
    if (first != std::string_view::npos) sentences.emplace_back(whole.substr(first, last + 1 - first));
    begin = end;
  };
  for (const auto& [first, end] : sentence_spans(plain)) {
    if (first > 0)
      for (size_t cut = before_end + 1; cut <= places[first]; ++cut)
        if (!is_inside[cut]) {
          take(cut);
          break;
        }
    before_end = places[end - 1];
  }
  take(text.size());
  return sentences;
}

// Whether there is more than tags and space.
bool has_words(const std::string& html) {
  bool has = false;
  walk(
      html, [&](const std::string& text) { has = has || text.find_first_not_of(kSpace) != std::string::npos; },
      [](const std::string&) {});
  return has;
}

}  // namespace

Document::Document(const std::string& text) {
  add_segment(text);
}

Document::Document(const std::string& text, TextFormat format, bool split_sentences)
    : is_html_(format == TextFormat::html) {
  if (is_html_) {
    add_html(text, split_sentences);
  } else {
    add_lines(text, split_sentences, format);
  }
}

void Document::add_segment(const std::string& text) {
  segments_.push_back(text);
  between_.emplace_back();
}

void Document::add_lines(const std::string& text, bool split_sentences, TextFormat format) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    add_line(text.substr(begin, end - begin), split_sentences, format);
    if (end < text.size()) between_.back() += '\n';
    begin = end + 1;
  }
}

void Document::add_line(const std::string& line, bool split_sentences, TextFormat format) {
  const size_t first = line.find_first_not_of(kSpace);
  if (first == std::string::npos) {
    between_.back() += line;
    return;
  }
  const size_t last = line.find_last_not_of(kSpace) + 1;
  between_.back() += line.substr(0, first);
  const std::string words = line.substr(first, last - first);
  if (!split_sentences) {
    add_segment(words);
  } else {
    add_sentences(format == TextFormat::text ? transmute::split_sentences(words) : tagged_sentences(words, format));
  }
  between_.back() += line.substr(last);
}

void Document::add_sentences(const std::vector<std::string>& sentences) {
  for (size_t i = 0; i < sentences.size(); ++i) {
    if (i > 0) between_.back() += ' ';
    add_segment(sentences[i]);
  }
}

void Document::add_html(const std::string& html, bool split_sentences) {
  size_t inline_begin = 0;
  const auto keep = [&](size_t at, size_t end) {
    add_inline_html(html.substr(inline_begin, at - inline_begin), split_sentences);
    between_.back() += html.substr(at, end - at);
    inline_begin = end;
  };
  for (size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at)) {
    size_t end = markup_end(html, at);
    if (end == std::string::npos) {
      ++at;
      continue;
    }
    const std::string name = element_name(std::string_view(html).substr(at, end - at));
    const bool closes = html[at + 1] == '/';
    if (!closes && contains(kUntouchedElements, name)) end = element_end(html, end, name);
    const bool is_closed = html[end - 1] == '>';
    if (!contains(kInlineElements, name) || !is_closed) keep(at, end);
    at = end;
  }
  keep(html.size(), html.size());
}

// Text between two elements that are not inline: white space around it stays, tags within move with their words.
void Document::add_inline_html(const std::string& html, bool split_sentences) {
  if (!has_words(html)) {
    between_.back() += html;
    return;
  }
  const size_t first = html.find_first_not_of(kSpace), last = html.find_last_not_of(kSpace) + 1;
  between_.back() += html.substr(0, first);
  std::string text = decoded_between_tags(html.substr(first, last - first));
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (split_sentences) {
    add_sentences(tagged_sentences(text, TextFormat::html));
  } else {
    add_segment(text);
  }
  between_.back() += html.substr(last);
}

std::string Document::with(const std::vector<std::string>& translations) const {
  return beginning(translations, segments_.size());
}

std::string Document::beginning(const std::vector<std::string>& translations, size_t unfinished) const {
  std::string text = between_.front();
  for (size_t i = 0; i < segments_.size() && i <= unfinished; ++i)
    text += written(translations[i], i) + (i < unfinished ? between_[i + 1] : "");
  return text;
}

std::string Document::written(const std::string& translation, size_t segment) const {
  return is_html_ ? encoded(translation, segments_[segment]) : translation;
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/document.h>

#include <transmute/translation/text/sentences.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
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

// Bounds, so that every text is read in linear time.
constexpr size_t kLongestTag = 4096;
constexpr size_t kLongestReference = 10;

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

// Where the markup that begins at `at`, a '<', ends: npos where it begins none.
size_t markup_end(const std::string& html, size_t at) {
  const auto after = [&](const char* mark) {
    const size_t found = html.find(mark, at);
    return found == std::string::npos ? html.size() : found + std::strlen(mark);
  };
  if (html.compare(at, 4, "<!--") == 0) return after("-->");
  if (at + 1 >= html.size()) return std::string::npos;
  const char next = html[at + 1];
  if (next == '!' || next == '?') return after(">");
  if (std::isalpha(static_cast<unsigned char>(next)) == 0 && next != '/') return std::string::npos;
  char quote = 0;
  for (size_t i = at + 1; i < std::min(html.size(), at + kLongestTag); ++i) {
    if (quote != 0) {
      if (html[i] == quote) quote = 0;
    } else if (html[i] == '<') {
      break;
    } else if (html[i] == '"' || html[i] == '\'') {
      quote = html[i];
    } else if (html[i] == '>') {
      return i + 1;
    }
  }
  return std::string::npos;
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

void append_utf8(std::string& text, uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 63))};
  } else if (code < 0x10000) {
    text += {static_cast<char>(0xE0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 63)),
             static_cast<char>(0x80 | (code & 63))};
  } else {
    text += {static_cast<char>(0xF0 | (code >> 18)), static_cast<char>(0x80 | ((code >> 12) & 63)),
             static_cast<char>(0x80 | ((code >> 6) & 63)), static_cast<char>(0x80 | (code & 63))};
  }
}

// The character that a reference such as "#228" or "amp" names; 0 where it is not known.
uint32_t referenced_character(const std::string& name) {
  static const std::array<std::pair<const char*, uint32_t>, 26> kNames{
      {{"amp", '&'},      {"lt", '<'},        {"gt", '>'},       {"quot", '"'},     {"apos", '\''},
       {"nbsp", 0xA0},    {"copy", 0xA9},     {"reg", 0xAE},     {"deg", 0xB0},     {"ndash", 0x2013},
       {"mdash", 0x2014}, {"lsquo", 0x2018},  {"rsquo", 0x2019}, {"ldquo", 0x201C}, {"rdquo", 0x201D},
       {"bdquo", 0x201E}, {"hellip", 0x2026}, {"euro", 0x20AC},  {"auml", 0xE4},    {"ouml", 0xF6},
       {"uuml", 0xFC},    {"Auml", 0xC4},     {"Ouml", 0xD6},    {"Uuml", 0xDC},    {"szlig", 0xDF},
       {"eacute", 0xE9}}};
  if (name.size() > 1 && name[0] == '#') {
    const bool is_hex = name[1] == 'x' || name[1] == 'X';
    uint32_t code = 0;
    for (size_t i = is_hex ? 2 : 1; i < name.size(); ++i) {
      const auto c = static_cast<unsigned char>(name[i]);
      if (is_hex ? std::isxdigit(c) == 0 : std::isdigit(c) == 0) return 0;
      const int digit = std::isdigit(c) != 0 ? c - '0' : std::tolower(c) - 'a' + 10;
      code = code * (is_hex ? 16 : 10) + static_cast<uint32_t>(digit);
      if (code > 0x10FFFF) return 0;
    }
    return code >= 0xD800 && code < 0xE000 ? 0 : code;
  }
  for (const auto& [known, code] : kNames)
    if (name == known) return code;
  return 0;
}

// Where the reference that begins at `at`, a '&', has its semicolon; npos where it is none.
size_t reference_end(const std::string& text, size_t at) {
  const size_t end = std::string_view(text).substr(at, kLongestReference + 1).find(';');
  return end == std::string_view::npos ? std::string::npos : at + end;
}

// With references decoded, but for a '<' that would read as a tag afterwards.
std::string decoded(const std::string& text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text[at] == '&' ? reference_end(text, at) : std::string::npos;
    if (end == std::string::npos) {
      result += text[at++];
      continue;
    }
    const uint32_t code = referenced_character(text.substr(at + 1, end - at - 1));
    const bool reads_as_tag = code == '<' && end + 1 < text.size() &&
                              (std::isalpha(static_cast<unsigned char>(text[end + 1])) != 0 || text[end + 1] == '/');
    if (code == 0 || reads_as_tag) {
      result.append(text, at, end + 1 - at);
    } else {
      append_utf8(result, code);
    }
    at = end + 1;
  }
  return result;
}

// A translation with the tags of its source. A browser shows everything else as it is: no model adds markup to a page.
std::string encoded(const std::string& text, const std::string& source) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text[at] == '<' ? markup_end(text, at) : std::string::npos;
    if (end != std::string::npos && source.find(text.substr(at, end - at)) != std::string::npos) {
      result.append(text, at, end - at);
      at = end;
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

// Whether there is more than tags and space.
bool has_words(const std::string& html) {
  for (size_t at = 0; at < html.size();) {
    const size_t end = html[at] == '<' ? markup_end(html, at) : std::string::npos;
    if (end != std::string::npos) {
      at = end;
    } else if (std::strchr(kSpace, html[at]) == nullptr || html[at] == '\0') {
      return true;
    } else {
      ++at;
    }
  }
  return false;
}

}  // namespace

Document::Document(const std::string& text) {
  add_segment(text);
}

Document::Document(const std::string& text, TextFormat format, bool split_sentences)
    : is_html_(format == TextFormat::html) {
  if (is_html_) {
    add_html(text);
  } else {
    add_lines(text, split_sentences && format == TextFormat::text);
  }
}

void Document::add_segment(const std::string& text) {
  segments_.push_back(text);
  between_.emplace_back();
}

void Document::add_lines(const std::string& text, bool split_sentences) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    add_line(text.substr(begin, end - begin), split_sentences);
    if (end < text.size()) between_.back() += '\n';
    begin = end + 1;
  }
}

void Document::add_line(const std::string& line, bool split_sentences) {
  const size_t first = line.find_first_not_of(kSpace);
  if (first == std::string::npos) {
    between_.back() += line;
    return;
  }
  const size_t last = line.find_last_not_of(kSpace) + 1;
  between_.back() += line.substr(0, first);
  const std::string words = line.substr(first, last - first);
  const auto sentences = split_sentences ? transmute::split_sentences(words) : std::vector<std::string>{words};
  for (size_t i = 0; i < sentences.size(); ++i) {
    if (i > 0) between_.back() += ' ';
    add_segment(sentences[i]);
  }
  between_.back() += line.substr(last);
}

void Document::add_html(const std::string& html) {
  size_t inline_begin = 0;
  const auto keep = [&](size_t at, size_t end) {
    add_inline_html(html.substr(inline_begin, at - inline_begin));
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
    if (!contains(kInlineElements, name)) keep(at, end);
    at = end;
  }
  keep(html.size(), html.size());
}

// Text between two elements that are not inline: white space around it stays, tags within move with their words.
void Document::add_inline_html(const std::string& html) {
  if (!has_words(html)) {
    between_.back() += html;
    return;
  }
  const size_t first = html.find_first_not_of(kSpace), last = html.find_last_not_of(kSpace) + 1;
  between_.back() += html.substr(0, first);
  std::string text = decoded(html.substr(first, last - first));
  std::replace(text.begin(), text.end(), '\n', ' ');
  add_segment(text);
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

// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/html_markup.h>

#include <transmute/common/ascii_case.h>
#include <transmute/translation/text/inline_tags.h>
#include <transmute/translation/text/tag_end.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kNone = std::string::npos;

constexpr std::array<const char*, 34> kInlineElements{
    "a",    "abbr",  "acronym", "b",      "bdi",    "bdo",   "big", "br",   "cite",  "code", "data", "del",
    "dfn",  "em",    "font",    "i",      "img",    "input", "ins", "kbd",  "label", "mark", "q",    "s",
    "samp", "small", "span",    "strike", "strong", "sub",   "sup", "time", "u",     "wbr"};
constexpr std::array<const char*, 8> kUntouchedElements{"script", "style",    "pre", "code",
                                                        "head",   "textarea", "svg", "math"};
// What they hold is text to a browser: it has no tags.
constexpr std::array<const char*, 4> kTextElements{"script", "style", "textarea", "title"};
// An element whose end tag may be left out: it then ends before a start tag of ended_by, and before the end tag of an
// element around it. What an element of `shields` holds ends neither.
struct OptionalEnd {
  const char *names, *ended_by, *around, *shields;
};
constexpr const char* kTableParts = "caption col colgroup tbody td tfoot th thead tr";
constexpr const char* kBlocks =
    "address article aside blockquote body button caption center dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup html li main menu nav object ol search section select summary "
    "table tbody td template tfoot th thead tr ul";
constexpr const char* kScopes = "applet button marquee object select table template";
// From the HTML standard's sections 13.1.2.4 (optional tags) and 13.2.6.4 (how they are read).
constexpr std::array<OptionalEnd, 11> kOptionalEnds{
    {{"p",
      "address article aside blockquote caption center col colgroup dd details dialog dir div dl dt fieldset "
      "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p plaintext pre "
      "search section summary table tbody td tfoot th thead tr ul xmp",
      kBlocks, kScopes},
     {"li", "li", kBlocks, "applet button dir marquee menu object ol select table template ul"},
     {"dd dt", "dd dt", kBlocks, "applet button dl marquee object select table template"},
     {"td th", kTableParts, "table tbody tfoot thead tr", "table template"},
     {"tr", "caption col colgroup tbody tfoot thead tr", "table tbody tfoot thead", "table template"},
     {"tbody tfoot thead", "caption col colgroup tbody tfoot thead", "table", "table template"},
     {"caption colgroup", kTableParts, "table", "table template"},
     {"option", "hr optgroup option", "datalist optgroup select", "select template"},
     {"optgroup", "hr optgroup", "select", "select template"},
     {"rb rp rt", "rb rp rt rtc", "rtc ruby", "ruby"},
     {"rtc", "rb rtc", "ruby", "ruby"}}};
// A page's head ends before any other tag, and those that have content are passed over with it.
constexpr std::array<const char*, 8> kElementsOfHead{"base",   "link",  "meta",     "title",
                                                     "script", "style", "noscript", "template"};

// Whether a name is one of these words.
bool lists(std::string_view words, const std::string& name) {
  for (size_t at = words.find(name); at != kNone; at = words.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

template <size_t N>
bool contains(const std::array<const char*, N>& names, const std::string& name) {
  return std::any_of(names.begin(), names.end(), [&](const char* other) { return name == other; });
}

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

bool is_space(char c) {
  return kHtmlSpace.find(c) != std::string_view::npos;
}

}  // namespace

std::string element_name(std::string_view tag) {
  const size_t begin = tag.size() > 1 && tag[1] == '/' ? 2 : 1;
  if (begin >= tag.size() || !is_letter(tag[begin])) return "";
  size_t end = begin;
  while (end < tag.size() && !is_space(tag[end]) && tag[end] != '/' && tag[end] != '>') ++end;
  return lower_case(std::string(tag.substr(begin, end - begin)));
}

namespace {

size_t next_markup(const std::string& html, size_t at) {
  at = html.find('<', at);
  while (at != kNone && !begins_markup(html, at)) at = html.find('<', at + 1);
  return at;
}

// Behind one comment, declaration or tag; npos where it is never closed.
size_t single_markup_end(const std::string& html, size_t at) {
  const auto after = [&](const char* mark) {
    const size_t found = html.find(mark, at);
    return found == kNone ? kNone : found + std::strlen(mark);
  };
  if (html.compare(at, 4, "<!--") == 0) return after("-->");
  if (!begins_tag(html, at)) return after(">");
  const size_t length = tag_end(std::string_view(html).substr(at));
  return length == kNone ? kNone : at + length;
}

bool is_foreign(const std::string& name) {
  return name == "svg" || name == "math";
}

// Of SVG's and MathML's elements, "/>" closes one that has no content. Of HTML's own it does not.
bool closes_itself(std::string_view tag, const std::string& name) {
  return is_foreign(name) && tag.size() > 2 && tag[tag.size() - 2] == '/';
}

size_t element_end(const std::string& html, size_t from, const std::string& name);

// Behind a start tag, which ends at `end`, and what it holds where that has no tags of HTML; npos where that has no
// end.
size_t next_html(const std::string& html, std::string_view tag, const std::string& name, size_t end) {
  const bool is_skipped = contains(kTextElements, name) || (is_foreign(name) && !closes_itself(tag, name));
  return is_skipped ? element_end(html, end, name) : end;
}

// Behind the element's end tag; npos where it has none. Elements of the same name within it have their own.
size_t element_end(const std::string& html, size_t from, const std::string& name) {
  const bool has_tags = !contains(kTextElements, name), has_html = has_tags && !is_foreign(name);
  size_t depth = 1;
  for (size_t at = html.find('<', from); at != kNone; at = html.find('<', at)) {
    if (!begins_markup(html, at) || (!has_tags && html[at + 1] != '/')) {
      ++at;
      continue;
    }
    const bool is_named = element_name(std::string_view(html).substr(at, name.size() + 3)) == name;
    if (!has_tags && !is_named) {
      ++at;
      continue;
    }
    const size_t end = single_markup_end(html, at);
    if (end == kNone) return kNone;
    const std::string_view tag = std::string_view(html).substr(at, end - at);
    if (is_named && html[at + 1] != '/' && !closes_itself(tag, name)) ++depth;
    if (is_named && html[at + 1] == '/' && --depth == 0) return end;
    at = has_html && html[at + 1] != '/' ? next_html(html, tag, element_name(tag), end) : end;
  }
  return kNone;
}

// The elements that are open within another.
class OpenElements {
 public:
  explicit OpenElements(const char* shields) : shields_(shields) {}
  void open(const std::string& name) {
    names_.push_back(name);
    ++counts_[name];
    if (lists(shields_, name)) ++open_shields_;
  }
  // Those within it end with it. False where there is none of this name.
  bool close(const std::string& name) {
    const auto found = counts_.find(name);
    if (found == counts_.end() || found->second == 0) return false;
    for (std::string last; last != name; names_.pop_back()) {
      last = names_.back();
      --counts_[last];
      if (lists(shields_, last)) --open_shields_;
    }
    return true;
  }
  bool has_shield() const { return open_shields_ > 0; }

 private:
  const char* shields_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, size_t> counts_;
  size_t open_shields_ = 0;
};

// Where an element ends whose end tag may be left out; npos where something in it is never closed.
size_t optional_end(const std::string& html, size_t from, const std::string& name, const OptionalEnd& rules) {
  OpenElements within(rules.shields);
  for (size_t at = next_markup(html, from); at != kNone; at = next_markup(html, at)) {
    const size_t end = single_markup_end(html, at);
    if (end == kNone) return kNone;
    const std::string_view tag = std::string_view(html).substr(at, end - at);
    const std::string tag_name = element_name(tag);
    if (tag[1] == '/') {
      if (!within.close(tag_name) && !within.has_shield()) {
        if (tag_name == name) return end;
        if (lists(rules.around, tag_name)) return at;
      }
      at = end;
      continue;
    }
    if (!within.has_shield() && lists(rules.ended_by, tag_name)) return at;
    at = next_html(html, tag, tag_name, end);
    if (at == end && !tag_name.empty() && !is_void_element(tag_name) && !is_foreign(tag_name)) within.open(tag_name);
  }
  return html.size();
}

// Behind </head>, which may be left out: else behind the last markup that a head may have. npos where that is never
// closed.
size_t head_end(const std::string& html, size_t from) {
  size_t last = from;
  for (size_t at = next_markup(html, from); at != kNone; at = next_markup(html, at)) {
    const size_t end = single_markup_end(html, at);
    if (end == kNone) return kNone;
    const bool is_end = html[at + 1] == '/';
    const std::string name = element_name(std::string_view(html).substr(at, end - at));
    if (is_end && name == "head") return end;
    if (!name.empty() && !contains(kElementsOfHead, name)) return last;
    const bool has_content = !name.empty() && !is_end && !is_void_element(name);
    at = last = has_content ? element_end(html, end, name) : end;
    if (last == kNone) return kNone;
  }
  return last;
}

// Behind an element that is kept with all that it holds; npos where it is never closed.
size_t kept_end(const std::string& html, size_t from, const std::string& name) {
  if (name == "head") return head_end(html, from);
  const auto rules = std::find_if(kOptionalEnds.begin(), kOptionalEnds.end(),
                                  [&](const OptionalEnd& element) { return lists(element.names, name); });
  return rules == kOptionalEnds.end() ? element_end(html, from, name) : optional_end(html, from, name, *rules);
}

struct Attribute {
  std::string name, value;  // in lower case
};

// The next attribute of a start tag from `at` on, which moves behind it.
std::optional<Attribute> next_attribute(std::string_view tag, size_t& at) {
  const std::string space(kHtmlSpace);
  const auto take_until = [&](const std::string& ends, size_t begin) {
    at = std::min(tag.find_first_of(ends, begin), tag.size());
    return lower_case(std::string(tag.substr(begin, at - begin)));
  };
  at = tag.find_first_not_of(space + '/', at);
  if (at == kNone || tag[at] == '>') return std::nullopt;
  const size_t begin = at;
  take_until(space + "/>=", begin + 1);  // an equals sign may be its first character
  Attribute attribute{lower_case(std::string(tag.substr(begin, at - begin))), ""};
  const size_t equals = tag.find_first_not_of(space, at);
  if (equals == kNone || tag[equals] != '=') return attribute;
  const size_t value = tag.find_first_not_of(space, equals + 1);
  if (value == kNone) return attribute;
  if (tag[value] == '"' || tag[value] == '\'') {
    attribute.value = take_until({tag[value]}, value + 1);
    ++at;
  } else {
    attribute.value = take_until(space + '>', value);
  }
  return attribute;
}

bool has_word(std::string text, const std::string& word) {
  std::replace_if(text.begin(), text.end(), is_space, ' ');
  return (' ' + text + ' ').find(' ' + word + ' ') != kNone;
}

// Whether a start tag's attributes say that its element is not to be translated. The first attribute of a name counts.
bool refuses_translation(std::string_view tag) {
  size_t at = tag.find_first_of(std::string(kHtmlSpace) + "/>");
  std::set<std::string> seen;
  while (at < tag.size()) {
    const std::optional<Attribute> attribute = next_attribute(tag, at);
    if (!attribute) return false;
    if (!seen.insert(attribute->name).second) continue;
    if (attribute->name == "translate" && attribute->value == "no") return true;
    if (attribute->name == "class" && has_word(attribute->value, "notranslate")) return true;
  }
  return false;
}

}  // namespace

bool begins_markup(std::string_view text, size_t at) {
  if (at + 1 >= text.size() || text[at] != '<') return false;
  const char next = text[at + 1];
  return is_letter(next) || next == '/' || next == '!' || next == '?';
}

Markup markup_at(const std::string& html, size_t at) {
  size_t end = single_markup_end(html, at);
  if (end == kNone) return {MarkupKind::border, html.size()};
  const std::string_view tag = std::string_view(html).substr(at, end - at);
  const std::string name = element_name(tag);
  const bool is_kept = tag[1] != '/' && (contains(kUntouchedElements, name) ||
                                         (!is_void_element(name) && is_letter(tag[1]) && refuses_translation(tag)));
  if (is_kept && !closes_itself(tag, name)) end = kept_end(html, end, name);
  if (end == kNone) return {MarkupKind::border, html.size()};
  if (!contains(kInlineElements, name)) return {MarkupKind::border, end};
  return {is_kept ? MarkupKind::kept : MarkupKind::inline_tag, end};
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/html_tokens.h>

#include <transmute/common/ascii_case.h>
#include <transmute/text/inline_tags.h>
#include <transmute/text/tag_end.h>

#include <algorithm>
#include <cctype>
#include <unordered_map>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kNowhere = std::string::npos;

// Their content is text to a browser (sections 13.2.5.2 to 13.2.5.5), which ends at their end tag.
constexpr const char* kTextElements = "script style textarea title xmp iframe noembed noframes";
// A start tag that ends svg and math, from section 13.2.6.5; font does with some attributes.
constexpr const char* kBreakouts =
    "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta "
    "nobr ol p pre ruby s small span strong strike sub sup table tt u ul var";
// The elements of svg and math that hold HTML, and the elements within them that can be followed without a tree.
constexpr const char* kHtmlInSvg = "desc foreignobject title";
constexpr const char* kHtmlInMath = "mi mn mo ms mtext";
constexpr const char* kTidyElements =
    "abbr b bdi bdo br cite code data del dfn div em i img ins kbd label mark p q s samp small span strong sub sup "
    "time "
    "u wbr";
// In svg and math, what may change how the text after it is read.
constexpr const char* kChanging = "annotation-xml col frameset plaintext select template";

bool is_foreign(const std::string& name) {
  return name == "svg" || name == "math";
}

bool has_markup(std::string_view text) {
  for (size_t at = text.find('<'); at != kNowhere; at = text.find('<', at + 1))
    if (begins_markup(text, at)) return true;
  return false;
}

// True if the tag with this name, or its beginning, is at `at`: "</script" is, "</scripts" is not.
bool is_named(std::string_view html, size_t at, std::string_view beginning, const std::string& name) {
  if (html.compare(at, beginning.size(), beginning) != 0) return false;
  const std::string_view rest = html.substr(at + beginning.size(), name.size() + 1);
  return rest.size() > name.size() && lower_case(std::string(rest.substr(0, name.size()))) == name &&
         (rest.back() == '/' || rest.back() == '>' || kHtmlSpace.find(rest.back()) != kNowhere);
}

// Returns the end tag of an element that holds text; npos if it has none.
size_t text_element_end(std::string_view html, size_t from, const std::string& name) {
  size_t at = html.find("</", from);
  while (at != kNowhere && !is_named(html, at, "</", name)) at = html.find("</", at + 2);
  return at;
}

// Returns the end tag of a script. Within "<!--" there may be tags of another script (13.2.5.15 to 13.2.5.31).
size_t script_end(std::string_view html, size_t from) {
  size_t comment = 0;         // after the "<!" of the comment
  bool is_in_script = false;  // within the comment
  for (size_t at = html.find_first_of("<-", from); at != kNowhere; at = html.find_first_of("<-", at + 1)) {
    if (html[at] == '-') {
      if (comment != 0 && at >= comment && html.compare(at, 3, "-->") == 0) {
        comment = 0;
        is_in_script = false;
      }
    } else if (is_named(html, at, "</", "script")) {
      if (!is_in_script) return at;
      is_in_script = false;
    } else if (comment == 0 && html.compare(at, 4, "<!--") == 0) {
      comment = at + 2;
    } else if (comment != 0 && is_named(html, at, "<", "script")) {
      is_in_script = true;
    }
  }
  return kNowhere;
}

// Returns the place after the comment at `at` (13.2.5.43 to 13.2.5.52); npos if it has no end.
size_t comment_end(std::string_view html, size_t at) {
  const size_t text = at + 4;
  if (html.compare(text, 1, ">") == 0) return text + 1;
  if (html.compare(text, 2, "->") == 0) return text + 2;
  for (size_t dashes = html.find("--", text); dashes != kNowhere; dashes = html.find("--", dashes + 1)) {
    if (html.compare(dashes + 2, 1, ">") == 0) return dashes + 3;
    if (html.compare(dashes + 2, 2, "!>") == 0) return dashes + 4;
  }
  return kNowhere;
}

bool is_cdata(std::string_view html, size_t at) {
  return html.compare(at, 9, "<![CDATA[") == 0;
}

// Returns the place after the tag at `at`; npos if it has no end. A '>' within a command of a template does not end it.
size_t end_of_tag(std::string_view html, size_t at) {
  TagState state = TagState::name;
  at += html[at + 1] == '/' ? 2 : 1;
  while (at < html.size() && state != TagState::end) {
    const bool is_quoted = state == TagState::double_quoted || state == TagState::single_quoted;
    const bool may_be_command = html[at] == '<' || (!is_quoted && html.compare(at, 2, "{%") == 0);
    const std::string_view near = html.substr(0, at + kMostCommandBytes);
    const size_t end = may_be_command ? command_end(near, at) : at;
    const size_t next = end < near.size() ? end : at;  // within a tag, a command must have an end
    if (next == at) state = next_tag_state(state, html[at]);
    at = std::max(next, at + 1);
  }
  return state == TagState::end ? at : kNowhere;
}

// The token as it is written, without what its element holds. A CDATA section is a comment to HTML.
HtmlToken written_token(std::string_view html, size_t at) {
  HtmlToken token;
  token.begin = at;
  if (html.compare(at, 4, "<!--") == 0) {
    token.end = comment_end(html, at);
  } else if (begins_tag(html, at)) {
    token.end = end_of_tag(html, at);
  } else if (const size_t end = command_end(html, at); end > at) {
    token.end = end;
  } else {
    const size_t last = html.find('>', at);
    token.end = last == kNowhere ? last : last + 1;
  }
  if (token.end == kNowhere) {
    token.end = html.size();
    token.is_rest = true;
    return token;
  }
  token.is_end_tag = html[at + 1] == '/';
  token.name = element_name(html.substr(at, token.end - at));
  return token;
}

size_t next_markup(std::string_view html, size_t at) {
  at = html.find('<', at);
  while (at != kNowhere && !begins_markup(html, at)) at = html.find('<', std::max(command_end(html, at), at + 1));
  return at;
}

// "/>" closes elements of svg and math.
bool closes_itself(std::string_view html, const HtmlToken& token) {
  TagState state = TagState::name;
  for (size_t at = token.begin + 1; at + 1 < token.end; ++at) state = next_tag_state(state, html[at]);
  return state == TagState::self_closing;
}

// Reads svg or math from its start tag to where a browser is certain to be in HTML again.
class ForeignElement {
 public:
  ForeignElement(std::string_view html, const HtmlToken& start) : html_(html) {
    open(start.name, Kind::foreign, start.name == "svg");
  }

  // Returns the place after the element; npos if that depends on more than is followed here.
  size_t end(size_t from) {
    for (size_t at = next_markup(html_, from); at != kNowhere; at = next_markup(html_, at)) {
      const HtmlToken token = written_token(html_, at);
      if (token.is_rest) return kNowhere;
      at = token.end;
      if (token.name.empty()) {
        if (is_cdata(html_, token.begin) && html_.find("]]>", token.begin + 9) != token.end - 3) return kNowhere;
        continue;
      }
      const bool goes_on = token.is_end_tag ? take_end_tag(token) : take_start_tag(token, at);
      if (!goes_on) return kNowhere;
      if (open_.empty()) return breaks_out_ ? token.begin : token.end;
    }
    return kNowhere;
  }

 private:
  enum class Kind { foreign, foreign_with_html, html };
  struct Element {
    std::string name;
    Kind kind;
    bool is_svg;
  };

  void open(const std::string& name, Kind kind, bool is_svg) {
    open_.push_back({name, kind, is_svg});
    ++counts_[name];
    if (kind == Kind::html) ++html_count_;
  }

  void close_last() {
    --counts_[open_.back().name];
    if (open_.back().kind == Kind::html) --html_count_;
    open_.pop_back();
  }

  void break_out() {
    while (!open_.empty() && open_.back().kind == Kind::foreign) close_last();
    breaks_out_ = open_.empty();
  }

  bool is_breakout(const HtmlToken& token) const {
    if (lists(kBreakouts, token.name)) return true;
    if (token.name != "font") return false;
    const std::vector<HtmlAttribute> attributes = attributes_of(html_.substr(token.begin, token.end - token.begin));
    return std::any_of(attributes.begin(), attributes.end(),
                       [](const HtmlAttribute& attribute) { return lists("color face size", attribute.name); });
  }

  bool is_tidy(const std::string& name) {
    const bool ends_paragraph = (name == "p" || name == "div") && counts_["p"] > 0;
    return lists(kTidyElements, name) && !ends_paragraph;
  }

  // False if the reading is not certain. What holds text, in HTML or here, must hold the same text in both.
  bool take_start_tag(const HtmlToken& token, size_t& at) {
    if (lists(kChanging, token.name)) return false;
    if (lists(kTextElements, token.name) || token.name == "noscript") {
      at = text_element_end(html_, token.end, token.name);
      if (at == kNowhere || !is_plain(html_.substr(token.end, at - token.end))) return false;
    }
    if (open_.back().kind == Kind::foreign && is_breakout(token)) break_out();
    if (open_.empty()) return true;
    if (open_.back().kind == Kind::foreign) {
      if (closes_itself(html_, token)) return at == token.end;
      const bool is_svg = open_.back().is_svg, has_html = lists(is_svg ? kHtmlInSvg : kHtmlInMath, token.name);
      open(token.name, has_html ? Kind::foreign_with_html : Kind::foreign, is_svg);
      return true;
    }
    if (is_foreign(token.name)) {
      if (!closes_itself(html_, token)) open(token.name, Kind::foreign, token.name == "svg");
      return true;
    }
    if (!is_tidy(token.name)) return false;
    if (!is_void_element(token.name)) open(token.name, Kind::html, false);
    return true;
  }

  bool take_end_tag(const HtmlToken& token) {
    if (open_.back().kind == Kind::html) {
      if (token.name != open_.back().name) return false;
      close_last();
      return true;
    }
    if (token.name == "p" || token.name == "br") {
      break_out();
      return open_.empty();
    }
    // An end tag without a start tag is ignored, or ends svg with an element around it. Both read what follows alike.
    if (counts_[token.name] == 0) return html_count_ == 0;
    while (open_.back().kind != Kind::html && open_.back().name != token.name) close_last();
    if (open_.back().kind == Kind::html) return false;
    close_last();
    return true;
  }

  // True if text is free of markup, but for sections of CDATA within it.
  static bool is_plain(std::string_view text) {
    const size_t last_end = text.rfind("]]>");
    for (size_t at = next_markup(text, 0); at != kNowhere; at = next_markup(text, at + 1))
      if (!is_cdata(text, at) || last_end == kNowhere || last_end < at + 9) return false;
    return true;
  }

  std::string_view html_;
  std::vector<Element> open_;
  std::unordered_map<std::string, size_t> counts_;  // number of open elements, by name
  size_t html_count_ = 0;                           // open elements of HTML
  bool breaks_out_ = false;
};

// Reads the tokens one after the other, with what the elements before mean for the next.
class TokenReader {
 public:
  explicit TokenReader(std::string_view html) : html_(html) {}

  HtmlToken token_at(size_t at) {
    HtmlToken token = written_token(html_, at);
    if (token.is_end_tag) take_end_tag(token);
    if (!token.is_end_tag && !token.name.empty() && !take_start_tag(token)) return rest(at);
    // With scripts, noscript holds text, and without them HTML. Both must end it at the same tag.
    if (token.begin < noscript_end_ && token.end > noscript_end_ && noscript_end_ != kNowhere) return rest(at);
    if (token.begin == noscript_end_) noscript_end_ = kNowhere;
    return token;
  }

 private:
  HtmlToken rest(size_t at) const {
    HtmlToken token;
    token.begin = at;
    token.end = html_.size();
    token.is_rest = true;
    return token;
  }

  // False if the reading is not certain, and if all that follows is text.
  bool take_start_tag(HtmlToken& token) {
    token.in_select = in_select_;
    const std::string& name = token.name;
    if (name == "plaintext" || name == "frameset") return false;
    if (name == "select") in_select_ = true;
    if (name == "template") {
      if (in_select_) return false;
      ++templates_;
    }
    if (name == "col" && templates_ > 0) has_columns_alone_ = true;
    if (name == "noscript") {
      if (noscript_end_ != kNowhere) return false;
      was_in_select_ = in_select_;
      noscript_end_ = text_element_end(html_, token.end, name);
      return noscript_end_ != kNowhere;
    }
    if (lists(kTextElements, name)) return take_text_element(token);
    if (is_foreign(name) && !closes_itself(html_, token)) {
      token.is_element = true;
      token.end = ForeignElement(html_, token).end(token.end);
      return token.end != kNowhere;
    }
    return true;
  }

  bool take_text_element(HtmlToken& token) const {
    const std::string& name = token.name;
    const size_t end = name == "script" ? script_end(html_, token.end) : text_element_end(html_, token.end, name);
    if (end == kNowhere) return false;
    const bool has_tags = has_markup(html_.substr(token.end, end - token.end));
    const bool may_be_dropped = has_columns_alone_ || (in_select_ && name != "script" && name != "textarea");
    if (has_tags && may_be_dropped) return false;
    if (name == "title" && !has_tags) return true;  // its text is to be translated
    const HtmlToken end_tag = written_token(html_, end);
    token.is_element = true;
    token.end = end_tag.end;
    return !end_tag.is_rest;
  }

  // With scripts, the end tags in noscript are text and end nothing that was open before it.
  void take_end_tag(HtmlToken& token) {
    const bool is_in_noscript = noscript_end_ != kNowhere;
    token.in_select = in_select_;
    if (token.name == "select") in_select_ = is_in_noscript && was_in_select_;
    if (token.name == "template" && !is_in_noscript && templates_ > 0 && --templates_ == 0) has_columns_alone_ = false;
  }

  std::string_view html_;
  bool in_select_ = false, was_in_select_ = false;  // now, and before noscript
  size_t templates_ = 0;                            // number of open templates
  bool has_columns_alone_ = false;                  // in a template, where a column takes no other elements beside it
  size_t noscript_end_ = kNowhere;                  // end tag of the open noscript
};

}  // namespace

bool lists(std::string_view words, const std::string& name) {
  if (name.find(' ') != std::string::npos) return false;
  for (size_t at = words.find(name); at != kNowhere; at = words.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

bool begins_markup(std::string_view text, size_t at) {
  if (at + 1 >= text.size() || text[at] != '<') return false;
  const char next = text[at + 1];
  return next == '/' || next == '!' || next == '?' || begins_tag(text, at);
}

std::string element_name(std::string_view tag) {
  if (!begins_tag(tag, 0)) return "";
  const size_t begin = tag[1] == '/' ? 2 : 1;
  const size_t end = std::min(tag.find_first_of(" \t\n\f\r/>", begin), tag.size());
  return lower_case(std::string(tag.substr(begin, end - begin)));
}

std::vector<HtmlAttribute> attributes_of(std::string_view tag) {
  std::vector<HtmlAttribute> attributes;
  TagState state = TagState::name;
  for (size_t at = 1; at < tag.size() && state != TagState::end; ++at) {
    const TagState before = std::exchange(state, next_tag_state(state, tag[at]));
    if (state == TagState::attribute_name) {
      if (before != state) attributes.emplace_back();
      attributes.back().name += static_cast<char>(std::tolower(static_cast<unsigned char>(tag[at])));
      continue;
    }
    const bool is_quoted = state == TagState::double_quoted || state == TagState::single_quoted;
    if (!is_quoted && state != TagState::unquoted) continue;
    HtmlAttribute& attribute = attributes.back();
    if (before != state) {
      attribute.quote = is_quoted ? tag[at] : '\0';
      attribute.begin = is_quoted ? at + 1 : at;
    }
    if (before == state || !is_quoted) attribute.value += tag[at];
  }
  return attributes;
}

std::vector<HtmlToken> html_tokens(const std::string& html) {
  std::vector<HtmlToken> tokens;
  TokenReader reader(html);
  for (size_t at = next_markup(html, 0); at != kNowhere; at = next_markup(html, tokens.back().end))
    tokens.push_back(reader.token_at(at));
  return tokens;
}

}  // namespace v0
}  // namespace transmute

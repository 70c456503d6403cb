// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/html_markup.h>

#include <transmute/common/ascii_case.h>
#include <transmute/documents/html_references.h>
#include <transmute/documents/message.h>
#include <transmute/text/inline_tags.h>
#include <transmute/text/tag_end.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr const char* kInlineElements =
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img input ins kbd label mark nobr q rb rp rt rtc "
    "ruby s samp small span strike strong sub sup time tt u var wbr";
constexpr const char* kUntouchedElements = "pre code head rp rt rtc";  // besides those that are one token
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
constexpr const char* kElementsOfHead = "base link meta title script style noscript template";

// Classes that Doxygen, Qt, Javadoc, rustdoc, Sphinx and Texinfo give to declarations of code.
constexpr std::array<const char*, 11> kCodeClasses{
    "code-header",       "def-name",       "memitemleft",      "memitemright", "memproto",      "memtemplitemleft",
    "memtemplitemright", "memtemplparams", "member-signature", "sig-object",   "type-signature"};

// The elements that are open within another.
class OpenElements {
 public:
  explicit OpenElements(const char* shields) : shields_(shields) {}
  void open(const std::string& name) {
    names_.push_back(name);
    ++counts_[name];
    if (lists(shields_, name)) ++open_shields_;
  }
  // Closes the elements within it, too. Returns false if no element of this name is open.
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

using Tokens = std::vector<HtmlToken>;

// The end of a piece: the first token and the first byte after it.
struct PieceEnd {
  size_t token, byte;
};
using MaybeEnd = std::optional<PieceEnd>;  // no value: an element in the piece is never closed

bool holds_tags(const HtmlToken& token) {
  return !token.name.empty() && !token.is_end_tag && !token.is_element && !is_void_element(token.name) &&
         token.name != "svg" && token.name != "math";  // "<svg/>"
}

// Returns the place after the element's end tag. Elements of the same name within it have their own.
MaybeEnd element_end(const Tokens& tokens, size_t from, const std::string& name) {
  size_t depth = 1;
  for (size_t i = from; i < tokens.size() && !tokens[i].is_rest; ++i) {
    if (tokens[i].name != name) continue;
    if (holds_tags(tokens[i])) ++depth;
    if (tokens[i].is_end_tag && --depth == 0) return PieceEnd{i + 1, tokens[i].end};
  }
  return std::nullopt;
}

// Returns the end of an element whose end tag may be left out.
MaybeEnd optional_end(const Tokens& tokens, size_t from, const std::string& name, const OptionalEnd& rules,
                      size_t text_size) {
  OpenElements within(rules.shields);
  for (size_t i = from; i < tokens.size(); ++i) {
    const HtmlToken& token = tokens[i];
    if (token.is_rest) return std::nullopt;
    if (token.is_end_tag) {
      if (within.close(token.name) || within.has_shield()) continue;
      if (token.name == name) return PieceEnd{i + 1, token.end};
      if (lists(rules.around, token.name)) return PieceEnd{i, token.begin};
      continue;
    }
    if (!within.has_shield() && lists(rules.ended_by, token.name)) return PieceEnd{i, token.begin};
    if (holds_tags(token)) within.open(token.name);
  }
  return PieceEnd{tokens.size(), text_size};
}

// Returns the place after </head>. If that is left out, returns the place after the last markup that a head may have.
MaybeEnd head_end(const Tokens& tokens, size_t from) {
  PieceEnd last{from, tokens[from - 1].end};
  while (last.token < tokens.size()) {
    const HtmlToken& token = tokens[last.token];
    if (token.is_rest) return std::nullopt;
    const PieceEnd after{last.token + 1, token.end};
    if (token.is_end_tag && token.name == "head") return after;
    if (!token.name.empty() && !lists(kElementsOfHead, token.name)) break;
    const MaybeEnd next = holds_tags(token) ? element_end(tokens, after.token, token.name) : after;
    if (!next) return next;
    last = *next;
  }
  return last;
}

// Returns the place after an element that is kept with its content. The element begins with the token before `from`.
MaybeEnd kept_end(const Tokens& tokens, size_t from, size_t text_size) {
  const std::string& name = tokens[from - 1].name;
  if (name == "head") return head_end(tokens, from);
  const auto rules = std::find_if(kOptionalEnds.begin(), kOptionalEnds.end(),
                                  [&](const OptionalEnd& element) { return lists(element.names, name); });
  return rules == kOptionalEnds.end() ? element_end(tokens, from, name)
                                      : optional_end(tokens, from, name, *rules, text_size);
}

bool has_word(std::string text, const std::string& word) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return kHtmlSpace.find(c) != std::string_view::npos; }, ' ');
  return (' ' + text + ' ').find(' ' + word + ' ') != std::string::npos;
}

// The value of an attribute; empty without one. The first of a name counts.
std::string value_of(const std::vector<HtmlAttribute>& attributes, std::string_view name) {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const HtmlAttribute& attribute) { return attribute.name == name; });
  return found == attributes.end() ? "" : found->value;
}

// True for a link to the account or topic that it names, as Mastodon and Discourse write these, or to the page in the
// language that it names in this language.
bool is_name_of_link(const std::vector<HtmlAttribute>& attributes, const std::string& classes) {
  const std::string language = lower_case(value_of(attributes, "lang"));
  return has_word(classes, "mention") ||
         (!language.empty() && language == lower_case(value_of(attributes, "hreflang")));
}

// True if a start tag's attributes say that its element is not to be translated, or is code or the name of a link.
bool refuses_translation(const std::string& element, const std::vector<HtmlAttribute>& attributes) {
  const std::string classes = lower_case(value_of(attributes, "class"));
  return lower_case(value_of(attributes, "translate")) == "no" || has_word(classes, "notranslate") ||
         (element == "a" && is_name_of_link(attributes, classes)) ||
         std::any_of(kCodeClasses.begin(), kCodeClasses.end(),
                     [&](const char* code) { return has_word(classes, code); });
}

// True if people read or hear the value of an attribute. A button's value with a name goes to the server, and the title
// of a style sheet is a name.
bool is_for_people(const std::string& element, const std::string& attribute,
                   const std::vector<HtmlAttribute>& attributes) {
  if (attribute == "title") return element != "link" && element != "style";
  if (attribute == "alt") return lists("area img input", element);
  if (attribute == "placeholder") return lists("input textarea", element);
  if (attribute == "label") return lists("optgroup option track", element);
  if (attribute == "summary") return element == "table";
  if (attribute == "abbr") return element == "th";
  if (attribute == "value") {
    const std::string type = lower_case(value_of(attributes, "type"));
    return element == "input" && lists("button reset submit", type) && value_of(attributes, "name").empty();
  }
  if (attribute == "content") {
    const auto describes_page = [&](const char* key) {
      return lists(
          "description og:description og:image:alt og:title twitter:description twitter:image:alt twitter:title",
          lower_case(value_of(attributes, key)));
    };
    return element == "meta" && (describes_page("name") || describes_page("property"));
  }
  return lists("aria-description aria-label aria-placeholder aria-roledescription aria-valuetext", attribute);
}

// True for a value that is code: commands of templates, markup, a value in braces as a whole, such as JSON, or a name.
bool is_code_value(std::string_view written) {
  const std::string value = with_references_decoded(written);
  for (const char* mark : {"{%", "{#", "{/", "[%", "[[", "<%", "<?", "<!", "<&", "</", "/>", "<br>"})
    if (value.find(mark) != std::string::npos) return true;
  // A translated value has references in the place of the signs of HTML, and its commands would have them, too.
  for (size_t open = written.find('{'), close = 0; open < written.size(); open = written.find('{', close)) {
    close = written.find('}', open);
    const std::string_view command = written.substr(open, close - open);
    const bool is_cut = close == std::string_view::npos && command.substr(0, 2) == "{{";  // by its own quotation mark
    if (is_cut || command.find_first_of("<>&") != std::string_view::npos) return true;
  }
  return (value.compare(0, 1, "{") == 0 && closing_brace(value, 0) == value.size()) || is_no_language(value);
}

// Adds the lines of a value at `begin`. In tooltips, references to line breaks separate them.
void add_lines(const HtmlAttribute& attribute, size_t begin, std::vector<HtmlValue>& values) {
  const std::string_view text = attribute.value;
  size_t line = 0;
  for (size_t at = find_line_end(text, 0); attribute.quote != 0 && at < text.size(); at = find_line_end(text, line)) {
    values.push_back({begin + line, begin + at, attribute.quote});
    line = at + reference_at(text, at).length;
  }
  values.push_back({begin + line, begin + text.size(), attribute.quote});
}

// Adds the values of a start tag that are to be translated.
std::vector<HtmlValue> values_for_people(const HtmlToken& token, const std::vector<HtmlAttribute>& attributes) {
  std::vector<HtmlValue> values;
  std::set<std::string> seen;
  for (const HtmlAttribute& attribute : attributes) {
    if (!seen.insert(attribute.name).second || !is_for_people(token.name, attribute.name, attributes)) continue;
    if (!is_code_value(attribute.value)) add_lines(attribute, token.begin + attribute.begin, values);
  }
  return values;
}

// True if a token may move with the words around it.
bool is_movable(const HtmlToken& token) {
  return !token.in_select && lists(kInlineElements, token.name);
}

// True for the tag by which Office files name a field or another word that stays. No element of HTML ends so.
bool is_word_tag(std::string_view tag) {
  return tag.substr(0, kWordTag.size()) == kWordTag && tag[tag.size() - 2] == '/';
}

// True if an element with these tokens may. The element is inline, and so must be all that it holds.
bool is_movable(const Tokens& tokens, size_t first, size_t last) {
  return is_movable(tokens[first]) && std::all_of(tokens.begin() + static_cast<int64_t>(first),
                                                  tokens.begin() + static_cast<int64_t>(last), [](const auto& token) {
                                                    return token.name.empty() || token.is_element ||
                                                           token.name == "br" || is_movable(token);
                                                  });
}

// True for the command of a template that writes a value or is a remark: {# a remark #} and {{ value }} of Jinja,
// Django and Liquid, <%= value %> of ERB, EJS and JSP, <?= $value ?> and <?php echo $value; ?> of PHP. Others, such as
// {% if %}, keep their order, and thus are borders.
bool is_word_of_template(std::string_view command) {
  if (command.front() == '{') return command[1] != '%';
  if (command[1] == '%') return command[2] == '=' || command[2] == '#';
  const size_t code = command.find_first_of(" \t\r\n=");
  const std::string_view statement =
      command.substr(std::min(command.find_first_not_of(" \t\r\n", code), command.size()));
  return statement.substr(0, 1) == "=" || statement.substr(0, 5) == "echo " || statement.substr(0, 6) == "print ";
}

// After the formula of TeX at `at`, which MathJax and KaTeX show: \(a\), \[a\], \begin{align}a\end{align}. `at` itself
// where there is none.
size_t formula_end(std::string_view text, size_t at) {
  constexpr size_t kMostBytes = 4096;  // limit, so that many without an end take linear time
  constexpr std::string_view kBegin = "\\begin", kEnd = "\\end";
  if (text[at] != '\\') return at;
  text = text.substr(0, at + kMostBytes);
  std::string opening(text.substr(at, 2)), closing;
  if (opening == "\\(") closing = "\\)";
  if (opening == "\\[") closing = "\\]";
  if (text.compare(at, kBegin.size() + 1, "\\begin{") == 0) {
    const size_t name = at + kBegin.size(), name_end = std::min(text.find('}', name), text.size() - 1) + 1;
    opening = std::string(kBegin).append(text.substr(name, name_end - name));
    closing = std::string(kEnd).append(text.substr(name, name_end - name));
  }
  if (closing.empty()) return at;
  text = text.substr(0, text.find(opening, at + 2));  // none is within another
  const size_t end = text.find(closing, at + 2);
  return end == std::string_view::npos ? at : end + closing.size();
}

// The command of a template or the formula at `at`, where there is one. {{ values }} without signs of HTML are
// placeholders for the model.
HtmlPiece template_command(std::string_view text, size_t at) {
  if (const size_t end = formula_end(text, at); end > at) return {HtmlKind::kept, at, end};
  const size_t end = command_end(text, at);
  const std::string_view command = text.substr(at, end - at);
  if (command.empty() || (command.substr(0, 2) == "{{" && command.find_first_of("<>&") == std::string_view::npos))
    return {HtmlKind::text, at, at};
  return {is_word_of_template(command) ? HtmlKind::kept : HtmlKind::border, at, end};
}

// Adds text, and the commands of templates and the formulas within it.
void add_text(const std::string& html, size_t begin, size_t end, std::vector<HtmlPiece>& pieces) {
  const std::string_view text = std::string_view(html).substr(0, end);
  for (size_t at = text.find_first_of("{<\\", begin); at < end; at = text.find_first_of("{<\\", at)) {
    const HtmlPiece command = template_command(text, at);
    if (command.kind == HtmlKind::text) {
      ++at;
      continue;
    }
    if (begin < at) pieces.push_back({HtmlKind::text, begin, at});
    pieces.push_back(command);
    begin = at = command.end;
  }
  if (begin < end) pieces.push_back({HtmlKind::text, begin, end});
}

std::string_view bytes_of(std::string_view html, const HtmlToken& token) {
  return html.substr(token.begin, token.end - token.begin);
}

bool is_start_tag(const HtmlToken& token) {
  return !token.name.empty() && !token.is_end_tag;
}

// True for a listing of Doxygen: <div class="fragment"><div class="line">. Slides of reveal.js have fragments of text.
bool is_listing(const std::string& html, const Tokens& tokens, size_t token) {
  const auto is_div = [&](size_t i, const char* name) {
    return is_start_tag(tokens[i]) && tokens[i].name == "div" &&
           has_word(value_of(attributes_of(bytes_of(html, tokens[i])), "class"), name);
  };
  const bool is_followed = token + 1 < tokens.size() && tokens[token].end == tokens[token + 1].begin;
  return is_followed && is_div(token, "fragment") && is_div(token + 1, "line");
}

// Adds a page's head, of which its first title and the descriptions of the page are to be translated.
void add_head(const std::string& html, const Tokens& tokens, size_t head, const PieceEnd& end,
              std::vector<HtmlPiece>& pieces) {
  HtmlPiece piece{HtmlKind::border, tokens[head].begin, end.byte};
  bool has_title = false;
  for (size_t i = head + 1; i < end.token; ++i) {
    const HtmlToken& token = tokens[i];
    if (is_start_tag(token) && lists("noscript template", token.name)) {
      const MaybeEnd next = element_end(tokens, i + 1, token.name);
      if (!next) break;
      i = next->token - 1;
      continue;
    }
    const bool is_title = token.name == "title" && !token.is_element && !has_title;
    if (!is_start_tag(token) || (!is_title && token.name != "meta")) continue;
    has_title = has_title || is_title;
    const std::vector<HtmlAttribute> attributes = attributes_of(bytes_of(html, token));
    if (refuses_translation(token.name, attributes)) continue;
    const std::vector<HtmlValue> values = values_for_people(token, attributes);
    piece.values.insert(piece.values.end(), values.begin(), values.end());
    if (!is_title || i + 1 >= end.token || !tokens[i + 1].is_end_tag || tokens[i + 1].name != "title") continue;
    piece.end = token.end;
    pieces.push_back(std::exchange(piece, {HtmlKind::border, tokens[i + 1].begin, end.byte}));
    add_text(html, token.end, tokens[i + 1].begin, pieces);
  }
  pieces.push_back(std::move(piece));
}

}  // namespace

std::vector<HtmlPiece> html_pieces(const std::string& html) {
  const Tokens tokens = html_tokens(html);
  std::vector<HtmlPiece> pieces;
  size_t text = 0;
  for (size_t i = 0; i < tokens.size();) {
    const HtmlToken& token = tokens[i];
    const std::string_view tag = bytes_of(html, token);
    const std::vector<HtmlAttribute> attributes =
        is_start_tag(token) ? attributes_of(tag) : std::vector<HtmlAttribute>{};
    const bool refuses = refuses_translation(token.name, attributes) || is_listing(html, tokens, i);
    const bool is_kept = holds_tags(token) && (lists(kUntouchedElements, token.name) || refuses);
    const MaybeEnd end = is_kept ? kept_end(tokens, i + 1, html.size()) : PieceEnd{i + 1, token.end};
    const auto [next, end_byte] = end.value_or(PieceEnd{tokens.size(), html.size()});
    HtmlKind kind = HtmlKind::border;
    if (is_kept && end && is_movable(tokens, i, next)) kind = HtmlKind::kept;
    if (!is_kept && !token.name.empty() && is_movable(token)) kind = HtmlKind::inline_tag;
    if (!token.name.empty() && is_word_tag(tag)) kind = HtmlKind::kept;
    const bool is_command = tag.substr(0, 2) == "<?" && command_end(tag, 0) > 0;
    const bool is_remark = tag.substr(0, 4) == "<!--" || (is_command && is_word_of_template(tag));
    if (!token.in_select && !token.is_rest && is_remark) kind = HtmlKind::kept;  // it may be within a sentence
    add_text(html, text, token.begin, pieces);
    if (token.name == "head" && is_kept && end && !refuses) {
      add_head(html, tokens, i, *end, pieces);
    } else {
      pieces.push_back({kind, token.begin, end_byte});
      if (kind != HtmlKind::kept && !is_kept && !refuses) pieces.back().values = values_for_people(token, attributes);
    }
    text = end_byte;
    i = next;
  }
  add_text(html, text, html.size(), pieces);
  return pieces;
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/xml_paragraph.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/files.h>
#include <transmute/common/html.h>
#include <transmute/common/text_file.h>
#include <transmute/documents/html_references.h>
#include <transmute/documents/html_tokens.h>
#include <transmute/documents/paired_marks.h>
#include <transmute/documents/xml_text.h>
#include <transmute/text/inline_tags.h>
#include <transmute/text/sentence_characters.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

using TokenKind = XmlToken::Kind;

constexpr size_t kFewestSpaces = 4;                         // that are a gap, or a line to fill in
constexpr const char* kRunText = "t";                       // holds the text of a run
constexpr const char* kRunWords = "t noBreakHyphen";        // a run with one of them is text
constexpr const char* kFieldMark = "fldChar";               // begins a field of Word, ends it, or is before its result
constexpr const char* kWords = "fldSimple fld oMath ruby";  // stay, but readers see words
// Fields whose results are text like any other if they have words: "Figure 2", and not "(a)".
constexpr const char* kFieldsOfText = "formtext index ref toc";
// Fields that show nothing, or a picture.
constexpr const char* kFieldsWithoutWords = "advance ask formcheckbox includepicture private rd set shape ta tc xe";

// A piece of a paragraph, in order.
struct Item {
  enum class Kind { text, open, close, kept, border };
  Kind kind = Kind::text;
  std::string text{};                 // escaped, as in HTML
  size_t format = 0;                  // format of text
  XmlMark mark{};                     // mark of all others
  size_t partner = 0;                 // partner of `open` and `close`
  bool is_word = false;               // of `kept`: readers see it as a word of the sentence
  bool is_code = false;               // of `kept`: program code
  std::optional<std::string> look{};  // of `close`: what a reader sees of the wrapper, if it is known
};

// A child of a run.
struct RunChild {
  size_t run = 0, token = 0;
};

// A field of Word, by its marks.
struct Field {
  RunChild begin, result, end;
  std::string name{};  // in lower case
  size_t letters = 0;  // of its result
};

// Formatting that a reader does not see: languages, and marks of spelling checkers and of revisions.
constexpr const char* kUnseenProperties = "lang noProof rsid";
constexpr const char* kUnseenAttributes =  // in lower case
    "lang altlang dirty err smtclean noproof bmk officeooo:rsid officeooo:paragraph-rsid fo:language fo:country "
    "style:language-asian style:country-asian style:language-complex style:country-complex";

std::string seen_attributes(std::string_view tag) {
  std::string seen;
  for (const HtmlAttribute& attribute : attributes_of(tag))
    if (!lists(kUnseenAttributes, attribute.name)) seen += fmt::format("{}={} ", attribute.name, attribute.value);
  return seen;
}

bool is_blank_text(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

size_t letters_in(std::string_view text) {
  size_t letters = 0;
  sentence_characters::all_characters(with_references_decoded(text), [&](UChar32 c) {
    if (u_isalpha(c) != 0) ++letters;
    return true;
  });
  return letters;
}

// Reads the items of a paragraph.
class ParagraphReader {
 public:
  explicit ParagraphReader(const XmlSource& source) : source_(source), formats_(1) {
    formats_.front().is_format = true;
  }

  void read(size_t start) {
    const bool has_runs = *source_.rules.runs != '\0' && holds(start, source_.rules.runs);
    read_content(start + 1, source_.tokens[start].partner, has_runs);
    pair_ranges();
    mark_split_wrappers();
  }

  std::vector<Item>& items() { return items_; }
  const std::vector<XmlMark>& formats() const { return formats_; }

 private:
  bool holds(size_t start, const char* names) const {
    for (size_t i = start + 1; i < source_.tokens[start].partner; i = after(i))
      if (is_tag(i) &&
          (source_.is_one_of(i, names) || (source_.is_one_of(i, source_.rules.wrappers) && holds(i, names))))
        return true;
    return false;
  }

  bool is_tag(size_t i) const {
    return source_.tokens[i].kind == TokenKind::start || source_.tokens[i].kind == TokenKind::empty;
  }
  size_t after(size_t i) const { return source_.tokens[i].partner + 1; }
  size_t element_end(size_t i) const { return source_.tokens[after(i) - 1].end; }

  void add(Item::Kind kind, XmlMark mark) {
    Item item;
    item.kind = kind;
    item.mark = std::move(mark);
    items_.push_back(std::move(item));
  }
  void add_element(Item::Kind kind, size_t i, const XmlMark& around = {}) {
    add(kind, {around.before, around.after, source_.tokens[i].begin, element_end(i)});
  }

  // Adds a word of code, or the rest of the one that comes right before.
  void add_code(size_t i) {
    if (!items_.empty() && items_.back().is_code) {
      items_.back().mark.end = element_end(i);
      return;
    }
    add_element(Item::Kind::kept, i);
    items_.back().is_word = items_.back().is_code = true;
  }

  // Elements whose names end so are settings of the one around them, which come first, or last.
  static bool is_properties(const XmlToken& token) {
    const std::string_view name = token.local_name();
    return name.size() >= 2 && name.compare(name.size() - 2, 2, "Pr") == 0;
  }

  void read_content(size_t from, size_t to, bool has_runs) {
    if (has_runs) find_fields(from, to);
    for (size_t i = from; i < to; i = after(i)) {
      const XmlToken& token = source_.tokens[i];
      if (token.kind == TokenKind::text || token.kind == TokenKind::cdata) {
        if (has_runs) {
          continue;  // white space between the lines of the file
        }
        add_text(i, 0);
      } else if (has_runs && is_tag(i) && source_.is_one_of(i, source_.rules.runs)) {
        i = read_run(i);
      } else if (!has_runs && is_tag(i) && *source_.rules.runs != '\0' && source_.is_one_of(i, kRunText)) {
        add(Item::Kind::border, {"", "", token.begin, token.end});
        if (token.kind == TokenKind::empty) continue;
        read_content(i + 1, token.partner, false);
        add(Item::Kind::border, {"", "", source_.tokens[token.partner].begin, source_.tokens[token.partner].end});
      } else if (is_tag(i) && source_.is_one_of(i, source_.rules.wrappers)) {
        read_wrapper(i, has_runs);
      } else if (!is_tag(i) || !source_.is_one_of(i, source_.rules.dropped)) {
        const bool ends =
            is_tag(i) && (is_properties(token) || source_.is_one_of(i, source_.rules.borders) || is_gap(i));
        add_element(ends ? Item::Kind::border : Item::Kind::kept, i);
        items_.back().is_word = is_word(i);
      }
    }
  }

  // True for three or more spaces of OpenDocument; another one is in the text before them.
  bool is_gap(size_t i) const {
    const std::string_view count = source_.is_one_of(i, "s") ? xml_attribute(source_.bytes(i), "c") : "";
    return count.size() > 1 || count >= "3";
  }

  // True if readers see an element that stays as a word: a field or a formula. Fields of OpenDocument have their text
  // directly, other elements have it in paragraphs.
  bool is_word(size_t i) const {
    if (!is_tag(i)) return false;
    if (source_.is_one_of(i, kWords)) return true;
    for (size_t child = i + 1; child < source_.tokens[i].partner; child = after(child))
      if (is_xml_text(source_.tokens[child]) && !is_blank_text(std::string(source_.bytes(child)))) return true;
    return false;
  }

  // Returns what a reader sees of a wrapper, if that is known.
  std::optional<std::string> look_of(size_t i, const std::string& style) const {
    if (source_.is_one_of(i, "smartTag")) return "";
    const auto found = source_.styles.looks.find(style);
    if (found == source_.styles.looks.end() || !source_.is_one_of(i, "span")) return {};
    return found->second;
  }

  void read_wrapper(size_t i, bool has_runs) {
    const XmlToken& token = source_.tokens[i];
    const std::string style(xml_attribute(source_.bytes(i), "style-name"));
    if (token.kind == TokenKind::empty) return add_element(Item::Kind::kept, i);
    if (source_.is_for_code(style) || source_.code.count(i) > 0) return add_code(i);
    size_t first = i + 1;
    while (first < token.partner && is_tag(first) && is_properties(source_.tokens[first])) first = after(first);
    const auto look = look_of(i, style);
    if (look && look->empty()) return read_content(first, token.partner, has_runs);
    size_t open = items_.size();
    if (look && open > 0 && items_.back().look == look) {
      open = items_.back().partner;
      items_.pop_back();
    } else {
      const size_t content = source_.tokens[first - 1].end;
      add(Item::Kind::open, {std::string(source_.between(token.begin, content)), ""});
    }
    read_content(first, token.partner, has_runs);
    const bool is_blank = items_.size() == open + 2 && is_blank_text(items_.back().text);
    if (is_blank && items_.back().kind == Item::Kind::text && source_.is_one_of(i, "span")) {
      items_.erase(items_.end() - 2);
      return;
    }
    add(Item::Kind::close, {std::string(source_.bytes(token.partner)), ""});
    items_[open].partner = items_.size() - 1;
    items_.back().partner = open;
    items_.back().look = look;
  }

  // The first word of an element's text, in lower case.
  std::string first_word(size_t i) const {
    constexpr std::string_view kSpace = " \t\r\n";
    std::string_view text = source_.between(source_.tokens[i].end, element_end(i));
    text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
    return lower_case(std::string(text.substr(0, text.find_first_of(" \t\r\n\\\"<"))));
  }

  // Finds the fields that begin and end in these runs.
  void find_fields(size_t from, size_t to) {
    std::vector<Field> open;
    for (size_t run = from; run < to; run = after(run)) {
      if (source_.tokens[run].kind != TokenKind::start || !source_.is_one_of(run, source_.rules.runs)) continue;
      for (size_t child = run + 1; child < source_.tokens[run].partner; child = after(child)) {
        if (!is_tag(child)) continue;
        if (source_.is_one_of(child, "instrText") && !open.empty()) {
          if (open.back().name.empty()) open.back().name = first_word(child);
        }
        const XmlToken& token = source_.tokens[child];
        if (token.kind == TokenKind::start && source_.is_one_of(child, kRunText) && !open.empty())
          open.back().letters += letters_in(source_.between(token.end, source_.tokens[token.partner].begin));
        if (!source_.is_one_of(child, kFieldMark)) continue;
        const std::string_view type = xml_attribute(source_.bytes(child), "fldCharType");
        if (type == "begin") open.emplace_back().begin = {run, child};
        if (type == "separate" && !open.empty()) open.back().result = {run, child};
        if (type != "end" || open.empty()) continue;
        open.back().end = {run, child};
        fields_[open.back().begin.token] = open.back();
        const size_t letters = open.back().letters;
        open.pop_back();
        if (!open.empty()) open.back().letters += letters;
      }
    }
  }

  // Reads the field that a mark begins or, if the field's result is text like any other, what is before it. Reads no
  // more than the mark if that ends such a field. Returns the last child that was read.
  RunChild read_field(const RunChild& first) {
    const XmlMark around = around_content(first.run);
    if (const auto field = text_fields_.find(first.token); field != text_fields_.end()) {
      const std::string_view bytes = source_.between(source_.tokens[first.token].begin, element_end(first.token));
      add(Item::Kind::close, {fmt::format("{}{}{}", around.before, bytes, around.after), ""});
      items_[field->second].partner = items_.size() - 1;
      items_.back().partner = field->second;
      return first;
    }
    const auto found = fields_.find(first.token);
    if (found == fields_.end()) {  // the field has its other parts elsewhere
      add_element(Item::Kind::border, first.token, around);
      return first;
    }
    const Field& field = found->second;
    constexpr size_t kFewestLetters = 3;
    const bool has_words = field.letters >= kFewestLetters && lists(kFieldsOfText, field.name);
    const bool is_text = field.result.token > 0 && (has_words || field.name == "hyperlink");
    const RunChild last = is_text ? field.result : field.end;
    const size_t begin = source_.tokens[first.token].begin, end = element_end(last.token);
    const std::string after_content = around_content(last.run).after;
    if (is_text) {
      text_fields_[field.end.token] = items_.size();
      add(Item::Kind::open, {fmt::format("{}{}{}", around.before, source_.between(begin, end), after_content), ""});
    } else {
      add(Item::Kind::kept, {around.before, after_content, begin, end});
      items_.back().is_word = !lists(kFieldsWithoutWords, field.name);
    }
    return last;
  }

  bool has_child(size_t i, const char* name) const {
    for (size_t child = i + 1; child < source_.tokens[i].partner; child = after(child))
      if (is_tag(child) && source_.is_one_of(child, name)) return true;
    return false;
  }

  // Reads a run and those of a field that begins in it. Returns the last one.
  size_t read_run(size_t i) {
    if (source_.tokens[i].kind == TokenKind::empty) {
      add_element(Item::Kind::kept, i);
      return i;
    }
    const size_t first = content_of(i);
    const bool has_field = has_child(i, kFieldMark);
    if (!has_field && is_code_run(i, first)) {
      add_code(i);
      return i;
    }
    if (!has_field && !has_child(i, kRunWords)) {
      const bool ends = has_child(i, source_.rules.borders);
      const bool is_nothing = only_dropped(first, source_.tokens[i].partner);
      if (!is_nothing) add_element(ends ? Item::Kind::border : Item::Kind::kept, i);
      if (!is_nothing) items_.back().is_word = has_child(i, kWords);
      return i;
    }
    XmlMark around = around_content(i);
    RunChild child{i, first};
    for (; child.token < source_.tokens[child.run].partner; child.token = after(child.token)) {
      if (!is_tag(child.token) || !source_.is_one_of(child.token, kFieldMark)) {
        read_run_child(child.run, child.token, around);
        continue;
      }
      child = read_field(child);
      around = around_content(child.run);
    }
    return child.run;
  }

  // The first child of a run after its properties, or the run's end.
  size_t content_of(size_t run) const {
    size_t first = run + 1;
    while (first < source_.tokens[run].partner && (!is_tag(first) || is_properties(source_.tokens[first])))
      first = after(first);
    return first;
  }

  // The bytes before and after the content of a run.
  XmlMark around_content(size_t run) const {
    return {std::string(source_.between(source_.tokens[run].begin, source_.tokens[content_of(run)].begin)),
            std::string(source_.bytes(source_.tokens[run].partner))};
  }

  bool only_dropped(size_t from, size_t to) const {
    for (size_t i = from; i < to; i = after(i))
      if (!is_tag(i) || !source_.is_one_of(i, source_.rules.dropped)) return false;
    return from < to;
  }

  bool is_code_run(size_t i, size_t first) const {
    if (source_.code.count(i) > 0) return true;
    for (size_t at = i + 1; at < first; ++at)
      if (is_tag(at) && source_.is_one_of(at, "rStyle") && source_.is_for_code(xml_attribute(source_.bytes(at), "val")))
        return true;
    return false;
  }

  // True for underlined spaces, where people write what is missing.
  bool is_line_to_fill(size_t run, size_t child) const {
    const std::string text(
        source_.between(source_.tokens[child].end, source_.tokens[source_.tokens[child].partner].begin));
    if (text.size() < kFewestSpaces || !is_blank_text(text)) return false;
    for (size_t at = run + 1, end = content_of(run); at < end; ++at) {
      if (!is_tag(at)) continue;
      if (source_.is_one_of(at, "u")) return xml_attribute(source_.bytes(at), "val") != "none";
      // PowerPoint has an attribute of the properties for it.
      const std::string_view line = is_properties(source_.tokens[at]) ? xml_attribute(source_.bytes(at), "u") : "";
      if (!line.empty()) return line != "none";
    }
    return false;
  }

  void read_run_child(size_t run, size_t child, const XmlMark& around) {
    if (!is_tag(child)) return;
    if (source_.is_one_of(child, kRunText)) {
      if (source_.tokens[child].kind == TokenKind::empty) return;
      if (is_line_to_fill(run, child)) {
        add_element(Item::Kind::kept, child, around);
        items_.back().is_word = true;
        return;
      }
      const size_t format = format_of(run, child, around);
      for (size_t text = child + 1; text < source_.tokens[child].partner; ++text) add_text(text, format);
    } else if (source_.is_one_of(child, "noBreakHyphen")) {
      add_plain_text("-", format_of(run, child, around));
    } else if (!source_.is_one_of(child, source_.rules.dropped)) {
      add_element(source_.is_one_of(child, source_.rules.borders) ? Item::Kind::border : Item::Kind::kept, child,
                  around);
    }
  }

  // The number of a run's format. Runs that look the same have the same.
  size_t format_of(size_t run, size_t child, const XmlMark& around) {
    std::string seen;
    size_t properties = run + 1;
    while (properties < source_.tokens[run].partner && !is_tag(properties)) ++properties;
    if (properties < source_.tokens[run].partner && is_properties(source_.tokens[properties])) {
      for (size_t i = properties; i < after(properties); ++i) {
        if (is_tag(i) && source_.is_one_of(i, kUnseenProperties)) {
          i = after(i) - 1;
        } else if (i == properties) {
          seen += seen_attributes(source_.bytes(i));
        } else if (i + 1 < after(properties)) {
          seen += source_.bytes(i);
        }
      }
    }
    const auto found = format_numbers_.find(seen);
    if (found != format_numbers_.end()) return found->second;
    const std::string_view tag = source_.tokens[child].name;
    const std::string name = std::string(tag.substr(0, tag.find(':') + 1)) + kRunText;
    const bool has_space_attribute = name.compare(0, 2, "a:") != 0;  // the schema of DrawingML has none
    XmlMark format{around.before + '<' + name + (has_space_attribute ? " xml:space=\"preserve\">" : ">"),
                   "</" + name + '>' + around.after};
    format.is_format = true;
    formats_.push_back(std::move(format));
    return format_numbers_[seen] = formats_.size() - 1;
  }

  void add_text(size_t i, size_t format) {
    const XmlToken& token = source_.tokens[i];
    constexpr size_t kCdataBegin = 9, kCdataEnd = 3;
    if (token.kind == TokenKind::text) {
      add_plain_text(std::string(source_.bytes(i)), format);
    } else if (token.kind == TokenKind::cdata) {
      add_plain_text(html_escaped(source_.between(token.begin + kCdataBegin, token.end - kCdataEnd)), format);
    }
  }

  // Adds text as XML has it. Tabs and gaps between columns are borders, and so are line ends where readers see them,
  // and escapes of Office that mean no visible character: PowerPoint writes these too.
  void add_plain_text(const std::string& text, size_t format) {
    const bool keeps_lines = source_.rules.keeps_lines;
    if (*source_.rules.runs == '\0' && !keeps_lines) return add_line(text, format);
    std::string border;
    const auto add_border = [&] {
      if (!border.empty()) add(Item::Kind::border, {formats_[format].before + border + formats_[format].after, ""});
      border.clear();
    };
    for (size_t at = 0, length = 1; at < text.size(); at += length) {
      const auto escape = excel_escape_at(text, at);
      const CharacterReference reference = text[at] == '&' ? reference_at(text, at) : CharacterReference{};
      const size_t spaces = std::min(text.find_first_not_of(' ', at), text.size()) - at;
      const bool is_gap = spaces >= kFewestSpaces;
      length = escape ? kExcelEscapeBytes : std::max<size_t>(reference.length, is_gap ? spaces : 1);
      const auto character =
          reference.length > 0 ? reference.characters.front() : char32_t{static_cast<unsigned char>(text[at])};
      const bool is_border =
          escape ? !is_visible(*escape) : is_gap || character == '\t' || (keeps_lines && character < ' ');
      if (is_border) {
        border += text.substr(at, length);
        continue;
      }
      add_border();
      std::string decoded;
      if (escape && keeps_lines) append_utf8(decoded, *escape);
      add_line(decoded.empty() ? text.substr(at, length) : html_escaped(decoded), format);
    }
    add_border();
  }

  // True for a unit of UTF-16 that is neither a control character nor half of a character.
  static bool is_visible(uint32_t unit) {
    constexpr uint32_t kFirstHalf = 0xD800, kLastHalf = 0xDFFF, kFirstOfNone = 0xFFFE;
    return unit >= ' ' && (unit < kFirstHalf || unit > kLastHalf) && unit < kFirstOfNone;
  }

  void add_line(const std::string& text, size_t format) {
    if (!items_.empty() && items_.back().kind == Item::Kind::text && items_.back().format == format) {
      items_.back().text += text;
      return;
    }
    Item item;
    item.text = text;
    item.format = format;
    items_.push_back(std::move(item));
  }

  // The key that an element shares with the other end of its range: a comment's, a bookmark's, or that of an entry of
  // an index. The first is true for the element that begins the range.
  std::optional<std::pair<bool, std::string>> half_of_range(const XmlMark& mark) const {
    const std::string_view bytes = source_.between(mark.begin, mark.end), tag = bytes.substr(0, bytes.find('>'));
    const std::string name = element_name(tag);
    const bool is_opendocument = name.find('-') != std::string::npos || name == "office:annotation";
    std::string_view id = xml_attribute(tag, is_opendocument ? "name" : "id");
    if (id.empty()) id = xml_attribute(tag, "id");
    if (!mark.before.empty() || id.empty()) return std::nullopt;
    if (name == "office:annotation") return std::pair(true, fmt::format("{}- {}", name, id));
    for (const std::string_view ending : {"start", "end"})
      if (ends_in(name, std::string(ending)))
        return std::pair(ending == "start", fmt::format("{} {}", name.substr(0, name.size() - ending.size()), id));
    return std::nullopt;
  }

  // True if the items have words and no end of a sentence before the last of them: texts are not cut within tags.
  bool is_part_of_sentence(size_t begin, size_t end) const {
    constexpr size_t kMostItems = 1000, kMostBytes = 2000;
    std::string text;
    for (size_t i = begin; i < end; ++i) {
      text += items_[i].text;
      if (i - begin > kMostItems || text.size() > kMostBytes) return false;
    }
    text.erase(text.find_last_not_of(" .!?\"')。！？") + 1);
    for (const char* mark : {". ", "! ", "? ", "。", "！", "？"})
      if (text.find(mark) != std::string::npos) return false;
    return !is_blank_text(text);
  }

  // The elements at the ends of a range are a pair, as a wrapper's tags are, so that a translation keeps their order.
  void pair_ranges() {
    PairedMarks marks;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].kind == Item::Kind::border) marks.clear();
      if (items_[i].kind == Item::Kind::open) marks.enter();
      if (items_[i].kind == Item::Kind::close) marks.leave();
      if (items_[i].kind != Item::Kind::kept) continue;
      const auto half = half_of_range(items_[i].mark);
      if (half && half->first) marks.begin(half->second, i);
      const auto begin = half && !half->first ? marks.end(half->second) : std::nullopt;
      if (!begin || !is_part_of_sentence(*begin, i)) continue;
      items_[*begin].kind = Item::Kind::open;
      items_[*begin].partner = i;
      items_[i].kind = Item::Kind::close;
      items_[i].partner = *begin;
      items_[i].mark = {std::string(source_.between(items_[i].mark.begin, items_[i].mark.end)), ""};
    }
  }

  // The tags of wrappers that hold a border stay where they are, as it does.
  void mark_split_wrappers() {
    size_t borders = 0;
    std::vector<size_t> before(items_.size());
    for (size_t i = 0; i < items_.size(); ++i) {
      before[i] = borders;
      if (items_[i].kind == Item::Kind::border) ++borders;
    }
    for (size_t i = 0; i < items_.size(); ++i)
      if (items_[i].kind == Item::Kind::open && before[i] != before[items_[i].partner])
        items_[i].kind = items_[items_[i].partner].kind = Item::Kind::border;
  }

  const XmlSource& source_;
  std::vector<Item> items_;
  std::vector<XmlMark> formats_;  // the first is that of text without runs
  std::map<std::string, size_t> format_numbers_;
  std::map<size_t, Field> fields_;        // by their first marks
  std::map<size_t, size_t> text_fields_;  // the items that open fields of text, by their last marks
};

// Makes texts of a paragraph's items.
class TextMaker {
 public:
  TextMaker(std::vector<Item>& items, const std::vector<XmlMark>& formats, std::vector<std::string>& texts)
      : items_(items), formats_(formats), texts_(texts) {}

  std::vector<XmlPart> parts() {
    size_t begin = 0;
    for (size_t i = 0; i <= items_.size(); ++i) {
      if (i < items_.size() && items_[i].kind != Item::Kind::border) continue;
      add_stretch(begin, i);
      if (i < items_.size()) keep(i);
      begin = i + 1;
    }
    return std::move(parts_);
  }

 private:
  void keep(size_t i) {
    const Item& item = items_[i];
    XmlPart part;
    part.kept = item.mark;
    if (item.kind == Item::Kind::text)
      part.kept = {formats_[item.format].before + item.text + formats_[item.format].after, ""};
    parts_.push_back(std::move(part));
  }

  static bool is_beside_text(const Item& item) { return item.kind == Item::Kind::kept && !item.is_word; }

  // Adds the items between two borders. Kept items at the ends, and a wrapper around all, need no tags.
  void add_stretch(size_t begin, size_t end) {
    size_t first = begin, last = end;
    while (first < last) {
      if (is_beside_text(items_[first])) {
        ++first;
      } else if (is_beside_text(items_[last - 1])) {
        --last;
      } else if (items_[first].kind == Item::Kind::open && items_[first].partner + 1 == last) {
        ++first, --last;
      } else {
        break;
      }
    }
    std::string words;
    for (size_t i = first; i < last; ++i) words += items_[i].text;
    if (!has_letters(words)) first = last = begin;
    for (size_t i = begin; i < first; ++i) keep(i);
    if (first < last) add_text(first, last);
    for (size_t i = last; i < end; ++i) keep(i);
  }

  // The format of most of the text, which gets no tags.
  size_t usual_format(size_t first, size_t last) const {
    std::vector<size_t> bytes(formats_.size());
    for (size_t i = first; i < last; ++i) bytes[items_[i].format] += items_[i].text.size();
    return static_cast<size_t>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
  }

  void add_text(size_t first, size_t last) {
    XmlPart part;
    part.text = texts_.size();
    const size_t usual = usual_format(first, last);
    part.format = formats_[usual];
    std::string html;
    const auto number = [&](const XmlMark& mark) {
      part.marks.push_back(mark);
      return part.marks.size() - 1;
    };
    for (size_t i = first; i < last; ++i) {
      const Item& item = items_[i];
      if (item.kind == Item::Kind::open) {
        XmlMark wrapper = item.mark;
        wrapper.after = items_[item.partner].mark.before;
        html += fmt::format("<b {}>", number(wrapper));
      } else if (item.kind == Item::Kind::close) {
        html += "</b>";
      } else if (item.kind == Item::Kind::kept) {
        html += item.is_word ? fmt::format("{}{}/>", kWordTag, number(item.mark))
                             : fmt::format("<img {}>", number(item.mark));
      } else if (item.format == usual || is_blank_text(item.text)) {
        html += item.text;
      } else {
        html += fmt::format("<b {}>{}</b>", number(formats_[item.format]), item.text);
      }
    }
    texts_.push_back(std::move(html));
    parts_.push_back(std::move(part));
  }

  std::vector<Item>& items_;
  const std::vector<XmlMark>& formats_;
  std::vector<std::string>& texts_;
  std::vector<XmlPart> parts_;
};

// True if a paragraph is program code by its style or its font.
bool is_code_paragraph(const XmlSource& source, size_t start) {
  if (source.code.count(start) > 0) return true;
  if (source.is_for_code(xml_attribute(source.bytes(start), "style-name"))) return true;
  for (size_t i = start + 1; i < source.tokens[start].partner; ++i) {
    if (source.is_one_of(i, "pStyle")) return source.is_for_code(xml_attribute(source.bytes(i), "val"));
    if (source.is_one_of(i, source.rules.runs)) break;
  }
  return false;
}

// True for a paragraph of prose: programs give pasted text the style of code, too. A line of code, or one of a text
// that was cut into lines, is shorter.
bool is_prose(const std::string& text) {
  constexpr size_t kFewestBytes = 120;
  constexpr std::string_view kCode = "{}[]=<>\\_$|#`~^*", kSentenceEnds = ".!?";
  if (text.size() < kFewestBytes || text.find_first_of(kCode) != std::string::npos) return false;
  return has_small_words(text, 1) && kSentenceEnds.find(text[text.find_last_not_of(" \"')")]) != std::string_view::npos;
}

}  // namespace

bool XmlSource::is_one_of(size_t token, const char* words) const {
  return !tokens[token].name.empty() && lists(words, std::string(tokens[token].local_name()));
}

bool XmlSource::is_for_code(std::string_view style) const {
  constexpr const char* kStyles =
      "code codeblock htmlcode htmlpreformatted inlinecode macrotext preformatted preformattedtext sourcetext "
      "sourcecode verbatim verbatimchar";
  constexpr std::string_view kSpace = "_20_";  // of OpenDocument
  if (!style.empty() && styles.for_code.count(std::string(style)) > 0) return true;
  std::string name;
  for (size_t at = 0; at < style.size(); ++at) {
    if (style.compare(at, kSpace.size(), kSpace) == 0) {
      at += kSpace.size() - 1;
    } else if (style[at] != '_' && style[at] != '-' && style[at] != ' ') {
      name += style[at];
    }
  }
  return !name.empty() && lists(kStyles, lower_case(name));
}

XmlStyles read_styles(std::string_view xml, const std::vector<XmlToken>& tokens, const XmlRules& rules) {
  XmlStyles styles;
  const XmlSource source{xml, tokens, rules, styles};
  size_t automatic_end = 0;  // of the automatic styles, which the program has named
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind == TokenKind::end) continue;
    if (source.is_one_of(i, "automatic-styles")) automatic_end = tokens[i].partner;
    if (!source.is_one_of(i, "style")) continue;
    const std::string name(xml_attribute(source.bytes(i), "name"));
    const std::string_view parent = xml_attribute(source.bytes(i), "parent-style-name");
    if (source.is_for_code(parent)) styles.for_code.insert(name);
    if (i > automatic_end || xml_attribute(source.bytes(i), "family") != "text") continue;
    std::string& look = styles.looks[name] = parent;
    for (const size_t end = tokens[i].partner; i < end && !source.is_one_of(i + 1, "style"); ++i)
      if (!is_xml_text(tokens[i + 1])) look += seen_attributes(source.bytes(i + 1));
  }
  return styles;
}

XmlParagraph read_paragraph(const XmlSource& source, size_t start, std::vector<std::string>& texts) {
  const size_t begin = source.tokens[start].end, end = source.tokens[source.tokens[start].partner].begin;
  XmlParagraph paragraph{begin, end, {}};
  ParagraphReader reader(source);
  reader.read(start);
  std::string plain;
  for (const Item& item : reader.items()) plain += item.text;
  const std::string seen = with_references_decoded(plain);
  const auto& kept = source.rules.kept_texts;
  if (!has_letters(plain) || (kept && kept->contain(seen)) || (is_code_paragraph(source, start) && !is_prose(seen))) {
    paragraph.parts.emplace_back().kept = {"", "", begin, end};
  } else {
    paragraph.parts = TextMaker(reader.items(), reader.formats(), texts).parts();
  }
  return paragraph;
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/office_scripts.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/documents/html_tokens.h>
#include <transmute/documents/replacements.h>
#include <transmute/documents/xml_paragraph.h>
#include <transmute/documents/xml_text.h>
#include <transmute/documents/xml_tokens.h>
#include <transmute/text/sentence_characters.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kNoToken = std::string::npos;

// A property of Word that a script from right to left needs: an element without content.
struct WordProperty {
  const char* parent;     // the element with the properties
  const char* name;       // name of the property
  const char* followers;  // elements that come after it, by the schema
};
constexpr WordProperty kParagraphProperty{
    "w:pPr", "w:bidi",
    "w:adjustRightInd w:snapToGrid w:spacing w:ind w:contextualSpacing w:mirrorIndents w:suppressOverlap w:jc "
    "w:textDirection w:textAlignment w:textboxTightWrap w:outlineLvl w:divId w:cnfStyle w:rPr w:sectPr w:pPrChange"};
constexpr WordProperty kRunProperty{"w:rPr", "w:rtl",
                                    "w:cs w:em w:lang w:eastAsianLayout w:specVanish w:oMath w:rPrChange"};
constexpr WordProperty kTableProperty{
    "w:tblPr", "w:bidiVisual",
    "w:tblStyleRowBandSize w:tblStyleColBandSize w:tblW w:jc w:tblCellSpacing w:tblInd w:tblBorders w:shd w:tblLayout "
    "w:tblCellMar w:tblLook w:tblCaption w:tblDescription w:tblPrChange"};
constexpr WordProperty kSectionProperty{"w:sectPr", "w:bidi", "w:rtlGutter w:docGrid w:printerSettings w:sectPrChange"};

// The characters of a text, by their directions.
struct DirectedCharacters {
  bool has_right_to_left = false, has_left_to_right = false, has_digits = false, has_others = false;

  void add(std::string_view text) {
    sentence_characters::all_characters(text, [this](UChar32 c) {
      const UCharDirection direction = u_charDirection(c);
      const bool is_right_to_left = direction == U_RIGHT_TO_LEFT || direction == U_RIGHT_TO_LEFT_ARABIC;
      (is_right_to_left                 ? has_right_to_left
       : direction == U_LEFT_TO_RIGHT   ? has_left_to_right
       : direction == U_EUROPEAN_NUMBER ? has_digits
                                        : has_others) = true;
      return true;
    });
  }
  void add(const DirectedCharacters& other) {
    has_right_to_left = has_right_to_left || other.has_right_to_left;
    has_left_to_right = has_left_to_right || other.has_left_to_right;
  }
  bool has_letters() const { return has_right_to_left || has_left_to_right; }
};

// Writes an XML with the properties of another script.
class ScriptWriter {
 public:
  ScriptWriter(const std::string& name, std::string xml, const OfficeScript& from, const OfficeScript& to)
      : changes_(std::move(xml)), tokens_(xml_tokens(changes_.text(), name)), from_(from), to_(to) {}

  std::string result() {
    constexpr const char* kWithText = "w:p w:r a:p";
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const XmlToken& token = tokens_[i];
      if (token.kind == XmlToken::Kind::start || token.kind == XmlToken::Kind::empty) {
        if (token.kind == XmlToken::Kind::start && is_any(i, kWithText)) open_.push_back({i, {}, {}, {}});
        if (from_.kind != to_.kind) copy_formats(i);
        if (from_.is_right_to_left != to_.is_right_to_left) turn(i);
      } else if (token.kind == XmlToken::Kind::end) {
        if (is_any(i, kWithText) && from_.is_right_to_left != to_.is_right_to_left) close();
      } else if (is_xml_text(token) && !open_.empty() && is_any(i - 1, "w:t a:t")) {
        open_.back().characters.add(xml_text(changes_.text(), token));
      }
    }
    return changes_.result();
  }

 private:
  // A paragraph or a run that has not ended yet.
  struct Open {
    size_t token;
    DirectedCharacters characters;
    std::vector<size_t> old_properties;  // properties of the source's direction
    std::vector<size_t> neutral_runs;    // runs of a paragraph that have neither letters nor digits
  };

  bool is_any(size_t i, const char* names) const { return lists(names, std::string(tokens_[i].name)); }
  std::string_view bytes(size_t i) const { return tokens_[i].in(changes_.text()); }
  std::string_view attribute(size_t i, std::string_view name) const { return xml_attribute(bytes(i), name); }

  // The first child with one of the names; kNoToken if there is none.
  size_t child(size_t parent, const char* names) const {
    for (size_t i = parent + 1; i < tokens_[parent].partner; i = tokens_[i].partner + 1)
      if (is_any(i, names)) return i;
    return kNoToken;
  }

  void copy_formats(size_t i) {
    constexpr std::array<const char*, 3> kEndings{"", "-asian", "-complex"};
    if (tokens_[i].local_name() == "text-properties") {
      for (const std::string name : {"font-size", "font-style", "font-weight"}) {
        const std::string_view old = attribute(i, name + kEndings[from_.kind]);
        if (old.empty() || !attribute(i, name + kEndings[to_.kind]).empty()) continue;
        changes_.insert(tokens_[i].begin + tokens_[i].name.size() + 1,
                        fmt::format(" {}:{}{}=\"{}\"", to_.kind == OfficeScript::western ? "fo" : "style", name,
                                    kEndings[to_.kind], old));
      }
    } else if (tokens_[i].name == "w:rPr" &&
               (from_.kind == OfficeScript::complex || to_.kind == OfficeScript::complex)) {
      for (const std::string name : {"w:b", "w:i", "w:sz"}) {
        const size_t one = child(i, name.c_str()), complex = child(i, (name + "Cs").c_str());
        const size_t old = one == kNoToken ? complex : one;
        if ((one == kNoToken) == (complex == kNoToken) || tokens_[old].kind != XmlToken::Kind::empty) continue;
        const std::string_view end = bytes(old).substr(1 + tokens_[old].name.size());
        changes_.insert(old == one ? tokens_[old].end : tokens_[old].begin,
                        fmt::format("<{}{}{}", name, old == one ? "Cs" : "", end));
      }
    }
  }

  // Changes a tag that declares a direction, unless the direction depends on the letters of a text.
  void turn(size_t i) {
    constexpr const char* kLevels =
        "a:defPPr a:lvl1pPr a:lvl2pPr a:lvl3pPr a:lvl4pPr a:lvl5pPr a:lvl6pPr a:lvl7pPr a:lvl8pPr a:lvl9pPr";
    const std::string_view name = tokens_[i].name;
    if (is_any(i, "w:bidi w:bidiVisual w:cs w:rtl w:rtlGutter") && !to_.is_right_to_left) {
      if (open_.empty())
        remove(i);
      else
        open_.back().old_properties.push_back(i);
    } else if (is_any(i, "w:tbl w:sectPr") && to_.is_right_to_left) {
      set(i, name == "w:tbl" ? kTableProperty : kSectionProperty);
    } else if (is_any(i, kLevels)) {
      turn_slide_paragraph(i, true);
    } else if (is_any(i, "a:tblPr a:bodyPr")) {
      const char* const attribute_name = name == "a:tblPr" ? "rtl" : "rtlCol";
      if (name == "a:tblPr" || !attribute(i, attribute_name).empty()) change(i, {{attribute_name, flag()}});
    } else if (name == "style:style" || name == "style:default-style") {
      style_ = i;
    } else if (is_any(i, "style:paragraph-properties style:table-properties style:page-layout-properties")) {
      turn_opendocument(i);
    } else if (name == "package") {
      may_turn_pages_ = attribute(i, "version").substr(0, 1) == "3";
    } else if (name == "spine" && may_turn_pages_) {
      change(i, {{"page-progression-direction", to_.is_right_to_left ? "rtl" : "ltr"}});
    }
  }

  const char* flag() const { return to_.is_right_to_left ? "1" : "0"; }

  using Attributes = std::vector<std::pair<const char*, std::string_view>>;
  void change(size_t i, const Attributes& attributes) {
    std::string tag(bytes(i));
    for (const auto& [name, value] : attributes) tag = with_xml_attribute(tag, name, value);
    changes_.replace(bytes(i), tag);
  }

  void remove(size_t i) { changes_.replace(tokens_[i].begin, tokens_[tokens_[i].partner].end - tokens_[i].begin, ""); }

  // Ends a paragraph or a run, all of whose letters are now known.
  void close() {
    const auto [start, characters, old_properties, neutral_runs] = std::move(open_.back());
    open_.pop_back();
    if (tokens_[start].name == "w:r" && !open_.empty()) {
      open_.back().characters.add(characters);
      if (!characters.has_letters() && !characters.has_digits && characters.has_others)
        open_.back().neutral_runs.push_back(start);
    }
    const bool has_new = to_.is_right_to_left ? characters.has_right_to_left : characters.has_left_to_right;
    const bool is_turned = has_new || !characters.has_letters();
    for (const size_t property : old_properties)
      if (is_turned) remove(property);
    if (!is_turned) return;
    if (tokens_[start].name == "a:p") {
      if (const size_t properties = child(start, "a:pPr"); properties != kNoToken)
        turn_slide_paragraph(properties, has_new);
      else if (has_new && to_.is_right_to_left)
        changes_.insert(tokens_[start].end, "<a:pPr rtl=\"1\"/>");
    } else if (to_.is_right_to_left && tokens_[start].name == "w:r") {
      if (has_new) set(start, kRunProperty);
    } else if (to_.is_right_to_left && (has_new || !is_for_code(start))) {
      set(start, kParagraphProperty);
      for (const size_t run : neutral_runs) set(run, kRunProperty);
    }
  }

  bool is_for_code(size_t paragraph) const {
    const size_t properties = child(paragraph, "w:pPr");
    const size_t style = properties == kNoToken ? kNoToken : child(properties, "w:pStyle");
    return style != kNoToken && source_.is_for_code(attribute(style, "val"));
  }

  // Sets a property of Word on an element.
  void set(size_t element, const WordProperty& property) {
    const std::string tag = fmt::format("<{}/>", property.name);
    const size_t parent = tokens_[element].name == property.parent ? element : child(element, property.parent);
    if (parent == kNoToken)
      return changes_.insert(tokens_[element].end, fmt::format("<{0}>{1}</{0}>", property.parent, tag));
    if (tokens_[parent].kind == XmlToken::Kind::empty) {
      const std::string_view start = bytes(parent);
      return changes_.replace(start,
                              fmt::format("{}>{}</{}>", start.substr(0, start.size() - 2), tag, property.parent));
    }
    size_t next = parent + 1;
    for (; next < tokens_[parent].partner; next = tokens_[next].partner + 1) {
      if (tokens_[next].name == property.name) return changes_.replace(bytes(next), tag);
      const bool is_extension = !tokens_[next].name.empty() && tokens_[next].name.substr(0, 2) != "w:";
      if (is_any(next, property.followers) || is_extension) break;
    }
    changes_.insert(tokens_[next].begin, tag);
  }

  // Slides name the sides of alignments.
  void turn_slide_paragraph(size_t properties, bool adds) {
    const std::string_view old = attribute(properties, "rtl"), side = attribute(properties, "algn");
    if (!old.empty() && (old == "1" || old == "true") == to_.is_right_to_left) return;
    Attributes attributes;
    if (adds || !old.empty()) attributes.emplace_back("rtl", flag());
    if (side == "l" || side == "r") attributes.emplace_back("algn", side == "l" ? "r" : "l");
    change(properties, attributes);
  }

  // LibreOffice takes "start" for the left side in both directions.
  void turn_opendocument(size_t i) {
    constexpr const char *kMode = "style:writing-mode", *kAlign = "fo:text-align";
    const bool is_paragraph = tokens_[i].name == "style:paragraph-properties";
    const bool is_default = is_paragraph ? tokens_[style_].name == "style:default-style"
                                         : tokens_[i].name == "style:page-layout-properties";
    const std::string old_mode(attribute(i, "writing-mode")), old_side(attribute(i, "text-align"));
    const bool is_left = old_side.empty() || old_side == "start" || old_side == "left";
    Attributes attributes;
    if (to_.is_right_to_left && is_paragraph && is_code_style()) {
      attributes = {{kMode, "lr-tb"}, {kAlign, "left"}};
    } else {
      if (lists(to_.is_right_to_left ? "lr-tb lr" : "rl-tb rl", old_mode) || (is_default && old_mode.empty()))
        attributes.emplace_back(kMode, to_.is_right_to_left ? "rl-tb" : "lr-tb");
      if (is_left ? !old_side.empty() || (is_paragraph && is_default) : lists("end right", old_side))
        attributes.emplace_back(kAlign, is_left ? "right" : "left");
    }
    change(i, attributes);
  }

  bool is_code_style() const {
    return source_.is_for_code(attribute(style_, "name")) ||
           source_.is_for_code(attribute(style_, "parent-style-name"));
  }

  Replacements changes_;
  std::vector<XmlToken> tokens_;
  OfficeScript from_, to_;
  XmlRules rules_;
  XmlStyles styles_;
  XmlSource source_{changes_.text(), tokens_, rules_, styles_};
  std::vector<Open> open_;
  size_t style_ = 0;             // the last one of OpenDocument
  bool may_turn_pages_ = false;  // those of a book
};

// The sheets of workbooks can be large, and declare their direction before their cells.
std::string sheet_in_direction(std::string xml, bool is_right_to_left) {
  const size_t cells = xml.find("sheetData");
  Replacements changes(std::move(xml));
  for_each_tag(std::string_view(changes.text()).substr(0, cells),
               [&](std::string_view name, std::string_view tag, std::string_view /*text*/) {
                 if (name == "sheetView")
                   changes.replace(tag, with_xml_attribute(tag, "rightToLeft", is_right_to_left ? "1" : "0"));
               });
  return changes.result();
}

}  // namespace

OfficeScript office_script(const std::string& name) {
  const UScriptCode code = static_cast<UScriptCode>(u_getPropertyValueEnum(UCHAR_SCRIPT, name.c_str()));
  const bool is_right_to_left = code != USCRIPT_INVALID_CODE && uscript_isRightToLeft(code) != 0;
  if (lists("Hans Hant Hani Jpan Kore", name)) return {OfficeScript::asian, false};
  return {is_right_to_left || lists("Beng Deva Gujr Guru Khmr Knda Laoo Mlym Mymr Orya Sinh Taml Telu Thai Tibt", name)
              ? OfficeScript::complex
              : OfficeScript::western,
          is_right_to_left};
}

std::string xml_in_script(const std::string& name, std::string xml, const OfficeScript& from, const OfficeScript& to) {
  const bool turns = from.is_right_to_left != to.is_right_to_left;
  if (from.kind == to.kind && !turns) return xml;
  if (xml.find("<sheetData") != std::string::npos || xml.find(":sheetData") != std::string::npos)
    return turns ? sheet_in_direction(std::move(xml), to.is_right_to_left) : xml;
  return ScriptWriter(name, std::move(xml), from, to).result();
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
// Archives of XML: Office Open XML, OpenDocument and EPUB.
#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/files.h>
#include <transmute/common/percent_encoding.h>
#include <transmute/documents/ascii_text.h>
#include <transmute/documents/declared_languages.h>
#include <transmute/documents/file_formats.h>
#include <transmute/documents/html_references.h>
#include <transmute/documents/packed_file.h>
#include <transmute/documents/page_source.h>
#include <transmute/documents/style_fonts.h>
#include <transmute/documents/xml_text.h>
#include <transmute/documents/xml_texts.h>
#include <transmute/documents/xml_tokens.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// The XML of a spreadsheet without the texts of cells that are in an attribute, too: programs show these instead of the
// content, which is translated.
std::string without_string_values(const std::string& xml) {
  constexpr std::string_view kCell = "<table:table-cell", kAttribute = " office:string-value=\"";
  std::string result;
  size_t kept = 0;  // end of the part that has been copied
  for (size_t tag = xml.find(kCell), end = 0; tag != std::string::npos; tag = xml.find(kCell, end)) {
    end = std::min(xml.find('>', tag), xml.size());
    const std::string_view bytes = std::string_view(xml).substr(tag, end - tag);
    const size_t at = bytes.find(kAttribute);
    if (at == std::string::npos || bytes.back() == '/' || !xml_attribute(bytes, "formula").empty()) continue;
    const size_t last = bytes.find('"', at + kAttribute.size());
    if (last == std::string::npos) continue;
    result += std::string_view(xml).substr(kept, tag + at - kept);
    kept = tag + last + 1;
  }
  return result + xml.substr(kept);
}

// A packed file with texts in some of its members.
class PackedDocument : public DocumentParts {
 public:
  PackedDocument(const std::string& name, std::string content, const DocumentFileOptions& options)
      : name_(name),
        file_(name, std::move(content)),
        most_bytes_(options.most_bytes),
        on_warning_(options.on_warning) {}

  TextFormat text_format() const override { return TextFormat::html; }
  size_t size() const override { return parts_.size(); }
  size_t bytes(size_t part) const override { return file_.members()[parts_[part].member].size; }

  std::shared_ptr<const DocumentFile> open(size_t part) const override {
    const auto& [member, rules, marks] = parts_[part];
    std::string content = in_utf8(file_.read(member));
    if (rules && rules->has_string_values) content = without_string_values(content);
    if (!rules) return open_xhtml(std::move(content));
    if (std::none_of(marks.begin(), marks.end(),
                     [&](const char* mark) { return content.find(mark) != std::string::npos; }))
      return nullptr;
    auto xml = std::make_shared<XmlTexts>(std::move(content), *rules, name_of(member), on_warning_);
    return xml->texts().empty() ? nullptr : std::move(xml);
  }

  void write(const ContentOf& content_of, const ByteSink& sink, const LanguagePair& languages) const override {
    size_t next = 0;
    const bool has_languages = can_declare(languages);
    file_.write(
        [&](size_t member) -> std::optional<std::string> {
          const Part* const part = next < parts_.size() && parts_[next].member == member ? &parts_[next] : nullptr;
          std::optional<std::string> content = part == nullptr ? std::nullopt : content_of(next++);
          if (!has_languages || (part == nullptr && declaring_.count(member) == 0)) return content;
          std::string old = content ? std::move(*content) : file_.read(member);
          return part != nullptr && !part->rules ? page_in_language(std::move(old), languages)
                                                 : xml_in_language(name_of(member), std::move(old), languages);
        },
        sink);
  }

  const std::vector<ZipRecord>& members() const { return file_.members(); }
  std::string name_of(size_t member) const { return name_ + ": " + members()[member].name; }
  void require(const std::string& member, const char* what) const {
    if (!file_.find(member))
      throw std::runtime_error(fmt::format("{}: is no {} (it has no '{}')", name_, what, member));
  }
  // The content of a member that is read besides the parts; empty if there is none.
  std::string read(const std::string& name) {
    const auto member = file_.find(name);
    return member ? read(*member) : "";
  }
  std::string read(size_t member) {
    count_bytes(member);
    return file_.read(member);
  }
  // Adds a part. Members come in their order. A part without rules is HTML. Each member with texts contains one of the
  // marks.
  void add(size_t member, std::shared_ptr<const XmlRules> rules, std::vector<const char*> marks = {""}) {
    count_bytes(member);
    parts_.push_back({member, std::move(rules), std::move(marks)});
  }
  // Adds a member that has no texts, but declares the language.
  void add_declaring(size_t member) {
    count_bytes(member);
    declaring_.insert(member);
  }

 private:
  struct Part {
    size_t member;
    std::shared_ptr<const XmlRules> rules;
    std::vector<const char*> marks;
  };

  // Counts each member once.
  void count_bytes(size_t member) {
    if (!counted_.insert(member).second) return;
    const uint64_t size = members()[member].size;
    if (size > most_bytes_ - unpacked_)
      throw std::runtime_error(
          fmt::format("{}: its texts take more than {} bytes when unpacked; divide the file", name_, most_bytes_));
    unpacked_ += size;
  }

  std::string name_;
  PackedFile file_;
  uint64_t most_bytes_, unpacked_ = 0;
  std::function<void(const std::string& message)> on_warning_;
  std::set<size_t> counted_, declaring_;
  std::vector<Part> parts_;
};

bool has_ending(std::string_view text, std::string_view ending) {
  return text.size() >= ending.size() && text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

// The rules for Word's paragraphs and, with another prefix, those of drawings in all three programs.
XmlRules paragraph_rules() {
  XmlRules rules;
  rules.paragraphs = "p";
  rules.runs = "r";
  rules.wrappers = "hyperlink ins moveTo smartTag sdt sdtContent customXml dir bdo";
  rules.borders = "br cr tab ptab";
  rules.dropped = "proofErr lastRenderedPageBreak softHyphen";
  rules.skipped = "oMath oMathPara";
  rules.attributes = {{"docPr", "descr"},        {"docPr", "title"},         {"cNvPr", "descr"},
                      {"cNvPr", "title"},        {"textpath", "string"},  // a watermark
                      {"tblCaption", "val"},     {"tblDescription", "val"},  {"hyperlink", "tooltip"},
                      {"hlinkClick", "tooltip"}, {"listItem", "displayText"}};
  return rules;
}

// A shape of a slide's layout whose text no slide shows: it tells the author what to write there.
bool is_placeholder(std::string_view name, std::string_view /*tag*/, std::string_view content) {
  return name == "sp" && content.find("<p:ph") != std::string_view::npos;
}

XmlRules cell_rules(const char* paragraphs) {
  XmlRules rules;
  rules.paragraphs = paragraphs;
  rules.runs = "r";
  rules.dropped = "rPh";  // tells how the characters of the source are read
  rules.keeps_lines = true;
  rules.most_characters = 32'767;  // characters of a cell; Excel reports a file with more as damaged
  return rules;
}

// A folder and the beginning of a file name, case-insensitive, and how such files are read.
struct OfficePart {
  const char* beginning;  // in lower case
  XmlRules rules;
  std::vector<const char*> marks{""};  // every such file with texts contains one of these
};

std::vector<OfficePart> office_parts() {
  const XmlRules paragraphs = paragraph_rules();
  std::vector<OfficePart> parts;
  for (const char* part :
       {"word/document", "word/header", "word/footer", "word/footnotes", "word/endnotes", "word/comments.",
        "word/diagrams/data", "word/diagrams/drawing", "word/drawings/drawing", "ppt/slides/slide",
        "ppt/notesslides/notesslide", "ppt/comments/moderncomment", "ppt/diagrams/data", "ppt/diagrams/drawing",
        "ppt/drawings/drawing", "xl/drawings/drawing", "xl/diagrams/data", "xl/diagrams/drawing"})
    parts.push_back({part, paragraphs});
  XmlRules masters = paragraphs;
  masters.skips = is_placeholder;
  for (const char* part : {"ppt/slidelayouts/slidelayout", "ppt/slidemasters/slidemaster"})
    parts.push_back({part, masters});
  XmlRules charts = paragraphs;
  charts.paragraphs = "p v";  // copies of the cells that name the series and categories
  charts.skipped = "numCache numLit";
  charts.keeps_lines = true;
  XmlRules new_charts = charts;  // such as waterfalls, whose labels have no element of their own in a point
  new_charts.paragraphs = "p v pt";
  for (const char* part : {"word/charts/chartex", "ppt/charts/chartex", "xl/charts/chartex"})
    parts.push_back({part, new_charts});
  for (const char* part : {"word/charts/chart", "ppt/charts/chart", "xl/charts/chart"}) parts.push_back({part, charts});
  XmlRules plain;
  plain.paragraphs = "text";
  plain.keeps_lines = true;
  parts.push_back({"ppt/comments/comment", plain});
  parts.push_back({"xl/threadedcomments/", plain});
  parts.push_back({"xl/sharedstrings", cell_rules("si")});
  XmlRules sheets = cell_rules("is");
  sheets.attributes = {{"dataValidation", "promptTitle", 32},
                       {"dataValidation", "prompt", 255},
                       {"dataValidation", "errorTitle", 32},
                       {"dataValidation", "error", 255},
                       {"hyperlink", "tooltip", 255}};
  sheets.headers = "oddHeader oddFooter evenHeader evenFooter firstHeader firstFooter";
  parts.push_back({"xl/worksheets/sheet", sheets, {"inlineStr", "prompt", "error", "tooltip", "Header>", "Footer>"}});
  parts.push_back({"xl/comments", cell_rules("text")});
  return parts;
}

// The texts of cells to which other places of a spreadsheet refer: string literals of formulas, values of filters,
// headers and totals of tables, which Excel wants to be the same in both places, and fields of pivot tables.
class NamedTexts {
 public:
  // Adds the texts in the XML of a member.
  void add(std::string_view xml) {
    enum class Kind { formula, text, pattern };
    struct Place {
      std::string_view element, attribute;  // no attribute: the element's text
      Kind kind = Kind::formula;
    };
    constexpr Place kPlaces[] = {{"f", ""},
                                 {"formula", ""},
                                 {"formula1", ""},
                                 {"formula2", ""},
                                 {"definedName", ""},
                                 {"calculatedColumnFormula", ""},
                                 {"totalsRowFormula", ""},
                                 {"tableColumn", "name", Kind::text},
                                 {"tableColumn", "totalsRowLabel", Kind::text},
                                 {"cacheField", "name", Kind::text},
                                 {"filter", "val", Kind::text},
                                 {"customFilter", "val", Kind::pattern},
                                 // OpenDocument:
                                 {"table-cell", "formula"},
                                 {"content-validation", "condition"},
                                 {"condition", "value"},
                                 {"map", "condition"},
                                 {"named-expression", "expression"},
                                 {"filter-condition", "value", Kind::pattern},
                                 {"filter-set-item", "value", Kind::text}};
    for_each_tag(xml, [&](std::string_view name, std::string_view tag, std::string_view content) {
      for (const auto& [element, attribute, kind] : kPlaces) {
        if (element != name) continue;
        const std::string text = with_references_decoded(attribute.empty() ? content : xml_attribute(tag, attribute));
        kind == Kind::formula ? add_literals(text) : add_text(text, kind == Kind::pattern);
      }
    });
  }

  // The texts that stay, for XmlRules.
  std::shared_ptr<const KeptTexts> texts() { return std::make_shared<const KeptTexts>(std::move(texts_)); }

 private:
  void add_text(std::string_view text, bool may_be_pattern = false) {
    const std::string decoded = with_excel_escapes_decoded(text);
    texts_.add(decoded);
    if (may_be_pattern && decoded.find('*') != std::string::npos) texts_.add_pattern(decoded);
  }

  // True for the name of a function whose criteria may have wildcards.
  static bool has_criteria(std::string_view function) {
    constexpr std::string_view kEndings[] = {"COUNTIF",    "COUNTIFS", "SUMIF",  "SUMIFS", "AVERAGEIF",
                                             "AVERAGEIFS", "MAXIFS",   "MINIFS", "LOOKUP", "MATCH"};
    return std::any_of(std::begin(kEndings), std::end(kEndings),
                       [&](std::string_view ending) { return has_ending(function, ending); });
  }

  // A formula that is nothing but a literal is the list of a drop-down menu.
  void add_literals(std::string_view formula) {
    constexpr std::string_view kMarks = "\"'()";  // names of sheets are in single quotes
    size_t depth = 0;                             // open parentheses since that of a function with criteria
    for (size_t at = formula.find_first_of(kMarks); at < formula.size(); at = formula.find_first_of(kMarks, at)) {
      const char mark = formula[at];
      if (mark == '(' && (depth > 0 || has_criteria(formula.substr(0, at)))) ++depth;
      if (mark == ')' && depth > 0) --depth;
      const size_t end = mark == '(' || mark == ')' ? at : closing_quote(formula, at);
      if (end != std::string_view::npos && mark == '"') {
        const std::string literal = undoubled(formula.substr(at + 1, end - at - 1), '"');
        add_text(literal, depth > 0);
        const std::string_view before = formula.substr(0, at);
        if (has_ending(before, "SEARCH(") || has_ending(before, "FIND(")) texts_.add_pattern('*' + literal + '*');
        if (at == 0 && end + 1 == formula.size()) add_list(literal);
      }
      at = end == std::string_view::npos ? at + 1 : end + 1;
    }
  }

  // Returns the quote that ends the string at `at`; npos if there is none. Two quotes are one within.
  static size_t closing_quote(std::string_view formula, size_t at) {
    const char quote = formula[at];
    size_t end = formula.find(quote, at + 1);
    while (end < formula.size() - 1 && formula[end + 1] == quote) end = formula.find(quote, end + 2);
    return end;
  }

  void add_list(std::string_view list) {
    for (size_t begin = 0, end = 0; end < list.size(); begin = end + 1) {
      end = std::min(list.find(',', begin), list.size());
      add_text(list.substr(begin, end - begin));
    }
  }

  KeptTexts texts_;
};

// Cells whose content is a number, a date or a result keep what they show; so do descriptions that programs make.
bool is_made_by_program(std::string_view name, std::string_view tag, std::string_view content) {
  const std::string_view element = tag.substr(0, tag.find_first_of(" \t\r\n/>"));
  if (element == "<text:title") return true;  // a field
  if (name == "desc" || element == "<svg:title") return is_made_description(content);
  if (name != "table-cell" && name != "covered-table-cell") return false;
  const std::string_view type = xml_attribute(tag, "value-type");
  return (!type.empty() && type != "string") || !xml_attribute(tag, "formula").empty();
}

// The media types of the members that a book lists, by their names.
std::map<std::string, std::string> media_types(PackedDocument& book) {
  std::map<std::string, std::string> types;
  for (size_t member = 0; member < book.members().size(); ++member) {
    const std::string& path = book.members()[member].name;
    if (!has_ending(path, ".opf")) continue;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    for_each_tag(book.read(member), [&](std::string_view name, std::string_view tag, std::string_view /*text*/) {
      if (name != "item") return;
      const std::string file = percent_decoded(with_references_decoded(xml_attribute(tag, "href")));
      types[(folder / file).lexically_normal().generic_string()] = xml_attribute(tag, "media-type");
    });
  }
  return types;
}

bool is_page(const std::string& member) {
  const std::string name = lower_case(member);
  return has_ending(name, ".xhtml") || has_ending(name, ".html") || has_ending(name, ".htm");
}

}  // namespace

std::unique_ptr<DocumentParts> open_office(const std::string& name, std::string content,
                                           const DocumentFileOptions& options) {
  auto file = std::make_unique<PackedDocument>(name, std::move(content), options);
  file->require("[Content_Types].xml", "Office file");
  NamedTexts named;
  for (size_t member = 0; member < file->members().size(); ++member)
    for (const char* beginning :
         {"xl/worksheets/sheet", "xl/tables/", "xl/pivotcache/pivotcachedef", "xl/workbook.xml"})
      if (begins_with(lower_case(file->members()[member].name), beginning)) named.add(file->read(member));
  const auto fonts = std::make_shared<StyleFonts>();
  fonts->add(file->read("word/styles.xml"));
  const auto kept_texts = named.texts();
  std::vector<OfficePart> parts = office_parts();
  std::map<const OfficePart*, std::shared_ptr<const XmlRules>> rules;
  for (OfficePart& part : parts) {
    part.rules.kept_texts = kept_texts;
    if (!part.rules.keeps_lines) part.rules.fonts = fonts;  // does not apply to cells
    rules[&part] = std::make_shared<XmlRules>(std::move(part.rules));
  }
  for (size_t member = 0; member < file->members().size(); ++member) {
    const std::string path = lower_case(file->members()[member].name);
    const auto part = std::find_if(parts.begin(), parts.end(),
                                   [&](const OfficePart& candidate) { return begins_with(path, candidate.beginning); });
    if (part != parts.end() && has_ending(path, ".xml")) file->add(member, rules[&*part], part->marks);
    for (const char* declaring : {"docprops/core.xml", "ppt/notesmasters/notesmaster", "ppt/presentation.xml",
                                  "word/numbering.xml", "word/settings.xml", "word/styles.xml"})
      if (begins_with(path, declaring) && has_ending(path, ".xml")) file->add_declaring(member);
  }
  return file;
}

std::unique_ptr<DocumentParts> open_opendocument(const std::string& name, std::string content,
                                                 const DocumentFileOptions& options) {
  auto file = std::make_unique<PackedDocument>(name, std::move(content), options);
  file->require("content.xml", "OpenDocument file");
  if (file->read("META-INF/manifest.xml").find("encryption-data") != std::string::npos)
    throw std::runtime_error(name + ": is encrypted; save it without a password");
  NamedTexts named;
  named.add(file->read("content.xml"));
  const auto rules = std::make_shared<XmlRules>();
  rules->kept_texts = named.texts();
  const auto fonts = std::make_shared<StyleFonts>();
  for (const char* part : {"styles.xml", "content.xml"}) fonts->add(file->read(part));
  rules->fonts = fonts;
  rules->paragraphs = "p h desc title index-title-template header-decl footer-decl";
  rules->wrappers = "span a meta";
  rules->borders = "line-break tab";
  rules->skipped = "tracked-changes scripts number math ruby-text";
  rules->skips = is_made_by_program;
  rules->attributes = {{"a", "title"}};
  rules->has_string_values = true;
  for (size_t member = 0; member < file->members().size(); ++member) {
    const std::string& path = file->members()[member].name;
    const std::string base = path.substr(path.rfind('/') + 1);  // objects, as charts, have folders of their own
    if (base == "content.xml" || base == "styles.xml") file->add(member, rules);
    if (path == "meta.xml") file->add_declaring(member);
  }
  return file;
}

std::unique_ptr<DocumentParts> open_epub(const std::string& name, std::string content,
                                         const DocumentFileOptions& options) {
  auto file = std::make_unique<PackedDocument>(name, std::move(content), options);
  file->require("META-INF/container.xml", "EPUB file");
  if (file->read("META-INF/encryption.xml").find("xhtml") != std::string::npos)
    throw std::runtime_error(name + ": is encrypted; only books without copy protection are translated");
  const auto contents = std::make_shared<XmlRules>();
  contents->paragraphs = "text";
  contents->skipped = "docAuthor";
  const auto types = media_types(*file);
  for (size_t member = 0; member < file->members().size(); ++member) {
    const std::string& path = file->members()[member].name;
    const auto listed = types.find(path);
    const std::string type = listed == types.end() ? "" : listed->second;
    const std::string file_name = path.substr(path.rfind('/') + 1);
    if (begins_with(file_name, "._")) continue;  // the attributes of a file on macOS: __MACOSX/._page.xhtml
    if (is_page(path) || type == "application/xhtml+xml")
      file->add(member, nullptr);
    else if (has_ending(path, ".ncx") || type == "application/x-dtbncx+xml")
      file->add(member, contents);
    else if (has_ending(path, ".opf"))
      file->add_declaring(member);
  }
  return file;
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
// Archives of XML: Office Open XML, OpenDocument and EPUB.
#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/documents/file_formats.h>
#include <transmute/documents/html_references.h>
#include <transmute/documents/html_tokens.h>
#include <transmute/documents/packed_file.h>
#include <transmute/documents/xml_texts.h>
#include <transmute/documents/xml_tokens.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// A packed file some members of which have texts.
class PackedTexts : public DocumentFile {
 public:
  PackedTexts(const std::string& name, std::string content, const DocumentFileOptions& options)
      : name_(name), file_(name, std::move(content), options.most_bytes) {}

  TextFormat text_format() const override { return TextFormat::html; }

  std::string with(const std::vector<std::string>& translations) const override {
    std::map<std::string, std::string> changed;
    for (const Member& member : members_) {
      const auto first = translations.begin() + static_cast<int64_t>(member.first_text);
      const std::vector<std::string> own(first, first + static_cast<int64_t>(member.xml.texts().size()));
      if (std::string xml = member.xml.with(own); xml != member.xml.xml()) changed[member.name] = std::move(xml);
    }
    for (const auto& [name, text] : pages_)
      if (translations[text] != texts_[text]) changed[name] = translations[text];
    return file_.with(changed);
  }

  PackedFile& file() { return file_; }
  std::vector<std::string> names() const { return file_.names(); }
  std::string name_of(const std::string& member) const { return name_ + ": " + member; }
  void require(const std::string& member, const char* what) const {
    const std::vector<std::string> names = file_.names();
    if (std::find(names.begin(), names.end(), member) == names.end())
      throw std::runtime_error(fmt::format("{}: is no {} (it has no '{}')", name_, what, member));
  }

  /// @param mark is in every member that has texts
  void add_xml(const std::string& member, const XmlRules& rules, const char* mark = "") {
    std::string content = file_.read(member);
    if (content.find(mark) == std::string::npos) return;
    XmlTexts xml(std::move(content), rules, name_of(member));
    if (xml.texts().empty()) return;
    members_.push_back({member, texts_.size(), std::move(xml)});
    texts_.insert(texts_.end(), members_.back().xml.texts().begin(), members_.back().xml.texts().end());
  }
  void add_page(const std::string& member) {
    pages_.emplace_back(member, texts_.size());
    texts_.push_back(file_.read(member));
  }

 private:
  struct Member {
    std::string name;
    size_t first_text;
    XmlTexts xml;
  };
  std::string name_;
  PackedFile file_;
  std::vector<Member> members_;
  std::vector<std::pair<std::string, size_t>> pages_;  // of HTML, and the number of the text that each is
};

bool is_within(const std::string& text, std::string_view beginning) {
  return text.compare(0, beginning.size(), beginning) == 0;
}

bool has_ending(const std::string& text, std::string_view ending) {
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
  return rules;
}

XmlRules cell_rules(const char* paragraphs) {
  XmlRules rules;
  rules.paragraphs = paragraphs;
  rules.runs = "r";
  rules.keeps_lines = true;
  return rules;
}

// A folder and the beginning of a file's name, and how these files are read.
struct OfficePart {
  const char* beginning;
  XmlRules rules;
  const char* mark = "";  // is in every such file that has texts
};

std::vector<OfficePart> office_parts() {
  const XmlRules paragraphs = paragraph_rules();
  std::vector<OfficePart> parts;
  for (const char* part :
       {"word/document", "word/header", "word/footer", "word/footnotes", "word/endnotes", "word/comments.",
        "word/diagrams/data", "word/diagrams/drawing", "word/charts/chart", "ppt/slides/slide",
        "ppt/notesSlides/notesSlide", "ppt/diagrams/data", "ppt/diagrams/drawing", "ppt/charts/chart",
        "xl/drawings/drawing", "xl/charts/chart", "xl/diagrams/data", "xl/diagrams/drawing"})
    parts.push_back({part, paragraphs});
  XmlRules plain;
  plain.paragraphs = "text";
  parts.push_back({"ppt/comments/comment", plain});
  parts.push_back({"xl/threadedComments/", plain});
  parts.push_back({"xl/sharedStrings", cell_rules("si")});
  parts.push_back({"xl/worksheets/sheet", cell_rules("is"), "inlineStr"});
  parts.push_back({"xl/comments", cell_rules("text")});
  return parts;
}

// The headers of tables, which formulas name and which Excel wants to be the same in both places, and the fields of
// pivot tables.
std::set<std::string> table_headers(PackedTexts& file) {
  std::set<std::string> headers;
  for (const std::string& member : file.names()) {
    const bool is_table = is_within(member, "xl/tables/"), is_pivot = is_within(member, "xl/pivotCache/pivotCacheDef");
    if (!is_table && !is_pivot) continue;
    const std::string xml = file.file().read(member);
    for (const XmlToken& token : xml_tokens(xml, file.name_of(member)))
      if (token.local_name() == (is_table ? "tableColumn" : "cacheField") && token.kind != XmlToken::Kind::end)
        headers.insert(with_references_decoded(xml_attribute(token.in(xml), "name")));
  }
  return headers;
}

// A cell whose content is a number, a date or a result keeps what it shows.
bool is_computed_cell(std::string_view name, std::string_view tag) {
  if (name != "table-cell" && name != "covered-table-cell") return false;
  const std::string_view type = xml_attribute(tag, "value-type");
  return (!type.empty() && type != "string") || !xml_attribute(tag, "formula").empty();
}

bool is_page(const std::string& member) {
  const std::string name = lower_case(member);
  return has_ending(name, ".xhtml") || has_ending(name, ".html") || has_ending(name, ".htm");
}

}  // namespace

std::unique_ptr<DocumentFile> open_office(const std::string& name, std::string content,
                                          const DocumentFileOptions& options) {
  auto file = std::make_unique<PackedTexts>(name, std::move(content), options);
  file->require("[Content_Types].xml", "Office file");
  const std::set<std::string> headers = table_headers(*file);
  const std::vector<OfficePart> parts = office_parts();
  for (const std::string& member : file->names()) {
    const auto part = std::find_if(parts.begin(), parts.end(),
                                   [&](const OfficePart& candidate) { return is_within(member, candidate.beginning); });
    if (part == parts.end() || !has_ending(member, ".xml")) continue;
    XmlRules rules = part->rules;
    rules.kept_texts = headers;
    file->add_xml(member, rules, part->mark);
  }
  return file;
}

std::unique_ptr<DocumentFile> open_opendocument(const std::string& name, std::string content,
                                                const DocumentFileOptions& options) {
  auto file = std::make_unique<PackedTexts>(name, std::move(content), options);
  file->require("content.xml", "OpenDocument file");
  if (const std::vector<std::string> names = file->names();
      std::find(names.begin(), names.end(), "META-INF/manifest.xml") != names.end() &&
      file->file().read("META-INF/manifest.xml").find("encryption-data") != std::string::npos)
    throw std::runtime_error(name + ": is encrypted; save it without a password");
  XmlRules rules;
  rules.paragraphs = "p h";
  rules.wrappers = "span a meta";
  rules.borders = "line-break tab";
  rules.skipped = "tracked-changes scripts number math ruby-text";
  rules.skips = is_computed_cell;
  for (const std::string& member : file->names()) {
    const std::string base = member.substr(member.rfind('/') + 1);  // objects, as charts, have folders of their own
    if (base == "content.xml" || base == "styles.xml") file->add_xml(member, rules);
  }
  return file;
}

std::unique_ptr<DocumentFile> open_epub(const std::string& name, std::string content,
                                        const DocumentFileOptions& options) {
  auto file = std::make_unique<PackedTexts>(name, std::move(content), options);
  file->require("META-INF/container.xml", "EPUB file");
  if (const std::vector<std::string> names = file->names();
      std::find(names.begin(), names.end(), "META-INF/encryption.xml") != names.end() &&
      file->file().read("META-INF/encryption.xml").find("xhtml") != std::string::npos)
    throw std::runtime_error(name + ": is encrypted; only books without copy protection are translated");
  XmlRules contents;
  contents.paragraphs = "text";
  for (const std::string& member : file->names()) {
    if (is_page(member)) file->add_page(member);
    if (has_ending(member, ".ncx")) file->add_xml(member, contents);
  }
  return file;
}

}  // namespace v0
}  // namespace transmute

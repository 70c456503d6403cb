// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/xml_tokens.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

constexpr std::string_view kXmlSpace = " \t\r\n";
constexpr size_t kMostDepth = 500;

bool stands_at(std::string_view text, size_t at, std::string_view what) {
  return text.compare(at, what.size(), what) == 0;
}

class XmlReader {
 public:
  XmlReader(std::string_view xml, const std::string& name) : xml_(xml), name_(name) {}

  std::vector<XmlToken> read() {
    if (stands_at(xml_, 0, "\xFF\xFE") || stands_at(xml_, 0, "\xFE\xFF")) refuse(0, "it is UTF-16; save it as UTF-8");
    if (const size_t bad = find_invalid_utf8(xml_); bad != std::string::npos) refuse(bad, "it is not UTF-8");
    // A tag has at most one text before it. Growing would take twice the memory at a time.
    tokens_.reserve(2 * static_cast<size_t>(std::count(xml_.begin(), xml_.end(), '<')) + 1);
    for (size_t at = 0; at < xml_.size();) at = xml_[at] == '<' ? read_markup(at) : read_text(at);
    if (!open_.empty()) refuse(xml_.size(), fmt::format("<{}> has no end tag", tokens_[open_.back()].name));
    if (!has_element_) refuse(0, "it has no element");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void refuse(size_t at, const std::string& why) const {
    throw std::runtime_error(fmt::format("{}: damaged XML at byte {}: {}", name_, at + 1, why));
  }

  size_t add(XmlToken::Kind kind, size_t begin, size_t end, std::string_view name = {}) {
    tokens_.push_back({kind, begin, end, name, tokens_.size()});
    return end;
  }

  size_t end_of(size_t at, std::string_view closing, const char* what) const {
    const size_t end = xml_.find(closing, at);
    if (end == std::string_view::npos) refuse(at, fmt::format("a {} has no end", what));
    return end + closing.size();
  }

  size_t read_text(size_t at) {
    const size_t end = std::min(xml_.find('<', at), xml_.size());
    return add(XmlToken::Kind::text, at, end);
  }

  size_t read_markup(size_t at) {
    using Kind = XmlToken::Kind;
    if (stands_at(xml_, at, "<!--")) return add(Kind::other, at, end_of(at + 4, "-->", "comment"));
    if (stands_at(xml_, at, "<?")) return add(Kind::other, at, end_of(at, "?>", "processing instruction"));
    if (stands_at(xml_, at, "<![CDATA[")) return add(Kind::cdata, at, end_of(at, "]]>", "CDATA section"));
    if (stands_at(xml_, at, "<!")) return read_document_type(at);
    return read_tag(at);
  }

  // One that names a DTD tells nothing: it is not fetched.
  size_t read_document_type(size_t at) {
    const size_t end = end_of(at, ">", "document type declaration");
    if (has_element_ || xml_.substr(at, end - at).find('[') != std::string_view::npos)
      refuse(at, "declarations of entities and elements are not read; remove them");
    return add(XmlToken::Kind::other, at, end);
  }

  size_t read_tag(size_t at) {
    const bool is_end = stands_at(xml_, at, "</");
    const size_t name_begin = at + (is_end ? 2 : 1);
    const size_t name_end = std::min(xml_.find_first_of(" \t\r\n/>=\"'<&", name_begin), xml_.size());
    const std::string_view name = xml_.substr(name_begin, name_end - name_begin);
    if (name.empty()) refuse(at, "a tag has no name");
    const size_t last = read_attributes(name_end, at);  // '>' or "/>"
    if (is_end) return close(at, last, name);
    has_element_ = true;
    if (xml_[last] == '/') return add(XmlToken::Kind::empty, at, last + 2, name);
    if (open_.size() == kMostDepth) refuse(at, fmt::format("elements nest more than {} deep", kMostDepth));
    open_.push_back(tokens_.size());
    return add(XmlToken::Kind::start, at, last + 1, name);
  }

  // The place of the '>' or "/>" of the tag that begins at `tag`.
  size_t read_attributes(size_t at, size_t tag) const {
    while (true) {
      at = std::min(xml_.find_first_not_of(kXmlSpace, at), xml_.size());
      if (stands_at(xml_, at, ">") || stands_at(xml_, at, "/>")) return at;
      const size_t equals = xml_.find_first_of("=<>", at);
      const size_t quote = equals == std::string_view::npos ? equals : xml_.find_first_not_of(kXmlSpace, equals + 1);
      const bool has_value = quote != std::string_view::npos && equals > at && xml_[equals] == '=' &&
                             (xml_[quote] == '"' || xml_[quote] == '\'');
      const size_t end = has_value ? xml_.find(xml_[quote], quote + 1) : std::string_view::npos;
      if (end == std::string_view::npos) refuse(tag, "a tag has no end, or an attribute has no value");
      at = end + 1;
    }
  }

  size_t close(size_t at, size_t last, std::string_view name) {
    if (xml_[last] != '>' || open_.empty() || tokens_[open_.back()].name != name)
      refuse(at, fmt::format("</{}> ends no element that is open", name));
    tokens_[open_.back()].partner = tokens_.size();
    tokens_.push_back({XmlToken::Kind::end, at, last + 1, name, open_.back()});
    open_.pop_back();
    return last + 1;
  }

  std::string_view xml_;
  const std::string& name_;
  std::vector<XmlToken> tokens_;
  std::vector<size_t> open_;
  bool has_element_ = false;
};

}  // namespace

std::vector<XmlToken> xml_tokens(std::string_view xml, const std::string& name) {
  return XmlReader(xml, name).read();
}

std::string_view xml_attribute(std::string_view tag, std::string_view name) {
  for (size_t at = tag.find_first_of(kXmlSpace); at < tag.size();) {
    at = tag.find_first_not_of(kXmlSpace, at);
    const size_t equals = tag.find('=', at);
    const size_t quote = equals == std::string_view::npos ? equals : tag.find_first_of("\"'", equals);
    const size_t end = quote == std::string_view::npos ? quote : tag.find(tag[quote], quote + 1);
    if (end == std::string_view::npos) break;
    std::string_view full = tag.substr(at, equals - at);
    full = full.substr(0, full.find_first_of(kXmlSpace));
    if (full.substr(full.find(':') + 1) == name) return tag.substr(quote + 1, end - quote - 1);
    at = end + 1;
  }
  return {};
}

std::string with_xml_attribute(std::string_view tag, std::string_view name, std::string_view value) {
  const std::string_view old = xml_attribute(tag, name.substr(name.find(':') + 1));
  std::string result(tag);
  if (old.data() != nullptr) return result.replace(static_cast<size_t>(old.data() - tag.data()), old.size(), value);
  return result.insert(tag.find_first_of(" \t\r\n/>"), fmt::format(" {}=\"{}\"", name, value));
}

void for_each_tag(std::string_view xml, const UseTag& use) {
  constexpr std::string_view kOthers[][2] = {{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}};
  for (size_t at = xml.find('<'); at < xml.size(); at = xml.find('<', at)) {
    const auto* const other = std::find_if(std::begin(kOthers), std::end(kOthers),
                                           [&](const auto& marks) { return stands_at(xml, at, marks[0]); });
    if (other != std::end(kOthers)) {
      at = xml.find((*other)[1], at + (*other)[0].size());
      continue;
    }
    size_t last = xml.find_first_of(">\"'", at);
    while (last < xml.size() && xml[last] != '>') {
      const size_t quote = xml.find(xml[last], last + 1);
      last = quote == std::string_view::npos ? quote : xml.find_first_of(">\"'", quote + 1);
    }
    if (last == std::string_view::npos) return;
    const std::string_view tag = xml.substr(at, last + 1 - at),
                           text = xml.substr(last + 1, xml.find('<', last) - last - 1);
    const std::string_view name = tag.substr(1, tag.find_first_of(" \t\r\n/>", 1) - 1);
    if (!name.empty()) use(name.substr(name.find(':') + 1), tag, text);
    at = last;
  }
}

}  // namespace v0
}  // namespace transmute

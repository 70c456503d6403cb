// SPDX-License-Identifier: Apache-2.0
// Files that are one text: HTML and plain text.
#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/files.h>
#include <transmute/documents/ascii_text.h>
#include <transmute/documents/file_formats.h>
#include <transmute/documents/page_source.h>
#include <transmute/documents/wrapped_text.h>
#include <transmute/text/sentence_characters.h>

#include <cstdint>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// The text itself, if one of its lines ends without a carriage return.
std::string without_carriage_returns(const std::string& text) {
  std::string result;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n' && (at == 0 || text[at - 1] != '\r')) return text;
    if (text.compare(at, 2, "\r\n") != 0) result += text[at];
  }
  return result;
}

std::string with_carriage_returns(const std::string& text) {
  std::string result;
  for (const char c : text) c == '\n' ? result += "\r\n" : result += c;
  return result;
}

// Text whose paragraphs may have been cut into short lines, as in mails.
class PlainText : public DocumentFile {
 public:
  explicit PlainText(const std::string& content) : content_(without_carriage_returns(content)) {
    has_carriage_returns_ = content_.size() < content.size();
    texts_.push_back(without_wrapping(content_, WrappedText::plain));
  }
  TextFormat text_format() const override { return TextFormat::text; }
  std::string with(const std::vector<std::string>& translations) const override {
    const std::string text = wrapped_like(content_, translations.front(), WrappedText::plain);
    return has_carriage_returns_ ? with_carriage_returns(text) : text;
  }

 private:
  std::string content_;
  bool has_carriage_returns_;
};

std::string in_ascii(const std::string& html) {
  std::string result;
  sentence_characters::all_characters(html, [&](UChar32 c) {
    c >= 0x80 ? result += fmt::format("&#{};", c) : result += static_cast<char>(c);
    return true;
  });
  return result;
}

// A page of HTML that has no other characters than ASCII and does not name its encoding may be read in another one than
// UTF-8. Its translation is in ASCII too.
class HtmlPage : public DocumentFile {
 public:
  HtmlPage(const std::string& content, bool is_xml)
      : is_ascii_(!is_xml && is_ascii(content) && lower_case(content).find("utf-8") == std::string::npos) {
    std::string lines = without_carriage_returns(content);
    has_carriage_returns_ = lines.size() < content.size();
    texts_.push_back(is_xhtml(content) ? as_html(std::move(lines)) : std::move(lines));
  }
  TextFormat text_format() const override { return TextFormat::html; }
  std::string with(const std::vector<std::string>& translations) const override {
    const std::string page = is_ascii_ ? in_ascii(translations.front()) : translations.front();
    return has_carriage_returns_ ? with_carriage_returns(page) : page;
  }

 private:
  bool is_ascii_, has_carriage_returns_;
};

}  // namespace

std::unique_ptr<DocumentFile> open_html(const std::string& name, std::string content, const DocumentFileOptions&) {
  return std::make_unique<HtmlPage>(content, ends_in(lower_case(name), ".xhtml"));
}

std::unique_ptr<DocumentFile> open_xhtml(std::string content) {
  return std::make_unique<HtmlPage>(content, true);
}

std::unique_ptr<DocumentFile> open_text(const std::string& /*name*/, std::string content, const DocumentFileOptions&) {
  return std::make_unique<PlainText>(content);
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/document_formats.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/files.h>
#include <transmute/common/text_file.h>
#include <transmute/documents/file_formats.h>
#include <transmute/documents/page_source.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

using InLanguage = std::string (*)(std::string content, const LanguagePair& languages);

// A document that is a single file.
class WholeDocument : public DocumentParts {
 public:
  // `in_language` gives the content its target language; null for formats that declare none.
  WholeDocument(std::shared_ptr<const DocumentFile> file, size_t bytes, InLanguage in_language)
      : file_(std::move(file)), bytes_(bytes), in_language_(in_language) {}

  TextFormat text_format() const override { return file_->text_format(); }
  size_t size() const override { return 1; }
  size_t bytes(size_t /*part*/) const override { return bytes_; }
  std::shared_ptr<const DocumentFile> open(size_t /*part*/) const override { return file_; }
  void write(const ContentOf& content_of, const ByteSink& sink, const LanguagePair& languages) const override {
    std::optional<std::string> content = content_of(0);
    if (!content) content = file_->with(file_->texts());
    sink(in_language_ != nullptr && can_declare(languages) ? in_language_(std::move(*content), languages) : *content);
  }

 private:
  std::shared_ptr<const DocumentFile> file_;
  size_t bytes_;
  InLanguage in_language_;
};

template <auto open_file, InLanguage in_language = nullptr>
std::unique_ptr<DocumentParts> open_whole(const std::string& name, std::string content,
                                          const DocumentFileOptions& options) {
  const size_t bytes = content.size();
  return std::make_unique<WholeDocument>(open_file(name, std::move(content), options), bytes, in_language);
}

// @throws std::runtime_error naming the line that has a zero byte or is not UTF-8.
void check_text(const std::string& name, std::string_view content) {
  const size_t bad = std::min(content.find('\0'), find_invalid_utf8(content));
  if (bad == std::string_view::npos) return;
  const size_t begin = content.rfind('\n', bad) + 1;
  const std::string_view line = content.substr(begin, content.find('\n', bad) - begin);
  const std::string where = fmt::format("{}:{}", name, std::count(content.begin(), content.begin() + bad, '\n') + 1);
  if (content[bad] != '\0') throw std::runtime_error(invalid_utf8_message(where, line, bad - begin, begin == 0));
  throw std::runtime_error(fmt::format("{}: has a zero byte (byte {} of the line); {}", where, bad - begin + 1,
                                       remedy_of_zero_bytes(line, begin == 0)));
}

// Word and Excel open no template and no file with macros under the ending of another kind, and PowerPoint opens no
// file with macros under that of one without.
void check_office_ending(const DocumentFormat& format, const std::string& input, const std::string& output) {
  if (!begins_with(format.media_type, "application/vnd.openxmlformats")) return;
  // Not extension(), which is empty for ".docx".
  const auto ending = [](const std::string& path) { return lower_case(path.substr(path.rfind('.'))); };
  const std::string from = ending(input), to = ending(output);
  if (from == to || (format.name == std::string("pptx") && from.back() == to.back())) return;
  throw std::invalid_argument(fmt::format(
      "{} would be a {} file, as the input is, which Office opens under no other ending; rename it", output, from));
}

}  // namespace

const std::vector<DocumentFormat>& document_formats() {
  static const std::vector<DocumentFormat> formats{
      {"txt", ".txt", "text/plain; charset=utf-8", open_whole<open_text>},
      {"docx", ".docx .docm .dotx .dotm", "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
       open_office},
      {"pptx", ".pptx .pptm .potx .potm .ppsx .ppsm",
       "application/vnd.openxmlformats-officedocument.presentationml.presentation", open_office},
      {"xlsx", ".xlsx .xlsm .xltx .xltm", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
       open_office},
      {"odt", ".odt .ott", "application/vnd.oasis.opendocument.text", open_opendocument},
      {"odp", ".odp .otp", "application/vnd.oasis.opendocument.presentation", open_opendocument},
      {"ods", ".ods .ots", "application/vnd.oasis.opendocument.spreadsheet", open_opendocument},
      {"epub", ".epub", "application/epub+zip", open_epub},
      {"html", ".html .htm .xhtml", "text/html; charset=utf-8", open_whole<open_html, page_in_language>},
      {"markdown", ".md .markdown", "text/markdown; charset=utf-8", open_whole<open_markdown>},
      {"srt", ".srt", "application/x-subrip", open_whole<open_srt>},
      {"vtt", ".vtt", "text/vtt; charset=utf-8", open_whole<open_vtt>},
      {"ass", ".ass .ssa", "text/x-ass; charset=utf-8", open_whole<open_ass>},
      {"po", ".po .pot", "text/x-gettext-translation; charset=utf-8", open_whole<open_po, po_in_language>},
      {"xliff", ".xliff .xlf", "application/xliff+xml", open_whole<open_xliff, xliff_in_language>},
      {"json", ".json .arb", "application/json", open_whole<open_json, json_in_language>},
      {"yaml", ".yaml .yml", "application/yaml", open_whole<open_yaml, yaml_in_language>},
      {"properties", ".properties", "text/x-java-properties", open_whole<open_properties>},
      {"strings", ".strings", "text/plain; charset=utf-8", open_whole<open_strings>},
      {"resx", ".resx", "application/xml", open_whole<open_resx>},
      {"android", "strings.xml", "application/xml", open_whole<open_android>}};
  return formats;
}

const DocumentFormat* find_document_format(const std::string& name) {
  const auto& formats = document_formats();
  const auto found =
      std::find_if(formats.begin(), formats.end(), [&](const DocumentFormat& format) { return format.name == name; });
  return found == formats.end() ? nullptr : &*found;
}

const DocumentFormat* document_format_of(const std::string& path) {
  const std::string name = lower_case(path);
  for (const DocumentFormat& format : document_formats()) {
    std::string endings = format.endings;
    while (!endings.empty()) {
      const std::string ending = endings.substr(0, endings.find(' '));
      if (name == ending || ends_in(name, ending)) return &format;
      endings.erase(0, ending.size() + 1);
    }
  }
  return nullptr;
}

void check_output_format(const DocumentFormat& format, const std::string& input, const std::string& output) {
  const DocumentFormat* const other = document_format_of(output);
  if (other != nullptr && other != &format)
    throw std::invalid_argument(
        fmt::format("{} would be a file of the format {}, as the input is; rename it", output, format.name));
  if (other != nullptr && document_format_of(input) == &format) check_office_ending(format, input, output);
}

std::unique_ptr<DocumentParts> open_document(const DocumentFormat& format, const std::string& name, std::string content,
                                             const DocumentFileOptions& options) {
  const bool is_text = format.open != open_whole<open_properties> && content.compare(0, 2, "PK") != 0 &&
                       content.compare(0, 2, "\xD0\xCF") != 0;
  const std::string media_type = format.media_type;
  if (is_text && (begins_with(media_type, "text/html") || ends_in(media_type, "xml")))
    content = in_utf8(std::move(content));
  if (is_text) check_text(name, content);
  return format.open(name, std::move(content), options);
}

}  // namespace v0
}  // namespace transmute

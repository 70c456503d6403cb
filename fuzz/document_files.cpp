// SPDX-License-Identifier: Apache-2.0
// Files of documents: what is read comes back as it was, and any translation can be put into it.
#include <transmute/documents/document_formats.h>
#include <transmute/documents/html_tokens.h>
#include <transmute/documents/packed_file.h>
#include <transmute/documents/page_source.h>
#include <transmute/fuzz/fuzz.h>
#include <transmute/tests/support/zip_files.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace transmute;

namespace {

constexpr uint64_t kMostBytes = 1 << 20;

// Members of archives, which a fuzzer could not pack, are files here.
const char* const kFormats[] = {"srt",  "vtt",        "ass",  "po",       "docx",  "odt",
                                "xlsx", "epub",       "html", "markdown", "xliff", "json",
                                "yaml", "properties", "resx", "android",  "txt",   "strings"};

// An archive of one member, and of one that tells the format.
std::string packed(const std::string& format, const std::string& content) {
  if (format == "docx") return testing::zip_of({{"word/document.xml", content}, {"[Content_Types].xml", "<a/>"}});
  if (format == "xlsx") return testing::zip_of({{"xl/sharedStrings.xml", content}, {"[Content_Types].xml", "<a/>"}});
  if (format == "odt") return testing::zip_of({{"styles.xml", content}, {"content.xml", "<a/>"}});
  if (format == "epub") return testing::zip_of({{"toc.ncx", content}, {"META-INF/container.xml", "<a/>"}});
  return content;
}

// A text without white space and the marks of quotations, which lines that are wrapped have more of.
std::string words_of(std::string text) {
  text.erase(std::remove_if(text.begin(), text.end(),
                            [](char c) { return std::string_view(" \t\r\n>").find(c) != std::string_view::npos; }),
             text.end());
  return text;
}

std::vector<std::string> tags_of(const std::string& page) {
  std::vector<std::string> names;
  for (const HtmlToken& token : html_tokens(page)) names.push_back(token.name);
  return names;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const size_t kind = input.byte();
  const std::string translation = input.text(), content = input.rest();
  fuzz::may_refuse([&] {  // the archive itself, with all that may be wrong with it
    const PackedFile file("x", content);
    std::string written;
    file.write(
        [&](size_t member) -> std::optional<std::string> {
          std::optional<std::string> longer;
          if (file.members()[member].size < kMostBytes) fuzz::may_refuse([&] { longer = file.read(member) + 'x'; });
          return longer;
        },
        [&](std::string_view bytes) { written += bytes; });
    fuzz::require(PackedFile("y", written).members().size() == file.members().size());
  });
  const std::string format = kFormats[kind % (sizeof(kFormats) / sizeof(*kFormats))];
  fuzz::may_refuse([&] {
    const std::string bytes = packed(format, content);
    const auto file = open_document(*find_document_format(format), "x", bytes, {(kind & 128) != 0, kMostBytes});
    const std::vector<std::string> sources = texts_of(*file);
    if (format != "po" && format != "xliff") {  // the second time, pages declare UTF-8
      const std::string written = with_translations(*file, sources);
      const auto again = open_document(*find_document_format(format), "x", written);
      fuzz::require(with_translations(*again, texts_of(*again)) == written);
      const bool is_xml = format == "resx" || format == "android";
      if (bytes == content && format != "html") fuzz::require(written == (is_xml ? in_utf8(bytes) : bytes));
    }
    std::vector<std::string> texts;
    for (const std::string& text : sources) {
      const Document document(text, file->text_format(), false);
      std::vector<std::string> segments = document.segments();
      for (std::string& segment : segments) segment = translation + segment;
      texts.push_back(document.with(segments));
    }
    const std::string translated = with_translations(*file, texts);
    if (format == "txt") fuzz::require(words_of(translated) == words_of(texts.front()));
    // The result is sound: it is read again, with as many texts.
    const auto texts_in = [&](const std::string& written) {
      return texts_of(*open_document(*find_document_format(format), "x", written));
    };
    if (format == "docx" || format == "odt" || format == "xlsx" || format == "epub")
      fuzz::require(texts_in(translated).size() >= (sources.empty() ? 0U : 1U));
    const std::string in_hebrew = with_translations(*file, texts, {"en", "he"});
    if (format == "docx" || format == "odt" || format == "xlsx")
      fuzz::require(texts_in(in_hebrew) == texts_in(translated));
    if (format == "html") fuzz::require(tags_of(in_hebrew) == tags_of(translated));
  });
  return 0;
}

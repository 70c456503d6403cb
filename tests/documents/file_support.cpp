// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/documents/packed_file.h>
#include <transmute/tests/documents/file_support.h>

namespace transmute::testing {
namespace {

std::string in_capitals(std::string segment) {
  bool in_tag = false, in_reference = false;
  for (char& c : segment) {
    in_tag = in_tag || c == '<';
    in_reference = in_reference || c == '&';
    if (!in_tag && !in_reference && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    in_tag = in_tag && c != '>';
    in_reference = in_reference && c != ';' && c != ' ';
  }
  return segment;
}

}  // namespace

std::unique_ptr<OpenedFile> opened(const std::string& name, const std::string& content,
                                   const DocumentFileOptions& options) {
  const DocumentFormat* format = document_format_of(name);
  if (format == nullptr) throw std::invalid_argument(name);
  return std::make_unique<OpenedFile>(open_document(*format, name, content, options));
}

std::string shouted(const OpenedFile& file) {
  std::vector<std::string> translations;
  for (const std::string& text : file.texts()) {
    const Document document(text, file.text_format(), false);
    std::vector<std::string> segments = document.segments();
    for (std::string& segment : segments) segment = in_capitals(segment);
    translations.push_back(document.with(segments));
  }
  return file.with(translations);
}

std::string with(const OpenedFile& file, const std::map<std::string, std::string>& translations) {
  std::vector<std::string> texts = file.texts();
  size_t found = 0;
  for (std::string& text : texts) {
    const auto translation = translations.find(text);
    if (translation == translations.end()) continue;
    text = translation->second;
    ++found;
  }
  EXPECT_EQ(found, translations.size()) << ::testing::PrintToString(file.texts());
  return file.with(texts);
}

std::string member_of(const std::string& archive, const std::string& name) {
  const PackedFile file("the test's archive", archive);
  return file.read(file.find(name).value());
}

}  // namespace transmute::testing

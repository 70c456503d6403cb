// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/document_parts.h>

#include <transmute/documents/document.h>

#include <cstdint>

namespace transmute {
inline namespace v0 {

size_t count_segments(const DocumentParts& document) {
  const SentenceSplitter splitter;
  size_t segments = 0;
  for (size_t part = 0; part < document.size(); ++part)
    if (const auto file = document.open(part))
      for (const std::string& text : file->texts())
        segments += Document(text, file->text_format(), false, Glossary(), splitter).segments().size();
  return segments;
}

std::vector<std::string> texts_of(const DocumentParts& document) {
  std::vector<std::string> texts;
  for (size_t part = 0; part < document.size(); ++part)
    if (const auto file = document.open(part)) texts.insert(texts.end(), file->texts().begin(), file->texts().end());
  return texts;
}

std::string with_translations(const DocumentParts& document, const std::vector<std::string>& translations,
                              const LanguagePair& languages) {
  std::string result;
  auto next = translations.begin();
  document.write(
      [&](size_t part) -> std::optional<std::string> {
        const auto file = document.open(part);
        if (!file) return std::nullopt;
        const auto begin = next;
        next += static_cast<int64_t>(file->texts().size());
        return file->with({begin, next});
      },
      [&](std::string_view bytes) { result += bytes; }, languages);
  return result;
}

}  // namespace v0
}  // namespace transmute

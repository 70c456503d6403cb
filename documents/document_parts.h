// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/declared_languages.h>
#include <transmute/documents/document_file.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Takes the bytes of a file one after another.
using ByteSink = std::function<void(std::string_view bytes)>;

/// A document as the files that its texts are in: members of an archive, or itself. Archives keep only packed bytes in
/// memory; each opened part has memory of its own.
class DocumentParts {
 public:
  /// New content of a part; none: it stays as it is.
  using ContentOf = std::function<std::optional<std::string>(size_t part)>;

  virtual ~DocumentParts() = default;

  /// Format of the texts of all parts.
  virtual TextFormat text_format() const = 0;
  /// Number of parts.
  virtual size_t size() const = 0;
  /// Size of a part, unpacked.
  virtual size_t bytes(size_t part) const = 0;
  /// Reads a part; null if it has no texts.
  /// @throws std::runtime_error naming the document and the part, if it is damaged or not in its format
  virtual std::shared_ptr<const DocumentFile> open(size_t part) const = 0;
  /// Writes the document. Asks for the content of each part once, in order, when the parts before are written. Where it
  /// declares the source language, it declares the target language then, if both are known.
  /// @throws std::runtime_error if the document becomes too large for its format
  virtual void write(const ContentOf& content_of, const ByteSink& sink, const LanguagePair& languages) const = 0;
};

/// The number of segments of all texts. Reads each part, one after another.
/// @throws std::runtime_error as DocumentParts::open() does
size_t count_segments(const DocumentParts& document);

/// The texts of all parts, in order.
/// @throws std::runtime_error as DocumentParts::open() does
std::vector<std::string> texts_of(const DocumentParts& document);

/// The document with a translation in place of each of texts_of().
/// @param languages see DocumentParts::write()
std::string with_translations(const DocumentParts& document, const std::vector<std::string>& translations,
                              const LanguagePair& languages = {});

}  // namespace v0
}  // namespace transmute

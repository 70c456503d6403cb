// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of documents.
#pragma once

#include <transmute/documents/document_formats.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace transmute::testing {

/// A document with the texts of all its parts.
class OpenedFile {
 public:
  explicit OpenedFile(std::unique_ptr<DocumentParts> parts) : parts_(std::move(parts)), texts_(texts_of(*parts_)) {}
  TextFormat text_format() const { return parts_->text_format(); }
  const std::vector<std::string>& texts() const { return texts_; }
  std::string with(const std::vector<std::string>& translations) const {
    return with_translations(*parts_, translations);
  }

 private:
  std::unique_ptr<DocumentParts> parts_;
  std::vector<std::string> texts_;
};

/// Opens a file of the format that the name's ending tells.
std::unique_ptr<OpenedFile> opened(const std::string& name, const std::string& content,
                                   const DocumentFileOptions& options = {});

/// The file with every text in capitals, as a translator would give it back: tags and references as they were.
std::string shouted(const OpenedFile& file);

/// The file with other texts in the place of some.
std::string with(const OpenedFile& file, const std::map<std::string, std::string>& translations);

/// The content of an archive's member.
std::string member_of(const std::string& archive, const std::string& name);

}  // namespace transmute::testing

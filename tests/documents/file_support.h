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

/// Opens a file of the format that the name's ending tells.
std::unique_ptr<DocumentFile> opened(const std::string& name, const std::string& content,
                                     const DocumentFileOptions& options = {});

/// The file with every text in capitals, as a translator would give it back: tags and references as they were.
std::string shouted(const DocumentFile& file);

/// The file with other texts in the place of some.
std::string with(const DocumentFile& file, const std::map<std::string, std::string>& translations);

/// A zip archive with these members, not compressed.
std::string archive_of(const std::vector<std::pair<std::string, std::string>>& members);

/// The content of an archive's member.
std::string member_of(const std::string& archive, const std::string& name);

}  // namespace transmute::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/document_parts.h>

#include <memory>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A format of files.
struct DocumentFormat {
  const char* name;        ///< as users choose it, such as "docx"
  const char* endings;     ///< endings of its files' names, separated by single spaces, such as ".md .markdown"
  const char* media_type;  ///< for HTTP; has a charset where all files are text in UTF-8
  /// @param name of the file, for messages
  std::unique_ptr<DocumentParts> (*open)(const std::string& name, std::string content,
                                         const DocumentFileOptions& options);
};

/// All formats, in the order in which they are named to users.
const std::vector<DocumentFormat>& document_formats();

/// The format of that name; null without one.
const DocumentFormat* find_document_format(const std::string& name);

/// The format of files whose names end like `path`; null without one.
const DocumentFormat* document_format_of(const std::string& path);

/// @throws std::invalid_argument if the name of the file for a translation ends like those of another format, or like
/// Office's files of another kind than the input, such as templates
void check_output_format(const DocumentFormat& format, const std::string& input, const std::string& output);

/// Opens a document. The parts of an archive are read later, see DocumentParts::open().
/// @param name of the file, for messages
/// @throws std::runtime_error naming the file, if it is damaged, encrypted or not in this format
std::unique_ptr<DocumentParts> open_document(const DocumentFormat& format, const std::string& name, std::string content,
                                             const DocumentFileOptions& options = {});

}  // namespace v0
}  // namespace transmute

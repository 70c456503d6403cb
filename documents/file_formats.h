// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/document_file.h>
#include <transmute/documents/document_parts.h>

#include <memory>
#include <string>

namespace transmute {
inline namespace v0 {

/// SubRip.
std::unique_ptr<DocumentFile> open_srt(const std::string& name, std::string content, const DocumentFileOptions&);
/// WebVTT.
std::unique_ptr<DocumentFile> open_vtt(const std::string& name, std::string content, const DocumentFileOptions&);
/// Advanced SubStation Alpha, and SubStation Alpha.
std::unique_ptr<DocumentFile> open_ass(const std::string& name, std::string content, const DocumentFileOptions&);
/// Word, PowerPoint and Excel since 2007 (ISO 29500).
std::unique_ptr<DocumentParts> open_office(const std::string& name, std::string content, const DocumentFileOptions&);
/// OpenDocument: texts, presentations and spreadsheets (ISO 26300).
std::unique_ptr<DocumentParts> open_opendocument(const std::string& name, std::string content,
                                                 const DocumentFileOptions&);
/// EPUB.
std::unique_ptr<DocumentParts> open_epub(const std::string& name, std::string content, const DocumentFileOptions&);
/// Catalogs of GNU gettext.
std::unique_ptr<DocumentFile> open_po(const std::string& name, std::string content, const DocumentFileOptions&);
/// JSON.
std::unique_ptr<DocumentFile> open_json(const std::string& name, std::string content, const DocumentFileOptions&);
/// YAML.
std::unique_ptr<DocumentFile> open_yaml(const std::string& name, std::string content, const DocumentFileOptions&);
/// Java's property files, in UTF-8 or ISO-8859-1.
std::unique_ptr<DocumentFile> open_properties(const std::string& name, std::string content, const DocumentFileOptions&);
/// Apple's files of strings.
std::unique_ptr<DocumentFile> open_strings(const std::string& name, std::string content, const DocumentFileOptions&);
/// Resources of .NET.
std::unique_ptr<DocumentFile> open_resx(const std::string& name, std::string content, const DocumentFileOptions&);
/// String resources of Android.
std::unique_ptr<DocumentFile> open_android(const std::string& name, std::string content, const DocumentFileOptions&);
/// XLIFF 1.2, 2.0 and 2.1.
std::unique_ptr<DocumentFile> open_xliff(const std::string& name, std::string content, const DocumentFileOptions&);
/// Markdown, as CommonMark and GitHub have it.
std::unique_ptr<DocumentFile> open_markdown(const std::string& name, std::string content, const DocumentFileOptions&);
/// HTML.
std::unique_ptr<DocumentFile> open_html(const std::string& name, std::string content, const DocumentFileOptions&);
/// A page that is XML, such as those of books.
std::unique_ptr<DocumentFile> open_xhtml(std::string content);
/// Plain text.
std::unique_ptr<DocumentFile> open_text(const std::string& name, std::string content, const DocumentFileOptions&);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/document_file.h>

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
std::unique_ptr<DocumentFile> open_office(const std::string& name, std::string content, const DocumentFileOptions&);
/// OpenDocument: texts, presentations and spreadsheets (ISO 26300).
std::unique_ptr<DocumentFile> open_opendocument(const std::string& name, std::string content,
                                                const DocumentFileOptions&);
/// EPUB.
std::unique_ptr<DocumentFile> open_epub(const std::string& name, std::string content, const DocumentFileOptions&);
/// Catalogs of GNU gettext.
std::unique_ptr<DocumentFile> open_po(const std::string& name, std::string content, const DocumentFileOptions&);
/// HTML.
std::unique_ptr<DocumentFile> open_html(const std::string& name, std::string content, const DocumentFileOptions&);
/// Plain text.
std::unique_ptr<DocumentFile> open_text(const std::string& name, std::string content, const DocumentFileOptions&);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/text/types.h>
#include <transmute/translation/translator.h>

#include <functional>
#include <string>

namespace transmute {
inline namespace v0 {

/// The options for reading a document.
struct DocumentOptions {
  std::string format;        ///< such as "docx", see docs/documents.md; empty: by the ending of the input's name
  bool retranslate = false;  ///< also translate the entries of a catalog that have a translation
  /// Called at the end for each text that stays, with the reason: a cell that would have more characters than Excel
  /// reads
  std::function<void(const std::string& message)> on_warning{};
};

/// Translates a document: a file of Office, an EPUB, subtitles, a catalog and others. Everything but its text stays.
/// The output appears under its name when it is complete. Inline tags carry the formatting.
/// TranslationHooks::on_progress counts the document's lines and paragraphs; on_text is not called.
/// @throws std::invalid_argument for an unknown format, for options as translate_batch() does, if input and output are
/// the same file, and if the output's name ends like those of another format or, for Office, of another kind, such as
/// .dotx for .docx; std::runtime_error if the input cannot be read or is not in the format, or the output cannot be
/// written; Cancelled if a hook stopped the call
TRANSMUTE_API void translate_document(const Translator& translator, const std::string& input, const std::string& output,
                                      const TranslationOptions& options, const DocumentOptions& document = {},
                                      const TranslationHooks& hooks = {});
/// The same by the default options and the search that the model recommends (Translator::default_search()).
TRANSMUTE_API void translate_document(const Translator& translator, const std::string& input,
                                      const std::string& output);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/document_parts.h>
#include <transmute/translation/translator.h>

#include <cstddef>
#include <functional>
#include <string>

namespace transmute {
inline namespace v0 {

/// The arguments of write_translated() besides the document.
struct DocumentCall {
  std::string name;           ///< of the document, for messages
  size_t segments = 0;        ///< its count_segments()
  size_t block_texts = 4096;  ///< for one call of the translator
  TranslationHooks hooks{};   ///< on_progress counts the segments of the whole document
  /// Called for each segment, in order.
  std::function<void(const std::string& segment, const Translation& translation)> on_translation{};
};

/// Writes a document with its texts translated. Its parts are read, translated and written one after another, small
/// ones together, so that memory depends on the largest part.
/// @throws std::runtime_error naming the document and the text, if a text exceeds a limit
void write_translated(const Translator& translator, const DocumentParts& document, TranslationOptions options,
                      const DocumentCall& call, const ByteSink& sink);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/document_file.h>
#include <transmute/translation/translator.h>

#include <cstddef>
#include <functional>
#include <string>

namespace transmute {
inline namespace v0 {

/// The arguments of translate_texts() besides the file.
struct DocumentCall {
  std::string name;           ///< of the file, for messages
  size_t block_texts = 4096;  ///< for one call of the translator
  TranslationHooks hooks{};   ///< on_progress counts the segments of the whole file
  std::function<void(const Translation& translation)> on_translation{};  ///< called for each segment, in order
};

/// The file with its texts translated.
/// @throws std::runtime_error naming the file and the text, if a text exceeds a limit
std::string translate_texts(const Translator& translator, const DocumentFile& file, TranslationOptions options,
                            const DocumentCall& call);

}  // namespace v0
}  // namespace transmute

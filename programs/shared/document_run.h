// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/document_formats.h>
#include <transmute/programs/shared/stream_flags.h>
#include <transmute/programs/shared/translation_totals.h>
#include <transmute/translation/translator.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace transmute {

/// --document-format, --retranslate.
struct DocumentFlags {
  std::string format = "auto";
  bool retranslate = false;

  /// @returns --document-format
  CLI::Option* add_to(CLI::App& app);
  /// Notices flags that are for lines.
  void check(const CLI::App& app);
  /// Refuses the beginning of a document of another program, of which no lines can be translated, unless `format` is
  /// given.
  /// @param input as --input names it
  /// @throws std::runtime_error
  void check_is_text(const std::string& input, std::string_view beginning) const;

  std::string flag_of_lines{};  ///< one that is given; empty without one
};

/// The translation of a document.
class DocumentRun {
 public:
  /// Reads the document, if the input is one, so that a damaged one is refused before a model is opened.
  /// @throws std::invalid_argument for flags that do not go with it, std::runtime_error for a file that cannot be read
  DocumentRun(const DocumentFlags& flags, const StreamFlags& streams);

  /// False if the input is to be read line by line.
  bool has_document() const { return document_ != nullptr; }
  DocumentRun(const DocumentRun&) = delete;  // the document calls it
  DocumentRun& operator=(const DocumentRun&) = delete;

  /// Translates the document, and writes it. Notes at the end what stays, and why.
  /// @param block_segments for one call of the translator
  void translate(const Translator& translator, TranslationOptions options, int64_t block_segments,
                 TranslationTotals& totals);

 private:
  const DocumentFormat* find_format(const DocumentFlags& flags) const;

  std::string input_, output_;
  std::unique_ptr<DocumentParts> document_;
  std::vector<std::string> warnings_;
  size_t segments_ = 0;  // segments of the document
};

}  // namespace transmute

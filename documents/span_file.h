// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/document_file.h>
#include <transmute/documents/message.h>

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Bytes of a file in whose place translations are written.
struct FileSpan {
  size_t begin = 0, end = 0;
  std::vector<std::string> texts;  ///< with inline tags, see TextFormat::tags
  /// Writes these translations of the texts as bytes of the file.
  std::function<std::string(const std::vector<std::string>& translations)> write;
  bool keeps_bytes = true;  ///< translations that equal the texts leave the bytes as they are
};

/// A file that is translated span by span. Equal texts are translated once.
class SpanFile : public DocumentFile {
 public:
  TextFormat text_format() const override { return TextFormat::tags; }
  std::string with(const std::vector<std::string>& translations) const override;

 protected:
  explicit SpanFile(std::string content) : content_(std::move(content)) {}
  /// Adds a span; it begins where the one before ended, or later.
  void add(FileSpan span);
  /// Adds a span that is a message, if it has texts.
  /// @param encode writes a message as the file has it
  void add_message(size_t begin, size_t end, Message message, std::function<std::string(const std::string&)> encode);

  /// A message of a program, and its bytes.
  struct ProgramMessage {
    size_t begin, end;
    std::string text;
  };
  /// Adds all messages of a catalog, with their accelerators.
  /// @param encode see add_message
  void add_messages(std::vector<ProgramMessage> messages, MessageSyntax syntax,
                    const std::function<std::string(const std::string&)>& encode);

  std::string content_;  ///< content of the file

 private:
  struct Place {
    FileSpan span;  // spans without texts
    std::vector<size_t> texts;
  };
  std::vector<Place> places_;
  std::unordered_map<std::string, size_t> numbers_;  // number of each text
};

}  // namespace v0
}  // namespace transmute

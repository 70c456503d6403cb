// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/document.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Options for reading a file.
struct DocumentFileOptions {
  bool retranslate = false;  ///< include texts that already have a translation in the file, as in catalogs
  uint64_t most_bytes = uint64_t{1} << 28;  ///< maximum size of a packed file's texts when unpacked
  /// Called while the file is written, with messages for the user, for example about a text that stays untranslated.
  std::function<void(const std::string& message)> on_warning{};
};

/// A file whose texts are translated. Everything else stays as it is, byte for byte.
class DocumentFile {
 public:
  virtual ~DocumentFile() = default;

  /// The texts to be translated, in order.
  const std::vector<std::string>& texts() const { return texts_; }
  /// The format of the texts.
  virtual TextFormat text_format() const = 0;
  /// The file with a translation in place of each text. The same texts give the same file, but for a declaration of
  /// another encoding than UTF-8, and for empty tags and CDATA sections of XHTML.
  virtual std::string with(const std::vector<std::string>& translations) const = 0;

 protected:
  std::vector<std::string> texts_;  ///< see texts()
};

}  // namespace v0
}  // namespace transmute

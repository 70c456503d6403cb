// SPDX-License-Identifier: Apache-2.0
// Java's property files (java.util.Properties and ResourceBundle).
#include <transmute/common/text_file.h>
#include <transmute/documents/ascii_text.h>
#include <transmute/documents/file_formats.h>
#include <transmute/documents/span_file.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// The way in which the file writes characters that are not ASCII.
enum class PropertyEncoding { escapes, latin1, utf8 };

std::string from_latin1(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) append_utf8(text, static_cast<unsigned char>(c));
  return text;
}

std::string to_latin1(std::string_view text) {
  std::string bytes;
  const auto size = static_cast<int32_t>(text.size());
  for (int32_t at = 0; at < size;) {
    const int32_t begin = at;
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(text.data(), at, size, c);
    if (c <= 0xFF) {
      bytes += static_cast<char>(c);
    } else {
      bytes += with_utf16_escapes(text.substr(static_cast<size_t>(begin), static_cast<size_t>(at - begin)));
    }
  }
  return bytes;
}

// Joins lines that a backslash continues, and decodes the other escapes. Returns false for invalid escapes, such as
// that of half a surrogate pair.
bool decode_property(std::string_view value, PropertyEncoding encoding, std::string& text) {
  constexpr std::string_view kLetters = "ntrf", kCharacters = "\n\t\r\f";
  Utf16Units units;
  for (size_t at = 0; at < value.size(); ++at) {
    if (value[at] != '\\') {
      if (units.is_within_character()) return false;
      encoding == PropertyEncoding::latin1 ? text += from_latin1(value.substr(at, 1)) : text += value[at];
      continue;
    }
    if (++at == value.size()) break;
    if (value[at] == 'u') {
      const auto unit = utf16_unit(value.substr(at + 1));
      if (!unit || !units.add(*unit, text)) return false;
      at += 4;
    } else if (value[at] == '\n' || value[at] == '\r') {
      if (value[at] == '\r' && at + 1 < value.size() && value[at + 1] == '\n') ++at;
      at = std::min(value.find_first_not_of(" \t\f", at + 1), value.size()) - 1;
    } else {
      if (units.is_within_character()) return false;
      const size_t letter = kLetters.find(value[at]);
      text += letter == std::string_view::npos ? value[at] : kCharacters[letter];
    }
  }
  return !units.is_within_character();
}

std::string encode_property(std::string_view text, PropertyEncoding encoding) {
  constexpr std::string_view kLetters = "\\ntrf", kCharacters = "\\\n\t\r\f";
  std::string value;
  for (const char c : text) {
    const size_t letter = kCharacters.find(c);
    if (letter != std::string_view::npos || (value.empty() && c == ' ')) value += '\\';
    value += letter == std::string_view::npos ? c : kLetters[letter];
  }
  if (encoding == PropertyEncoding::utf8) return value;
  return encoding == PropertyEncoding::latin1 ? to_latin1(value) : with_utf16_escapes(value);
}

class PropertiesFile : public SpanFile {
 public:
  explicit PropertiesFile(std::string content) : SpanFile(std::move(content)) {
    const PropertyEncoding encoding = is_ascii(content_)                                 ? PropertyEncoding::escapes
                                      : find_invalid_utf8(content_) == std::string::npos ? PropertyEncoding::utf8
                                                                                         : PropertyEncoding::latin1;
    for (size_t at = 0; at < content_.size();) {
      at = std::min(content_.find_first_not_of(" \t\f\r\n", at), content_.size());
      const bool is_comment = at < content_.size() && (content_[at] == '#' || content_[at] == '!');
      const size_t end = is_comment ? std::min(content_.find_first_of("\r\n", at), content_.size()) : line_end(at);
      if (!is_comment) add_property(at, end, encoding);
      at = end;
    }
    add_messages(std::move(properties_), MessageSyntax::java,
                 [=](const std::string& translated) { return encode_property(translated, encoding); });
  }

 private:
  // The end of the line and of its continuation lines.
  size_t line_end(size_t at) const {
    for (; at < content_.size() && content_[at] != '\n' && content_[at] != '\r'; ++at) {
      if (content_[at] != '\\') continue;
      ++at;
      if (content_.compare(at, 2, "\r\n") == 0) ++at;
    }
    return std::min(at, content_.size());
  }

  void add_property(size_t begin, size_t end, PropertyEncoding encoding) {
    constexpr std::string_view kSpace = " \t\f";
    size_t at = begin;
    while (at < end && content_[at] != '=' && content_[at] != ':' &&
           kSpace.find(content_[at]) == std::string_view::npos)
      at += content_[at] == '\\' ? 2 : 1;
    const auto skip_space = [&] { at = std::min(content_.find_first_not_of(kSpace, at), end); };
    at = std::min(at, end);
    skip_space();
    if (at < end && (content_[at] == '=' || content_[at] == ':')) ++at;
    skip_space();
    std::string text;
    if (decode_property(std::string_view(content_).substr(at, end - at), encoding, text))
      properties_.push_back({at, end, std::move(text)});
  }

  std::vector<ProgramMessage> properties_;
};

}  // namespace

std::unique_ptr<DocumentFile> open_properties(const std::string& /*name*/, std::string content,
                                              const DocumentFileOptions&) {
  return std::make_unique<PropertiesFile>(std::move(content));
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
// Apple's files of strings: "key" = "value";
#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/text_file.h>
#include <transmute/documents/ascii_text.h>
#include <transmute/documents/file_formats.h>
#include <transmute/documents/span_file.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr std::string_view kEscapedLetters = "ntr\"\\", kEscapedCharacters = "\n\t\r\"\\";

// Decodes the bytes between the quotes of a string. Returns false for an invalid escape, such as half a surrogate pair.
bool decode_string(std::string_view bytes, std::string& text) {
  Utf16Units units;
  for (size_t at = 0; at < bytes.size(); ++at) {
    if (bytes[at] == '\\' && (bytes.substr(at + 1, 1) == "U" || bytes.substr(at + 1, 1) == "u")) {
      const auto unit = utf16_unit(bytes.substr(at + 2));
      if (!unit || !units.add(*unit, text)) return false;
      at += 5;
      continue;
    }
    if (units.is_within_character()) return false;
    const bool is_escaped = bytes[at] == '\\' && at + 1 < bytes.size();
    const size_t letter = is_escaped ? kEscapedLetters.find(bytes[++at]) : std::string_view::npos;
    text += letter == std::string_view::npos ? bytes[at] : kEscapedCharacters[letter];
  }
  return !units.is_within_character();
}

class StringsFile : public SpanFile {
 public:
  StringsFile(const std::string& name, std::string content)
      : SpanFile(std::move(content)), name_(name), at_(byte_order_mark_length(content_)) {
    for (skip_space(); at_ < content_.size(); skip_space()) {
      read_string();
      if (skip_space(); byte() == '=') {
        ++at_;
        skip_space();
        const bool is_quoted = byte() == '"';
        const auto [begin, end] = read_string();
        if (is_quoted) add_string(begin, end);
        skip_space();
      }
      if (byte() != ';') refuse();
      ++at_;
    }
  }

 private:
  [[noreturn]] void refuse() const {
    throw std::runtime_error(
        fmt::format("{}:{}: is not \"key\" = \"value\";", name_,
                    std::count(content_.begin(), content_.begin() + static_cast<int64_t>(at_), '\n') + 1));
  }
  char byte() const { return at_ < content_.size() ? content_[at_] : '\0'; }

  // Skips comments, too.
  void skip_space() {
    while (true) {
      at_ = std::min(content_.find_first_not_of(" \t\r\n\f\v", at_), content_.size());
      const std::string_view mark = std::string_view(content_).substr(at_, 2), end = mark == "/*" ? "*/" : "\n";
      if (mark != "/*" && mark != "//") return;
      at_ = std::min(content_.find(end, at_ + mark.size()), content_.size() - end.size()) + end.size();
    }
  }

  // Reads a string in quotes, or a word. Returns the bytes within.
  std::pair<size_t, size_t> read_string() {
    const bool is_quoted = byte() == '"';
    const size_t begin = is_quoted ? ++at_ : at_;
    const auto is_of_word = [](char c) {
      return is_ascii_alphanumeric(c) || std::string_view("_.-/:$").find(c) != std::string_view::npos;
    };
    while (at_ < content_.size() && (is_quoted ? content_[at_] != '"' : is_of_word(content_[at_])))
      at_ += is_quoted && content_[at_] == '\\' && at_ + 1 < content_.size() ? 2 : 1;
    if (is_quoted ? at_ >= content_.size() : at_ == begin) refuse();
    const size_t end = at_;
    if (is_quoted) ++at_;
    return {begin, end};
  }

  void add_string(size_t begin, size_t end) {
    std::string text;
    if (!decode_string(std::string_view(content_).substr(begin, end - begin), text)) return;
    add_message(begin, end, Message(text), [](const std::string& translated) {
      const std::string quoted =
          in_double_quotes(translated, kEscapedCharacters, kEscapedLetters, [](char c) { return std::string(1, c); });
      return quoted.substr(1, quoted.size() - 2);
    });
  }

  const std::string& name_;
  size_t at_;  // end of the text that has been read
};

}  // namespace

std::unique_ptr<DocumentFile> open_strings(const std::string& name, std::string content, const DocumentFileOptions&) {
  return std::make_unique<StringsFile>(name, std::move(content));
}

}  // namespace v0
}  // namespace transmute

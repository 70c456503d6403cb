// SPDX-License-Identifier: Apache-2.0
// JSON: the strings that are values.
#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/text_file.h>
#include <transmute/documents/ascii_text.h>
#include <transmute/documents/file_formats.h>
#include <transmute/documents/span_file.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kMostJsonDepth = 500;

// A string and its place, quotes and all.
struct JsonString {
  size_t begin = 0, end = 0;
  std::string text;      // decoded
  bool is_sound = true;  // false for halves of surrogate pairs, which UTF-8 cannot write, and for zero
};

class JsonReader {
 public:
  JsonReader(const std::string& name, const std::string& content) : name_(name), content_(content) {}

  // The strings that are to be translated.
  std::vector<JsonString> read() {
    at_ = byte_order_mark_length(content_);
    read_value(0);
    if (skip_space() < content_.size()) refuse("something follows the value");
    return std::move(strings_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    const auto line = std::count(content_.begin(), content_.begin() + static_cast<int64_t>(at_), '\n') + 1;
    throw std::runtime_error(fmt::format("{}:{}: damaged JSON: {}", name_, line, why));
  }

  size_t skip_space() { return at_ = std::min(content_.find_first_not_of(" \t\r\n", at_), content_.size()); }

  char next() {
    if (skip_space() == content_.size()) refuse("the file ends too early");
    return content_[at_];
  }

  bool take(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }

  void read_value(size_t depth) {
    if (depth > kMostJsonDepth) refuse(fmt::format("values nest more than {} deep", kMostJsonDepth));
    if (next() == '"') {
      strings_.push_back(read_string());
    } else if (take('{')) {
      read_object(depth);
    } else if (take('[')) {
      if (take(']')) return;
      do read_value(depth + 1);
      while (take(','));
      if (!take(']')) refuse("an array has neither ',' nor ']' here");
    } else {
      read_literal();
    }
  }

  void read_object(size_t depth) {
    if (take('}')) return;
    bool is_entry = true;  // of a browser extension: {"message": …, "description": …, "placeholders": …}
    const size_t first = strings_.size();
    size_t message = std::string::npos;
    do {
      if (next() != '"') refuse("a key is no string");
      const std::string key = read_string().text;
      if (!take(':')) refuse("a key has no ':' after it");
      const size_t begin = strings_.size();
      const bool is_string = next() == '"';
      read_value(depth + 1);
      if (key == "message" && is_string) message = begin;
      is_entry = is_entry && (key == "message" || key == "description" || key == "placeholders");
      if (!key.empty() && key.front() == '@') strings_.resize(begin);  // remarks of Flutter's catalogs
    } while (take(','));
    if (!take('}')) refuse("an object has neither ',' nor '}' here");
    if (!is_entry || message == std::string::npos || strings_.size() == first + 1) return;
    std::swap(strings_[first], strings_[message]);  // the two may be the same
    strings_.resize(first + 1);
  }

  void read_literal() {
    const size_t begin = at_;
    while (at_ < content_.size() && (is_ascii_alphanumeric(content_[at_]) || content_[at_] == '+' ||
                                     content_[at_] == '-' || content_[at_] == '.'))
      ++at_;
    const std::string word = content_.substr(begin, at_ - begin);
    const bool is_number = !word.empty() && (is_ascii_digit(word.front()) || (word.size() > 1 && word.front() == '-'));
    if (!is_number && word != "true" && word != "false" && word != "null")
      refuse("a value is none of JSON's (comments are not read)");
  }

  JsonString read_string() {
    JsonString string;
    string.begin = at_++;
    Utf16Units units;
    while (true) {
      if (at_ == content_.size() || static_cast<unsigned char>(content_[at_]) < ' ') refuse("a string has no end");
      const char c = content_[at_++];
      if (c == '\\') {
        string.is_sound = units.add(read_escape(), string.text) && string.is_sound;
        continue;
      }
      if (units.is_within_character()) string.is_sound = false;
      if (c == '"') break;
      string.text += c;
    }
    string.end = at_;
    return string;
  }

  uint32_t read_escape() {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kCharacters = "\"\\/\b\f\n\r\t";
    if (at_ == content_.size()) refuse("a string has no end");
    const char c = content_[at_++];
    if (const size_t letter = kLetters.find(c); letter != std::string_view::npos)
      return static_cast<uint32_t>(kCharacters[letter]);
    const auto unit = utf16_unit(std::string_view(content_).substr(at_));
    if (c != 'u' || !unit) refuse("a string has an escape that is none");
    at_ += 4;
    return *unit;
  }

  const std::string& name_;
  const std::string& content_;
  std::vector<JsonString> strings_;
  size_t at_ = 0;
};

std::string json_string(std::string_view text, bool in_ascii) {
  const std::string quoted = in_double_quotes(text, "\"\\\b\f\n\r\t", "\"\\bfnrt", [](char c) {
    return static_cast<unsigned char>(c) < ' ' ? fmt::format("\\u{:04x}", c) : std::string(1, c);
  });
  return in_ascii ? with_utf16_escapes(quoted) : quoted;
}

class JsonFile : public SpanFile {
 public:
  JsonFile(const std::string& name, std::string content) : SpanFile(std::move(content)) {
    // Programs that write JSON in ASCII may also require it.
    const bool in_ascii = is_ascii(content_) && content_.find("\\u") != std::string::npos;
    for (const JsonString& string : JsonReader(name, content_).read()) {
      if (!string.is_sound) continue;
      add_message(string.begin, string.end, Message(string.text),
                  [=](const std::string& text) { return json_string(text, in_ascii); });
    }
  }
};

}  // namespace

std::unique_ptr<DocumentFile> open_json(const std::string& name, std::string content, const DocumentFileOptions&) {
  return std::make_unique<JsonFile>(name, std::move(content));
}

}  // namespace v0
}  // namespace transmute

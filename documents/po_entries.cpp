// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/po_entries.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// The string between the quotes of a line, decoded; what follows a backslash is as in C.
std::string decoded_string(std::string_view line) {
  constexpr std::string_view kLetters = "ntrabvf", kCharacters = "\n\t\r\a\b\v\f";
  std::string text;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\' || i + 1 == line.size()) {
      text += line[i];
      continue;
    }
    const char c = line[++i];
    if (const size_t letter = kLetters.find(c); letter != std::string_view::npos) {
      text += kCharacters[letter];
    } else if (c >= '0' && c <= '7') {
      int code = 0;
      for (size_t digits = 0; digits < 3 && i < line.size() && line[i] >= '0' && line[i] <= '7'; ++digits, ++i)
        code = code * 8 + (line[i] - '0');
      --i;
      text += static_cast<char>(code);
    } else {
      text += c;
    }
  }
  return text;
}

class PoReader {
 public:
  PoReader(const std::string& name, const std::string& content) : name_(name), content_(content) {}

  std::vector<PoEntry> read() {
    for (size_t at = byte_order_mark_length(content_); at < content_.size();) {
      const size_t found = std::min(content_.find('\n', at), content_.size());
      const size_t end = found > at && content_[found - 1] == '\r' ? found - 1 : found;
      ++line_;
      read_line(at, end);
      at = found + 1;
    }
    finish_entry();
    return std::move(entries_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw std::runtime_error(fmt::format("{}:{}: {}; msgfmt --check tells more", name_, line_, why));
  }

  void finish_entry() {
    if (entry_.has_id && !entry_.translations.empty()) entries_.push_back(std::move(entry_));
    entry_ = {};
    field_ = Field::none;
  }

  void read_line(size_t begin, size_t end) {
    const std::string_view whole = std::string_view(content_).substr(begin, end - begin);
    const size_t first = whole.find_first_not_of(" \t");
    if (first == std::string_view::npos) return;
    const std::string_view line = whole.substr(first);
    if (line.front() == '#') return read_comment(begin + first, line);
    if (line.front() == '"') return add_string(line, end);
    read_keyword(begin + first, line, end);
  }

  void read_comment(size_t begin, std::string_view line) {
    const std::string_view kind = line.substr(0, 2);
    if (field_ == Field::translation || kind == "#~") finish_entry();  // flags before "#~" belong to the obsolete entry
    if (kind == "#|") entry_.begin = std::min(entry_.begin, begin);
    if (kind != "#,") return;
    entry_.flags = begin + 2;
    entry_.is_fuzzy = entry_.is_fuzzy || line.find("fuzzy") != std::string_view::npos;
  }

  void read_keyword(size_t begin, std::string_view line, size_t end) {
    const size_t length = std::min(line.find_first_of(" \t\""), line.size());
    const std::string_view keyword = line.substr(0, length);
    if ((keyword == "msgctxt" || keyword == "msgid") && field_ == Field::translation) finish_entry();
    entry_.begin = std::min(entry_.begin, begin);
    if (keyword == "msgctxt") {
      field_ = Field::context;
    } else if (keyword == "msgid") {
      field_ = Field::id;
      entry_.has_id = true;
    } else if (keyword == "msgid_plural") {
      field_ = Field::plural;
      entry_.has_plural = true;
    } else if (keyword.compare(0, 6, "msgstr") == 0 && entry_.has_id) {
      field_ = Field::translation;
      entry_.translations.push_back({begin, end, ""});
    } else {
      refuse("this line has no keyword of a catalog");
    }
    add_string(line.substr(std::min(line.find('"'), line.size())), end);
  }

  void add_string(std::string_view line, size_t end) {
    const size_t last = line.rfind('"');
    if (last == std::string_view::npos || last == 0 || field_ == Field::none)
      refuse("this line has no string in quotes");
    const std::string text = decoded_string(line.substr(1, last - 1));
    if (field_ == Field::context) entry_.context += text;
    if (field_ == Field::id) entry_.id += text;
    if (field_ == Field::plural) entry_.plural += text;
    if (field_ != Field::translation) return;
    entry_.translations.back().text += text;
    entry_.translations.back().end = end;
  }

  enum class Field { none, context, id, plural, translation };

  const std::string& name_;
  const std::string& content_;
  std::vector<PoEntry> entries_;
  PoEntry entry_;
  Field field_ = Field::none;
  int64_t line_ = 0;
};

}  // namespace

std::vector<PoEntry> po_entries(const std::string& name, const std::string& content) {
  return PoReader(name, content).read();
}

}  // namespace v0
}  // namespace transmute

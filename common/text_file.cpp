// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/text_file.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/utf8.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kBufferBytes = 1 << 18;

// The numbers of zero bytes at even places and at odd ones.
std::array<size_t, 2> zeros_of(std::string_view line) {
  std::array<size_t, 2> zeros{};
  for (size_t i = 0; i < line.size(); ++i) zeros[i % 2] += line[i] == '\0' ? 1 : 0;
  return zeros;
}

// The first byte of a later line is the second one of the line end before it.
const char* byte_order_of(std::string_view line, bool is_first) {
  const auto zeros = zeros_of(line);
  return is_first && zeros[0] > zeros[1] ? "be" : "le";
}

bool has_utf_16_mark(std::string_view line, bool is_first) {
  return is_first && (line.substr(0, 2) == "\xff\xfe" || line.substr(0, 2) == "\xfe\xff");
}

}  // namespace

std::string long_line_message(const std::string& where, size_t most) {
  return fmt::format(
      "{}: the line has more than {} bytes; is it a text? Split it, or raise --max-line-bytes where the program has it",
      where, most);
}

// Half of the bytes of Latin script are zero; blanks and digits alone are fewer in others, which are no UTF-8 then.
bool is_utf_16(std::string_view line) {
  const auto zeros = zeros_of(line);
  const auto [few, many] = std::minmax(zeros[0], zeros[1]);
  return many >= 2 && 10 * few <= many && 4 * many >= line.size();
}

std::string utf_16_message(const std::string& where, std::string_view line, bool is_first) {
  return fmt::format("{}: is UTF-16, not UTF-8; convert the text with 'iconv -f utf-16{} -t utf-8'", where,
                     has_utf_16_mark(line, is_first) ? "" : byte_order_of(line, is_first));
}

std::string remedy_of_zero_bytes(std::string_view line, bool is_first) {
  const auto zeros = zeros_of(line);
  const auto [few, many] = std::minmax(zeros[0], zeros[1]);
  // UTF-16 has them in one of its two bytes: in each letter of Latin script, in blanks and digits elsewhere.
  const bool is_regular = 10 * few <= many && 20 * many >= line.size();
  if (!is_regular) return "remove the zero bytes, or unpack the file if it is packed";
  return fmt::format(
      "if the text is UTF-16, convert it with 'iconv -f utf-16{} -t utf-8'; otherwise remove the zero bytes",
      byte_order_of(line, is_first));
}

std::string invalid_utf8_message(const std::string& where, std::string_view line, size_t bad, bool is_first) {
  const bool is_marked = has_utf_16_mark(line, is_first);
  const bool has_zeros = line.find('\0') != std::string_view::npos;
  const std::string remedy = has_zeros && !is_marked
                                 ? remedy_of_zero_bytes(line, is_first)
                                 : fmt::format("convert the text, for example with 'iconv -f {} -t utf-8'",
                                               is_marked ? "utf-16" : "windows-1252");
  return fmt::format("{}: not valid UTF-8 (byte {} of the line, 0x{:02x}); {}", where, bad + 1,
                     static_cast<unsigned char>(line[bad]), remedy);
}

std::string after_line(int64_t line_number) {
  return line_number == 0 ? "" : fmt::format(" after line {}", line_number);
}

void remove_byte_order_mark(std::string& first_line) {
  first_line.erase(0, byte_order_mark_length(first_line));
}

size_t byte_order_mark_length(std::string_view text) {
  constexpr std::string_view kMark("\xef\xbb\xbf");
  return text.compare(0, kMark.size(), kMark) == 0 ? kMark.size() : 0;
}

std::string without_packer_ending(const std::string& path) {
  std::filesystem::path name(path);
  for (const char* packed : {".gz", ".xz", ".zst", ".bz2", ".zip"})
    if (name.extension() == packed) return without_packer_ending(name.replace_extension().string());
  return path;
}

std::string text_file_ending(const std::string& path) {
  const std::string extension = std::filesystem::path(without_packer_ending(path)).extension().string();
  return extension.empty() ? extension : extension.substr(1);
}

LineReader::LineReader(const std::string& path, const LineRules& rules)
    : LineReader(std::make_unique<ByteSource>(path), path, rules) {}

LineReader::LineReader(std::unique_ptr<ByteReader> bytes, std::string name, const LineRules& rules)
    : name_(std::move(name)), rules_(rules), bytes_(std::move(bytes)) {}

// Another block goes after the unread rest.
void LineReader::fill() {
  buffer_.erase(0, position_);
  searched_ -= position_;
  position_ = 0;
  const size_t kept = buffer_.size();
  buffer_.resize(kept + kBufferBytes);
  const size_t read = bytes_->read(buffer_.data() + kept, kBufferBytes);
  buffer_.resize(kept + read);
  if (read == 0 && !bytes_->error().empty())
    throw std::runtime_error(fmt::format("{}: cannot be read{}: {}", name_, after_line(line_number_), bytes_->error()));
  ended_ = read == 0;
}

bool LineReader::is_ready() {
  searched_ = std::min(buffer_.find('\n', searched_), buffer_.size());
  return searched_ < buffer_.size() || ended_ || searched_ - position_ > rules_.max_bytes;
}

bool LineReader::next(std::string& line) {
  while (!is_ready()) fill();
  if (searched_ - position_ > rules_.max_bytes)
    throw std::runtime_error(long_line_message(fmt::format("{}:{}", name_, line_number_ + 1), rules_.max_bytes));
  if (position_ == buffer_.size()) return false;
  line.assign(buffer_, position_, searched_ - position_);
  position_ = searched_ = std::min(searched_ + 1, buffer_.size());
  if (++line_number_ == 1) remove_byte_order_mark(line);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (line.find('\0') != std::string::npos && is_utf_16(line))
    throw std::runtime_error(utf_16_message(fmt::format("{}:{}", name_, line_number_), line, line_number_ == 1));
  if (rules_.invalid == InvalidUtf8::replace) line = with_valid_utf8(std::move(line));
  const size_t bad = find_invalid_utf8(line);
  if (bad != std::string::npos)
    throw std::runtime_error(
        invalid_utf8_message(fmt::format("{}:{}", name_, line_number_), line, bad, line_number_ == 1));
  return true;
}

size_t find_invalid_utf8(std::string_view text) {
  for (const Character& character : Characters(text))
    if (character.code < 0) return character.begin;
  return std::string_view::npos;
}

std::string with_valid_utf8(std::string text) {
  if (find_invalid_utf8(text) == std::string::npos) return text;
  std::string valid;
  for (const auto& [code, begin, end] : Characters(text)) {
    if (code < 0) {
      valid += "\xEF\xBF\xBD";
    } else {
      valid.append(text, begin, end - begin);
    }
  }
  return valid;
}

size_t characters_in(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

void append_utf8(std::string& to, uint32_t code) {
  std::array<char, U8_MAX_LENGTH> bytes{};
  size_t length = 0;
  U8_APPEND_UNSAFE(bytes, length, code);
  to.append(bytes.data(), length);
}

void check_utf8(std::string_view text, std::string_view what) {
  if (const size_t bad = find_invalid_utf8(text); bad != std::string::npos)
    throw std::invalid_argument(fmt::format("{} is not valid UTF-8 (byte {})", what, bad + 1));
}

void check_utf8(std::string_view text, std::string_view what, size_t number) {
  if (find_invalid_utf8(text) != std::string::npos) check_utf8(text, fmt::format("{} {}", what, number));
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/reporting/tensorboard.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/parsed_number.h>
#include <transmute/common/process_lock.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace fs = std::filesystem;

namespace {

// Little-endian, as both formats are.
template <class Number>
std::string bytes_of(Number number) {
  uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof(number));
  std::string bytes;
  for (size_t i = 0; i < sizeof(number); ++i) bytes += static_cast<char>(bits >> (8 * i) & 0xff);
  return bytes;
}

// Protocol Buffers: a field is its number and wire type, then its value.
enum class Kind { varint = 0, bytes8 = 1, length_delimited = 2, bytes4 = 5 };

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string key(int field, Kind kind) {
  return varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(kind));
}

std::string text_field(int field, const std::string& value) {
  return key(field, Kind::length_delimited) + varint(value.size()) + value;
}

std::string integer_field(int field, int64_t value) {
  return key(field, Kind::varint) + varint(static_cast<uint64_t>(value));
}

// Fields of Event, Summary, Summary.Value and SessionLog.
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
constexpr int kValue = 1;
constexpr int kTag = 1, kSimpleValue = 2;
constexpr int kStatus = 1;
constexpr int64_t kStart = 1;

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr size_t kTimeDigits = 10;

// Seconds in the name of an event file; nothing if it is not one of those that TensorBoard puts in this order.
std::optional<int64_t> seconds_in(std::string_view name) {
  if (name.substr(0, kPrefix.size()) != kPrefix) return std::nullopt;
  const std::string_view rest = name.substr(kPrefix.size());
  const std::string_view digits = rest.substr(0, rest.find('.'));
  return digits.size() == kTimeDigits ? parsed_number<uint64_t>(digits) : std::nullopt;
}

std::string event_at(double wall_time, int64_t step) {
  return key(kWallTime, Kind::bytes8) + bytes_of(wall_time) + integer_field(kStep, step);
}

uint32_t masked_crc(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Tags in TensorBoard consist of letters, digits, '_', '.', '-' and '/'.
std::string tag_of(const std::string& type, std::string name) {
  std::replace(name.begin(), name.end(), '+', 'p');
  return type + "/" + name;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = [] {
    constexpr uint32_t kReversedPolynomial = 0x82f63b78;
    std::array<uint32_t, 256> entries{};
    for (uint32_t i = 0; i < entries.size(); ++i) {
      entries[i] = i;
      for (int bit = 0; bit < 8; ++bit) entries[i] = entries[i] >> 1 ^ (entries[i] & 1 ? kReversedPolynomial : 0);
    }
    return entries;
  }();
  uint32_t crc = 0xffffffff;
  for (const char byte : bytes) crc = table[(crc ^ static_cast<uint8_t>(byte)) & 0xff] ^ crc >> 8;
  return ~crc;
}

TensorBoardLog::TensorBoardLog(const std::string& folder, int64_t last_step) {
  ensure_writable_folder(folder);
  const double time = now();
  // TensorBoard reads the files in the order of their names, and never returns to an earlier one.
  int64_t seconds = static_cast<int64_t>(time);
  for (const auto& entry : fs::directory_iterator(folder))
    if (const auto other = seconds_in(entry.path().filename().string())) seconds = std::max(seconds, *other + 1);
  path_ = path_in(folder, fmt::format("{}{:010d}.{}.{}.v2", kPrefix, seconds, host_name(), ::getpid()));
  file_.open(path_, std::ios::binary);
  write_event(event_at(time, 0) + text_field(kFileVersion, "brain.Event:2"));
  write_event(event_at(time, last_step + 1) + text_field(kSessionLog, integer_field(kStatus, kStart)));
}

void TensorBoardLog::add(const Json& record) {
  const std::string type = record.value("type", "");
  std::string summary;
  for (const auto& [name, value] : record.items()) {
    if (!value.is_number() || name == "step" || name == "time") continue;
    const std::string content =
        text_field(kTag, tag_of(type, name)) + key(kSimpleValue, Kind::bytes4) + bytes_of(value.get<float>());
    summary += text_field(kValue, content);
  }
  write_event(event_at(record.value("time", now()), record.value("step", int64_t{0})) + text_field(kSummary, summary));
}

void TensorBoardLog::write_event(const std::string& event) {
  const std::string length = bytes_of(static_cast<uint64_t>(event.size()));
  file_ << length << bytes_of(masked_crc(length)) << event << bytes_of(masked_crc(event)) << std::flush;
  if (!file_) throw std::runtime_error(path_ + ": cannot be written (is the disk full?)");
}

}  // namespace v0
}  // namespace transmute

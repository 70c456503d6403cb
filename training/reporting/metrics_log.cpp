// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/reporting/metrics_log.h>

#include <transmute/common/files.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

std::string lines_up_to(const std::string& path, int64_t last_step) {
  std::istringstream lines(read_file(path));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    const std::optional<Json> record = parse_json_if_valid(line);
    if (record && record->is_object() && record->value("step", int64_t{0}) <= last_step) kept += line + "\n";
  }
  return kept;
}

}  // namespace

MetricsLog::MetricsLog(const std::string& path, int64_t last_step) : path_(path) {
  if (std::filesystem::exists(path)) write_file_atomically(path, lines_up_to(path, last_step));
  file_.open(path, std::ios::app);
  if (!file_) throw std::runtime_error(path + ": cannot be written");
}

std::vector<Json> MetricsLog::records() const {
  std::vector<Json> records;
  std::istringstream lines(read_file(path_));
  for (std::string line; std::getline(lines, line);) records.push_back(parse_json(line));
  return records;
}

void MetricsLog::write(Json& record) {
  record["time"] = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  file_ << json_text(record) << std::endl;
  if (!file_) throw std::runtime_error(path_ + ": cannot be written (is the disk full?)");
}

}  // namespace v0
}  // namespace transmute

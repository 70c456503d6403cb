#include <transmute/training/metrics_log.h>

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
    const auto record = nlohmann::json::parse(line, nullptr, false);
    if (record.is_object() && record.value("step", int64_t{0}) <= last_step) kept += line + "\n";
  }
  return kept;
}

}  // namespace

MetricsLog::MetricsLog(const std::string& path, int64_t last_step) : path_(path) {
  if (std::filesystem::exists(path)) write_file_atomically(path, lines_up_to(path, last_step));
  file_.open(path, std::ios::app);
  if (!file_) throw std::runtime_error(path + ": cannot be written");
}

std::vector<nlohmann::ordered_json> MetricsLog::records() const {
  std::vector<nlohmann::ordered_json> records;
  std::istringstream lines(read_file(path_));
  for (std::string line; std::getline(lines, line);) records.push_back(nlohmann::ordered_json::parse(line));
  return records;
}

void MetricsLog::write(nlohmann::ordered_json& record) {
  record["time"] = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  // A translation that spells out bytes need not be UTF-8.
  file_ << record.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << std::endl;
  if (!file_) throw std::runtime_error(path_ + ": cannot be written (is the disk full?)");
}

}  // namespace v0
}  // namespace transmute

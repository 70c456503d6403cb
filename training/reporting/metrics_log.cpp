// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/reporting/metrics_log.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <transmute/common/files.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// A line that was cut short or edited is no record.
bool is_record(const std::optional<Json>& json) {
  if (!json || !json->is_object() || !json->value("type", Json("")).is_string()) return false;
  if (!json->value("step", Json(0)).is_number() || !json->value("time", Json(0)).is_number()) return false;
  const Json samples = json->value("samples", Json::array());
  return samples.is_array() && std::all_of(samples.begin(), samples.end(), [](const Json& sample) {
           if (!sample.is_object()) return false;
           for (const char* key : {"source", "reference", "translation"})
             if (!sample.value(key, Json()).is_string()) return false;
           return true;
         });
}

// Calls visit(line, its number, the record or none) for each line: the file may grow beyond the limit of read_file().
template <class Visit>
void for_each_line(const std::string& path, const Visit& visit) {
  std::ifstream lines(path);
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    std::optional<Json> record = parse_json_if_valid(line);
    if (!is_record(record)) record.reset();
    visit(line, ++number, std::move(record));
  }
  if (!lines.eof()) throw std::runtime_error(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
}

bool comes_after(const ResumePoint& point, const Json& record) {
  const double step = record.value("step", 0.0), last_step = static_cast<double>(point.step);
  return step > last_step || (point.validation_due && step == last_step && record.value("type", "") == "validation");
}

void keep_lines_up_to(const ResumePoint& point, const std::string& path) {
  AtomicFile kept(path);
  for_each_line(path, [&](std::string& line, int64_t number, const std::optional<Json>& record) {
    if (!record) return spdlog::warn("{}:{}: not a metrics record; ignored", path, number);
    if (comes_after(point, *record)) return;
    line += '\n';
    kept.write(line.data(), line.size());
  });
  kept.commit();
}

}  // namespace

MetricsLog::MetricsLog(const std::string& path, const ResumePoint& point) : path_(path) {
  if (std::filesystem::exists(path)) keep_lines_up_to(point, path);
  file_.open(path, std::ios::app);
  if (!file_) throw std::runtime_error(path + ": cannot be written");
}

std::vector<Json> MetricsLog::records() const {
  std::vector<Json> records;
  for_each_line(path_, [&](const std::string&, int64_t, std::optional<Json> record) {
    if (record) records.push_back(std::move(*record));
  });
  return records;
}

void MetricsLog::write(Json& record) {
  record["time"] = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  file_ << json_text(record) << std::endl;
  if (!file_) throw std::runtime_error(path_ + ": cannot be written (is the disk full?)");
}

}  // namespace v0
}  // namespace transmute

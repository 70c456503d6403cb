// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/json.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// `metrics.jsonl`: one JSON object a line, flushed at once. Each has "type" and "step".
class MetricsLog {
 public:
  /// Opens or goes on with a file. Lines of steps after `last_step` are taken out: the run is going to repeat them.
  /// @throws std::runtime_error where it cannot be written.
  MetricsLog(const std::string& path, int64_t last_step);
  /// Adds "time" to it, in seconds since 1970.
  void write(Json& record);

  /// What is in the file.
  std::vector<Json> records() const;

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace v0
}  // namespace transmute

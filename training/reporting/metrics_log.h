// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/json.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The point from which a run continues. Records of later steps will be written again.
struct ResumePoint {
  int64_t step = 0;             ///< the last completed step
  bool validation_due = false;  ///< the validation after that step is still to come
};

/// `metrics.jsonl`: one JSON object a line, flushed at once. Each has "type" and "step".
class MetricsLog {
 public:
  /// Opens a new or an existing file. Removes the records after `point`.
  /// @throws std::runtime_error if it cannot be written.
  MetricsLog(const std::string& path, const ResumePoint& point);
  /// Appends a record. Adds "time" to it, in seconds since 1970.
  void write(Json& record);

  /// The records in the file.
  std::vector<Json> records() const;

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace v0
}  // namespace transmute

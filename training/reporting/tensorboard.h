// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/json.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// A run's metrics as TensorBoard reads them: event files of scalars in a folder, a new one each time that the run goes
/// on. It begins with the start of a session, by which TensorBoard forgets what older files say of steps that are going
/// to be repeated. A record that a crash cut short ends its file.
///
/// The format: TFRecord frames (length, masked CRC-32C of it, content, masked CRC-32C of it) around `Event` messages in
/// Protocol Buffers' wire format; tensorflow/core/util/event.proto and summary.proto have the field numbers.
class TensorBoardLog {
 public:
  /// Makes the folder where it is missing, and a file in it. `last_step`: after which the run continues.
  /// @throws std::runtime_error if it cannot be written.
  TensorBoardLog(const std::string& folder, int64_t last_step);

  /// Writes the numbers of a record of `metrics.jsonl` under `type/name`, at once. `time` is the wall time, in seconds
  /// since 1970; without it, the current time.
  void add(const Json& record);

 private:
  void write_event(const std::string& event);

  std::string path_;
  std::ofstream file_;
};

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4).
uint32_t crc32c(std::string_view bytes);

}  // namespace v0
}  // namespace transmute

#pragma once

#include <cstdint>
#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A run's metrics as TensorBoard reads them: an event file of scalars in a folder. Records are those of
/// `metrics.jsonl`, of which the file is made anew when a run is resumed: what the run is going to repeat does not
/// stand there twice.
///
/// The format: TFRecord frames (length, masked CRC-32C of it, content, masked CRC-32C of it) around `Event` messages in
/// Protocol Buffers' wire format; tensorflow/core/util/event.proto and summary.proto have the field numbers.
class TensorBoardLog {
 public:
  /// Makes the folder where it is missing, and replaces the event files in it.
  /// @throws std::runtime_error where it cannot be written.
  TensorBoardLog(const std::string& folder, const std::vector<nlohmann::ordered_json>& so_far);

  /// Writes a record's numbers under `type/name`, at once. `time` is the wall time, in seconds since 1970; without it,
  /// now.
  void add(const nlohmann::ordered_json& record);

 private:
  void write_event(const std::string& event);

  std::string path_;
  std::ofstream file_;
};

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4).
uint32_t crc32c(std::string_view bytes);

}  // namespace v0
}  // namespace transmute

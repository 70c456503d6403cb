// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/training/reporting/trace.h>

#include <cstdint>
#include <memory>
#include <string>

namespace transmute {
inline namespace v0 {

/// Traces a few early steps: from the first one that finds caches and memory warm, to a file that stays small enough to
/// be opened.
class StepProfile {
 public:
  static constexpr int64_t kFirst = 5, kLast = 24;  ///< the steps that are traced

  /// Traces nothing.
  StepProfile() = default;
  /// @throws std::runtime_error where `path` cannot be written, now rather than after the traced steps.
  explicit StepProfile(std::string path);

  /// To be called before each step. @returns whether the file was written, as after the last traced step.
  bool begin_step();
  /// Writes what was traced of steps since. @returns whether there was any.
  bool write();

  /// True if the steps were too few: the file has a trace of nothing.
  bool is_empty() const { return !path_.empty() && steps_ < kFirst; }

  /// Null while nothing is traced.
  Trace* trace() const { return trace_.get(); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;  // empty: traces nothing
  int64_t steps_ = 0;
  std::unique_ptr<Trace> trace_;
};

}  // namespace v0
}  // namespace transmute

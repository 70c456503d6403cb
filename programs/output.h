// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/files.h>

#include <memory>
#include <string>

namespace transmute {

/// Where a program's results go: standard output, or a file that gets its name when it is complete.
class Output {
 public:
  /// @param path empty for standard output
  explicit Output(const std::string& path = "");
  /// At once, where it is standard output.
  /// @throws std::runtime_error where it cannot be written.
  void write(const std::string& text);
  /// Gives the file its name. Without it the file is left out.
  void finish();

 private:
  std::unique_ptr<AtomicFile> file_;
};

}  // namespace transmute

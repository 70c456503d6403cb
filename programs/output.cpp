// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/output.h>

#include <iostream>
#include <stdexcept>

namespace transmute {

Output::Output(const std::string& path) {
  if (!path.empty()) file_ = std::make_unique<AtomicFile>(path);
}

void Output::write(const std::string& text) {
  if (file_) {
    file_->write(text.data(), text.size());
  } else if (!std::cout.write(text.data(), static_cast<std::streamsize>(text.size())).flush()) {
    throw std::runtime_error("standard output cannot be written to (is the disk full?)");
  }
}

void Output::finish() {
  if (file_) file_->commit();
}

}  // namespace transmute

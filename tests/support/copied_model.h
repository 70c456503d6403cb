// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace transmute::testing {

/// A copy of another program's model in tests/data/formats whose files may be changed.
class CopiedModel {
 public:
  explicit CopiedModel(const std::string& name) : folder_(temporary_ / name) {
    std::filesystem::copy(std::string(TRANSMUTE_TEST_DATA "/formats/") + name, folder_,
                          std::filesystem::copy_options::recursive);
  }

  const std::string& folder() const { return folder_; }
  std::string path(const std::string& file) const { return (std::filesystem::path(folder_) / file).string(); }

  // Replaces one text of a file by another.
  void change(const std::string& file, const std::string& from, const std::string& to) const {
    std::string content = read_text(path(file));
    const size_t at = content.find(from);
    ASSERT_NE(at, std::string::npos) << file << " has no " << from;
    write_text(path(file), content.replace(at, from.size(), to));
  }

  std::string refusal() const {
    return message_of<std::runtime_error>([&] { load_model(folder_); });
  }

 private:
  TemporaryFolder temporary_;
  std::string folder_;
};

}  // namespace transmute::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

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

  void change_all(const std::string& file, const std::string& from, const std::string& to) const {
    std::string content = read_text(path(file));
    for (size_t at = content.find(from); at != std::string::npos; at = content.find(from, at + to.size()))
      content.replace(at, from.size(), to);
    write_text(path(file), content);
  }

  std::string refusal() const {
    return message_of<std::runtime_error>([&] { load_model(folder_); });
  }

 private:
  TemporaryFolder temporary_;
  std::string folder_;
};

/// Texts of a file, what replaces them, and words of the refusal.
using RefusedChanges = std::vector<std::tuple<std::string, std::string, std::string>>;

/// Why a copy is refused that has one text of a file replaced by another.
inline std::string refusal_with(const std::string& name, const std::string& file, const std::string& from,
                                const std::string& to) {
  const CopiedModel model(name);
  model.change(file, from, to);
  return model.refusal();
}

/// Damages a file at random, in its first 8,000 bytes: each time, the model is read, or refused by its name.
inline void expect_read_or_refused(const CopiedModel& model, const std::string& file, int times) {
  const std::string whole = read_text(model.path(file));
  std::mt19937 random(7);
  for (int i = 0; i < times; ++i) {
    std::string changed = whole;
    if (i % 8 == 0) changed.resize(random() % whole.size());
    for (int bytes = static_cast<int>(random() % 4); bytes > 0 && !changed.empty(); --bytes)
      changed[random() % std::min<size_t>(changed.size(), 8000)] = static_cast<char>(i % 3 == 0 ? 0xff : random());
    write_text(model.path(file), changed);
    try {
      load_model(model.folder());
    } catch (const std::exception& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(model.folder())) << file;
    }
  }
}

}  // namespace transmute::testing

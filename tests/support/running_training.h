// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <thread>

namespace transmute::testing {

/// The step of the newest complete checkpoint in a folder of checkpoints; 0: none. What a running training writes after
/// each step it soon removes again, so a test waits for this number instead of for one folder.
inline int newest_checkpoint(const std::string& folder) {
  const std::string prefix = "step-";
  constexpr size_t kDigits = 9;
  int newest = 0;
  std::error_code none_yet;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none_yet)) {
    const std::string name = entry.path().filename().string();  // unfinished ones have longer names
    if (name.size() == prefix.size() + kDigits && name.rfind(prefix, 0) == 0)
      newest = std::max(newest, std::stoi(name.substr(prefix.size())));
  }
  return newest;
}

/// Waits until `holds` does, for two minutes at most. Returns whether it does.
inline bool wait_until(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (std::chrono::steady_clock::now() < deadline) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return holds();
}

}  // namespace transmute::testing

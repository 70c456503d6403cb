// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/cpu_limit.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace transmute {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

// Version 2: "QUOTA PERIOD" or "max PERIOD", in microseconds.
std::optional<double> limit_of_version_2(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0, period = 0;
  if (file >> quota >> period && quota > 0 && period > 0) return quota / period;
  return std::nullopt;
}

// Version 1: a quota of -1 is none.
std::optional<double> limit_of_version_1(const fs::path& group) {
  std::ifstream quota_file(group / "cpu.cfs_quota_us"), period_file(group / "cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (quota_file >> quota && period_file >> period && quota > 0 && period > 0) return quota / period;
  return std::nullopt;
}

bool contains(const std::string& comma_separated, const std::string& name) {
  return ("," + comma_separated + ",").find("," + name + ",") != std::string::npos;
}

}  // namespace

std::optional<double> cpu_limit(const std::string& root) {
  const fs::path mount = root + "/sys/fs/cgroup";
  std::optional<double> least;
  std::ifstream groups(root + "/proc/self/cgroup");
  // "0::PATH" is the group of version 2, "N:CONTROLLERS:PATH" one of version 1.
  for (std::string line; std::getline(groups, line);) {
    std::istringstream fields(line);
    std::string number, controllers, path;
    if (!std::getline(fields, number, ':') || !std::getline(fields, controllers, ':') || !std::getline(fields, path))
      continue;
    const bool is_version_2 = controllers.empty();
    if (!is_version_2 && !contains(controllers, "cpu")) continue;
    const fs::path top = is_version_2 ? mount : mount / controllers;
    // Each group above limits it too. In a container, the path may be the host's, and only `top` exists.
    for (fs::path group = fs::path(path).relative_path();; group = group.parent_path()) {
      const std::optional<double> limit =
          is_version_2 ? limit_of_version_2(top / group) : limit_of_version_1(top / group);
      if (limit) least = std::min(least.value_or(*limit), *limit);
      if (group.empty()) break;
    }
  }
  return least;
}

}  // namespace v0
}  // namespace transmute

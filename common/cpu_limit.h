// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace transmute {
inline namespace v0 {

/// How many CPUs' time this process may use, as its control groups limit it (a container's `--cpus`, systemd's
/// CPUQuota): 2.5 for two and a half. Empty where they set no limit. Reads control groups of both versions where they
/// are usually mounted.
/// @param root the folder in which /proc and /sys are; for tests
std::optional<double> cpu_limit(const std::string& root = "");

}  // namespace v0
}  // namespace transmute

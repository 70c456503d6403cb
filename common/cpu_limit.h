// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace transmute {
inline namespace v0 {

/// The number of CPUs to which control groups limit this process (a container's `--cpus`, systemd's CPUQuota), such as
/// 2.5. Without a value if there is no limit. Reads control groups of both versions where they are usually mounted.
/// @param root the folder in which /proc and /sys are; for tests
std::optional<double> cpu_limit(const std::string& root = "");

}  // namespace v0
}  // namespace transmute

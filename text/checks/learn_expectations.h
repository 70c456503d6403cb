// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/checks/expectations.h>

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Learns from a sample of training pairs what to expect. Lengths of which the sample has few keep their defaults.
Expectations learn_expectations(const std::vector<std::string>& sources, const std::vector<std::string>& targets);

}  // namespace v0
}  // namespace transmute

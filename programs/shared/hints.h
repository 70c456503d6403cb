// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace transmute {

/// The flag to type instead of one that other toolkits have, or that is a common word for one of the program's own,
/// such as "did you mean --device cuda?" for --gpu; empty where there is no such flag.
std::string hint_for(const CLI::App& app, const std::string& flag);

}  // namespace transmute

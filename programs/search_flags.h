// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/programs/program.h>
#include <transmute/translation/search_options.h>

#include <vector>

namespace transmute {

/// The flags of drawing from a model's distribution: --temperature, --top-k, --top-p, --seed, in the group "Sampling".
/// @returns them, so that a program can say with which others they go.
std::vector<CLI::Option*> add_sampling_flags(CLI::App& app, SamplingOptions& sampling);

}  // namespace transmute

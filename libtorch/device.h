// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// `cpu`, `cuda`, `cuda:1`, or `auto`: CUDA where there is a usable GPU, else the CPU.
/// @throws std::invalid_argument for any other word; std::runtime_error where CUDA is asked for but not to be had.
torch::Device parse_device(const std::string& name);

/// How many workers to run: on the CPU `threads`, or where that is 0 one for each core; on another device 1.
/// @throws std::invalid_argument where `threads` is negative or absurdly many.
int worker_count(int threads, torch::Device device);

}  // namespace v0
}  // namespace transmute

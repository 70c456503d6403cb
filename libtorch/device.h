// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// The device of that name; see named_device().
/// @throws as named_device(); std::runtime_error where CUDA is asked for but not to be had.
torch::Device parse_device(const std::string& name);

/// worker_count() for LibTorch's devices.
int worker_count(int threads, torch::Device device);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/network/precision.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// The device of that name; see named_device().
/// @throws as named_device(); std::runtime_error if CUDA is asked for but not to be had.
torch::Device parse_device(const std::string& name);

/// worker_count() for LibTorch's devices.
int worker_count(int threads, torch::Device device);

/// `x`, which is on the CPU, on that device. On a GPU it goes through page-locked memory, so that nobody waits for the
/// GPU to fetch it.
torch::Tensor on_device(const torch::Tensor& x, torch::Device device);

/// LibTorch's type for the numbers of a precision.
inline torch::Dtype dtype_of(Precision precision) {
  switch (precision) {
    case Precision::bfloat16:
      return torch::kBFloat16;
    case Precision::half:
      return torch::kHalf;
    case Precision::int8:
      return torch::kChar;
    case Precision::float32:
      break;
  }
  return torch::kFloat;
}

}  // namespace v0
}  // namespace transmute

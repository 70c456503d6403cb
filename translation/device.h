#pragma once

#include <torch/types.h>

#include <string>

namespace transmute {

/// `cpu`, `cuda`, `cuda:1`, or `auto`: CUDA where there is a usable GPU, else the CPU.
/// @throws std::invalid_argument for any other word, and where CUDA is asked for but not to be had.
torch::Device parse_device(const std::string& name);

}  // namespace transmute

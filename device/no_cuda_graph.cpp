// SPDX-License-Identifier: Apache-2.0
// In the place of cuda_graph.cpp, where LibTorch is a build without CUDA or older than 2.1.
#include <transmute/device/fixed_step.h>

namespace transmute {
inline namespace v0 {

std::function<void()> record_cuda_graph(const std::function<void()>&, torch::Device) {
  return {};
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/kernels/cuda/device_kernels.h>

#include <string>

// Between tensors and the plain arrays that the kernels of GPUs take.
namespace transmute {
inline namespace v0 {
namespace kernels::cuda {

/// True if the kernels run there: on GPUs of compute capability 8.0 or later, in a build that has them.
bool run_on(torch::Device device);

/// The PCI address of the GPU, such as "0000:65:00".
std::string pci_address(torch::Device device);

/// True if the kernels take rows of `x`: float32, bfloat16 or half, the last dimension in whole vectors.
bool takes_rows(const torch::Tensor& x);

Element element_of(const torch::Tensor& x);

/// The stream that LibTorch queues its own work on: of the current device.
Stream current_stream();

}  // namespace kernels::cuda
}  // namespace v0
}  // namespace transmute

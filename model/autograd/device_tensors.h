// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/kernels/cuda/device_kernels.h>

#include <string>

// Conversions between tensors and the plain arrays that the GPU kernels take.
namespace transmute {
inline namespace v0 {
namespace kernels::cuda {

/// True if the kernels run on `device`: a GPU of compute capability 8.0 or later, in a build that has the kernels.
bool run_on(torch::Device device);

/// The PCI address of the GPU, such as "0000:65:00".
std::string pci_address(torch::Device device);

/// True if the GPU kernels take the rows of `x`: float32, bfloat16 or half, with a last dimension of whole vectors.
bool takes_rows(const torch::Tensor& x);

Element element_of(const torch::Tensor& x);

/// The current device's stream, on which LibTorch queues its own work.
Stream current_stream();

}  // namespace kernels::cuda
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/model/kernels/cuda/device_rows.h>

// Between tensors and the plain arrays that the kernels of GPUs take.
namespace transmute {
inline namespace v0 {
namespace kernels::cuda {

/// Whether the kernels take rows of `x`: float32, bfloat16 or half on a GPU, in a build that has them, the last
/// dimension in whole vectors.
bool takes_rows(const torch::Tensor& x);

Element element_of(const torch::Tensor& x);

/// The stream that LibTorch queues its own work on: of the current device.
Stream current_stream();

}  // namespace kernels::cuda
}  // namespace v0
}  // namespace transmute

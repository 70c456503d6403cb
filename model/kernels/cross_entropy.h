#pragma once

#include <torch/types.h>

namespace transmute::kernels {

/// Sum over the rows whose target is not `ignored` of
/// -(1 - smoothing) log p[target] - smoothing / V · sum_v log p[v], with p = softmax(logits row).
///
/// logits: [N,V], targets: int64 [N]; result: a float32 scalar (double for double logits). float32 and bfloat16
/// logits on the CPU take one fused pass forward and one backward, on the calling thread; others the plain twin.
torch::Tensor smoothed_cross_entropy(const torch::Tensor& logits, const torch::Tensor& targets, double smoothing,
                                     int64_t ignored);

/// The same in LibTorch's own operations: what is right, for any device and type.
torch::Tensor smoothed_cross_entropy_plain(const torch::Tensor& logits, const torch::Tensor& targets, double smoothing,
                                           int64_t ignored);

}  // namespace transmute::kernels

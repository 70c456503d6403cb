// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

namespace transmute {
inline namespace v0 {
namespace kernels {

// Products of matrices that have a row for each token of a batch: N changes from batch to batch. On the CPU bfloat16 is
// multiplied by tile_product where there is AMX, elsewhere by oneDNN, which compiles code for each new shape
// (milliseconds each, and in 2.7 a primitive that its full cache drops while another thread takes it up is read after
// its end). So rows that go to oneDNN are multiplied kRowStep at a time, the last ones beside zeros, and a run needs
// few shapes. Where LibTorch would sum in bfloat16, float32 is multiplied and rounded once. Everything else is
// LibTorch's.
constexpr int64_t kRowStep = 64;

/// x Wᵀ, [N,M]. x: [N,K], weight: [M,K].
torch::Tensor rows_by_transposed(const torch::Tensor& x, const torch::Tensor& weight);

/// x W, [N,K]. x: [N,M], weight: [M,K].
torch::Tensor rows_by(const torch::Tensor& x, const torch::Tensor& weight);

/// The sum over rows of their outer products, xᵀ y, [M,K]. x: [N,M], y: [N,K].
torch::Tensor outer_products(const torch::Tensor& x, const torch::Tensor& y);

/// out = a b, whatever rows and columns stand for. out: [N,M], dense; a: [N,K], b: [K,M].
void multiply_into(torch::Tensor& out, const torch::Tensor& a, const torch::Tensor& b);

/// `x`, with rows of zeros after it up to a multiple of kRowStep where its products call for that.
torch::Tensor with_whole_steps(const torch::Tensor& x);

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

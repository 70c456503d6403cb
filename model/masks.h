// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>

#include <torch/types.h>

namespace transmute {
inline namespace v0 {

/// Masks are bool tensors, true = may attend, that broadcast against scores [B,H,T,S]. This file makes all of
/// them.

/// May attend to every token that is not padding. ids: [B,S]; result: [B,1,1,S].
TRANSMUTE_API torch::Tensor padding_mask(const torch::Tensor& ids, int64_t padding_id);

/// Position t may attend to the `past` positions before the first, and to those up to t (section 3.2.3, masked decoder
/// self-attention). Result: [1,1,T,past+T].
TRANSMUTE_API torch::Tensor causal_mask(int64_t length, const torch::Device& device, int64_t past = 0);

}  // namespace v0
}  // namespace transmute

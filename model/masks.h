// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>

#include <torch/types.h>

namespace transmute {
inline namespace v0 {

// All attention masks. They are bool tensors, true if attention is allowed, that broadcast against scores
// [B,H,T,S].

/// Allows attention to every token except padding. ids: [B,S]; result: [B,1,1,S].
TRANSMUTE_API torch::Tensor padding_mask(const torch::Tensor& ids, int64_t padding_id);

/// Allows attention to every token except padding and the end of each source (unless it is the only token), for
/// networks that do not read the end. ids: [B,S]; result: [B,1,1,S].
TRANSMUTE_API torch::Tensor padding_and_end_mask(const torch::Tensor& ids, int64_t padding_id, int64_t end_id);

/// Allows position t to attend to the `past` positions before the first and to the positions up to t (section 3.2.3,
/// masked decoder self-attention). Result: [1,1,T,past+T].
TRANSMUTE_API torch::Tensor causal_mask(int64_t length, const torch::Device& device, int64_t past = 0);

}  // namespace v0
}  // namespace transmute

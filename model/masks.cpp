// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/masks.h>

#include <transmute/libtorch/libtorch.h>

namespace transmute {
inline namespace v0 {

torch::Tensor padding_mask(const torch::Tensor& ids, int64_t padding_id) {
  TORCH_CHECK_VALUE(ids.dim() == 2, "padding_mask: ids must be [B,S], not ", ids.sizes());
  return ids.ne(padding_id).unsqueeze(1).unsqueeze(1);  // [B,1,1,S]
}

torch::Tensor padding_and_end_mask(const torch::Tensor& ids, int64_t padding_id, int64_t end_id) {
  torch::Tensor is_read = ids.ne(end_id);
  is_read.slice(1, 0, 1).fill_(true);
  return padding_mask(ids, padding_id).logical_and_(is_read.unsqueeze(1).unsqueeze(1));
}

torch::Tensor causal_mask(int64_t length, const torch::Device& device, int64_t past) {
  const auto options = torch::TensorOptions().dtype(torch::kBool).device(device);
  return torch::ones({length, past + length}, options).tril_(past).unsqueeze(0).unsqueeze(0);  // [1,1,T,past+T]
}

}  // namespace v0
}  // namespace transmute

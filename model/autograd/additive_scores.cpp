// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/autograd/additive_scores.h>

#include <transmute/kernels/cpu/additive_scores.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/kernel_tensors.h>

namespace transmute {
inline namespace v0 {
namespace kernels {

namespace {

// Calls body(head, n, h, scratch) for each head h of each sentence. n counts the heads of the whole batch.
template <class T, class Body>
void for_each_additive_head(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& weight,
                            Body body) {
  const int64_t heads = query.size(1), queries = query.size(2), keys = key.size(2), width = query.size(3);
  const typename AdditiveKernels<T>::Head shape{nullptr, nullptr, nullptr, queries, keys, width};
  const torch::Tensor scratch = torch::empty({active_kernels<AdditiveKernels<T>>().scratch_size(shape)}, torch::kFloat);
  for (int64_t n = 0; n < query.size(0) * heads; ++n) {
    typename AdditiveKernels<T>::Head head = shape;
    head.query = data_of<const T>(query) + n * queries * width;
    head.key = data_of<const T>(key) + n * keys * width;
    head.weight = data_of<const float>(weight) + n % heads * width;
    body(head, n, n % heads, data_of<float>(scratch));
  }
}

struct FusedAdditiveScores : torch::autograd::Function<FusedAdditiveScores> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& given_query,
                               const torch::Tensor& given_key, const torch::Tensor& weight) {
    const torch::Tensor query = given_query.contiguous(), key = given_key.contiguous();
    const torch::Tensor factors = as_float(weight);
    torch::Tensor scores = torch::empty({query.size(0), query.size(1), query.size(2), key.size(2)}, query.options());
    with_element_type(query, [&](auto element) {
      using T = decltype(element);
      for_each_additive_head<T>(query, key, factors, [&](const auto& head, int64_t n, int64_t, float* scratch) {
        active_kernels<AdditiveKernels<T>>().forward(head, data_of<T>(scores) + n * head.queries * head.keys, scratch);
      });
    });
    context->save_for_backward({query, key, weight});
    return scores;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    check_first_derivative();
    const auto saved = context->get_saved_variables();
    const torch::Tensor &query = saved[0], &key = saved[1], &weight = saved[2];
    const torch::Tensor gradient = gradients[0].contiguous();
    const torch::Tensor factors = as_float(weight);
    const torch::Tensor query_gradient = torch::empty_like(query), key_gradient = torch::empty_like(key);
    const torch::Tensor weight_gradient = torch::zeros(weight.sizes(), torch::kFloat);
    with_element_type(query, [&](auto element) {
      using T = decltype(element);
      for_each_additive_head<T>(query, key, factors, [&](const auto& head, int64_t n, int64_t h, float* scratch) {
        active_kernels<AdditiveKernels<T>>().backward(head, data_of<const T>(gradient) + n * head.queries * head.keys,
                                                      data_of<T>(query_gradient) + n * head.queries * head.width,
                                                      data_of<T>(key_gradient) + n * head.keys * head.width,
                                                      data_of<float>(weight_gradient) + h * head.width, scratch);
      });
    });
    return {query_gradient, key_gradient, weight_gradient.to(weight.scalar_type())};
  }
};

}  // namespace

torch::Tensor additive_scores_plain(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& weight) {
  const torch::Tensor hidden = torch::tanh(query.unsqueeze(3) + key.unsqueeze(2));  // [B,H,T,S,A]
  return torch::matmul(hidden, weight.unsqueeze(1).unsqueeze(-1)).squeeze(-1);      // [B,H,T,S]
}

torch::Tensor additive_scores(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& weight) {
  TORCH_CHECK_VALUE(query.dim() == 4 && key.dim() == 4 && query.size(0) == key.size(0) &&
                        query.size(1) == key.size(1) && query.size(3) == key.size(3) && weight.dim() == 2 &&
                        weight.size(0) == query.size(1) && weight.size(1) == query.size(3),
                    "additive scores need query [B,H,T,A], key [B,H,S,A] and weight [H,A], not ", query.sizes(), ", ",
                    key.sizes(), " and ", weight.sizes());
  check_same_device({query, key, weight});
  if (!has_kernels(query) || key.scalar_type() != query.scalar_type()) return additive_scores_plain(query, key, weight);
  return FusedAdditiveScores::apply(query, key, weight);
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/autograd/matrix_product.h>

#include <ATen/record_function.h>
#include <transmute/kernels/cpu/tile_product.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/kernel_tensors.h>

#include <vector>

namespace transmute {
inline namespace v0 {
namespace kernels {

namespace {

template <class T>
void multiply_tiles(torch::Tensor& out, const torch::Tensor& a, const torch::Tensor& b, bool adds) {
  TORCH_CHECK_VALUE(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0) && out.size(0) == a.size(0) &&
                        out.size(1) == b.size(1) && out.is_contiguous() && b.scalar_type() == a.scalar_type() &&
                        out.scalar_type() == a.scalar_type(),
                    "matrix_product: ", a.sizes(), " times ", b.sizes(), " is no ", out.sizes());
  const auto with_runs = [](const torch::Tensor& x) {
    return x.stride(0) == 1 || x.stride(1) == 1 ? x : x.contiguous();
  };
  const auto view_of = [](const torch::Tensor& x) {
    return MatrixView<T>{data_of<T>(x), x.size(0), x.size(1), x.stride(0), x.stride(1)};
  };
  const torch::Tensor left = with_runs(a), right = with_runs(b);
  tile_product(view_of(left), view_of(right), data_of<T>(out), adds);
}

void multiply(torch::Tensor& out, const torch::Tensor& a, const torch::Tensor& b, bool adds) {
  const auto by_libtorch = [&] { adds ? out.addmm_(a, b) : torch::mm_out(out, a, b); };
  if (!has_kernels(a)) return by_libtorch();
  RECORD_FUNCTION("transmute::matrix_product", std::vector<c10::IValue>());  // for train --profile
  with_element_type(a, [&](auto element) {
    using T = decltype(element);
    if (has_tile_product<T>()) {
      multiply_tiles<T>(out, a, b, adds);
    } else if (a.scalar_type() == torch::kBFloat16) {
      const torch::Tensor product = torch::mm(a.to(torch::kFloat), b.to(torch::kFloat)).to(torch::kBFloat16);
      adds ? out.add_(product) : out.copy_(product);
    } else {
      by_libtorch();
    }
  });
}

}  // namespace

void multiply_into(torch::Tensor& out, const torch::Tensor& a, const torch::Tensor& b) {
  multiply(out, a, b, /*adds=*/false);
}

void add_product(torch::Tensor& sum, const torch::Tensor& a, const torch::Tensor& b) {
  multiply(sum, a, b, /*adds=*/true);
}

torch::Tensor matrix_product(const torch::Tensor& a, const torch::Tensor& b) {
  if (!has_kernels(a)) return torch::mm(a, b);
  torch::Tensor product = torch::empty({a.size(0), b.size(1)}, a.options());
  multiply_into(product, a, b);
  return product;
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

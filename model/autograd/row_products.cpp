// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/autograd/row_products.h>

#include <transmute/kernels/cpu/tile_product.h>
#include <transmute/kernels/simd/simd.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/kernel_tensors.h>

#include <exception>

namespace transmute {
inline namespace v0 {
namespace kernels {

namespace {

bool is_bfloat16_on_cpu(const torch::Tensor& x) {
  return x.device().is_cpu() && x.scalar_type() == torch::kBFloat16;
}

bool goes_in_tiles(const torch::Tensor& x) {
  return is_bfloat16_on_cpu(x) && active_simd() == Simd::amx;
}

// LibTorch's own loops, which it takes where oneDNN does not multiply bfloat16 for it (an old x86-64, 1.13 on ARM64),
// may sum in bfloat16: after 256 ones, one more changes nothing.
bool libtorch_sums_in_float() {
  static const bool does = [] {
    constexpr int64_t kOnes = 512;
    const torch::Tensor wide = torch::ones({kRowStep, kOnes}, torch::kBFloat16);
    const torch::Tensor tall = torch::ones({kOnes, kRowStep}, torch::kBFloat16);
    const auto sums = [&](const torch::Tensor& a, const torch::Tensor& b) {
      return torch::mm(a, b).eq(kOnes).all().item<bool>();
    };
    try {
      return sums(wide, tall) && sums(wide, wide.t()) && sums(tall.t(), tall);  // a loop each
    } catch (const std::exception&) {  // 1.13's oneDNN on an ARM64 that has bfloat16
      return false;
    }
  }();
  return does;
}

bool goes_by_steps(const torch::Tensor& x) {
  return is_bfloat16_on_cpu(x) && active_simd() != Simd::amx && libtorch_sums_in_float();
}

bool goes_in_float(const torch::Tensor& x) {
  return is_bfloat16_on_cpu(x) && active_simd() != Simd::amx && !libtorch_sums_in_float();
}

Bfloat16Matrix matrix_of(const torch::Tensor& x) {
  return {data_of<uint16_t>(x), x.size(0), x.size(1), x.stride(0), x.stride(1)};
}

// One of its strides is 1.
torch::Tensor with_runs(const torch::Tensor& x) {
  return x.stride(0) == 1 || x.stride(1) == 1 ? x : x.contiguous();
}

torch::Tensor product(const torch::Tensor& a, const torch::Tensor& b) {
  if (!goes_in_tiles(a) && !goes_in_float(a)) return torch::mm(a, b);
  torch::Tensor out = torch::empty({a.size(0), b.size(1)}, a.options());
  multiply_into(out, a, b);
  return out;
}

// Rows from `begin` on, and zeros up to one step.
torch::Tensor last_step(const torch::Tensor& x, int64_t begin) {
  torch::Tensor step = torch::zeros({kRowStep, x.size(1)}, x.options());
  step.narrow(0, 0, x.size(0) - begin).copy_(x.narrow(0, begin, x.size(0) - begin));
  return step;
}

// x · matrix; only x has a row for each token.
torch::Tensor by_steps(const torch::Tensor& x, const torch::Tensor& matrix) {
  const int64_t rows = x.size(0);
  const int64_t whole = rows / kRowStep * kRowStep;
  if (!goes_by_steps(x) || whole == rows) return product(x, matrix);
  torch::Tensor product = torch::empty({rows, matrix.size(1)}, x.options());
  if (whole > 0) {
    torch::Tensor whole_steps = product.narrow(0, 0, whole);
    torch::mm_out(whole_steps, x.narrow(0, 0, whole), matrix);
  }
  product.narrow(0, whole, rows - whole).copy_(torch::mm(last_step(x, whole), matrix).narrow(0, 0, rows - whole));
  return product;
}

}  // namespace

void multiply_into(torch::Tensor& out, const torch::Tensor& a, const torch::Tensor& b) {
  if (goes_in_float(a)) {
    out.copy_(torch::mm(a.to(torch::kFloat), b.to(torch::kFloat)));
    return;
  }
  if (!goes_in_tiles(a)) {
    torch::mm_out(out, a, b);
    return;
  }
  TORCH_CHECK_VALUE(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0) && out.size(0) == a.size(0) &&
                        out.size(1) == b.size(1) && out.is_contiguous() && b.scalar_type() == a.scalar_type() &&
                        out.scalar_type() == a.scalar_type(),
                    "multiply_into: ", a.sizes(), " times ", b.sizes(), " is no ", out.sizes());
  tile_product(matrix_of(with_runs(a)), matrix_of(with_runs(b)), data_of<uint16_t>(out));
}

torch::Tensor rows_by_transposed(const torch::Tensor& x, const torch::Tensor& weight) {
  return by_steps(x, weight.t());
}

torch::Tensor rows_by(const torch::Tensor& x, const torch::Tensor& weight) {
  return by_steps(x, weight);
}

torch::Tensor outer_products(const torch::Tensor& x, const torch::Tensor& y) {
  const int64_t rows = x.size(0);
  const int64_t whole = rows / kRowStep * kRowStep;
  if (!goes_by_steps(x) || whole == rows) return product(x.t(), y);
  torch::Tensor sum = torch::mm(last_step(x, whole).t(), last_step(y, whole));
  if (whole > 0) sum.add_(torch::mm(x.narrow(0, 0, whole).t(), y.narrow(0, 0, whole)));
  return sum;
}

torch::Tensor with_whole_steps(const torch::Tensor& x) {
  const int64_t rows = x.size(0);
  const int64_t whole = (rows + kRowStep - 1) / kRowStep * kRowStep;
  if (!goes_by_steps(x) || whole == rows) return x;
  torch::Tensor padded = torch::empty({whole, x.size(1)}, x.options());
  padded.narrow(0, 0, rows).copy_(x);
  padded.narrow(0, rows, whole - rows).zero_();
  return padded;
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

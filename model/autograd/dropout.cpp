// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/autograd/dropout.h>

#include <c10/core/DeviceGuard.h>
#include <transmute/common/random.h>
#include <transmute/kernels/cpu/rows.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/device_tensors.h>
#include <transmute/model/autograd/kernel_tensors.h>
#include <transmute/model/autograd/random_key.h>

#include <cmath>

namespace transmute {
inline namespace v0 {
namespace kernels {

namespace {

thread_local DropoutScope::State state;

uint64_t next_mask_key() {
  if (state.active) return combine_keys(state.key, state.drawn++);
  return random_key();
}

uint32_t drop_threshold(double probability) {
  return static_cast<uint32_t>(std::lround(probability * 4294967296.0));
}

torch::Tensor masked(const torch::Tensor& input, const DropoutDraw& draw) {
  const torch::Tensor in = input.contiguous();
  torch::Tensor out = torch::empty_like(in);
  const int64_t count = in.numel();
  if (in.is_cuda()) {
    const c10::DeviceGuard guard(in.device());
    cuda::sum_forward({cuda::element_of(in), nullptr, in.data_ptr(), nullptr, /*relu=*/false, draw.device_mask(),
                       count / in.size(-1), in.size(-1)},
                      out.data_ptr(), cuda::current_stream());
    return out;
  }
  const MaskKeys keys(draw, count);
  const MaskView mask = keys.view();
  if (in.scalar_type() == torch::kDouble) {
    const double scale = 1.0 / (1.0 - draw.probability);
    const double* const from = in.data_ptr<double>();
    double* const to = out.data_ptr<double>();
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t hash = hash_element(static_cast<uint32_t>(i % kMaskBlock), mask.block_keys[i / kMaskBlock]);
      to[i] = hash >= mask.threshold ? from[i] * scale : 0;
    }
    return out;
  }
  TORCH_CHECK_TYPE(has_kernels(in), "dropout: no CPU kernel for ", in.scalar_type());
  with_element_type(in, [&](auto element) {
    using T = decltype(element);
    active_kernels<RowKernels<T>>().add_backward(data_of<T>(in), mask, 1, count, data_of<T>(out), nullptr);
  });
  return out;
}

struct HashedDropout : torch::autograd::Function<HashedDropout> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& input,
                               const DropoutDraw& draw) {
    draw.save(*context);
    return masked(input, draw);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    return {HashedDropout::apply(gradients[0], DropoutDraw::saved(*context)), {}};
  }
};

}  // namespace

DropoutScope::DropoutScope(uint64_t key) : DropoutScope(State{key, 0, true}) {}

DropoutScope::DropoutScope(const State& again) : outer_(kernels::state) {
  kernels::state = again;
}

DropoutScope::~DropoutScope() {
  kernels::state = outer_;
}

DropoutScope::State DropoutScope::state() {
  return kernels::state;
}

DropoutDraw DropoutDraw::next(double probability) {
  TORCH_CHECK_VALUE(probability >= 0 && probability < 1, "dropout: probability must lie in [0, 1), not ", probability);
  if (probability == 0) return {};
  return {next_mask_key(), probability};
}

void DropoutDraw::save(torch::autograd::AutogradContext& context) const {
  context.saved_data["key"] = static_cast<int64_t>(key);
  context.saved_data["probability"] = probability;
}

DropoutDraw DropoutDraw::saved(torch::autograd::AutogradContext& context) {
  return {static_cast<uint64_t>(context.saved_data["key"].toInt()), context.saved_data["probability"].toDouble()};
}

cuda::Mask DropoutDraw::device_mask() const {
  if (probability == 0) return {};
  return {mix_bits(key), drop_threshold(probability), static_cast<float>(1.0 / (1.0 - probability))};
}

MaskKeys::MaskKeys(const DropoutDraw& draw, int64_t elements) : probability_(draw.probability) {
  if (draw.probability == 0) return;
  for (int64_t block = 0; block * kMaskBlock < elements; ++block)
    block_keys_.push_back(combine_keys(draw.key, static_cast<uint64_t>(block)));
}

MaskView MaskKeys::view() const {
  if (block_keys_.empty()) return {};
  return {block_keys_.data(), drop_threshold(probability_), static_cast<float>(1.0 / (1.0 - probability_))};
}

torch::Tensor dropout(const torch::Tensor& input, double probability) {
  TORCH_CHECK_VALUE(probability >= 0 && probability < 1, "dropout: probability must lie in [0, 1), not ", probability);
  if (probability == 0) return input;
  if (!input.device().is_cpu() && !cuda::takes_rows(input)) return torch::dropout(input, probability, true);
  return HashedDropout::apply(input, DropoutDraw{next_mask_key(), probability});
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

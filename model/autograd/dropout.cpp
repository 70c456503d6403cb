// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/autograd/dropout.h>

#include <c10/core/DeviceGuard.h>
#include <transmute/common/random.h>
#include <transmute/kernels/simd/vector_math.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/device_tensors.h>
#include <transmute/model/autograd/random_key.h>

#include <cmath>
#include <type_traits>

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

TRANSMUTE_INLINE float scaled(float value, float scale) {
  return value * scale;
}
TRANSMUTE_INLINE double scaled(double value, double scale) {
  return value * scale;
}
TRANSMUTE_INLINE uint16_t scaled(uint16_t value, float scale) {
  return float_to_bfloat16(bfloat16_to_float(value) * scale);
}

// The type that 1 / (1 - probability) is held in.
template <class T>
using Scale = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
TRANSMUTE_INLINE void apply_block(const T* in, T* out, int64_t count, uint64_t block_key, uint32_t threshold,
                                  Scale<T> scale) {
  for (int64_t i = 0; i < count; ++i) {
    const T kept = scaled(in[i], scale);
    out[i] = hash_element(static_cast<uint32_t>(i), block_key) >= threshold ? kept : T(0);
  }
}

template <class T>
using BlockFunction = void (*)(const T*, T*, int64_t, uint64_t, uint32_t, Scale<T>);

template <class T>
void apply_block_baseline(const T* in, T* out, int64_t n, uint64_t key, uint32_t threshold, Scale<T> scale) {
  apply_block(in, out, n, key, threshold, scale);
}

template <class T>
TRANSMUTE_TARGET_AVX2 void apply_block_avx2(const T* in, T* out, int64_t n, uint64_t key, uint32_t threshold,
                                            Scale<T> scale) {
  apply_block(in, out, n, key, threshold, scale);
}

template <class T>
TRANSMUTE_TARGET_AVX512 void apply_block_avx512(const T* in, T* out, int64_t n, uint64_t key, uint32_t threshold,
                                                Scale<T> scale) {
  apply_block(in, out, n, key, threshold, scale);
}

template <class T>
BlockFunction<T> best_block_function() {
  switch (active_simd()) {
    case Simd::amx:
    case Simd::avx512_bf16:
    case Simd::avx512_vnni:
    case Simd::avx512:
      return apply_block_avx512<T>;
    case Simd::avx2_vnni:
    case Simd::avx2:
      return apply_block_avx2<T>;
    default:
      return apply_block_baseline<T>;
  }
}

template <class T>
void apply_mask(const T* in, T* out, int64_t count, uint64_t key, double probability) {
  const BlockFunction<T> apply = best_block_function<T>();
  const uint32_t threshold = drop_threshold(probability);
  const auto scale = static_cast<Scale<T>>(1.0 / (1.0 - probability));
  for (int64_t begin = 0; begin < count; begin += kMaskBlock)
    apply(in + begin, out + begin, std::min(kMaskBlock, count - begin), combine_keys(key, begin / kMaskBlock),
          threshold, scale);
}

torch::Tensor masked(const torch::Tensor& input, uint64_t key, double probability) {
  const torch::Tensor in = input.contiguous();
  torch::Tensor out = torch::empty_like(in);
  if (in.is_cuda()) {
    const c10::DeviceGuard guard(in.device());
    cuda::sum_forward({cuda::element_of(in), nullptr, in.data_ptr(), nullptr, /*relu=*/false,
                       DropoutDraw{key, probability}.device_mask(), in.numel() / in.size(-1), in.size(-1)},
                      out.data_ptr(), cuda::current_stream());
    return out;
  }
  switch (in.scalar_type()) {
    case torch::kFloat:
      apply_mask(in.data_ptr<float>(), out.data_ptr<float>(), in.numel(), key, probability);
      break;
    case torch::kDouble:
      apply_mask(in.data_ptr<double>(), out.data_ptr<double>(), in.numel(), key, probability);
      break;
    case torch::kBFloat16:
      apply_mask(static_cast<const uint16_t*>(in.data_ptr()), static_cast<uint16_t*>(out.data_ptr()), in.numel(), key,
                 probability);
      break;
    default:
      TORCH_CHECK_TYPE(false, "dropout: no CPU kernel for ", in.scalar_type());
  }
  return out;
}

struct HashedDropout : torch::autograd::Function<HashedDropout> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& input, int64_t key,
                               double probability) {
    context->saved_data["key"] = key;
    context->saved_data["probability"] = probability;
    return masked(input, static_cast<uint64_t>(key), probability);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    auto& data = context->saved_data;
    return {HashedDropout::apply(gradients[0], data["key"].toInt(), data["probability"].toDouble()), {}, {}};
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

DropoutDraw DropoutDraw::next(double probability, bool training) {
  TORCH_CHECK_VALUE(probability >= 0 && probability < 1, "dropout: probability must lie in [0, 1), not ", probability);
  if (!training || probability == 0) return {};
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

torch::Tensor dropout(const torch::Tensor& input, double probability, bool training) {
  TORCH_CHECK_VALUE(probability >= 0 && probability < 1, "dropout: probability must lie in [0, 1), not ", probability);
  if (!training || probability == 0) return input;
  if (!input.device().is_cpu() && !cuda::takes_rows(input)) return torch::dropout(input, probability, true);
  return HashedDropout::apply(input, static_cast<int64_t>(next_mask_key()), probability);
}

torch::Tensor dropout_mask_reference(uint64_t key, int64_t elements, double probability) {
  torch::Tensor mask = torch::empty({elements}, torch::kBool);
  bool* keep = mask.data_ptr<bool>();
  const uint64_t mask_key = combine_keys(key, uint64_t{0});
  for (int64_t i = 0; i < elements; ++i)
    keep[i] = hash_element(static_cast<uint32_t>(i % kMaskBlock), combine_keys(mask_key, i / kMaskBlock)) >=
              drop_threshold(probability);
  return mask;
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

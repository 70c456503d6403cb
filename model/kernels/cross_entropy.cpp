// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/kernels/cross_entropy.h>

#include <transmute/model/kernels/kernel_tensors.h>
#include <transmute/model/kernels/lanes/rows.h>
#include <transmute/model/kernels/row_products.h>
#include <transmute/model/libtorch.h>

#include <algorithm>

namespace transmute {
inline namespace v0 {
namespace kernels {

namespace {

// Tokens whose logits exist at the same time: enough for the products to run at full speed. A bfloat16 weight gradient
// is rounded once a chunk, so there are few of them.
int64_t chunk_tokens(const torch::Tensor& states) {
  constexpr int64_t kFewest = 256;
  constexpr int64_t kMostChunks = 4;
  constexpr int64_t kStep = 64;
  if (states.scalar_type() == torch::kFloat) return kFewest;
  const int64_t share = (states.size(0) + kMostChunks - 1) / kMostChunks;
  return std::max(kFewest, (share + kStep - 1) / kStep * kStep);
}

void check_targets(const torch::Tensor& targets, int64_t vocabulary, int64_t ignored) {
  const int64_t* target = targets.data_ptr<int64_t>();
  for (int64_t n = 0; n < targets.numel(); ++n)
    TORCH_CHECK_INDEX(target[n] == ignored || (target[n] >= 0 && target[n] < vocabulary),
                      "projected_cross_entropy: target ", target[n], " is not among the ", vocabulary, " pieces");
}

struct FusedCrossEntropy : torch::autograd::Function<FusedCrossEntropy> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& given_states,
                               const torch::Tensor& weight, const torch::Tensor& given_targets, double smoothing,
                               int64_t ignored, double factor, bool differentiate) {
    const int64_t vocabulary = weight.size(0);
    check_targets(given_targets.contiguous(), vocabulary, ignored);
    const torch::Tensor states = with_whole_steps(given_states.contiguous());
    const int64_t rows = states.size(0);
    torch::Tensor targets = given_targets.contiguous();
    if (targets.size(0) < rows)
      targets = torch::cat({targets, torch::full({rows - targets.size(0)}, ignored, torch::kLong)});
    const int64_t chunk_size = std::max<int64_t>(1, std::min(rows, chunk_tokens(states)));
    torch::Tensor states_gradient, weight_gradient;
    if (differentiate) states_gradient = torch::empty_like(states);
    const torch::Tensor memory = torch::empty({vocabulary * chunk_size}, states.options());
    const torch::Tensor scratch = torch::empty({(vocabulary / 256 + 1) * 64}, torch::kFloat);
    double loss = 0;
    for (int64_t begin = 0; begin < rows; begin += chunk_size) {
      const int64_t count = std::min(chunk_size, rows - begin);
      const torch::Tensor chunk = states.narrow(0, begin, count);
      // One column a token: both this product and the weight's gradient then take their large operand as it lies.
      torch::Tensor logits = memory.narrow(0, 0, vocabulary * count).view({vocabulary, count});
      multiply_into(logits, weight, chunk.t());
      loss += with_element_type(states, [&](auto element) {
        using T = decltype(element);
        return row_kernels<T>().loss_columns(data_of<T>(logits), vocabulary, count, targets.data_ptr<int64_t>() + begin,
                                             {smoothing, ignored, static_cast<float>(factor), differentiate},
                                             data_of<float>(scratch));
      });
      if (!differentiate) continue;
      torch::Tensor chunk_gradient = states_gradient.narrow(0, begin, count);
      multiply_into(chunk_gradient, logits.t(), weight);
      if (begin == 0) {
        weight_gradient = torch::empty_like(weight);
        multiply_into(weight_gradient, logits, chunk);
      } else if (states.scalar_type() == torch::kBFloat16) {  // see row_products.h: no addend for oneDNN, nor in tiles
        torch::Tensor addend = torch::empty_like(weight);
        multiply_into(addend, logits, chunk);
        weight_gradient.add_(addend);
      } else {
        weight_gradient.addmm_(logits, chunk);
      }
    }
    if (differentiate && rows == 0) weight_gradient = torch::zeros_like(weight);
    if (differentiate) states_gradient = states_gradient.narrow(0, 0, given_states.size(0));
    context->save_for_backward({states_gradient, weight_gradient});
    return torch::scalar_tensor(loss * factor, torch::kFloat);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto scaled = [incoming = gradients[0].item<double>()](const torch::Tensor& gradient) {
      return incoming == 1 ? gradient : gradient * incoming;
    };
    return {scaled(saved[0]), scaled(saved[1]), {}, {}, {}, {}, {}};
  }
};

}  // namespace

torch::Tensor projected_cross_entropy_plain(const torch::Tensor& states, const torch::Tensor& weight,
                                            const torch::Tensor& targets, const CrossEntropyOptions& options) {
  const torch::Tensor logits = torch::linear(states, weight);  // [N,V]
  const auto accumulator = logits.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat;
  const torch::Tensor log_probs = torch::log_softmax(logits, -1, accumulator);
  const torch::Tensor right = log_probs.gather(1, targets.unsqueeze(1)).squeeze(1);
  const torch::Tensor losses = right * (options.smoothing - 1.0) - log_probs.mean(1) * options.smoothing;
  return losses.mul(targets.ne(options.ignored)).sum() * options.factor;
}

torch::Tensor projected_cross_entropy(const torch::Tensor& states, const torch::Tensor& weight,
                                      const torch::Tensor& targets, const CrossEntropyOptions& options) {
  TORCH_CHECK_VALUE(states.dim() == 2 && weight.dim() == 2 && states.size(1) == weight.size(1) && targets.dim() == 1 &&
                        states.size(0) == targets.size(0) && targets.scalar_type() == torch::kLong,
                    "projected_cross_entropy needs states [N,D], a weight [V,D] and int64 targets [N], not ",
                    states.sizes(), ", ", weight.sizes(), " and ", targets.sizes());
  if (!has_kernels(states) || states.scalar_type() != weight.scalar_type())
    return projected_cross_entropy_plain(states, weight, targets, options);
  const bool differentiate = torch::GradMode::is_enabled() && (states.requires_grad() || weight.requires_grad());
  return FusedCrossEntropy::apply(states, weight, targets, options.smoothing, options.ignored, options.factor,
                                  differentiate);
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

#include <transmute/model/kernels/cross_entropy.h>

#include <torch/torch.h>
#include <transmute/model/kernels/kernel_tensors.h>
#include <transmute/model/kernels/lanes/rows.h>

#include <algorithm>

namespace transmute::kernels {

namespace {

// Rows whose logits exist at the same time: enough for the products to run at full speed.
constexpr int64_t kChunkRows = 512;

// Turns each row's logits into their gradient where `differentiate`; returns the sum of the losses.
template <class T>
double loss_of_rows(T* logits, const int64_t* targets, int64_t rows, int64_t vocabulary,
                    const CrossEntropyOptions& options, bool differentiate) {
  const RowKernels<T>& kernels = row_kernels<T>();
  double loss = 0;
  for (int64_t n = 0; n < rows; ++n) {
    T* row = logits + n * vocabulary;
    if (targets[n] == options.ignored) {
      if (differentiate) std::fill(row, row + vocabulary, T(0));
      continue;
    }
    TORCH_CHECK_INDEX(targets[n] >= 0 && targets[n] < vocabulary, "projected_cross_entropy: target ", targets[n],
                      " is not among the ", vocabulary, " pieces");
    loss += differentiate
                ? kernels.loss_row(row, vocabulary, targets[n], options.smoothing, static_cast<float>(options.factor))
                : kernels.loss_only_row(row, vocabulary, targets[n], options.smoothing);
  }
  return loss;
}

struct FusedCrossEntropy : torch::autograd::Function<FusedCrossEntropy> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& given_states,
                               const torch::Tensor& weight, const torch::Tensor& given_targets, double smoothing,
                               int64_t ignored, double factor, bool differentiate) {
    const CrossEntropyOptions options{smoothing, ignored, factor};
    const torch::Tensor states = given_states.contiguous();
    const torch::Tensor targets = given_targets.contiguous();
    const int64_t rows = states.size(0);
    const int64_t vocabulary = weight.size(0);
    torch::Tensor states_gradient, weight_gradient;
    if (differentiate) states_gradient = torch::empty_like(states);
    torch::Tensor logits = torch::empty({std::min(rows, kChunkRows), vocabulary}, states.options());
    double loss = 0;
    for (int64_t begin = 0; begin < rows; begin += kChunkRows) {
      const int64_t count = std::min(kChunkRows, rows - begin);
      const torch::Tensor chunk = states.narrow(0, begin, count);
      torch::Tensor chunk_logits = logits.narrow(0, 0, count);
      torch::mm_out(chunk_logits, chunk, weight.t());
      loss += with_element_type(states, [&](auto element) {
        using T = decltype(element);
        return loss_of_rows(data_of<T>(chunk_logits), targets.data_ptr<int64_t>() + begin, count, vocabulary, options,
                            differentiate);
      });
      if (!differentiate) continue;
      torch::Tensor chunk_gradient = states_gradient.narrow(0, begin, count);
      torch::mm_out(chunk_gradient, chunk_logits, weight);
      if (begin == 0) {
        weight_gradient = torch::mm(chunk_logits.t(), chunk);
      } else {
        weight_gradient.addmm_(chunk_logits.t(), chunk);
      }
    }
    if (differentiate && rows == 0) weight_gradient = torch::zeros_like(weight);
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

}  // namespace transmute::kernels

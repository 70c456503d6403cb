// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/autograd/cross_entropy.h>

#include <c10/core/DeviceGuard.h>
#include <transmute/kernels/cpu/consistent_loss.h>
#include <transmute/kernels/cpu/rows.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/device_tensors.h>
#include <transmute/model/autograd/kernel_tensors.h>
#include <transmute/model/autograd/matrix_product.h>

#include <algorithm>

namespace transmute {
inline namespace v0 {
namespace kernels {

namespace {

// Number of tokens whose logits exist at the same time: enough for the products to run at full speed. Each chunk rounds
// a weight gradient in bfloat16 once, so there are at most kMostChunks of them.
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

// sum += a b. An undefined `sum` becomes the product.
void add_or_make_product(torch::Tensor& sum, const torch::Tensor& a, const torch::Tensor& b) {
  if (sum.defined())
    add_product(sum, a, b);
  else
    sum = matrix_product(a, b);
}

// gradient * incoming, without waiting for a GPU.
torch::Tensor scaled(const torch::Tensor& gradient, const torch::Tensor& incoming) {
  if (incoming.is_cuda()) return gradient * incoming.to(gradient.scalar_type());
  const double factor = incoming.item<double>();
  return factor == 1 ? gradient : gradient * factor;
}

// The backward pass of all losses in this file, whose forward passes compute and save the gradients of states and
// weight.
template <class Kind>
struct CrossEntropyFunction : torch::autograd::Function<Kind> {
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    check_first_derivative();
    const auto saved = context->get_saved_variables();
    // This is the number of arguments of the longest forward(). Autograd accepts undefined gradients beyond the last
    // argument.
    return {scaled(saved[0], gradients[0]), scaled(saved[1], gradients[0]), {}, {}, {}, {}};
  }
};

struct FusedCrossEntropy : CrossEntropyFunction<FusedCrossEntropy> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& given_states,
                               const torch::Tensor& weight, const torch::Tensor& given_targets,
                               const CrossEntropyOptions& options, bool differentiate) {
    const torch::Tensor states = given_states.contiguous(), targets = given_targets.contiguous();
    const int64_t rows = states.size(0), vocabulary = weight.size(0);
    check_targets(targets, vocabulary, options.ignored);
    const int64_t chunk_size = std::max<int64_t>(1, std::min(rows, chunk_tokens(states)));
    torch::Tensor states_gradient, weight_gradient;
    if (differentiate) states_gradient = torch::empty_like(states);
    const torch::Tensor memory = torch::empty({vocabulary * chunk_size}, states.options());
    const int64_t scratch_size = with_element_type(states, [&](auto element) {
      return active_kernels<RowKernels<decltype(element)>>().loss_scratch_size(vocabulary);
    });
    const torch::Tensor scratch = torch::empty({scratch_size}, torch::kFloat);
    double loss = 0;
    for (int64_t begin = 0; begin < rows; begin += chunk_size) {
      const int64_t count = std::min(chunk_size, rows - begin);
      const torch::Tensor chunk = states.narrow(0, begin, count);
      // Each token has a column: both this product and the weight's gradient then read their large operand as it is
      // stored.
      torch::Tensor logits = memory.narrow(0, 0, vocabulary * count).view({vocabulary, count});
      multiply_into(logits, weight, chunk.t());
      loss += with_element_type(states, [&](auto element) {
        using T = decltype(element);
        return active_kernels<RowKernels<T>>().loss_columns(
            data_of<T>(logits), vocabulary, count, targets.data_ptr<int64_t>() + begin,
            {options.smoothing, options.ignored, static_cast<float>(options.factor), differentiate},
            data_of<float>(scratch));
      });
      if (!differentiate) continue;
      torch::Tensor chunk_gradient = states_gradient.narrow(0, begin, count);
      multiply_into(chunk_gradient, logits.t(), weight);
      add_or_make_product(weight_gradient, logits, chunk);
    }
    if (differentiate && rows == 0) weight_gradient = torch::zeros_like(weight);
    context->save_for_backward({states_gradient, weight_gradient});
    return torch::scalar_tensor(loss * options.factor, torch::kFloat);
  }
};

// Number of rows of logits that exist on a GPU at the same time.
int64_t device_chunk(int64_t rows, int64_t vocabulary) {
  constexpr int64_t kMostLogits = int64_t{1} << 27;
  constexpr int64_t kFewestTokens = 1024;
  return std::max<int64_t>(1, std::min(rows, std::max(kFewestTokens, kMostLogits / vocabulary)));
}

cuda::Loss device_loss(const torch::Tensor& logits, const torch::Tensor& targets, int64_t begin, int64_t count,
                       const CrossEntropyOptions& options, bool differentiate) {
  return {cuda::element_of(logits),
          data_of<int64_t>(targets) + begin,
          static_cast<float>(options.smoothing),
          options.ignored,
          static_cast<float>(options.factor),
          differentiate,
          count,
          logits.size(1)};
}

// The same loss on a GPU, with a row of logits for each token. It never waits for the device.
struct DeviceCrossEntropy : CrossEntropyFunction<DeviceCrossEntropy> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& given_states,
                               const torch::Tensor& weight, const torch::Tensor& given_targets,
                               const CrossEntropyOptions& options, bool differentiate) {
    const torch::Tensor states = given_states.contiguous(), targets = given_targets.contiguous();
    const int64_t rows = states.size(0), vocabulary = weight.size(0);
    const int64_t chunk_size = device_chunk(rows, vocabulary);
    const torch::Tensor memory = torch::empty({chunk_size, vocabulary}, states.options());
    const torch::Tensor losses = torch::empty({rows}, states.options().dtype(torch::kFloat));
    torch::Tensor states_gradient, weight_gradient;
    if (differentiate) states_gradient = torch::empty_like(states);
    const c10::DeviceGuard guard(states.device());
    for (int64_t begin = 0; begin < rows; begin += chunk_size) {
      const int64_t count = std::min(chunk_size, rows - begin);
      const torch::Tensor chunk = states.narrow(0, begin, count);
      torch::Tensor logits = memory.narrow(0, 0, count);
      torch::mm_out(logits, chunk, weight.t());
      cuda::loss_rows(device_loss(logits, targets, begin, count, options, differentiate), logits.data_ptr(),
                      data_of<float>(losses) + begin, cuda::current_stream());
      if (!differentiate) continue;
      torch::Tensor chunk_gradient = states_gradient.narrow(0, begin, count);
      torch::mm_out(chunk_gradient, logits, weight);
      add_or_make_product(weight_gradient, logits.t(), chunk);
    }
    if (differentiate && rows == 0) weight_gradient = torch::zeros_like(weight);
    context->save_for_backward({states_gradient, weight_gradient});
    return losses.sum() * options.factor;
  }
};

// Each chunk holds the rows of both states of its tokens.
struct FusedConsistentCrossEntropy : CrossEntropyFunction<FusedConsistentCrossEntropy> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const torch::Tensor& states,
                                                const torch::Tensor& weight, const torch::Tensor& given_targets,
                                                const CrossEntropyOptions& options, const DivergenceOptions& divergence,
                                                bool differentiate) {
    const int64_t vocabulary = weight.size(0), width = states.size(1);
    const int64_t tokens = given_targets.size(0);
    const torch::Tensor targets = given_targets.contiguous();
    check_targets(targets, vocabulary, options.ignored);
    const torch::Tensor first = states.narrow(0, 0, tokens), second = states.narrow(0, tokens, tokens);
    const int64_t chunk_size = std::max<int64_t>(1, std::min(tokens, chunk_tokens(first)));
    torch::Tensor gradient, weight_gradient;
    if (differentiate) gradient = torch::empty({2, tokens, width}, states.options());
    const torch::Tensor memory = torch::empty({vocabulary * 2 * chunk_size}, states.options());
    const ConsistentLoss loss{{options.smoothing, options.ignored, static_cast<float>(options.factor), differentiate},
                              divergence.second_too,
                              static_cast<float>(divergence.forward_weight),
                              static_cast<float>(divergence.backward_weight)};
    ConsistentSums total{0, 0};
    for (int64_t begin = 0; begin < tokens; begin += chunk_size) {
      const int64_t count = std::min(chunk_size, tokens - begin);
      const torch::Tensor chunk = torch::cat({first.narrow(0, begin, count), second.narrow(0, begin, count)});
      torch::Tensor logits = memory.narrow(0, 0, vocabulary * 2 * count).view({vocabulary, 2 * count});
      multiply_into(logits, weight, chunk.t());
      const ConsistentSums sums = with_element_type(states, [&](auto element) {
        using T = decltype(element);
        return active_kernels<ConsistentLossKernels<T>>().loss_columns(data_of<T>(logits), vocabulary, count,
                                                                       targets.data_ptr<int64_t>() + begin, loss);
      });
      total.cross_entropy += sums.cross_entropy;
      total.divergence += sums.divergence;
      if (!differentiate) continue;
      gradient.narrow(1, begin, count).copy_(matrix_product(logits.t(), weight).view({2, count, width}));
      add_or_make_product(weight_gradient, logits, chunk);
    }
    if (differentiate && tokens == 0) weight_gradient = torch::zeros_like(weight);
    context->save_for_backward({differentiate ? gradient.view_as(states) : gradient, weight_gradient});
    const auto scalar = [](double value) { return torch::scalar_tensor(value, torch::kFloat); };
    const torch::Tensor divergences = scalar(total.divergence * options.factor);
    context->mark_non_differentiable({divergences});
    return {scalar((total.cross_entropy + total.divergence) * options.factor), divergences};
  }
};

struct DeviceConsistentCrossEntropy : CrossEntropyFunction<DeviceConsistentCrossEntropy> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                const torch::Tensor& given_states, const torch::Tensor& weight,
                                                const torch::Tensor& given_targets, const CrossEntropyOptions& options,
                                                const DivergenceOptions& divergence, bool differentiate) {
    const torch::Tensor states = given_states.contiguous(), targets = given_targets.contiguous();
    const int64_t tokens = targets.size(0), vocabulary = weight.size(0);
    const int64_t chunk_size = device_chunk(tokens, 2 * vocabulary);
    const torch::Tensor memory = torch::empty({2 * chunk_size, vocabulary}, states.options());
    const torch::Tensor losses = torch::empty({2, tokens}, states.options().dtype(torch::kFloat));
    torch::Tensor gradient, weight_gradient;
    if (differentiate) gradient = torch::empty_like(states);
    const c10::DeviceGuard guard(states.device());
    for (int64_t begin = 0; begin < tokens; begin += chunk_size) {
      const int64_t count = std::min(chunk_size, tokens - begin);
      const auto both = [&](const torch::Tensor& of_all) {
        return of_all.view({2, tokens, -1}).narrow(1, begin, count);  // [2,count,D]
      };
      const torch::Tensor chunk = both(states).reshape({2 * count, -1});
      torch::Tensor logits = memory.narrow(0, 0, 2 * count);
      torch::mm_out(logits, chunk, weight.t());
      cuda::consistent_loss_rows(
          {device_loss(logits, targets, begin, count, options, differentiate), divergence.second_too,
           static_cast<float>(divergence.forward_weight), static_cast<float>(divergence.backward_weight)},
          logits.data_ptr(), data_of<float>(losses) + begin, data_of<float>(losses) + tokens + begin,
          cuda::current_stream());
      if (!differentiate) continue;
      both(gradient).copy_(torch::mm(logits, weight).view({2, count, -1}));
      add_or_make_product(weight_gradient, logits.t(), chunk);
    }
    if (differentiate && tokens == 0) weight_gradient = torch::zeros_like(weight);
    context->save_for_backward({gradient, weight_gradient});
    const torch::Tensor sums = losses.sum(1) * options.factor;
    const torch::Tensor divergences = sums[1].clone();
    context->mark_non_differentiable({divergences});
    return {sums.sum(), divergences};
  }
};

void check_shapes(const char* name, const torch::Tensor& states, const torch::Tensor& weight,
                  const torch::Tensor& targets, int64_t states_per_token) {
  TORCH_CHECK_VALUE(states.dim() == 2 && weight.dim() == 2 && states.size(1) == weight.size(1) && targets.dim() == 1 &&
                        states.size(0) == states_per_token * targets.size(0) && targets.scalar_type() == torch::kLong,
                    name, " needs states [", states_per_token == 1 ? "" : "2",
                    "N,D], a weight [V,D] and int64 targets ", "[N], not ", states.sizes(), ", ", weight.sizes(),
                    " and ", targets.sizes());
  check_same_device({states, weight, targets});
}

bool is_fused(const torch::Tensor& states, const torch::Tensor& weight) {
  return has_kernels(states) && states.scalar_type() == weight.scalar_type();
}

bool runs_on_gpu(const torch::Tensor& states, const torch::Tensor& weight) {
  return cuda::takes_rows(states) && states.scalar_type() == weight.scalar_type();
}

bool wants_gradients(const torch::Tensor& states, const torch::Tensor& weight) {
  return torch::GradMode::is_enabled() && (states.requires_grad() || weight.requires_grad());
}

// Returns [N,V], in float32, or double for double states.
torch::Tensor log_probabilities(const torch::Tensor& states, const torch::Tensor& weight) {
  const torch::Tensor logits = torch::linear(states, weight);
  return torch::log_softmax(logits, -1, logits.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat);
}

// Returns the loss of each token, [N].
torch::Tensor smoothed_losses(const torch::Tensor& log_probabilities, const torch::Tensor& targets, double smoothing) {
  const torch::Tensor right = log_probabilities.gather(1, targets.unsqueeze(1)).squeeze(1);
  return right * (smoothing - 1.0) - log_probabilities.mean(1) * smoothing;
}

}  // namespace

torch::Tensor projected_cross_entropy_plain(const torch::Tensor& states, const torch::Tensor& weight,
                                            const torch::Tensor& targets, const CrossEntropyOptions& options) {
  const torch::Tensor losses = smoothed_losses(log_probabilities(states, weight), targets, options.smoothing);
  return losses.mul(targets.ne(options.ignored)).sum() * options.factor;
}

torch::Tensor projected_cross_entropy(const torch::Tensor& states, const torch::Tensor& weight,
                                      const torch::Tensor& targets, const CrossEntropyOptions& options) {
  check_shapes("projected_cross_entropy", states, weight, targets, 1);
  if (runs_on_gpu(states, weight))
    return DeviceCrossEntropy::apply(states, weight, targets, options, wants_gradients(states, weight));
  if (!is_fused(states, weight)) return projected_cross_entropy_plain(states, weight, targets, options);
  return FusedCrossEntropy::apply(states, weight, targets, options, wants_gradients(states, weight));
}

ConsistentCrossEntropy consistent_cross_entropy_plain(const torch::Tensor& states, const torch::Tensor& weight,
                                                      const torch::Tensor& targets, const CrossEntropyOptions& options,
                                                      const DivergenceOptions& divergence) {
  const torch::Tensor both = log_probabilities(states, weight);
  const torch::Tensor p = both.narrow(0, 0, targets.size(0)), q = both.narrow(0, targets.size(0), targets.size(0));
  torch::Tensor losses = smoothed_losses(p, targets, options.smoothing);
  if (divergence.second_too) losses = losses + smoothed_losses(q, targets, options.smoothing);
  torch::Tensor divergences = torch::zeros_like(losses);
  const auto add = [&](const torch::Tensor& from, const torch::Tensor& to, double weight_of_it) {
    if (weight_of_it > 0) divergences = divergences + (from.exp() * (from - to)).sum(1) * weight_of_it;
  };
  add(p, q, divergence.forward_weight);
  add(q, p, divergence.backward_weight);
  const torch::Tensor counts = targets.ne(options.ignored);
  const auto sum_of = [&](const torch::Tensor& values) { return values.mul(counts).sum() * options.factor; };
  return {sum_of(losses + divergences), sum_of(divergences.detach())};
}

ConsistentCrossEntropy consistent_cross_entropy(const torch::Tensor& states, const torch::Tensor& weight,
                                                const torch::Tensor& targets, const CrossEntropyOptions& options,
                                                const DivergenceOptions& divergence) {
  check_shapes("consistent_cross_entropy", states, weight, targets, 2);
  if (runs_on_gpu(states, weight)) {
    const auto results = DeviceConsistentCrossEntropy::apply(states, weight, targets, options, divergence,
                                                             wants_gradients(states, weight));
    return {results[0], results[1]};
  }
  if (!is_fused(states, weight)) return consistent_cross_entropy_plain(states, weight, targets, options, divergence);
  const auto results =
      FusedConsistentCrossEntropy::apply(states, weight, targets, options, divergence, wants_gradients(states, weight));
  return {results[0], results[1]};
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

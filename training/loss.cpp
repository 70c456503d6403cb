#include <transmute/training/loss.h>

#include <torch/torch.h>

namespace transmute {

namespace {

// One pass more than LibTorch's own composition needs would show in the step's time: the vocabulary is the
// widest dimension there is. So the forward pass keeps log-probabilities only, and the gradient is made from
// them in place.
struct SmoothedCrossEntropy : torch::autograd::Function<SmoothedCrossEntropy> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& logits,
                               const torch::Tensor& targets, double smoothing, int64_t padding_id) {
    const torch::Tensor log_probs = torch::log_softmax(logits, -1, torch::kFloat);  // [N,V]
    const torch::Tensor counted = targets.ne(padding_id);                           // [N]
    torch::Tensor losses = log_probs.gather(1, targets.unsqueeze(1)).squeeze(1) * (smoothing - 1.0);
    if (smoothing > 0) losses = losses - log_probs.mean(1) * smoothing;
    context->save_for_backward({log_probs, targets, counted});
    context->saved_data["smoothing"] = smoothing;
    context->saved_data["dtype"] = logits.scalar_type();
    return losses.mul(counted).sum();
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor& targets = saved[1];
    const double smoothing = context->saved_data["smoothing"].toDouble();
    const auto vocabulary = static_cast<double>(saved[0].size(1));
    // d loss / d logit = probability - smoothed target.
    torch::Tensor gradient = saved[0].exp().sub_(smoothing / vocabulary);  // [N,V]
    const torch::Tensor right = torch::full({targets.size(0), 1}, smoothing - 1.0, gradient.options());
    gradient.scatter_add_(1, targets.unsqueeze(1), right);
    gradient.mul_((saved[2] * gradients[0]).unsqueeze(1));
    return {gradient.to(context->saved_data["dtype"].toScalarType()), {}, {}, {}};
  }
};

}  // namespace

torch::Tensor smoothed_cross_entropy(const torch::Tensor& logits, const torch::Tensor& targets,
                                     double smoothing, int64_t padding_id) {
  TORCH_CHECK_VALUE(logits.dim() == 2 && targets.dim() == 1 && logits.size(0) == targets.size(0),
                    "smoothed_cross_entropy needs logits [N,V] and targets [N], not ", logits.sizes(),
                    " and ", targets.sizes());
  return SmoothedCrossEntropy::apply(logits, targets, smoothing, padding_id);
}

}  // namespace transmute

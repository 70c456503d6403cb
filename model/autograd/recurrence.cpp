// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/autograd/recurrence.h>

#include <transmute/kernels/cpu/recurrence.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/kernel_tensors.h>

namespace transmute {
inline namespace v0 {
namespace kernels {

namespace {

// Calls body(sequence, b) for each sentence b of input_and_gate, [B,T,2D].
template <class T, class Body>
void for_each_sequence(const torch::Tensor& input_and_gate, const torch::Tensor& gate_bias, Body body) {
  const int64_t positions = input_and_gate.size(1), width = input_and_gate.size(2) / 2;
  for (int64_t b = 0; b < input_and_gate.size(0); ++b)
    body(typename RecurrenceKernels<T>::Sequence{data_of<const T>(input_and_gate) + b * positions * 2 * width,
                                                 data_of<const float>(gate_bias), positions, width},
         b);
}

struct FusedRecurrence : torch::autograd::Function<FusedRecurrence> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& given,
                               const torch::Tensor& gate_bias) {
    const torch::Tensor input_and_gate = given.contiguous(), bias = as_float(gate_bias);
    const int64_t positions = given.size(1), width = given.size(2) / 2;
    const torch::Tensor cells = torch::empty({given.size(0), positions, width}, given.options());
    with_element_type(cells, [&](auto element) {
      using T = decltype(element);
      for_each_sequence<T>(input_and_gate, bias, [&](const auto& sequence, int64_t b) {
        active_kernels<RecurrenceKernels<T>>().forward(sequence, data_of<T>(cells) + b * positions * width);
      });
    });
    context->save_for_backward({input_and_gate, gate_bias, cells});
    return cells;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    check_first_derivative();
    const auto saved = context->get_saved_variables();
    const torch::Tensor &input_and_gate = saved[0], &gate_bias = saved[1], &cells = saved[2];
    const torch::Tensor gradient = gradients[0].contiguous(), bias = as_float(gate_bias);
    const torch::Tensor to_inputs = torch::empty_like(input_and_gate);
    const torch::Tensor to_bias = torch::zeros(bias.sizes(), bias.options());
    with_element_type(cells, [&](auto element) {
      using T = decltype(element);
      for_each_sequence<T>(input_and_gate, bias, [&](const auto& sequence, int64_t b) {
        const int64_t begin = b * sequence.positions * sequence.width;
        active_kernels<RecurrenceKernels<T>>().backward(sequence, data_of<const T>(cells) + begin,
                                                        data_of<const T>(gradient) + begin,
                                                        data_of<T>(to_inputs) + 2 * begin, data_of<float>(to_bias));
      });
    });
    return {to_inputs, to_bias.to(gate_bias.scalar_type())};
  }
};

// x: [B,T,D]. The result has at each position the vector that is `step` positions before it, or 0.
torch::Tensor shifted(const torch::Tensor& x, int64_t step) {
  return torch::constant_pad_nd(x.narrow(1, 0, x.size(1) - step), {0, 0, step, 0});
}

}  // namespace

torch::Tensor recurrence_plain(const torch::Tensor& input_and_gate, const torch::Tensor& gate_bias,
                               const torch::Tensor& first) {
  const auto halves = input_and_gate.chunk(2, -1);
  torch::Tensor forget = torch::sigmoid(halves[1] + gate_bias.to(halves[1].scalar_type()));
  torch::Tensor cells = (1 - forget) * halves[0];
  const int64_t positions = cells.size(1);
  if (first.defined() && positions > 0)
    cells = torch::cat(
        {cells.narrow(1, 0, 1) + forget.narrow(1, 0, 1) * first.unsqueeze(1), cells.narrow(1, 1, positions - 1)}, 1);
  // A parallel scan (Hillis and Steele, 1986). Before each round, cells[t] has the inputs of the last `step` positions
  // up to t, and forget[t] is the product of their gates.
  for (int64_t step = 1; step < positions; step *= 2) {
    cells = cells + forget * shifted(cells, step);
    forget = forget * shifted(forget, step);
  }
  return cells;
}

torch::Tensor recurrence(const torch::Tensor& input_and_gate, const torch::Tensor& gate_bias,
                         const torch::Tensor& first) {
  TORCH_CHECK_VALUE(
      input_and_gate.dim() == 3 && gate_bias.dim() == 1 && input_and_gate.size(2) == 2 * gate_bias.size(0) &&
          (!first.defined() ||
           (first.dim() == 2 && first.size(0) == input_and_gate.size(0) && first.size(1) == gate_bias.size(0))),
      "a recurrence needs inputs and gates [B,T,2D], biases [D] and cells [B,D], not ", input_and_gate.sizes(), ", ",
      gate_bias.sizes(), " and ", first.defined() ? first.sizes() : torch::IntArrayRef());
  check_same_device({input_and_gate, gate_bias, first});
  if (first.defined() || !has_kernels(input_and_gate)) return recurrence_plain(input_and_gate, gate_bias, first);
  return FusedRecurrence::apply(input_and_gate, gate_bias);
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

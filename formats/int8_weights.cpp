// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/int8_weights.h>

#include <transmute/libtorch/libtorch.h>

#include <limits>
#include <memory>

namespace transmute {
inline namespace v0 {

namespace {

constexpr const char* kNumbers = "_int8";  // behind the parameter's name: buffers of its module
constexpr const char* kScales = "_scale";

}  // namespace

Int8Matrix to_int8(const torch::Tensor& weight) {
  const torch::Tensor largest = weight.detach().abs().amax(1);
  const torch::Tensor most = torch::full_like(largest, 127);
  const torch::Tensor inverse = (most / largest).masked_fill_(largest == 0, 0);
  return {(weight.detach() * inverse.unsqueeze(1)).round_().to(torch::kChar), largest / most};
}

torch::Tensor to_float32(const Int8Matrix& matrix) {
  return matrix.numbers.to(torch::kFloat).mul_(matrix.scales.unsqueeze(1));
}

void keep_int8(Transformer& transformer, const std::string& parameter, const Int8Matrix& matrix) {
  std::shared_ptr<torch::nn::Module> module = transformer.ptr();
  size_t begin = 0;
  for (size_t dot = 0; (dot = parameter.find('.', begin)) != std::string::npos; begin = dot + 1)
    module = module->named_children()[parameter.substr(begin, dot - begin)];
  const std::string name = parameter.substr(begin);
  module->register_buffer(name + kNumbers, matrix.numbers);
  module->register_buffer(name + kScales, matrix.scales);
  constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();
  module->named_parameters(false)[name].set_data(
      torch::full({1, 1}, kNotANumber, torch::kFloat).expand(matrix.numbers.sizes()));
}

std::optional<Int8Matrix> kept_int8(const torch::OrderedDict<std::string, torch::Tensor>& buffers,
                                    const std::string& parameter) {
  if (!buffers.contains(parameter + kNumbers)) return std::nullopt;
  return Int8Matrix{buffers[parameter + kNumbers], buffers[parameter + kScales]};
}

}  // namespace v0
}  // namespace transmute

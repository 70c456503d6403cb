// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/module_weights.h>

#include <c10/core/InferenceMode.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/initialization.h>

#include <memory>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

constexpr std::pair<NumberType, torch::Dtype> kTypes[] = {
    {NumberType::float32, torch::kFloat},     {NumberType::float64, torch::kDouble},
    {NumberType::bfloat16, torch::kBFloat16}, {NumberType::float16, torch::kHalf},
    {NumberType::int64, torch::kLong},        {NumberType::int32, torch::kInt},
    {NumberType::int16, torch::kShort},       {NumberType::int8, torch::kChar},
    {NumberType::uint8, torch::kByte},        {NumberType::boolean, torch::kBool}};

torch::Dtype dtype_of(NumberType type) {
  for (const auto& [ours, theirs] : kTypes)
    if (ours == type) return theirs;
  throw std::logic_error("a type of numbers that LibTorch does not have");
}

NumberType number_type_of(torch::Dtype type) {
  for (const auto& [ours, theirs] : kTypes)
    if (theirs == type) return ours;
  throw std::invalid_argument(std::string("tensors of type ") + torch::toString(type) + " cannot be stored");
}

}  // namespace

torch::Tensor to_tensor(const Array& array) {
  Array owner = array;
  return torch::from_blob(
      owner.data(), array.shape(), [owner](void*) mutable { owner = Array(); }, dtype_of(array.type()));
}

Array to_array(const torch::Tensor& tensor) {
  const torch::Tensor data = tensor.detach().to(torch::kCPU).contiguous();
  const NumberType type = number_type_of(data.scalar_type());
  if (data.numel() == 0) return Array(data.sizes().vec(), type);  // its pointer may be null
  const auto owner = std::make_shared<torch::Tensor>(data);
  return {data.sizes().vec(), type, std::shared_ptr<void>(owner, data.data_ptr())};
}

NamedArrays to_arrays(const NamedTensors& tensors) {
  NamedArrays arrays;
  for (const auto& [name, tensor] : tensors) arrays.emplace_back(name, to_array(tensor));
  return arrays;
}

NamedTensors to_tensors(const NamedArrays& arrays) {
  NamedTensors tensors;
  for (const auto& [name, array] : arrays) tensors.emplace_back(name, to_tensor(array));
  return tensors;
}

NamedTensors parameters_of(const Transformer& transformer) {
  NamedTensors named;
  for (const auto& item : transformer->named_parameters()) named.emplace_back(item.key(), item.value());
  return named;
}

Weights weights_of(const Transformer& transformer) {
  return {transformer->options, to_arrays(parameters_of(transformer)), "the network"};
}

Transformer make_transformer(const Weights& weights, torch::Device device) {
  const c10::InferenceMode normal(false);  // tensors that are made in it can be used in it only
  const torch::NoGradGuard no_grad;
  const UndrawnWeights undrawn;
  Transformer transformer(weights.options());
  for (auto& [name, parameter] : parameters_of(transformer)) parameter.set_data(to_tensor(weights.float32(name)));
  transformer->to(device);
  transformer->eval();
  for (auto& parameter : transformer->parameters()) parameter.set_requires_grad(false);
  return transformer;
}

void assign_parameters(Transformer& transformer, const NamedArrays& values, const std::string& path) {
  const torch::NoGradGuard no_grad;
  const Weights weights(transformer->options, values, path);
  for (auto& [name, parameter] : parameters_of(transformer)) parameter.copy_(to_tensor(weights.float32(name)));
}

Transformer replica_of(const Transformer& original, const torch::TensorOptions& numbers) {
  const c10::InferenceMode normal(false);  // as in make_transformer
  const torch::NoGradGuard no_grad;
  const UndrawnWeights undrawn;
  Transformer replica(original->options);
  replica->to(numbers.device());
  const auto from = original->parameters();
  const auto to = replica->parameters();
  for (size_t p = 0; p < from.size(); ++p) {
    const torch::Tensor values = from[p].detach();
    torch::Tensor(to[p]).set_data(values.dim() > 1 ? values.to(numbers) : values.to(numbers.device()));
  }
  return replica;
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/device/step_models.h>

#include <transmute/device/transformer_step_model.h>
#include <transmute/engine/inference_model.h>
#include <transmute/libtorch/device.h>
#include <transmute/model/module_weights.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {

std::shared_ptr<const NetworkModel> make_device_model(const std::vector<Transformer>& transformers,
                                                      torch::Device device, Precision precision) {
  const torch::Dtype type = dtype_of(precision);
  std::vector<Transformer> in_type;
  for (const Transformer& transformer : transformers) {
    in_type.push_back(type == torch::kFloat ? transformer
                                            : replica_of(transformer, torch::TensorOptions(device).dtype(type)));
    in_type.back()->eval();
  }
  return std::make_shared<TransformerStepModel>(std::move(in_type), device);
}

ReadyModel make_step_model(const Transformer& transformer, torch::Device device, Precision precision,
                           const ParallelFor& parallel_for) {
  const TransformerOptions& options = transformer->options;
  const std::string slow_reason = device.is_cpu() ? InferenceModel::slow_reason(options) : "";
  if (device.is_cpu() && slow_reason.empty())
    return make_step_model(std::vector<Weights>{weights_of(transformer)}, Device(), precision, parallel_for,
                           WeightUse::copied);
  const Device plain{device.is_cpu() ? Device::Kind::cpu : Device::Kind::gpu};
  const std::string refusal = precision_error(precision, plain, options);
  if (!refusal.empty()) throw std::invalid_argument(refusal);
  return {make_device_model({transformer}, device, precision), options.architecture, slow_reason, most_tokens(options)};
}

}  // namespace v0
}  // namespace transmute

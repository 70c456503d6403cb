// SPDX-License-Identifier: Apache-2.0
#include <transmute/engine/step_models.h>

#include <transmute/engine/device_backend.h>
#include <transmute/engine/inference_model.h>
#include <transmute/search/ensemble.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

std::string precision_error(Precision precision, const Device& device, const TransformerOptions& options) {
  if (!device.is_cpu())
    return precision == Precision::int8 ? "the precision int8 is for CPUs; on a GPU take bfloat16, half or float32"
                                        : "";
  if (precision == Precision::half) return "the precision half is for GPUs; on a CPU take bfloat16, int8 or float32";
  const std::string slow_reason = InferenceModel::slow_reason(options);
  return precision == Precision::float32 || slow_reason.empty()
             ? ""
             : "this model can only be run in float32: " + slow_reason;
}

std::shared_ptr<const NetworkModel> make_network_model(Weights weights, const Device& device, Precision precision,
                                                       const ParallelFor& parallel_for, WeightUse use) {
  const std::string refusal = precision_error(precision, device, weights.options());
  if (!refusal.empty()) throw std::invalid_argument(refusal);
  if (device.is_cpu() && InferenceModel::slow_reason(weights.options()).empty())
    return std::make_shared<InferenceModel>(std::move(weights), precision, parallel_for, use);
  return device_backend_for(device.is_cpu() ? "a model with this score function" : "a GPU")
      .make({weights}, device, precision);
}

ReadyModel make_step_model(std::vector<Weights> networks, const Device& device, Precision precision,
                           const ParallelFor& parallel_for, WeightUse use) {
  ReadyModel ready;
  ready.architecture = networks.front().options().architecture;
  for (const Weights& weights : networks) {
    ready.most_tokens = std::min(ready.most_tokens, most_tokens(weights.options()));
    if (device.is_cpu() && ready.slow_reason.empty())
      ready.slow_reason = InferenceModel::slow_reason(weights.options());
    const std::string refusal = precision_error(precision, device, weights.options());
    if (!refusal.empty()) throw std::invalid_argument(refusal);
  }
  if (!device.is_cpu() && networks.size() > 1) {  // averaged on the GPU
    ready.model = device_backend_for("a GPU").make(networks, device, precision);
    return ready;
  }
  std::vector<std::shared_ptr<const StepModel>> models;
  for (Weights& weights : networks)
    models.push_back(make_network_model(std::move(weights), device, precision, parallel_for, use));
  ready.model = models.size() == 1 ? models.front() : std::make_shared<EnsembleStepModel>(std::move(models));
  return ready;
}

}  // namespace v0
}  // namespace transmute

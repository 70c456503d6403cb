// SPDX-License-Identifier: Apache-2.0
#include <transmute/device/step_models.h>

#include <transmute/device/transformer_step_model.h>
#include <transmute/formats/model_folder.h>
#include <transmute/libtorch/dtype.h>
#include <transmute/search/ensemble.h>

#include <algorithm>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

std::string precision_error(Precision precision, torch::Device device, const TransformerOptions& options) {
  if (!device.is_cpu())
    return precision == Precision::int8 ? "the precision int8 is for CPUs; on a GPU take bfloat16, half or float32"
                                        : "";
  if (precision == Precision::half) return "the precision half is for GPUs; on a CPU take bfloat16, int8 or float32";
  const std::string slow_reason = InferenceModel::slow_reason(options);
  return precision == Precision::float32 || slow_reason.empty()
             ? ""
             : "this model can only be run in float32: " + slow_reason;
}

ReadyModel make_step_model(const std::vector<Transformer>& transformers, torch::Device device, Precision precision,
                           const ParallelFor& parallel_for, WeightUse use) {
  ReadyModel ready;
  std::vector<std::shared_ptr<const StepModel>> models;
  for (const Transformer& transformer : transformers) {
    const std::string refusal = precision_error(precision, device, transformer->options);
    if (!refusal.empty()) throw std::invalid_argument(refusal);
    ready.most_tokens = std::min(ready.most_tokens, most_tokens(transformer->options));
    const std::string reason = device.is_cpu() ? InferenceModel::slow_reason(transformer->options) : "";
    if (device.is_cpu() && reason.empty()) {
      models.push_back(
          std::make_shared<InferenceModel>(transformer, precision, kernels::best_simd(), parallel_for, use));
      continue;
    }
    ready.slow_reason = reason;
    const torch::Dtype type = dtype_of(precision);
    Transformer in_type = transformer;
    if (type != torch::kFloat) {
      in_type = twin_of(transformer, torch::TensorOptions(device).dtype(type));
      in_type->eval();
    }
    models.push_back(std::make_shared<TransformerStepModel>(in_type, device));
  }
  ready.model = models.size() == 1 ? models.front() : std::make_shared<EnsembleStepModel>(std::move(models));
  return ready;
}

}  // namespace v0
}  // namespace transmute

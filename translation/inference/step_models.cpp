#include <transmute/translation/inference/step_models.h>

#include <transmute/translation/files/model_folder.h>
#include <transmute/translation/search/ensemble.h>
#include <transmute/translation/search/transformer_step_model.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// What LibTorch's operations run a network in.
torch::Dtype operations_type(InferencePrecision precision) {
  switch (precision) {
    case InferencePrecision::bfloat16:
      return torch::kBFloat16;
    case InferencePrecision::half:
      return torch::kHalf;
    case InferencePrecision::float32:
    case InferencePrecision::int8:  // which they do not have: why_not_in
      break;
  }
  return torch::kFloat;
}

}  // namespace

std::string why_not_in(InferencePrecision precision, torch::Device device, const TransformerOptions& options) {
  if (!device.is_cpu())
    return precision == InferencePrecision::int8
               ? "the precision int8 is for CPUs; on a GPU take bfloat16, half or float32"
               : "";
  if (precision == InferencePrecision::half)
    return "the precision half is for GPUs; on a CPU take bfloat16, int8 or float32";
  const std::string plain_reason = InferenceModel::why_not(options);
  return precision == InferencePrecision::float32 || plain_reason.empty()
             ? ""
             : "this model can only be run in float32: " + plain_reason;
}

ReadyModel make_step_model(const std::vector<Transformer>& transformers, torch::Device device,
                           InferencePrecision precision, const ParallelFor& parallel_for, WeightUse use) {
  ReadyModel ready;
  std::vector<std::shared_ptr<const StepModel>> models;
  for (const Transformer& transformer : transformers) {
    const std::string refusal = why_not_in(precision, device, transformer->options);
    if (!refusal.empty()) throw std::invalid_argument(refusal);
    const std::string reason = device.is_cpu() ? InferenceModel::why_not(transformer->options) : "";
    if (device.is_cpu() && reason.empty()) {
      models.push_back(
          std::make_shared<InferenceModel>(transformer, precision, inference::best_instructions(), parallel_for, use));
      continue;
    }
    ready.plain_reason = reason;
    const torch::Dtype type = operations_type(precision);
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

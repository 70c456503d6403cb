#include <transmute/translation/step_models.h>

#include <transmute/translation/ensemble.h>
#include <transmute/translation/inference/inference_model.h>
#include <transmute/translation/model_folder.h>
#include <transmute/translation/transformer_step_model.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// What LibTorch's operations run a network in.
torch::Dtype operations_type(InferencePrecision precision, torch::Device device, const std::string& plain_reason) {
  if (device.is_cpu() && precision != InferencePrecision::float32)
    throw std::invalid_argument("this model can only be run in float32: " + plain_reason);
  switch (precision) {
    case InferencePrecision::float32:
      return torch::kFloat;
    case InferencePrecision::bfloat16:
      return torch::kBFloat16;
    case InferencePrecision::half:
      return torch::kHalf;
    case InferencePrecision::int8:
      break;
  }
  throw std::invalid_argument("the precision int8 is for CPUs; on a GPU take bfloat16, half or float32");
}

}  // namespace

ReadyModel make_step_model(const std::vector<Transformer>& transformers, torch::Device device,
                           InferencePrecision precision) {
  if (device.is_cpu() && precision == InferencePrecision::half)
    throw std::invalid_argument("the precision half is for GPUs; on a CPU take bfloat16, int8 or float32");
  ReadyModel ready;
  std::vector<std::shared_ptr<const StepModel>> models;
  for (const Transformer& transformer : transformers) {
    const std::string reason = device.is_cpu() ? InferenceModel::why_not(transformer->options) : "";
    if (device.is_cpu() && reason.empty()) {
      models.push_back(std::make_shared<InferenceModel>(transformer, precision));
      continue;
    }
    ready.plain_reason = reason;
    const torch::Dtype type = operations_type(precision, device, reason);
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

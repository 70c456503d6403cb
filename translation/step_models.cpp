#include <transmute/translation/step_models.h>

#include <transmute/translation/ensemble.h>
#include <transmute/translation/inference/inference_model.h>
#include <transmute/translation/transformer_step_model.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {

ReadyModel make_step_model(const std::vector<Transformer>& transformers, torch::Device device,
                           InferencePrecision precision) {
  ReadyModel ready;
  std::vector<std::shared_ptr<const StepModel>> models;
  for (const Transformer& transformer : transformers) {
    const std::string reason = device.is_cpu() ? InferenceModel::why_not(transformer->options) : "";
    if (device.is_cpu() && reason.empty()) {
      models.push_back(std::make_shared<InferenceModel>(transformer, precision));
      continue;
    }
    ready.plain_reason = reason;
    if (precision != InferencePrecision::float32)
      throw std::invalid_argument(
          device.is_cpu() ? "this model can only be run in float32: " + reason
                          : "precisions other than float32 are for the CPU; leave the precision at float32");
    models.push_back(std::make_shared<TransformerStepModel>(transformer, device));
  }
  ready.model = models.size() == 1 ? models.front() : std::make_shared<EnsembleStepModel>(std::move(models));
  return ready;
}

}  // namespace v0
}  // namespace transmute

#include <transmute/translation/load_model.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/model/threading.h>
#include <transmute/translation/step_models.h>
#include <transmute/translation/torchscript.h>

#include <filesystem>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

bool same(const SubwordModel& a, const SubwordModel& b) {
  return a.serialized() == b.serialized();
}

// As it is stored, where that is what the device is made for.
InferencePrecision own_precision(const LoadedModel& model, torch::Device device) {
  const bool is_slow = model.stored == InferencePrecision::bfloat16 && device.is_cpu() && !cpu_has_bfloat16();
  const bool fits = !is_slow && why_not_in(model.stored, device, model.transformer->options).empty();
  return fits ? model.stored : InferencePrecision::float32;
}

}  // namespace

LoadedModel load_model(const std::string& path, torch::Device device, Int8Weights int8,
                       const ParallelFor& parallel_for) {
  // What does not exist is a folder that is missing: train makes folders.
  return std::filesystem::is_regular_file(path) ? load_torchscript_model(path, device)
                                                : load_model_folder(path, device, int8, parallel_for);
}

LoadedModel load_model(const std::string& path, torch::Device device, Architecture architecture, Int8Weights int8,
                       const ParallelFor& parallel_for) {
  LoadedModel model = load_model(path, device, int8, parallel_for);
  if (model.transformer->options.architecture == architecture) return model;
  throw std::invalid_argument(
      path + (architecture == Architecture::encoder_decoder
                  ? ": is a language model (model.architecture: decoder_only), which has no source; it is for generate "
                    "and score --text"
                  : ": is a translation model (model.architecture: encoder_decoder), which needs a source; it is for "
                    "translate, visualize, embed and score --source --target"));
}

LoadedEnsemble load_ensemble(const std::string& first, const std::vector<std::string>& others, torch::Device device,
                             Architecture architecture, std::optional<InferencePrecision> precision,
                             const ParallelFor& parallel_for) {
  const auto load = [&](const std::string& path, bool keeps_int8) {
    return load_model(path, device, architecture, keeps_int8 ? Int8Weights::kept : Int8Weights::expanded, parallel_for);
  };
  LoadedModel loaded = load(first, precision ? precision == InferencePrecision::int8 : device.is_cpu());
  if (!precision) {
    precision = own_precision(loaded, device);
    if (loaded.stored == InferencePrecision::int8 && precision != InferencePrecision::int8) loaded = load(first, false);
  }
  LoadedEnsemble ensemble{{std::move(loaded.transformer)}, std::move(loaded.tokenizer), *precision};
  for (const std::string& path : others) {
    LoadedModel other = load(path, precision == InferencePrecision::int8);
    if (!same(ensemble.tokenizer.source(), other.tokenizer.source()) ||
        !same(ensemble.tokenizer.target(), other.tokenizer.target()))
      throw std::invalid_argument(
          fmt::format("{} has another tokenizer than {}; models of an ensemble are trained with one (tokenizer.model)",
                      path, first));
    ensemble.transformers.push_back(std::move(other.transformer));
  }
  return ensemble;
}

}  // namespace v0
}  // namespace transmute

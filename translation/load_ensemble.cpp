// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/load_ensemble.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/model/threading.h>
#include <transmute/translation/files/load_model.h>
#include <transmute/translation/inference/step_models.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

bool same(const SubwordModel& a, const SubwordModel& b) {
  return a.serialized() == b.serialized();
}

// As it is stored, where that is what the device is made for.
Precision own_precision(const LoadedModel& model, torch::Device device) {
  const bool is_slow = model.stored == Precision::bfloat16 && device.is_cpu() && !cpu_has_bfloat16();
  const bool fits = !is_slow && precision_error(model.stored, device, model.transformer->options).empty();
  return fits ? model.stored : Precision::float32;
}

}  // namespace

LoadedEnsemble load_ensemble(const std::string& first, const std::vector<std::string>& others, torch::Device device,
                             Architecture architecture, std::optional<Precision> precision,
                             const ParallelFor& parallel_for) {
  const auto load = [&](const std::string& path, bool keeps_int8) {
    return load_model(path, device, architecture, keeps_int8 ? Int8Weights::kept : Int8Weights::expanded, parallel_for);
  };
  LoadedModel loaded = load(first, precision ? precision == Precision::int8 : device.is_cpu());
  if (!precision) {
    precision = own_precision(loaded, device);
    if (loaded.stored == Precision::int8 && precision != Precision::int8) loaded = load(first, false);
  }
  LoadedEnsemble ensemble{{std::move(loaded.transformer)}, std::move(loaded.tokenizer), *precision};
  for (const std::string& path : others) {
    LoadedModel other = load(path, precision == Precision::int8);
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

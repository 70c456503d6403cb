// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/load_ensemble.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/device/step_models.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/kernels/simd/simd.h>
#include <transmute/libtorch/device.h>
#include <transmute/libtorch/threading.h>
#include <transmute/model/autograd/device_tensors.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

bool same(const SubwordModel& a, const SubwordModel& b) {
  return a.serialized() == b.serialized();
}

// As it is stored, where that is what the device is made for.
Precision own_precision(const LoadedModel& model, torch::Device device) {
  const bool has_bfloat16 =
      device.is_cpu() ? kernels::multiplies_bfloat16(kernels::best_simd()) : kernels::cuda::run_on(device);
  const bool is_slow = model.stored == Precision::bfloat16 && !has_bfloat16;
  const bool fits = !is_slow && precision_error(model.stored, device, model.transformer->options).empty();
  return fits ? model.stored : Precision::float32;
}

// What all of them have, else float32, which is exact for each.
Precision common_precision(const std::vector<LoadedModel>& models, torch::Device device) {
  const Precision first = own_precision(models.front(), device);
  const bool is_common = std::all_of(models.begin(), models.end(),
                                     [&](const LoadedModel& model) { return own_precision(model, device) == first; });
  return is_common ? first : Precision::float32;
}

}  // namespace

void check_same_tokenizer(const Tokenizer& a, const std::string& a_path, const Tokenizer& b,
                          const std::string& b_path) {
  if (!same(a.source(), b.source()) || !same(a.target(), b.target()))
    throw std::invalid_argument(fmt::format(
        "{} has another tokenizer than {}; models that work together are trained with one (tokenizer.model)", b_path,
        a_path));
}

LoadedEnsemble load_ensemble(const std::vector<std::string>& paths, torch::Device device, Architecture architecture,
                             std::optional<Precision> precision, const ParallelFor& parallel_for) {
  const auto load = [&](const std::string& path, bool keeps_int8) {
    return load_model(path, device, architecture, keeps_int8 ? Int8Weights::kept : Int8Weights::expanded, parallel_for);
  };
  std::vector<LoadedModel> models;
  for (const std::string& path : paths) {
    models.push_back(load(path, precision ? precision == Precision::int8 : device.is_cpu()));
    check_same_tokenizer(models.front().tokenizer, paths.front(), models.back().tokenizer, path);
  }
  const Precision agreed = precision ? *precision : common_precision(models, device);
  for (size_t m = 0; m < models.size(); ++m)
    if (!precision && device.is_cpu() && models[m].stored == Precision::int8 && agreed != Precision::int8)
      models[m] = load(paths[m], false);
  LoadedEnsemble ensemble{
      {}, std::move(models.front().tokenizer), agreed, models.front().search, std::move(models.front().profile)};
  for (LoadedModel& model : models) {
    if (model.search.alignment_layer != ensemble.search.alignment_layer ||
        model.search.alignment_head != ensemble.search.alignment_head)
      ensemble.search.alignment_layer = ensemble.search.alignment_head = 0;
    ensemble.transformers.push_back(std::move(model.transformer));
  }
  return ensemble;
}

OpenedEnsemble open_ensemble(const std::string& model, const TranslatorOptions& options, Architecture architecture) {
  const torch::Device device = parse_device(options.device);
  auto threads =
      std::make_unique<ThreadPool>(worker_count(options.threads, device), run_operations_on_this_thread_only);
  std::vector<std::string> paths{model};
  paths.insert(paths.end(), options.ensemble.begin(), options.ensemble.end());
  LoadedEnsemble models = load_ensemble(paths, device, architecture, options.precision, threads->parallel_for());
  return {device, std::move(threads), std::move(models)};
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/open_models.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/memory.h>
#include <transmute/engine/device_backend.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/kernels/simd/simd.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

bool same(const SubwordModel& a, const SubwordModel& b) {
  return a.serialized() == b.serialized();
}

// The stored precision, where the device is made for it.
Precision own_precision(const LoadedModel& model, const Device& device) {
  const Precision stored = model.weights.stored();
  if (!precision_error(stored, device, model.options).empty()) return Precision::float32;
  if (stored != Precision::bfloat16) return stored;
  const bool is_fast = device.is_cpu() ? kernels::multiplies_bfloat16(kernels::best_simd())
                                       : device_backend_for("a GPU").multiplies_bfloat16(device);
  return is_fast ? stored : Precision::float32;
}

// The precision that all of them have, else float32, which is exact for each.
Precision common_precision(const std::vector<LoadedModel>& models, const Device& device) {
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

WeightMemory memory_of(const TranslatorOptions& options) {
  return options.map_weights ? WeightMemory::mapped : WeightMemory::own;
}

OpenedModels open_models(const std::vector<std::string>& paths, const Device& device, Architecture architecture,
                         const TranslatorOptions& options, const ParallelFor& parallel_for) {
  std::vector<LoadedModel> models;
  for (const std::string& path : paths) {
    models.push_back(load_model(path, architecture, parallel_for, memory_of(options)));
    check_same_tokenizer(models.front().tokenizer, paths.front(), models.back().tokenizer, path);
  }
  SearchOptions search = models.front().search;
  const Precision agreed = options.precision ? *options.precision : common_precision(models, device);
  std::vector<Weights> weights;
  for (LoadedModel& model : models) {
    if (model.search.alignment_layer != search.alignment_layer || model.search.alignment_head != search.alignment_head)
      search.alignment_layer = search.alignment_head = 0;
    weights.push_back(std::move(model.weights));
  }
  OpenedModels opened{make_step_model(std::move(weights), device, agreed, parallel_for, WeightUse::taken),
                      agreed,
                      std::move(models.front().tokenizer),
                      search,
                      std::move(models.front().profile),
                      models.size() == 1 ? models.front().shortlist : nullptr};
  return_freed_memory();
  return opened;
}

std::vector<std::string> model_paths(const std::string& model, const TranslatorOptions& options) {
  std::vector<std::string> paths{model};
  paths.insert(paths.end(), options.ensemble.begin(), options.ensemble.end());
  return paths;
}

}  // namespace v0
}  // namespace transmute

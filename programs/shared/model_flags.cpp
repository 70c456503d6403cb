// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/model_flags.h>

#include <transmute/libtorch/device.h>
#include <transmute/libtorch/dtype.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/libtorch/threading.h>
#include <transmute/model/module_weights.h>
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/translator_flags.h>

#include <stdexcept>
#include <utility>

namespace transmute {

void ModelFlags::add_to(CLI::App& app) {
  add_model_flag(app, path_);
  add_device_flag(app, device_);
  app.add_option("--precision", precision_, "number format of weights and matrix products; half is for GPUs")
      ->check(one_of({"float32", "bfloat16", "half"}))
      ->capture_default_str();
  add_threads_flag(app, threads_);
}

OpenModel ModelFlags::open() const {
  const torch::Device device = parse_device(device_);
  const Precision precision = precision_from_name(precision_);
  if (device.is_cpu() && precision == Precision::half)
    throw std::invalid_argument("--precision half is for GPUs; on a CPU take bfloat16 or float32");
  LoadedModel model = load_model(path_, Architecture::encoder_decoder);
  Transformer network = make_transformer(model.weights, device);
  if (precision != Precision::float32) {
    network = twin_of(network, torch::TensorOptions(device).dtype(dtype_of(precision)));
    network->eval();
  }
  return {std::move(model), std::move(network), device,
          std::make_unique<ThreadPool>(worker_count(threads_, device), run_operations_on_this_thread_only)};
}

}  // namespace transmute

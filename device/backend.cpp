// SPDX-License-Identifier: Apache-2.0
#include <torch/cuda.h>
#include <transmute/common/build_info.h>
#include <transmute/device/step_models.h>
#include <transmute/device/transformer_step_model.h>
#include <transmute/engine/device_backend.h>
#include <transmute/libtorch/device.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/libtorch/plain_errors.h>
#include <transmute/libtorch/threading.h>
#include <transmute/model/autograd/device_tensors.h>
#include <transmute/model/module_weights.h>

namespace transmute {
inline namespace v0 {

namespace {

torch::Device torch_device(const Device& device) {
  return device.is_cpu() ? torch::Device(torch::kCPU)
                         : torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(device.index));
}

class TorchBackend : public DeviceBackend {
 public:
  int gpus() const override { return torch::cuda::is_available() ? static_cast<int>(torch::cuda::device_count()) : 0; }
  void require_gpu(const std::string& name, int) const override { parse_device(name); }
  bool multiplies_bfloat16(const Device& device) const override { return kernels::cuda::run_on(torch_device(device)); }
  std::shared_ptr<const NetworkModel> make(const std::vector<Weights>& weights, const Device& device,
                                           Precision precision) const override {
    return with_plain_errors([&] {
      std::vector<Transformer> transformers;
      for (const Weights& of_one : weights) transformers.push_back(make_transformer(of_one, torch_device(device)));
      return make_device_model(transformers, torch_device(device), precision);
    });
  }
  void configure_process() const override { configure_process_for_workers(); }
  std::string slow_blas_warning() const override { return transmute::slow_blas_warning(); }
};

}  // namespace

}  // namespace v0
}  // namespace transmute

extern "C" TRANSMUTE_API const transmute::DeviceBackend* transmute_device_backend(const char* version) {
  static const transmute::TorchBackend backend;
  return transmute::build_version() == version ? &backend : nullptr;
}

// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/autograd/device_tensors.h>

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAStream.h>
#include <spdlog/fmt/fmt.h>
#include <transmute/libtorch/libtorch.h>

namespace transmute {
inline namespace v0 {
namespace kernels::cuda {

bool run_on(torch::Device device) {
  return device.is_cuda() && at::cuda::getDeviceProperties(device.index())->major >= 8;
}

std::string pci_address(torch::Device device) {
  const cudaDeviceProp& gpu = *at::cuda::getDeviceProperties(device.index());
  return fmt::format("{:04x}:{:02x}:{:02x}", gpu.pciDomainID, gpu.pciBusID, gpu.pciDeviceID);
}

bool takes_rows(const torch::Tensor& x) {
  const auto type = x.scalar_type();
  constexpr uintptr_t kVectorBytes = 16;
  return run_on(x.device()) && (type == torch::kFloat || type == torch::kBFloat16 || type == torch::kHalf) &&
         x.dim() > 0 && x.size(-1) > 0 && x.size(-1) % kVector == 0 &&
         reinterpret_cast<uintptr_t>(x.data_ptr()) % kVectorBytes == 0;
}

Element element_of(const torch::Tensor& x) {
  switch (x.scalar_type()) {
    case torch::kFloat:
      return Element::float32;
    case torch::kBFloat16:
      return Element::bfloat16;
    default:
      return Element::half;
  }
}

Stream current_stream() {
  return c10::cuda::getCurrentCUDAStream().stream();
}

}  // namespace kernels::cuda
}  // namespace v0
}  // namespace transmute

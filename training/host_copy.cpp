// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/host_copy.h>

#include <c10/core/impl/VirtualGuardImpl.h>
#include <transmute/libtorch/libtorch.h>

#include <chrono>
#include <thread>

namespace transmute {
inline namespace v0 {

HostCopy::HostCopy(const torch::Tensor& tensor) {
  const torch::Device device = tensor.device();
  if (device.is_cpu()) {
    values_ = tensor;
    return;
  }
  // Into page-locked memory: the copy to any other is waited for.
  values_ = torch::empty(tensor.sizes(), tensor.options().device(torch::kCPU).pinned_memory(device.is_cuda()));
  values_.copy_(tensor, /*non_blocking=*/true);
  arrival_.emplace(device.type());
  arrival_->record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
}

const torch::Tensor& HostCopy::get() {
  // c10::Event, the same for all devices, has had no waiting for as long as LibTorch 1.13.
  while (arrival_ && !arrival_->query()) std::this_thread::sleep_for(std::chrono::microseconds(50));
  arrival_.reset();
  return values_;
}

}  // namespace v0
}  // namespace transmute

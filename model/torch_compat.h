#pragma once

// What differs between LibTorch 1.13 and 2.x, in one place.

#include <ATen/autocast_mode.h>
#include <torch/types.h>
#include <torch/version.h>

#include <optional>

#if TORCH_VERSION_MAJOR < 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 5)
#include <c10/util/Optional.h>
#endif

namespace transmute {
inline namespace v0 {

/// A tensor that may be missing, as torch::autograd::Function takes it.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 5)
using MaybeTensor = std::optional<torch::Tensor>;
#else
using MaybeTensor = c10::optional<torch::Tensor>;
#endif

/// LibTorch's autocast for the calling thread, for as long as the object lives: matrix products take `dtype`, sums
/// over many elements stay float32. Copies of float32 weights are made once and kept until the end of the scope.
class AutocastScope {
 public:
  AutocastScope(torch::DeviceType device, torch::Dtype dtype) : device_(device), outer_(enabled(device)) {
    set(device, dtype);
    enable(device, true);
  }
  ~AutocastScope() {
    enable(device_, outer_);
    if (!outer_) at::autocast::clear_cache();
  }
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

  /// What products take in the calling thread; nothing where autocast is off.
  static std::optional<torch::Dtype> current(torch::DeviceType device) {
    if (!enabled(device)) return {};
    return dtype_of(device);
  }

 private:
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  static bool enabled(torch::DeviceType device) {
    return at::autocast::is_autocast_enabled(device);
  }
  static void enable(torch::DeviceType device, bool on) {
    at::autocast::set_autocast_enabled(device, on);
  }
  static void set(torch::DeviceType device, torch::Dtype dtype) {
    at::autocast::set_autocast_dtype(device, dtype);
  }
  static torch::Dtype dtype_of(torch::DeviceType device) {
    return at::autocast::get_autocast_dtype(device);
  }
#else
  static bool enabled(torch::DeviceType device) {
    return device == torch::kCPU ? at::autocast::is_cpu_enabled() : at::autocast::is_enabled();
  }
  static void enable(torch::DeviceType device, bool on) {
    if (device == torch::kCPU) {
      at::autocast::set_cpu_enabled(on);
    } else {
      at::autocast::set_enabled(on);
    }
  }
  static void set(torch::DeviceType device, torch::Dtype dtype) {
    if (device == torch::kCPU) {
      at::autocast::set_autocast_cpu_dtype(dtype);
    } else {
      at::autocast::set_autocast_gpu_dtype(dtype);
    }
  }
  static torch::Dtype dtype_of(torch::DeviceType device) {
    return device == torch::kCPU ? at::autocast::get_autocast_cpu_dtype() : at::autocast::get_autocast_gpu_dtype();
  }
#endif

  torch::DeviceType device_;
  bool outer_;
};

}  // namespace v0
}  // namespace transmute

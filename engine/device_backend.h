// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/network/device.h>
#include <transmute/network/precision.h>
#include <transmute/network/weights.h>
#include <transmute/search/network_model.h>

#include <memory>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The part of transmute that needs LibTorch, as the part without it sees it: networks on GPUs, and on CPUs those that
/// InferenceModel cannot run. It is a shared library of its own, which is loaded when something asks for it.
class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;

  /// The number of GPUs that can be used.
  virtual int gpus() const = 0;
  /// @throws std::runtime_error naming the remedy if there is no such GPU; `name` is what the user called it.
  virtual void require_gpu(const std::string& name, int index) const = 0;
  /// True if a GPU multiplies bfloat16 numbers faster than float32 ones.
  virtual bool multiplies_bfloat16(const Device& device) const = 0;
  /// One network, or several with one vocabulary, whose probabilities are averaged.
  virtual std::shared_ptr<const NetworkModel> make(const std::vector<Weights>& weights, const Device& device,
                                                   Precision precision) const = 0;
  /// Has LibTorch and its BLAS use one thread for each operation, for programs that run such networks on the CPU with a
  /// pool of threads of their own.
  virtual void configure_process() const = 0;
  /// A warning for users whose CPU could run these networks faster; empty if there is none.
  virtual std::string slow_blas_warning() const = 0;
};

/// The backend of this process, which is loaded now if it has not been; null if it is not installed.
/// @throws std::runtime_error if it is there but cannot be loaded, or belongs to another version
const DeviceBackend* find_device_backend();

/// The same. `purpose` says what needs it, for example "--device cuda".
/// @throws also std::runtime_error naming the package to install
const DeviceBackend& device_backend_for(const std::string& purpose);

/// The device of that name (see named_device) on this machine.
/// @throws std::invalid_argument for an unknown name, std::runtime_error if there is no such GPU
Device find_device(const std::string& name);

}  // namespace v0
}  // namespace transmute

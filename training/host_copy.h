// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Event.h>
#include <torch/types.h>

#include <optional>

namespace transmute {
inline namespace v0 {

/// A tensor on its way to the host. Made where the device is told to compute it, it can be waited for later, without
/// waiting for what the device was told since.
class HostCopy {
 public:
  explicit HostCopy(const torch::Tensor& tensor);
  /// Waits.
  const torch::Tensor& get();

 private:
  torch::Tensor values_;
  std::optional<c10::Event> arrival_;
};

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Event.h>
#include <torch/types.h>

#include <optional>

namespace transmute {
inline namespace v0 {

/// A tensor that is copied to the host in the background. get() waits for this tensor only, not for work that the
/// device was given after it.
class HostCopy {
 public:
  explicit HostCopy(const torch::Tensor& tensor);
  /// Waits for the copy.
  const torch::Tensor& get();

 private:
  torch::Tensor values_;
  std::optional<c10::Event> arrival_;
};

}  // namespace v0
}  // namespace transmute

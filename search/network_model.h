// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/search/step_model.h>

#include <vector>

namespace transmute {
inline namespace v0 {

/// A network that is ready to run, on a CPU or a GPU.
class TRANSMUTE_API NetworkModel : public StepModel {
 public:
  /// The encoder's output for each source, float32 [L,D] with a row for each token and the end.
  /// @throws std::invalid_argument if a source is longer than the learned positions
  virtual std::vector<std::vector<float>> encode(const std::vector<Ids>& sources) const = 0;
};

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/search/step_model.h>

#include <memory>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Combines several models with the same vocabulary: the mean of their probabilities, and of their attention.
class EnsembleStepModel : public StepModel {
 public:
  /// @throws std::invalid_argument if there are none.
  explicit EnsembleStepModel(std::vector<std::shared_ptr<const StepModel>> models);

  void check(AttentionChoice attention) const override;
  std::unique_ptr<DecodingBatch> start(const std::vector<Ids>& sources, AttentionChoice attention,
                                       const std::vector<Ids>& shortlists) const override;

 private:
  std::vector<std::shared_ptr<const StepModel>> models_;
};

}  // namespace v0
}  // namespace transmute

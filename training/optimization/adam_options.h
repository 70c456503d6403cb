// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace transmute {
inline namespace v0 {

/// Adam's hyperparameters. Defaults: section 5.3 of the paper.
struct AdamOptions {
  double beta1 = 0.9;       ///< decay of the gradient's mean
  double beta2 = 0.98;      ///< decay of the squared gradient's mean
  double epsilon = 1e-9;    ///< added to the root of the squared gradient's mean
  double clip_norm = 0;     ///< 0: no clipping
  double weight_decay = 0;  ///< AdamW (Loshchilov and Hutter, 2019), applied to matrices but not to biases and norms
};

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace transmute {
inline namespace v0 {

/// Consistency regularization, for small texts: each batch passes through the network twice, in different ways, and the
/// divergence between the two predictions joins the loss.
enum class Consistency {
  none,
  /// Two dropout masks. Both passes learn their targets, and half the weight multiplies the divergence in each
  /// direction (Liang et al., 2021, "R-Drop").
  r_drop,
  /// The second pass sets whole token vectors to zero, on both sides. Only the first pass learns its targets, and the
  /// weight multiplies the divergence KL(first||second) (Gao et al., 2022, "Bi-SimCut").
  simcut,
};

/// Kind and strength of consistency regularization.
struct ConsistencyOptions {
  Consistency kind = Consistency::none;
  double weight = 0;           ///< factor on the divergence; must be positive unless `kind` is none
  double cut_probability = 0;  ///< simcut: probability of zeroing a token's vector
};

}  // namespace v0
}  // namespace transmute

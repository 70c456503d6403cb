// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace transmute {
inline namespace v0 {

/// What makes a network predict the same when its pairs are seen in another way: a regularizer for small texts. Each
/// batch goes through the network twice.
enum class Consistency {
  none,
  /// Under two dropout masks. Both passes learn their targets, and half the weight multiplies the divergence either way
  /// (Liang et al., 2021, "R-Drop").
  r_drop,
  /// As it is, and with whole token vectors set to zero on both sides. The first pass learns its targets, and the
  /// weight multiplies the divergence KL(first||second) (Gao et al., 2022, "Bi-SimCut").
  simcut,
};

/// How strongly.
struct ConsistencyOptions {
  Consistency kind = Consistency::none;
  double weight = 0;           ///< of the divergence
  double cut_probability = 0;  ///< simcut: of a token's vector to be zeroed
};

}  // namespace v0
}  // namespace transmute

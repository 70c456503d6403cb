// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/tokenizer/special_ids.h>

#include <array>
#include <vector>

namespace transmute {
inline namespace v0 {

struct Neighbor {
  int64_t id = 0;
  double cosine = 0;  ///< cosine of the angle between the two embeddings
};

/// For each of `ids` the `count` tokens whose embeddings point most nearly where its own does, the nearest first.
/// Neither the token itself nor the reserved ids, which are hardly trained, are among them. table: [V,D].
std::vector<std::vector<Neighbor>> nearest_neighbors(const torch::Tensor& table, const Ids& ids, int64_t count);

/// Rows in the plane in which they vary most.
struct PrincipalPlane {
  std::vector<std::array<double, 2>> points;  ///< N
  std::array<double, 2> explained{};          ///< each axis' share of the rows' variance
};

/// The first two principal components (Pearson, 1901), each pointing to where its largest coefficient is positive.
/// rows: [N,D].
PrincipalPlane principal_plane(const torch::Tensor& rows);

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/examples/explorer/embedding_map.h>

#include <transmute/libtorch/libtorch.h>

#include <algorithm>

namespace transmute {
inline namespace v0 {

std::vector<std::vector<Neighbor>> nearest_neighbors(const torch::Tensor& table, const Ids& ids, int64_t count) {
  const torch::NoGradGuard no_grad;
  std::vector<std::vector<Neighbor>> nearest(ids.size());
  const int64_t others = table.size(0) - special_ids::kCount - 1;
  if (ids.empty() || others < 1 || count < 1) return nearest;
  const torch::Tensor rows = table.to(torch::kCPU, torch::kFloat);
  const torch::Tensor directions = rows / rows.norm(2, 1, true).clamp_min(1e-12);  // [V,D]
  const torch::Tensor sought = torch::tensor(ids, torch::kLong);                   // [N]
  torch::Tensor cosines = directions.index_select(0, sought).matmul(directions.t());
  cosines.slice(1, 0, special_ids::kCount).fill_(-2);  // below every cosine
  cosines.scatter_(1, sought.unsqueeze(1), -2);
  const auto [values, places] = cosines.topk(std::min(count, others), 1);  // [N,count]
  const auto value = values.accessor<float, 2>();
  const auto place = places.accessor<int64_t, 2>();
  for (size_t i = 0; i < ids.size(); ++i)
    for (int64_t n = 0; n < place.size(1); ++n)
      nearest[i].push_back({place[static_cast<int64_t>(i)][n], value[static_cast<int64_t>(i)][n]});
  return nearest;
}

PrincipalPlane principal_plane(const torch::Tensor& given) {
  const torch::NoGradGuard no_grad;
  PrincipalPlane plane;
  const torch::Tensor rows = given.to(torch::kCPU, torch::kDouble);
  plane.points.resize(static_cast<size_t>(rows.size(0)), {0.0, 0.0});
  if (rows.size(0) < 2) return plane;
  const torch::Tensor centered = rows - rows.mean(0, true);
  const auto [variances, axes] = torch::linalg_eigh(centered.t().matmul(centered));  // ascending; columns are the axes
  const double total = variances.clamp_min(0).sum().item<double>();
  for (int64_t c = 0; c < std::min<int64_t>(2, rows.size(1)) && total > 0; ++c) {
    torch::Tensor axis = axes.select(1, axes.size(1) - 1 - c);
    if (axis[axis.abs().argmax()].item<double>() < 0) axis = -axis;
    const torch::Tensor along = centered.mv(axis).contiguous();
    for (size_t i = 0; i < plane.points.size(); ++i)
      plane.points[i][static_cast<size_t>(c)] = along.data_ptr<double>()[i];
    plane.explained[static_cast<size_t>(c)] =
        std::max(0.0, variances[variances.size(0) - 1 - c].item<double>()) / total;
  }
  return plane;
}

}  // namespace v0
}  // namespace transmute

// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/divergence.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/libtorch/libtorch.h>

namespace transmute {
inline namespace v0 {

std::string where_not_finite(const NamedTensors& parameters, const std::vector<bool>& unsound, ProcessGroup& group) {
  std::string first_weight, first_gradient;
  int64_t count = 0;
  for (size_t p = 0; p < parameters.size(); ++p) {
    if (first_weight.empty() && !parameters[p].second.isfinite().all().item<bool>()) first_weight = parameters[p].first;
    if (!unsound[p]) continue;
    if (count++ == 0) first_gradient = parameters[p].first;
  }
  const std::vector<int64_t> counts = group.gather(count);
  if (!first_weight.empty()) return fmt::format("the weights of {} are not finite", first_weight);
  if (count > 0)
    return fmt::format("gradients of {} of {} parameters are not finite, the first {}", count, parameters.size(),
                       first_gradient);
  std::vector<size_t> ranks;
  for (size_t rank = 0; rank < counts.size(); ++rank)
    if (counts[rank] > 0) ranks.push_back(rank);
  if (!ranks.empty()) return fmt::format("gradients of rank {} are not finite", fmt::join(ranks, ", "));
  return "all gradients are finite";
}

}  // namespace v0
}  // namespace transmute
